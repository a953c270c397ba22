package httplimit

import (
	"net/http"
	"slices"
)

// WrapProxy is Wrap for a next that passes on the header of another server, as httputil.ReverseProxy does. That server
// may write rate-limit fields of its own, and a 1xx response on the way makes the proxy forget what has been set so far.
// In the response that the client gets, the filter's X-RateLimit-* and RateLimit-Limit, -Remaining and -Reset stand
// instead of the server's, and its items of RateLimit and RateLimit-Policy, which are lists, before the server's. So it is
// in the response that switches protocols, to WebSocket say. Where the filter writes none, the server's are left alone.
//
// What goes through a connection after a switch is no request to the filter. A proxy should pass on upgrades to WebSocket
// alone: within h2c there are more requests, and a ReverseProxy by itself offers it to the server if a client says so.
func (f *Filter) WrapProxy(next http.Handler) http.Handler {
	return &handler{filter: f, next: next, proxy: true}
}

// kept is the rate-limit fields that a header held, by their index in fieldNames.
type kept [len(fieldNames)][]string

// keep takes the fields from h and reports whether there were any.
func (k *kept) keep(h http.Header) (any bool) {
	for i, name := range fieldNames {
		if lines := h[name]; len(lines) > 0 {
			k[i], any = lines, true
		}
	}
	return any
}

// restore puts the fields back into h, to which another server's have been added.
func (k *kept) restore(h http.Header) {
	for i, lines := range k {
		if lines == nil {
			continue
		}
		name := fieldNames[i]
		theirs := h[name]
		if len(theirs) == len(lines) && &theirs[0] == &lines[0] {
			continue // unchanged: a header of eight fields would grow even if one were set anew, and ours are often among eight
		}
		switch {
		case i >= listNames:
			h[name] = lines
		case len(theirs) < len(lines) || !slices.Equal(theirs[:len(lines)], lines):
			h[name] = append(slices.Clip(lines), theirs...)
		}
	}
}
