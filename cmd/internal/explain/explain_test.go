package explain

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
)

func TestRequestsInWords(t *testing.T) {
	for _, c := range []struct {
		q                         Request
		method, host, uri, remote string
	}{
		{Request{Line: "/v1/x"}, "GET", "", "/v1/x", "127.0.0.1:0"},
		{Request{Line: "POST /v1/x?q=1", From: "192.0.2.1"}, "POST", "", "/v1/x?q=1", "192.0.2.1:0"},
		{Request{Line: " DELETE   https://api.example.com/a%2Fb ", From: "2001:db8::1"}, "DELETE", "api.example.com", "/a%2Fb", "[2001:db8::1]:0"},
		{Request{Line: "http://h:8080", From: "192.0.2.1:4711"}, "GET", "h:8080", "/", "192.0.2.1:4711"},
		{Request{Line: "/", From: "unix", Fields: []string{"host: b.example", "X-A:  1 ", "x-a: 2"}}, "GET", "b.example", "/", "@"},
	} {
		r, err := c.q.HTTP()
		require.NoError(t, err, "%+v", c.q)
		require.Equal(t, []string{c.method, c.host, c.uri, c.remote}, []string{r.Method, r.Host, r.URL.RequestURI(), r.RemoteAddr})
		if len(c.q.Fields) > 0 {
			require.Equal(t, http.Header{"X-A": {"1", "2"}}, r.Header)
		}
	}
	for _, c := range []struct {
		q     Request
		field string
	}{
		{Request{}, "request"}, {Request{Line: "x"}, "request"}, {Request{Line: "GET"}, "request"}, {Request{Line: "G(T /"}, "request"},
		{Request{Line: "/", Fields: []string{"no colon"}}, "header"}, {Request{Line: "/", Fields: []string{"a b: c"}}, "header"},
		{Request{Line: "/", From: "somewhere"}, "from"},
	} {
		_, err := c.q.HTTP()
		var field *FieldError
		require.ErrorAs(t, err, &field, "%+v", c.q)
		require.Equal(t, c.field, field.Field)
	}
}

func TestLimitsInWords(t *testing.T) {
	require.Equal(t, "100/minute, 20 at once", LimitText(ratelimit.PerMinute(100).Burst(20)))
	window := ratelimit.Rule{Algorithm: ratelimit.SlidingWindowLog, Capacity: 5, Refill: ratelimit.Rate{Tokens: 1, Per: 2 * time.Second}}
	require.Equal(t, "5/10s, sliding_window_log", LimitText(window))
}
