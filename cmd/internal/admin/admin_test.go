package admin

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHealthAndReadiness(t *testing.T) {
	s := newSite(t, func(c *Config) { c.Token = "0123456789abcdef" })
	for _, path := range []string{"/healthz", "/readyz"} {
		status, _, _ := s.ask(t, "GET", path, "")
		require.Equal(t, http.StatusOK, status, "%s wants no token: who asks has none", path)
	}
	s.ready = false
	status, text, _ := s.ask(t, "GET", "/readyz", "")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, text, "not ready")
	status, _, _ = s.ask(t, "GET", "/healthz", "")
	require.Equal(t, http.StatusOK, status)
}

func TestToken(t *testing.T) {
	s := newSite(t, func(c *Config) { c.Token = "0123456789abcdef" })
	for _, path := range []string{"/", "/status.json", "/metrics", "/script.js"} {
		for _, c := range []struct {
			want   int
			fields []string
		}{
			{401, nil},
			{401, []string{"Authorization", "Bearer wrong"}},
			{401, []string{"Authorization", "Bearer "}},
			{200, []string{"Authorization", "Bearer 0123456789abcdef"}},
			{200, []string{"Authorization", "Basic dXNlcjowMTIzNDU2Nzg5YWJjZGVm"}}, // user:0123456789abcdef
			{200, []string{"Authorization", "Bearer 0123456789abcdef", "Host", "limits.example.com"}},
		} {
			status, _, header := s.ask(t, "GET", path, "", c.fields...)
			require.Equal(t, c.want, status, "%s %v", path, c.fields)
			require.Equal(t, c.want == 401, header.Get("WWW-Authenticate") != "", "a browser then asks for it")
		}
	}
}

// Without a token, a web page that is open on this machine mustn't get in: not by a name of its own for 127.0.0.1, and
// not by a request across sites.
func TestOtherSitesPagesAreKeptOut(t *testing.T) {
	s := newSite(t)
	for host, want := range map[string]int{"localhost:9090": 200, "127.0.0.1": 200, "[::1]:9090": 200, "evil.example": 403, "192.0.2.1": 403} {
		status, _, _ := s.ask(t, "GET", "/status.json", "", "Host", host)
		require.Equal(t, want, status, host)
	}
	reset := `{"request": "/", "from": "192.0.2.1", "rule": "default"}`
	status, _, _ := s.ask(t, "POST", "/keys/reset", reset, "Sec-Fetch-Site", "cross-site")
	require.Equal(t, http.StatusForbidden, status)
	status, _, _ = s.ask(t, "POST", "/keys/reset", reset, "Origin", "https://evil.example")
	require.Equal(t, http.StatusForbidden, status)
	status, _, _ = s.ask(t, "POST", "/keys/reset", reset)
	require.Equal(t, http.StatusOK, status)
}

func TestStatus(t *testing.T) {
	s := newSite(t)
	s.requests(t, "192.0.2.1", 7)
	s.requests(t, "192.0.2.2", 1)
	s.take()
	s.requests(t, "192.0.2.1", 1)
	s.take()
	for _, rule := range []string{"", "default", "unknown"} {
		_, text, _ := s.ask(t, "GET", "/status.json?rule="+rule, "")
		var got status
		require.NoError(t, json.Unmarshal([]byte(text), &got))
		require.Equal(t, "v1.2.3", got.Version)
		require.Equal(t, uint64(6), got.Passed)
		require.Equal(t, uint64(3), got.Refused)
		require.Equal(t, []uint32{0, 6, 0}, got.PassedSeries)
		require.Equal(t, []uint32{0, 2, 1}, got.RefusedSeries)
		require.InDelta(t, 0.3, got.RefusedRate, 1e-9)
		require.Len(t, got.Rules, 1)
		require.Equal(t, [2]uint32{6, 3}, got.Rules[0].Recent)
		require.Equal(t, 2, got.Rules[0].Keys)
		require.Equal(t, []topStatus{{"default", "ip=192.0.2.1", 3}}, got.Top)
		require.Equal(t, uint64(1), got.Reloads.Version)
	}
}

func TestLookAndReset(t *testing.T) {
	s := newSite(t)
	s.requests(t, "192.0.2.1", 6)
	type answer struct {
		Rules []struct {
			Name string
			Key  string
			Peek struct {
				Allowed    bool
				Remaining  int64
				RetryAfter float64 `json:"retry_after_seconds"`
			}
		}
	}
	ask := func(path, body string) (got answer) {
		status, text, _ := s.ask(t, "POST", path, body)
		require.Equal(t, http.StatusOK, status, text)
		require.NoError(t, json.Unmarshal([]byte(text), &got))
		return got
	}
	for range 2 { // looking takes nothing
		got := ask("/keys", `{"request": "/", "from": "192.0.2.1"}`)
		require.Equal(t, "ip=192.0.2.1", got.Rules[0].Key)
		require.False(t, got.Rules[0].Peek.Allowed)
		require.Equal(t, 12.0, got.Rules[0].Peek.RetryAfter)
	}
	got := ask("/keys", `{"request": "/", "from": "127.0.0.1", "headers": ["X-Forwarded-For: 192.0.2.9"]}`)
	require.Equal(t, "ip=192.0.2.9", got.Rules[0].Key)
	require.Equal(t, int64(5), got.Rules[0].Peek.Remaining)

	got = ask("/keys/reset", `{"request": "/", "from": "192.0.2.1", "rule": "default"}`)
	require.Equal(t, int64(5), got.Rules[0].Peek.Remaining)
	require.Equal(t, http.StatusOK, s.request(t, "192.0.2.1"))

	for body, want := range map[string]int{
		`{"request": "/", "from": "192.0.2.1", "rule": "none"}`: 404,
		`{"request": "x", "from": "192.0.2.1"}`:                 400,
		`{"request": "/", "from": "x"}`:                         400,
		`{"unknown": 1}`:                                        400,
		`{`:                                                     400,
	} {
		status, _, _ := s.ask(t, "POST", "/keys/reset", body)
		require.Equal(t, want, status, body)
	}
}

func TestMetrics(t *testing.T) {
	s := newSite(t)
	s.requests(t, "192.0.2.1", 7)
	_, text, _ := s.ask(t, "GET", "/metrics", "")
	for _, want := range []string{
		`ratelimit_requests_total{result="allowed",rule="default"} 5`,
		`ratelimit_requests_total{result="limited",rule="default"} 2`,
		`ratelimit_keys{rule="default"} 1`,
		`ratelimit_config_reloads_total{result="ok"} 1`,
		"go_goroutines",
	} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "192.0.2.1", "no label holds a key")
}

func TestHistoryWraps(t *testing.T) {
	h := newHistory()
	for i := range uint64(steps + 3) {
		h.take(counts{i, 2 * i}, []ruleCounts{{"a", counts{i, 0}}})
	}
	passed, refused := h.of("")
	require.Len(t, passed, steps)
	for i := range passed {
		require.Equal(t, uint32(1), passed[i])
		require.Equal(t, uint32(2), refused[i])
	}
	require.Equal(t, [2]uint32{30, 60}, h.lately("", 30*step))
	h.take(counts{0, 0}, nil)
	passed, _ = h.of("")
	require.Zero(t, passed[steps-1], "a counter that starts anew has gained nothing")
	passed, _ = h.of("a")
	require.Nil(t, passed, "the rule has gone")
}
