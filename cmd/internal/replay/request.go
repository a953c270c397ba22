package replay

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/casgate/ratelimit/cmd/internal/accesslog"
)

// Request is an *http.Request that is used again for each entry. It equals what net/http's server would have made of the
// entry's request line and header, as far as the log tells them.
type Request struct {
	HTTP      http.Request
	url       url.URL
	agent     []string
	refer     []string
	forwarded []string
	further   bool // the header has further fields
	host      string
}

// NewRequest returns a request; host is for entries that tell none.
func NewRequest(host string) *Request {
	r := &Request{agent: make([]string, 1), refer: make([]string, 1), forwarded: make([]string, 1), host: host}
	r.HTTP = http.Request{
		URL: &r.url, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: http.NoBody,
		Header: http.Header{"User-Agent": r.agent, "Referer": r.refer},
	}
	return r
}

// Set makes r the request of e; false if no server would have passed it on to its handlers. What is not logged is empty,
// which to the filter is as good as missing.
func (r *Request) Set(e *accesslog.Entry) bool {
	if !isToken(e.Method) || !r.setURL(e) {
		return false
	}
	h := &r.HTTP
	h.Method, h.RequestURI, h.RemoteAddr = e.Method, e.Target, e.Client
	if strings.HasPrefix(e.Client, "unix:") {
		h.RemoteAddr = "@"
	}
	if h.Host = e.Host; h.Host == "" {
		h.Host = r.host
	}
	r.agent[0], r.refer[0] = e.Agent, e.Refer
	if r.forwarded[0] != e.Forwarded {
		r.forwarded[0] = e.Forwarded
		delete(h.Header, "X-Forwarded-For")
		if e.Forwarded != "" {
			h.Header["X-Forwarded-For"] = r.forwarded
		}
	}
	if r.further { // their names have been overwritten by now, so that they can't be found one by one
		clear(h.Header)
		h.Header["User-Agent"], h.Header["Referer"] = r.agent, r.refer
		if e.Forwarded != "" {
			h.Header["X-Forwarded-For"] = r.forwarded
		}
	}
	r.further = len(e.Fields) > 0
	for _, f := range e.Fields {
		h.Header[f.Name] = append(h.Header[f.Name], f.Value)
	}
	return true
}

// setURL parses the target as net/http does.
func (r *Request) setURL(e *accesslog.Entry) bool {
	if plainTarget(e.Target) {
		path, query, _ := strings.Cut(e.Target, "?")
		r.url = url.URL{Path: path, RawQuery: query}
		return true
	}
	target := e.Target
	authority := e.Method == http.MethodConnect && !strings.HasPrefix(target, "/")
	if authority {
		target = "http://" + target
	}
	u, err := url.ParseRequestURI(target)
	if err != nil {
		return false
	}
	if authority {
		u.Scheme = ""
	}
	r.url = *u
	if u.Host != "" {
		e.Host = u.Host // as net/http has it: the target's host stands for the header's
	}
	return true
}

// plainTarget reports whether target is a path, with a query or not, that stands for itself: nothing in the path is
// encoded, and nothing in it should be.
func plainTarget(target string) bool {
	if target == "" || target[0] != '/' {
		return false
	}
	for i := range len(target) {
		c := target[i]
		if c == '?' {
			return printable(target[i:])
		}
		if !inPath[c] {
			return false
		}
	}
	return true
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] == 0x7f {
			return false
		}
	}
	return true
}

// inPath are the bytes that net/url writes as they are in a path, and inToken those of a method.
var inPath, inToken [256]bool

func init() {
	for c := range 128 {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
		inPath[c] = letter || strings.IndexByte("-_.~$&+,/:;=@", byte(c)) >= 0
		inToken[c] = letter || c > 0 && strings.IndexByte("!#$%&'*+-.^_`|~", byte(c)) >= 0
	}
}

func isToken(s string) bool {
	for i := range len(s) {
		if !inToken[s[i]] {
			return false
		}
	}
	return s != ""
}
