package upstream

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRoutes(t *testing.T) {
	named := func(name string) string {
		return back(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Upstream", name) })
	}
	router, err := NewRouter([]Target{
		{URL: named("rest")},
		{URL: named("v1"), Path: "/v1"},
		{URL: named("v1 users"), Path: "/v1/users/"},
		{URL: named("api"), Host: "API.example.com"},
		{URL: named("api v1"), Host: "api.example.com", Path: "/v1"},
		{URL: named("tenants"), Host: "*.example.com"},
	}, nobody, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	for _, c := range []struct{ host, path, want string }{
		{"other.test", "/", "rest"},
		{"other.test", "/v1", "v1"},
		{"other.test", "/v1/x", "v1"},
		{"other.test", "/v10", "rest"},
		{"other.test", "/v1/users/7", "v1 users"},
		{"other.test", "//v1/x", "v1"},
		{"other.test", "/public/../v1/x", "v1"},
		{"other.test", "/v1/../x", "rest"},
		{"api.example.com", "/x", "api"},
		{"Api.Example.COM:8080", "/x", "api"},
		{"api.example.com.", "/v1/x", "api v1"},
		{"a.example.com", "/v1/users", "tenants"},
		{"example.com", "/", "rest"},
		{"evilexample.com", "/", "rest"},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", "/", nil)
		r.Host, r.URL.Path = c.host, c.path
		router.ServeHTTP(w, r)
		require.Equal(t, c.want, w.Header().Get("X-Upstream"), "%s%s", c.host, c.path)
	}
}

func TestNoUpstreamForTheRequest(t *testing.T) {
	router, err := NewRouter([]Target{{URL: "http://127.0.0.1:1", Path: "/v1"}}, nobody, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	w := httptest.NewRecorder()
	router.ServeHTTP(w, httptest.NewRequest("GET", "/v2", nil))
	require.Equal(t, http.StatusNotFound, w.Code)
}

func TestTargetErrors(t *testing.T) {
	for _, c := range []struct {
		target Target
		want   string
	}{
		{Target{}, "url: is missing: want http://host:port"},
		{Target{URL: "localhost:3000"}, `url: "localhost:3000": want http://host:port`},
		{Target{URL: "ftp://x"}, `url: "ftp://x": want http://host:port`},
		{Target{URL: "http://u:p@x"}, `url: "http://u:xxxxx@x": a user, a query and a fragment have no place here`},
		{Target{URL: "unix:run.sock"}, `url: "unix:run.sock": want unix:/path/to.sock, from the root`},
		{Target{URL: "http://x", Host: "x:80"}, `host: "x:80": want a name such as api.example.com`},
		{Target{URL: "http://x", Path: "v1"}, `path: "v1": must start with /`},
		{Target{URL: "http://x", Host: "api.example.com."}, `host: "api.example.com.": never matches`},
		{Target{URL: "http://x", Path: "/v1//x"}, `path: "/v1//x": never matches: paths are cleaned before, to /v1/x`},
		{Target{URL: "http://x", Path: "/v1/*"}, `path: "/v1/*": want a path without wildcards`},
		{Target{URL: "http://x", Timeout: -1}, "timeout: -1ns: must not be negative"},
		{Target{URL: "https://x", CA: "/nowhere.pem"}, "ca: open /nowhere.pem: no such file or directory"},
	} {
		errs := c.target.Check()
		require.Len(t, errs, 1, "%+v", c.target)
		require.ErrorContains(t, errs[0], c.want)
		_, err := NewRouter([]Target{c.target}, nobody, slog.New(slog.DiscardHandler))
		require.ErrorContains(t, err, "upstream 1: "+c.want)
	}
}
