package httplimit

import (
	"net/http"
	"slices"
)

// WrapProxy is Wrap for a next that passes on the header of another server, as httputil.ReverseProxy does. That server
// may write rate-limit fields of its own, and a 1xx response on the way makes the proxy forget what has been set so far.
// In the response that the client gets, the filter's X-RateLimit-* and RateLimit-Limit, -Remaining and -Reset stand
// instead of the server's, and its items of RateLimit and RateLimit-Policy, which are lists, before the server's. Where
// the filter writes none, the server's are left alone.
func (f *Filter) WrapProxy(next http.Handler) http.Handler {
	return &handler{filter: f, next: next, proxy: true}
}

// ours returns the rate-limit fields that h holds: nil if there are none.
func ours(h http.Header) http.Header {
	var found http.Header
	for _, name := range fieldNames {
		if lines := h[name]; len(lines) > 0 {
			if found == nil {
				found = make(http.Header, len(fieldNames))
			}
			found[name] = slices.Clip(lines)
		}
	}
	return found
}

// restore puts ours back into h, to which another server's fields have been added.
func restore(h, ours http.Header) {
	for name, lines := range ours {
		theirs := h[name]
		switch {
		case name != fieldPolicy && name != fieldLimits:
			h[name] = lines
		case len(theirs) < len(lines) || !slices.Equal(theirs[:len(lines)], lines):
			h[name] = append(lines, theirs...)
		}
	}
}
