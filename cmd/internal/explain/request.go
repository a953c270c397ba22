package explain

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// Request describes a request in words: what people type to ask about one.
type Request struct {
	Line   string   `json:"request"` // "GET /v1/x", "/v1/x", "POST https://api.example.com/v1/x"
	Fields []string `json:"headers"` // "X-API-Key: k-1"
	From   string   `json:"from"`    // the address that connects; empty: 127.0.0.1
}

// FieldError says which part of a Request is at fault.
type FieldError struct {
	Field string // "request", "header" or "from"
	Err   error
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Err.Error() }
func (e *FieldError) Unwrap() error { return e.Err }

// HTTP returns the request that q describes, as a server would get it. The error is a *FieldError.
func (q Request) HTTP() (*http.Request, error) {
	bad := func(field, format string, args ...any) (*http.Request, error) {
		return nil, &FieldError{field, fmt.Errorf(format, args...)}
	}
	method, target, ok := strings.Cut(strings.TrimSpace(q.Line), " ")
	if !ok {
		method, target = http.MethodGet, method
	}
	target = strings.TrimSpace(target)
	at, err := url.ParseRequestURI(target)
	if err != nil || at.Host == "" && !strings.HasPrefix(target, "/") {
		return bad("request", "%q: want a method and a path, or a URL: GET /v1/x", q.Line)
	}
	r, err := http.NewRequestWithContext(context.Background(), method, "/", nil)
	if err != nil {
		return bad("request", "%q: %q is no method", q.Line, method)
	}
	r.Host = at.Host
	at.Scheme, at.Host, at.User = "", "", nil
	if at.Path == "" {
		at.Path = "/"
	}
	r.URL, r.RequestURI = at, at.RequestURI()
	for _, field := range q.Fields {
		name, value, ok := strings.Cut(field, ":")
		if name = strings.TrimSpace(name); !ok || name == "" || strings.ContainsAny(name, " \t\r\n") {
			return bad("header", "%q: want NAME: VALUE", field)
		}
		if value = strings.TrimSpace(value); strings.EqualFold(name, "Host") {
			r.Host = value
		} else {
			r.Header.Add(name, value)
		}
	}
	from := q.From
	if from == "" {
		from = "127.0.0.1"
	}
	if _, err := netip.ParseAddr(from); err == nil {
		r.RemoteAddr = netip.AddrPortFrom(netip.MustParseAddr(from), 0).String()
	} else if _, err := netip.ParseAddrPort(from); err == nil {
		r.RemoteAddr = from
	} else if from == "unix" {
		r.RemoteAddr = "@"
	} else {
		return bad("from", "%q: want an address, or unix", from)
	}
	return r, nil
}
