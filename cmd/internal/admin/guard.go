package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// guard lets through to next only those who show the token: as "Authorization: Bearer TOKEN", or as the password of a
// browser's log-in. Without a token, what guards is that only this machine can connect; but a web page that is open on
// it can connect, too. So requests that another site makes are refused, and those for a host by name, which could be
// any site's name that resolves to this machine.
func guard(next http.Handler, token string) http.Handler {
	want := sha256.Sum256([]byte(token))
	sameSite := http.NewCrossOriginProtection().Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "+
			"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		switch {
		case token == "" && !namesLoopback(r.Host):
			plain(w, http.StatusForbidden, "403: ask for 127.0.0.1 or localhost: without a token, other names aren't answered")
		case token != "" && !shows(r, want):
			h.Set("WWW-Authenticate", `Basic realm="ratelimit: the token is the password", charset="UTF-8"`)
			plain(w, http.StatusUnauthorized, "401: show the token, as Authorization: Bearer TOKEN or as a password")
		default:
			sameSite.ServeHTTP(w, r)
		}
	})
}

// shows reports whether r carries the token with this hash. Hashes are compared, because they have equal lengths, so
// that the time that it takes tells nothing.
func shows(r *http.Request, want [sha256.Size]byte) bool {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		_, token, ok = r.BasicAuth()
	}
	got := sha256.Sum256([]byte(token))
	return ok && subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// namesLoopback reports whether a Host field names this machine: by a loopback address, as localhost, or not at all.
func namesLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	addr, err := netip.ParseAddr(host)
	return host == "" || strings.EqualFold(host, "localhost") || err == nil && addr.IsLoopback()
}
