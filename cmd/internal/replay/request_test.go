package replay

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit/cmd/internal/accesslog"
)

// A request line makes the same request here and in net/http, or none in both.
func FuzzRequestLine(f *testing.F) {
	for _, target := range []string{"/", "/a?b=c", "/a%2Fb", "/%zz", "*", "//x/y", "http://h/p?q", "h:443", "/a b", "/ä", "/a?", "/a??b", "/(x)'!*", "/?\x7f", "/#f"} {
		f.Add("GET", target)
	}
	f.Add("CONNECT", "h:443")
	f.Add("CONNECT", "/h")
	f.Add("G(T", "/")
	f.Fuzz(func(t *testing.T, method, target string) {
		if method == "PRI" || strings.ContainsAny(method+target, "\r\n \t") || method == "" || target == "" {
			return // no request line of HTTP/1.1 that a log could hold
		}
		real, err := http.ReadRequest(bufio.NewReader(strings.NewReader(method + " " + target + " HTTP/1.1\r\nHost: h.example\r\n\r\n")))
		r := NewRequest("")
		ok := r.Set(&accesslog.Entry{Client: "192.0.2.1", Method: method, Target: target, Host: "h.example"})
		if ok != (err == nil) {
			t.Fatalf("%q %q: here %v, net/http: %v", method, target, ok, err)
		}
		if !ok {
			return
		}
		if got := &r.HTTP; got.Method != real.Method || got.URL.Path != real.URL.Path || got.URL.RawPath != real.URL.RawPath ||
			got.URL.RawQuery != real.URL.RawQuery || got.Host != real.Host {
			t.Fatalf("%q %q: here %q %+v, net/http %q %+v", method, target, got.Host, got.URL, real.Host, real.URL)
		}
	})
}

// An entry's texts are valid until the next one. A name that has changed its bytes since must not keep a field in the
// header.
func TestNoFieldOfTheEntryBefore(t *testing.T) {
	buffer := []byte("X-Api-Key")
	name := unsafe.String(&buffer[0], len(buffer))
	r := NewRequest("")
	require.True(t, r.Set(&accesslog.Entry{Method: "GET", Target: "/", Forwarded: "192.0.2.1", Fields: []accesslog.Field{{Name: name, Value: "k-1"}}}))
	require.Equal(t, "k-1", r.HTTP.Header.Get("X-API-Key"))
	copy(buffer, "X-Another")
	require.True(t, r.Set(&accesslog.Entry{Method: "GET", Target: "/", Forwarded: "192.0.2.1"}))
	require.Len(t, r.HTTP.Header, 3)
	require.Equal(t, "192.0.2.1", r.HTTP.Header.Get("X-Forwarded-For"))
	copy(buffer, "X-Api-Key")
	require.Empty(t, r.HTTP.Header.Get("X-API-Key"))
}
