package forwardauth

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/httplimit"
	"github.com/casgate/ratelimit/limittest"
	"github.com/casgate/ratelimit/rules"
)

// ask asks a handler with a limit of one request for each address, in order; "" for from is this machine.
func ask(t *testing.T, log *bytes.Buffer) func(path, from string, fields ...string) *httptest.ResponseRecorder {
	t.Helper()
	trusted, err := rules.ParsePrefixes("loopback")
	require.NoError(t, err)
	filter, err := httplimit.New(httplimit.Config{
		Rules: []httplimit.Rule{{
			Name:  "one",
			Limit: ratelimit.PerMinute(1).Burst(1),
			Match: func(r *http.Request) bool {
				return r.URL.Path != "/free" && r.Host != "free.example" && r.Method != "OPTIONS"
			},
		}},
		Proxies:  httplimit.Proxies{Trusted: trusted, Unix: true},
		Limiters: ratelimit.Config{Clock: &limittest.ManualClock{}},
	})
	require.NoError(t, err)
	h, err := New(filter, slog.New(slog.NewTextHandler(log, nil)))
	require.NoError(t, err)
	return func(path, from string, fields ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", path, nil)
		r.RemoteAddr = "127.0.0.1:4711"
		if from != "" {
			r.RemoteAddr = from
		}
		for i := 0; i < len(fields); i += 2 {
			r.Header.Set(fields[i], fields[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
}

func TestDialects(t *testing.T) {
	for _, c := range []struct {
		name, path, method, uri string
		refused                 int
	}{
		{"nginx", "/nginx", "X-Original-Method", "X-Original-URI", http.StatusForbidden},
		{"caddy", "/caddy", "X-Forwarded-Method", "X-Forwarded-Uri", http.StatusTooManyRequests},
		{"traefik", "/traefik", "X-Forwarded-Method", "X-Forwarded-Uri", http.StatusTooManyRequests},
	} {
		t.Run(c.name, func(t *testing.T) {
			ask := ask(t, new(bytes.Buffer))
			one := []string{c.method, "POST", c.uri, "/x?q=1", "X-Forwarded-For", "192.0.2.1"}
			w := ask(c.path, "", one...)
			require.Equal(t, http.StatusOK, w.Code)
			require.Equal(t, `"one";r=0;t=60`, w.Header().Get("RateLimit"))
			require.Empty(t, w.Body.String())

			w = ask(c.path, "", one...)
			require.Equal(t, c.refused, w.Code)
			require.Equal(t, "60", w.Header().Get("Retry-After"))
			if c.refused == http.StatusForbidden {
				require.Equal(t, "429", w.Header().Get(StatusField))
			}
			for _, free := range [][]string{
				{c.method, "POST", c.uri, "/free", "X-Forwarded-For", "192.0.2.1"},
				{c.method, "POST", c.uri, "/free#x", "X-Forwarded-For", "192.0.2.1"}, // as nginx takes it
				{c.method, "OPTIONS", c.uri, "/x", "X-Forwarded-For", "192.0.2.1"},
				{c.method, "POST", c.uri, "/x", "X-Forwarded-For", "192.0.2.2"},
			} {
				require.Equal(t, http.StatusOK, ask(c.path, "", free...).Code, free)
			}
			if c.name != "nginx" {
				w = ask(c.path, "", append(one, "X-Forwarded-Host", "free.example")...)
				require.Equal(t, http.StatusOK, w.Code)
			}
		})
	}
}

func TestWhoMayAsk(t *testing.T) {
	log := new(bytes.Buffer)
	ask := ask(t, log)
	fields := []string{"X-Forwarded-Method", "GET", "X-Forwarded-Uri", "/", "X-Forwarded-For", "192.0.2.1"}
	require.Equal(t, http.StatusForbidden, ask("/caddy", "198.51.100.1:80", fields...).Code)
	require.Contains(t, log.String(), "name it with --trusted-proxy")
	require.Equal(t, http.StatusOK, ask("/caddy", "@", fields...).Code, "over a Unix socket")
	require.Equal(t, http.StatusTooManyRequests, ask("/caddy", "", fields...).Code, "the stranger's question took nothing, the socket's did")
}

func TestWhatCannotBeAnswered(t *testing.T) {
	log := new(bytes.Buffer)
	ask := ask(t, log)
	for _, fields := range [][]string{
		{},
		{"X-Original-URI", "/"},
		{"X-Original-Method", "GET"},
		{"X-Original-Method", "GET", "X-Original-URI", "no path"},
		{"X-Original-Method", "GET", "X-Original-URI", "%zz"},
		{"X-Forwarded-Method", "GET", "X-Forwarded-Uri", "/"}, // another server's
	} {
		require.Equal(t, http.StatusBadRequest, ask("/nginx", "", fields...).Code, fields)
	}
	require.Contains(t, log.String(), "a field is missing")
	require.LessOrEqual(t, strings.Count(log.String(), "\n"), 2, "many such questions don't flood the log")
	require.Equal(t, http.StatusNotFound, ask("/", "").Code)
	require.Equal(t, http.StatusNotFound, ask("/haproxy", "").Code)
}
