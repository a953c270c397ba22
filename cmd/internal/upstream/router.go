package upstream

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path"
	"slices"
	"strings"
)

// Router is the handler behind the limits: it passes each request on to the Target that it's for.
type Router struct {
	routes []route // the most particular first
}

type route struct {
	host    string // lower case; "" any; ".example.com" all names below
	path    string // "" any; else without a slash at its end
	handler http.Handler
	close   func()
}

// NewRouter returns the router to targets; to the echo, if there are none. believed says whether a request comes from a
// proxy that is believed about its client.
func NewRouter(targets []Target, believed func(*http.Request) bool, log *slog.Logger) (*Router, error) {
	if len(targets) == 0 {
		return &Router{routes: []route{{handler: Echo(), close: func() {}}}}, nil
	}
	r := &Router{}
	for i, t := range targets {
		if errs := t.Check(); errs != nil {
			return nil, fmt.Errorf("upstream %d: %w", i+1, errors.Join(errs...))
		}
		p, err := newProxy(t, believed, log)
		if err != nil {
			return nil, fmt.Errorf("upstream %d: %w", i+1, err)
		}
		r.routes = append(r.routes, route{
			host:    strings.TrimPrefix(strings.ToLower(t.Host), "*"),
			path:    strings.TrimRight(t.Path, "/"),
			handler: p,
			close:   p.transport.CloseIdleConnections,
		})
	}
	slices.SortStableFunc(r.routes, func(a, b route) int {
		if a.rank() != b.rank() {
			return b.rank() - a.rank()
		}
		if len(a.host) != len(b.host) {
			return len(b.host) - len(a.host)
		}
		return len(b.path) - len(a.path)
	})
	return r, nil
}

// rank orders routes by their host: a name before a group of names before any.
func (r *route) rank() int {
	switch {
	case r.host == "":
		return 0
	case r.host[0] == '.':
		return 1
	}
	return 2
}

func (r *route) matches(host, at string) bool {
	switch r.rank() {
	case 1:
		if !strings.HasSuffix(host, r.host) {
			return false
		}
	case 2:
		if host != r.host {
			return false
		}
	}
	rest, ok := strings.CutPrefix(at, r.path)
	return ok && (rest == "" || rest[0] == '/' || r.path == "")
}

// ServeHTTP passes the request on to the most particular route: a host before any host, then the longest path.
func (r *Router) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	host, at := hostname(req.Host), clean(req.URL.Path)
	for i := range r.routes {
		if r.routes[i].matches(host, at) {
			r.routes[i].handler.ServeHTTP(w, req)
			return
		}
	}
	http.Error(w, "404: no upstream serves this host and path", http.StatusNotFound)
}

// closeIdle closes the connections that no request uses. Requests under way go on.
func (r *Router) closeIdle() {
	for i := range r.routes {
		r.routes[i].close()
	}
}

// hostname returns the name in a Host field, without port and final dot, in lower case.
func hostname(host string) string {
	if strings.Contains(host, ":") {
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// clean resolves dots and double slashes for the match alone, because the server that gets the path as it is will
// resolve them too: /public/../private is at /private.
func clean(at string) string {
	if !strings.Contains(at, "//") && !strings.Contains(at, "/.") {
		return at
	}
	return path.Clean("/" + at)
}
