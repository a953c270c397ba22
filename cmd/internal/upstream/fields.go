package upstream

import "net/http"

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
// one value each, and the client would get two that differ: ours, which it met first, stays. Of the X- fields, none of
// the upstream's stays beside one of ours: they are read together.
func (f fields) precede(upstream http.Header) {
	for _, own := range f {
		if merges(own.name) {
			continue
		}
		delete(upstream, own.name)
		if own.name == xFields[0] {
			for _, name := range xFields[1:] {
				delete(upstream, name)
			}
		}
	}
}

var xFields = [...]string{"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset", "X-Ratelimit-Used", "X-Ratelimit-Policy"}

// merges reports whether name is a list, of which a response may have several.
func merges(name string) bool {
	return name == "Ratelimit" || name == "Ratelimit-Policy" || name == "Vary"
}
