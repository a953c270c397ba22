package admin

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit/cmd/internal/limits"
	"github.com/casgate/ratelimit/cmd/internal/recent"
	"github.com/casgate/ratelimit/cmd/internal/settings"
	"github.com/casgate/ratelimit/limittest"
)

const oneRule = "proxies: {trusted: loopback}\nrules:\n- {name: default, key: ip, limit: 5/minute}\n"

// site is an admin address, and limits behind it.
type site struct {
	admin   *Admin
	limits  *limits.Limits
	clock   *limittest.ManualClock
	handler http.Handler // what the limits stand before
	server  *httptest.Server
	url     string
	ready   bool
}

func newSite(t *testing.T, change ...func(*Config)) *site {
	t.Helper()
	s := &site{clock: &limittest.ManualClock{}, ready: true}
	keeping, entries := recent.NewHandler(slog.DiscardHandler)
	log := slog.New(keeping)
	file, err := settings.Parse([]byte(oneRule))
	require.NoError(t, err)
	s.limits, err = limits.New(limits.Config{Spec: file.Spec, Log: log, Clock: s.clock})
	require.NoError(t, err)
	s.handler = s.limits.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
	c := Config{Limits: s.limits, Ready: func() bool { return s.ready }, Version: "v1.2.3", Errors: entries, Log: log}
	for _, f := range change {
		f(&c)
	}
	s.admin, err = New(c)
	require.NoError(t, err)
	s.take()
	s.server = httptest.NewServer(s.admin)
	t.Cleanup(s.server.Close)
	s.url = s.server.URL
	return s
}

// take takes a step of the history, which Run would take every two seconds.
func (s *site) take() { s.admin.history.take(now(s.limits)) }

// request makes a request of a client, and returns the status.
func (s *site) request(t *testing.T, from string) int {
	t.Helper()
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = from + ":80"
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w.Code
}

func (s *site) requests(t *testing.T, from string, n int) {
	t.Helper()
	for range n {
		s.request(t, from)
	}
}

// ask asks the admin address; fields are names and values.
func (s *site) ask(t *testing.T, method, path, body string, fields ...string) (status int, text string, header http.Header) {
	t.Helper()
	r, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	require.NoError(t, err)
	for i := 0; i < len(fields); i += 2 {
		if fields[i] == "Host" {
			r.Host = fields[i+1]
		}
		r.Header.Set(fields[i], fields[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(got), response.Header
}
