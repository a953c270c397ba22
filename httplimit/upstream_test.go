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

// The response that switches protocols is no exception, although the proxy writes it to the connection by itself.
func TestUpstreamThatSwitchesProtocolsAndLimits(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, buf, err := w.(http.Hijacker).Hijack()
		if assert.NoError(t, err) {
			defer conn.Close()
			buf.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n" +
				"X-RateLimit-Limit: 100\r\nRateLimit-Limit: 100\r\nRateLimit-Policy: \"inner\";q=100;w=3600\r\n\r\n")
			buf.Flush()
		}
	}))
	defer upstream.Close()
	target, err := url.Parse(upstream.URL)
	require.NoError(t, err)
	told := make(chan int, 1)
	f := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{{Name: "outer", Limit: ratelimit.PerHour(5).Burst(5),
		Refund: func(status int) bool { told <- status; return false }}}})
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	front := httptest.NewServer(f.WrapProxy(proxy))
	defer front.Close()
	r, err := http.NewRequest("GET", front.URL, nil)
	require.NoError(t, err)
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "x")
	resp, err := front.Client().Do(r)
	require.NoError(t, err)
	resp.Body.Close()
	assert.Equal(t, 101, resp.StatusCode)
	for name, want := range map[string][]string{"X-RateLimit-Limit": {"5"}, "X-RateLimit-Remaining": {"4"}, "RateLimit-Limit": {"100"},
		"RateLimit-Policy": {`"outer";q=5;w=3600`, `"inner";q=100;w=3600`}} {
		assert.Equal(t, want, resp.Header.Values(name), name)
	}
	assert.Equal(t, 101, <-told)
}
