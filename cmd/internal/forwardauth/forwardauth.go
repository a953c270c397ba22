// Package forwardauth answers another HTTP server that asks, before it passes a request on, whether the request is
// within the limits: nginx by auth_request, Caddy by forward_auth, Traefik by ForwardAuth.
//
// Each has an endpoint of its own, because each describes the request in fields of its own, and overwrites only those: a
// client could write the fields of the others, and so describe another request than it makes.
package forwardauth

import (
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/httplimit"
)

// dialect is how a server describes the request that it has, and what answers it understands.
type dialect struct {
	method, uri, host string // the fields; host may be "", then it is the Host
	// refusal is the status that says no; 0: the limits' own.
	refusal int
}

var dialects = map[string]dialect{
	// auth_request takes 401 and 403 for a refusal, and anything else for a fault of ours.
	"nginx":   {method: "X-Original-Method", uri: "X-Original-Uri", refusal: http.StatusForbidden},
	"caddy":   {method: "X-Forwarded-Method", uri: "X-Forwarded-Uri", host: "X-Forwarded-Host"},
	"traefik": {method: "X-Forwarded-Method", uri: "X-Forwarded-Uri", host: "X-Forwarded-Host"},
}

// StatusField tells, beside a status that the server asked for, the one that the client is to get.
const StatusField = "X-RateLimit-Status"

var _ Limits = (*httplimit.Filter)(nil)

// Handler answers at /nginx, /caddy and /traefik.
type Handler struct {
	limits Limits
	log    *slog.Logger
	logged ratelimit.Local // one line a second
}

// Limits decide; a httplimit.Filter does.
type Limits interface {
	FromProxy(*http.Request) bool
	Decide(*http.Request) httplimit.Verdict
	Refuse(http.ResponseWriter, *http.Request, httplimit.Verdict)
}

// New returns a handler that asks limits.
func New(limits Limits, log *slog.Logger) (*Handler, error) {
	logged, err := ratelimit.New(ratelimit.PerSecond(1).Burst(1), ratelimit.Config{})
	if err != nil {
		return nil, err
	}
	return &Handler{limits, log, logged}, nil
}

// ServeHTTP answers 200, or what the limits say, or what the dialect has for it.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	d, ok := dialects[r.URL.Path[min(1, len(r.URL.Path)):]]
	if !ok {
		http.Error(w, "404: ask at /nginx, /caddy or /traefik", http.StatusNotFound)
		return
	}
	if !h.limits.FromProxy(r) { // anybody else could use up other clients' limits
		h.complain("a peer that is no trusted proxy asks", "peer", r.RemoteAddr, "hint", "name it with --trusted-proxy or in proxies.trusted")
		http.Error(w, "403: this address is no trusted proxy", http.StatusForbidden)
		return
	}
	described, missing := d.read(r)
	if missing != "" {
		h.complain("a field is missing", "field", missing, "peer", r.RemoteAddr, "hint", "see the recipe for this server")
		http.Error(w, "400: the field "+missing+" is missing or not understood", http.StatusBadRequest)
		return
	}
	verdict := h.limits.Decide(described)
	switch {
	case verdict.Allowed:
		verdict.SetHeaders(w.Header())
		w.WriteHeader(http.StatusOK)
	case d.refusal != 0:
		verdict.SetHeaders(w.Header())
		w.Header().Set(StatusField, strconv.Itoa(verdict.Status()))
		w.WriteHeader(d.refusal)
	default:
		h.limits.Refuse(w, described, verdict)
	}
}

func (h *Handler) complain(what string, args ...any) {
	if h.logged.TryAcquire("") {
		h.log.Warn(what, args...)
	}
}

// read returns the request that r describes, or the field that it lacks.
func (d *dialect) read(r *http.Request) (described *http.Request, missing string) {
	method, uri := r.Header.Get(d.method), r.Header.Get(d.uri)
	if method == "" {
		return nil, d.method
	}
	// nginx passes on a fragment that a client has sent, and chooses the location without it, as applications do.
	uri, _, _ = strings.Cut(uri, "#")
	at, err := url.ParseRequestURI(uri)
	if err != nil {
		return nil, d.uri
	}
	described = r.Clone(r.Context())
	described.Method, described.URL, described.RequestURI = method, at, uri
	described.Header.Del(d.method)
	described.Header.Del(d.uri)
	if d.host != "" {
		described.Host = r.Header.Get(d.host)
	}
	return described, ""
}
