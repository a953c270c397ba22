package upstream

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Echo is the upstream for trying the limits out: it answers each request with its own first line and fields.
func Echo() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var b strings.Builder
		fmt.Fprintf(&b, "%s %s %s\nHost: %s\n", r.Method, r.URL.RequestURI(), r.Proto, r.Host)
		names := make([]string, 0, len(r.Header))
		for name := range r.Header {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			for _, value := range r.Header[name] {
				fmt.Fprintf(&b, "%s: %s\n", name, value)
			}
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = w.Write([]byte(b.String()))
	})
}
