package httplimit_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/httplimit"
)

// A proxy before an upstream that limits too: of the lists both have a line, ours first; of the rest, ours alone.
func TestUpstreamThatLimitsToo(t *testing.T) {
	upstream := httptest.NewServer(mustNew(t, httplimit.Config{
		Rules:   []httplimit.Rule{{Name: "inner", Limit: ratelimit.PerHour(100).Burst(100)}},
		Headers: httplimit.Draft8 | httplimit.Draft6 | httplimit.XDelta,
	}).Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hints" {
			w.WriteHeader(http.StatusEarlyHints) // at which a ReverseProxy clears the header
		}
		io.WriteString(w, "hello")
	})))
	defer upstream.Close()
	target, err := url.Parse(upstream.URL)
	require.NoError(t, err)

	for _, c := range []struct {
		styles httplimit.HeaderStyle
		when   httplimit.When
		want   map[string][]string
	}{
		{httplimit.Draft8 | httplimit.XDelta, httplimit.Always, map[string][]string{
			"RateLimit-Policy": {`"outer";q=5;w=3600`, `"inner";q=100;w=3600`}, "X-RateLimit-Limit": {"5"}, "RateLimit-Limit": {"100"}}},
		{httplimit.Draft6, httplimit.Always, map[string][]string{
			"RateLimit-Policy": {`"inner";q=100;w=3600`}, "X-RateLimit-Limit": {"100"}, "RateLimit-Limit": {"5"}}},
		{httplimit.Draft8 | httplimit.XDelta, httplimit.OnRefusal, map[string][]string{
			"RateLimit-Policy": {`"inner";q=100;w=3600`}, "X-RateLimit-Limit": {"100"}, "RateLimit-Limit": {"100"}}},
		{0, httplimit.Never, map[string][]string{
			"RateLimit-Policy": {`"inner";q=100;w=3600`}, "X-RateLimit-Limit": {"100"}, "RateLimit-Limit": {"100"}}},
	} {
		f := mustNew(t, httplimit.Config{
			Rules: []httplimit.Rule{{Name: "outer", Limit: ratelimit.PerHour(5).Burst(5)}}, Headers: c.styles, When: c.when,
		})
		proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
		front := httptest.NewServer(f.WrapProxy(proxy))
		for _, path := range []string{"/", "/hints"} {
			resp, err := http.Get(front.URL + path)
			require.NoError(t, err)
			assert.Equal(t, "hello", body(t, resp))
			for name, want := range c.want {
				assert.Equal(t, want, resp.Header.Values(name), "%v, %v, %s: %s", c.styles, c.when, path, name)
			}
		}
		front.Close()
	}
}

// A handler that writes nothing, and one whose header was cleared, still tell.
func TestProxyThatWritesNothing(t *testing.T) {
	f := mustNew(t, still(httplimit.Rule{Name: "outer", Limit: ratelimit.PerHour(5).Burst(5)}))
	for _, write := range []func(w http.ResponseWriter){
		func(w http.ResponseWriter) {},
		func(w http.ResponseWriter) { w.(http.Flusher).Flush() },
		func(w http.ResponseWriter) { w.WriteHeader(404) },
	} {
		w := httptest.NewRecorder()
		f.WrapProxy(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			clear(w.Header())
			write(w)
		})).ServeHTTP(w, from("192.0.2.1:1"))
		assert.Equal(t, `"outer";q=5;w=3600`, w.Result().Header.Get("RateLimit-Policy"))
	}
}
