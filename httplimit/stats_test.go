package httplimit_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/httplimit"
	"github.com/casgate/ratelimit/limittest"
)

func TestStats(t *testing.T) {
	for _, when := range []httplimit.When{httplimit.Always, httplimit.Never} { // the second takes the quick way
		c := still(httplimit.Rule{Name: "api", Limit: ratelimit.PerHour(2).Burst(2), Key: httplimit.Header("X-API-Key")})
		c.When = when
		f := mustNew(t, c)
		h := f.Wrap(&counting{})
		for range 5 {
			get(h, "192.0.2.1:1", "X-API-Key: k-1")
		}
		get(h, "192.0.2.1:1", "X-API-Key: k-2")
		get(h, "192.0.2.1:1")
		get(h, "192.0.2.1:1", "X-API-Key: "+strings.Repeat("x", 70<<10))
		s := f.Stats()
		require.Len(t, s.Rules, 1)
		assert.Equal(t, 2, s.Rules[0].Keys.Keys)
		s.Rules[0].Keys = ratelimit.Stats{}
		assert.Equal(t, httplimit.Stats{Rules: []httplimit.RuleStats{{Rule: "api", Allowed: 3, Refused: 3, Unkeyed: 2}}}, s)
	}
}

// Counts stay while the rule's name does.
func TestStatsOverReloads(t *testing.T) {
	spec := func(rules string) string { return `{"rules": [` + rules + `]}` }
	a := func(n int) string { return fmt.Sprintf(`{"name": "a", "key": "ip", "limit": "%d/hour"}`, n) }
	const b = `{"name": "b", "key": "host", "limit": "100/hour"}`
	store := storeOf(t, spec(a(1)))
	f := mustNew(t, httplimit.Config{Store: store})
	h := f.Wrap(&counting{})
	count := func() (got []string) {
		for _, r := range f.Stats().Rules {
			got = append(got, fmt.Sprint(r.Rule, " ", r.Allowed, " ", r.Refused))
		}
		return got
	}
	for range 3 {
		send(h, "GET /")
	}
	assert.Equal(t, []string{"a 1 2"}, count())
	require.NoError(t, store.Update(specOf(t, spec(a(2)+","+b))))
	send(h, "GET /")
	assert.Equal(t, []string{"a 1 3", "b 0 0"}, count(), "what a refuses, b doesn't count")
	require.NoError(t, store.Update(specOf(t, spec(b))))
	send(h, "GET /")
	assert.Equal(t, []string{"b 1 0"}, count())
}

func TestTop(t *testing.T) {
	c := still(
		httplimit.Rule{Name: "address", Limit: ratelimit.PerHour(1).Burst(1), Match: func(r *http.Request) bool { return r.Header.Get("X-API-Key") == "" }},
		httplimit.Rule{Name: "key", Limit: ratelimit.PerHour(1).Burst(1), Key: httplimit.First(httplimit.Header("X-API-Key"), httplimit.Cookie("sid")), Missing: httplimit.MissingSkip},
	)
	f := mustNew(t, c)
	h := f.Wrap(&counting{})
	times := func(n int, addr string, lines ...string) {
		for range n {
			get(h, addr, lines...)
		}
	}
	times(10, "192.0.2.1:1")
	times(5, "[2001:db8:1:2::5]:1")
	times(8, "192.0.2.1:1", "X-API-Key: secret-1")
	times(1, "192.0.2.1:1", "X-API-Key: secret-2") // not refused
	top := f.Top(10)
	require.Len(t, top, 3)
	assert.Equal(t, httplimit.TopKey{Rule: "address", Key: "ip=192.0.2.1", Refused: 9}, top[0])
	assert.Equal(t, httplimit.TopKey{Rule: "address", Key: "ip=2001:db8:1:2::/64", Refused: 4}, top[2])
	assert.Equal(t, "key", top[1].Rule)
	assert.EqualValues(t, 7, top[1].Refused)
	assert.Regexp(t, `^header=#[0-9a-f]{32}$`, top[1].Key, "no credential in clear")
	assert.Equal(t, top[1].Key, f.Explain(withKey("secret-1"))[0].Key, "the same word for the same client")
	assert.NotEqual(t, top[1].Key, f.Explain(withKey("secret-2"))[0].Key)
	assert.Len(t, f.Top(2), 2)
	assert.Empty(t, f.Top(-1))

	c.TopKeys = -1
	f = mustNew(t, c)
	h = f.Wrap(&counting{})
	times(3, "192.0.2.1:1")
	assert.Empty(t, f.Top(10))
}

func withKey(key string) *http.Request {
	return &http.Request{Method: "GET", RemoteAddr: "192.0.2.1:1", Header: http.Header{"X-Api-Key": {key}}}
}

// Whoever is refused often is found among any number who are refused once.
func TestTopFindsTheOftenRefused(t *testing.T) {
	blocked, err := ratelimit.New(ratelimit.PerHour(1).Burst(1), ratelimit.Config{Clock: &limittest.ManualClock{}})
	require.NoError(t, err)
	never := func(*http.Request) int64 { return 2 }
	f := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{{Limiter: blocked, Cost: never}}, TopKeys: 16})
	for i := range 5000 {
		f.Decide(from(fmt.Sprintf("198.51.%d.%d:1", i/250, i%250)))
		if i%4 == 0 {
			f.Decide(from("192.0.2.1:1"))
		}
	}
	top := f.Top(1)
	require.Len(t, top, 1)
	assert.Equal(t, "ip=192.0.2.1", top[0].Key)
	assert.GreaterOrEqual(t, top[0].Refused, uint64(1250))
	assert.LessOrEqual(t, top[0].Refused-top[0].Slack, uint64(1250))
}

func TestExplain(t *testing.T) {
	store := storeOf(t, `{"plans": {"names": ["free", "staff"], "default": "free", "from": "header:X-Plan"},
		"rules": [
		{"name": "login", "match": "POST /login", "key": ["header:X-API-Key", "ip+route"], "limit": "2/hour", "cost": 2},
		{"name": "tenant", "match": "/t/{tenant}/", "key": "path:tenant+user", "missing": "skip", "limit": "5/hour", "plans": {"staff": {"unlimited": true}}},
		{"name": "shut", "match": "/old/", "mode": "block"},
		{"name": "candidate", "key": "ip", "limit": "9/hour", "mode": "shadow"}]}`)
	f := mustNew(t, httplimit.Config{Store: store, User: func(r *http.Request) string { return r.Header.Get("X-User") }})
	explain := func(line string, headers ...string) []httplimit.Explanation {
		var got []httplimit.Explanation
		f2 := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = f.Explain(r) })
		send(f2, line, headers...)
		for i := range got {
			assert.Equal(t, got[i].Limiter == nil, got[i].Unlimited || got[i].Mode == httplimit.Block)
			got[i].Limiter, got[i].RawKey = nil, ""
		}
		return got
	}
	candidate := httplimit.Explanation{Rule: "candidate", Mode: httplimit.Shadow, Pattern: "/", KeyOf: "ip", Key: "ip=192.0.2.1", Cost: 1}
	assert.Equal(t, []httplimit.Explanation{
		{Rule: "login", Pattern: "POST /login", KeyOf: "header:X-Api-Key, ip+route", Key: `ip=192.0.2.1 route="POST /login"`, Cost: 2}, candidate,
	}, explain("POST /login"), "by the fall-back")
	assert.Equal(t, []httplimit.Explanation{
		{Rule: "tenant", Pattern: "/t/{tenant}/", KeyOf: "path:tenant+user", Missing: true, Cost: 1}, candidate,
	}, explain("GET /t/acme/x"))
	assert.Equal(t, []httplimit.Explanation{
		{Rule: "tenant", Plan: "staff", Pattern: "/t/{tenant}/", Unlimited: true}, candidate,
	}, explain("GET /t/acme/x", "X-Plan: staff", "X-User: ada"))
	assert.Equal(t, []httplimit.Explanation{
		{Rule: "shut", Mode: httplimit.Block, Pattern: "/old/"}, candidate,
	}, explain("GET /old/x"))
	long := explain("POST /login", "X-API-Key: "+strings.Repeat("x", 70<<10))
	assert.True(t, long[0].TooLong)
	assert.EqualValues(t, 0, f.Stats().Rules[0].Allowed, "nothing was taken")

	// The raw key is the limiter's: an operator resets one client.
	h := f.Wrap(&counting{})
	assert.Equal(t, []int{200, 429}, []int{send(h, "POST /login").StatusCode, send(h, "POST /login").StatusCode})
	send(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		e := f.Explain(r)[0]
		e.Limiter.(ratelimit.Local).Reset(e.RawKey)
	}), "POST /login")
	assert.Equal(t, 200, send(h, "POST /login").StatusCode)
}
