package httplimit_test

import (
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
	}).Wrap(&counting{}))
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
		{0, httplimit.Never, map[string][]string{
			"RateLimit-Policy": {`"inner";q=100;w=3600`}, "X-RateLimit-Limit": {"100"}, "RateLimit-Limit": {"100"}}},
	} {
		f := mustNew(t, httplimit.Config{
			Rules: []httplimit.Rule{{Name: "outer", Limit: ratelimit.PerHour(5).Burst(5)}}, Headers: c.styles, When: c.when,
		})
		proxy := &httputil.ReverseProxy{
			Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
			ModifyResponse: f.ModifyResponse,
		}
		front := httptest.NewServer(f.Wrap(proxy))
		resp, err := http.Get(front.URL)
		require.NoError(t, err)
		resp.Body.Close()
		for name, want := range c.want {
			assert.Equal(t, want, resp.Header.Values(name), "%v: %s", c.styles, name)
		}
		front.Close()
	}
}
