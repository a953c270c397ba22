package httplimit_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/httplimit"
)

func TestBodyOfARefusal(t *testing.T) {
	h := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{{Name: "api", Limit: ratelimit.PerHour(1).Burst(1)}}}).Wrap(&counting{})
	require.Equal(t, 200, get(h, "192.0.2.1:1000").StatusCode)
	for _, accept := range []string{"", "*/*", "application/json", "Application/Problem+JSON", "text/html, application/*;q=0.1", "text/html;q=0.9,*/*;q=0.8"} {
		lines := []string{"Accept: " + accept}
		if accept == "" {
			lines = nil
		}
		refused := get(h, "192.0.2.1:1000", lines...)
		assert.Equal(t, "application/problem+json", refused.Header.Get("Content-Type"), accept)
		var problem map[string]any
		require.NoError(t, json.Unmarshal([]byte(body(t, refused)), &problem), accept)
		assert.Equal(t, map[string]any{
			"type":              "https://iana.org/assignments/http-problem-types#quota-exceeded",
			"title":             "Too Many Requests",
			"status":            429.0,
			"violated-policies": []any{"api"},
		}, problem)
	}
	for _, accept := range []string{"text/html", "text/plain, application/json;q=0", "image/*", "*/*;q=0.000", "application/xml", "junk", "application/problem+json; Q=0 "} {
		refused := get(h, "192.0.2.1:1000", "Accept: "+accept)
		assert.Equal(t, "text/plain; charset=utf-8", refused.Header.Get("Content-Type"), accept)
		assert.Equal(t, "Too Many Requests\n", body(t, refused), accept)
	}
}

func TestBodyOfABadKey(t *testing.T) {
	h := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{{
		Limit: ratelimit.PerHour(1).Burst(1), Key: httplimit.Header("X-API-Key"),
	}}}).Wrap(&counting{})
	refused := get(h, "192.0.2.1:1000")
	assert.Equal(t, 400, refused.StatusCode)
	assert.JSONEq(t, `{"title": "Bad Request", "status": 400}`, body(t, refused))
	assert.Empty(t, refused.Header.Get("Retry-After"), "no waiting helps")
}

func TestReasons(t *testing.T) {
	for reason, want := range map[httplimit.Reason]string{
		httplimit.Passed: "passed", httplimit.Limited: "limited", httplimit.Blocked: "blocked", httplimit.KeyMissing: "key missing",
		httplimit.KeyTooLong: "key too long", httplimit.Unavailable: "unavailable", 99: "unknown",
	} {
		assert.Equal(t, want, reason.String())
	}
	assert.Equal(t, 500, httplimit.Reason(99).Status())
}
