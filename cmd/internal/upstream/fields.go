package upstream

import (
	"net/http"
	"strings"
)

// fields are the header fields that stood in a response before the upstream answered: those of the limits.
type fields []field

type field struct {
	name   string
	values []string
}

func collect(h http.Header) fields {
	f := make(fields, 0, len(h))
	for name, values := range h {
		f = append(f, field{name, values})
	}
	return f
}

// restore sets the fields again, because ReverseProxy empties the header after each 1xx response (103 Early Hints).
func (f fields) restore(h http.Header) {
	for _, own := range f {
		h[own.name] = own.values
	}
}

// precede makes the upstream's fields fit behind ours. The lists RateLimit and RateLimit-Policy merge. The others hold
// one value each, and the client would get two that differ: ours, which it met first, stays.
func (f fields) precede(upstream http.Header) {
	for _, own := range f {
		if !merges(own.name) {
			delete(upstream, own.name)
		}
	}
	if f.limits() {
		for name := range upstream {
			if strings.HasPrefix(name, "X-Ratelimit-") {
				delete(upstream, name) // one of another set would contradict ours, too
			}
		}
	}
}

// limits reports whether ours tell of a limit in the X- form.
func (f fields) limits() bool {
	for _, own := range f {
		if strings.HasPrefix(own.name, "X-Ratelimit-") {
			return true
		}
	}
	return false
}

// merges reports whether name is a list, of which a response may have several.
func merges(name string) bool {
	return name == "Ratelimit" || name == "Ratelimit-Policy" || name == "Vary"
}
