package httplimit_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/httplimit"
	"github.com/casgate/ratelimit/limittest"
)

func TestFieldsOfSeveralRules(t *testing.T) {
	c := still(
		httplimit.Rule{Name: "address", Limit: ratelimit.PerMinute(60).Burst(10)},
		httplimit.Rule{Name: "key", Limit: ratelimit.PerHour(2).Burst(2), Key: httplimit.Header("X-API-Key")},
		httplimit.Rule{Name: "trial", Limit: ratelimit.PerHour(1).Burst(1), Mode: httplimit.Shadow},
	)
	c.Headers = everyStyle
	h := mustNew(t, c).Wrap(&counting{})
	first := get(h, "192.0.2.1:1", "X-API-Key: k-1")
	assert.Equal(t, map[string]string{
		"RateLimit-Policy": `"address";q=10;w=10, "key";q=2;w=3600`,
		"RateLimit":        `"address";r=9;t=1;a=9;w=1, "key";r=1;t=1800;a=1;w=1800`,
		"RateLimit-Limit":  "2", "RateLimit-Remaining": "1", "RateLimit-Reset": "1800",
		"X-RateLimit-Limit": "2", "X-RateLimit-Remaining": "1", "X-RateLimit-Reset": "1800",
	}, told(first), "the tightest one in the X- fields, no shadow anywhere")

	get(h, "192.0.2.1:1", "X-API-Key: k-1")
	refused := get(h, "192.0.2.1:1", "X-API-Key: k-1")
	assert.Equal(t, map[string]string{
		"RateLimit-Policy": `"address";q=10;w=10, "key";q=2;w=3600`, "Retry-After": "1800",
		"RateLimit":       `"address";r=8;t=2;a=8;w=2, "key";r=0;t=1800;a=0;w=1800`,
		"RateLimit-Limit": "2", "RateLimit-Remaining": "0", "RateLimit-Reset": "1800",
		"X-RateLimit-Limit": "2", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1800",
	}, told(refused), "the refusal has charged nobody")
	var problem struct {
		Violated []string `json:"violated-policies"`
	}
	require.NoError(t, json.Unmarshal([]byte(body(t, refused)), &problem))
	assert.Equal(t, []string{"key"}, problem.Violated)
}

// Limits of an address, its /64 and its /48 at once.
func TestSeveralPrefixesAtOnce(t *testing.T) {
	h := mustNew(t, still(
		httplimit.Rule{Name: "address", Limit: ratelimit.PerHour(2).Burst(2), Key: httplimit.IPPrefix(32, 128)},
		httplimit.Rule{Name: "network", Limit: ratelimit.PerHour(3).Burst(3), Key: httplimit.IPPrefix(32, 64)},
		httplimit.Rule{Name: "site", Limit: ratelimit.PerHour(5).Burst(5), Key: httplimit.IPPrefix(24, 48)},
	)).Wrap(&counting{})
	for _, c := range []struct {
		addr string
		want int
		why  string
	}{
		{"[2001:db8:1:1::1]:1", 200, ""},
		{"[2001:db8:1:1::1]:1", 200, ""},
		{"[2001:db8:1:1::1]:1", 429, "the address has had 2"},
		{"[2001:db8:1:1::2]:1", 200, ""},
		{"[2001:db8:1:1::3]:1", 429, "its /64 has had 3"},
		{"[2001:db8:1:2::1]:1", 200, ""},
		{"[2001:db8:1:3::1]:1", 200, ""},
		{"[2001:db8:1:4::1]:1", 429, "its /48 has had 5"},
		{"[2001:db8:2:1::1]:1", 200, "another site"},
	} {
		assert.Equal(t, c.want, get(h, c.addr).StatusCode, "%s %s", c.addr, c.why)
	}
}

func TestMatchAndCost(t *testing.T) {
	h := mustNew(t, still(
		httplimit.Rule{Name: "reads", Limit: ratelimit.PerHour(10).Burst(10), Cost: func(r *http.Request) int64 {
			if r.Header.Get("X-Bulk") != "" {
				return 4
			}
			return 1
		}},
		httplimit.Rule{Name: "beta", Limit: ratelimit.PerHour(1).Burst(1), Match: func(r *http.Request) bool { return r.Header.Get("X-Beta") != "" }},
	)).Wrap(&counting{})
	left := func(lines ...string) string {
		return get(h, "192.0.2.1:1", lines...).Header.Get("X-RateLimit-Remaining")
	}
	assert.Equal(t, "9", left())
	assert.Equal(t, "5", left("X-Bulk: 1"))
	assert.Equal(t, "0", left("X-Beta: 1"))
	assert.Equal(t, "0", left("X-Beta: 1"))
	assert.Equal(t, "3", left())
}

func TestCostOfNothingAndLess(t *testing.T) {
	cost := int64(0)
	h := mustNew(t, still(httplimit.Rule{Limit: ratelimit.PerHour(1).Burst(1), Cost: func(*http.Request) int64 { return cost }})).Wrap(&counting{})
	for range 3 {
		assert.Equal(t, 200, get(h, "192.0.2.1:1").StatusCode, "0 takes nothing")
	}
	cost = -1
	assert.Equal(t, 429, get(h, "192.0.2.1:1").StatusCode, "less than nothing is refused, not given")
	cost = 1
	assert.Equal(t, 200, get(h, "192.0.2.1:1").StatusCode)
	assert.Equal(t, 429, get(h, "192.0.2.1:1").StatusCode)
}

// A candidate beside the rule in force, and where they differ.
func TestShadow(t *testing.T) {
	f := mustNew(t, still(
		httplimit.Rule{Name: "now", Limit: ratelimit.PerHour(3).Burst(3)},
		httplimit.Rule{Name: "stricter", Limit: ratelimit.PerHour(1).Burst(1), Mode: httplimit.Shadow},
		httplimit.Rule{Name: "looser", Limit: ratelimit.PerHour(9).Burst(9), Mode: httplimit.Shadow},
		httplimit.Rule{Name: "unkeyed", Limit: ratelimit.PerHour(9).Burst(9), Mode: httplimit.Shadow, Key: httplimit.Header("X-API-Key")},
	))
	next := &counting{}
	h := f.Wrap(next)
	for range 5 {
		get(h, "192.0.2.1:1")
	}
	assert.EqualValues(t, 3, next.calls.Load(), "a shadow refuses nothing")
	got := f.Stats().Rules
	for i := range got {
		got[i].Keys = ratelimit.Stats{}
	}
	assert.Equal(t, []httplimit.RuleStats{
		{Rule: "now", Allowed: 3, Refused: 2},
		{Rule: "stricter", Mode: httplimit.Shadow, Allowed: 1, Shadow: 4, Stricter: 2},
		{Rule: "looser", Mode: httplimit.Shadow, Allowed: 5, Looser: 2},
		{Rule: "unkeyed", Mode: httplimit.Shadow, Unkeyed: 5},
	}, got)
}

func TestShadowsAlone(t *testing.T) {
	var seen []httplimit.Verdict
	c := still(
		httplimit.Rule{Name: "a", Limit: ratelimit.PerHour(1).Burst(1), Mode: httplimit.Shadow},
		httplimit.Rule{Name: "b", Limit: ratelimit.PerHour(2).Burst(2), Mode: httplimit.Shadow},
	)
	c.OnLimit = func(_ *http.Request, v httplimit.Verdict) { seen = append(seen, v) }
	h := mustNew(t, c).Wrap(&counting{})
	for range 3 {
		r := get(h, "192.0.2.1:1")
		assert.Equal(t, 200, r.StatusCode)
		assert.Empty(t, told(r))
	}
	require.Len(t, seen, 2)
	for _, v := range seen {
		assert.True(t, v.Allowed)
		assert.False(t, v.Results()[0].Decision.Allowed)
	}
}

func TestBlockingRule(t *testing.T) {
	next := &counting{}
	f := mustNew(t, still(
		httplimit.Rule{Name: "api", Limit: ratelimit.PerHour(3).Burst(3)},
		httplimit.Rule{Name: "closed", Mode: httplimit.Block, Match: func(r *http.Request) bool { return r.Header.Get("X-Old") != "" }},
	))
	h := f.Wrap(next)
	blocked := get(h, "192.0.2.1:1", "X-Old: 1")
	assert.Equal(t, 403, blocked.StatusCode)
	assert.JSONEq(t, `{"title": "Forbidden", "status": 403}`, body(t, blocked))
	assert.Empty(t, told(blocked))
	assert.Equal(t, "2", get(h, "192.0.2.1:1").Header.Get("X-RateLimit-Remaining"), "the blocked one took nothing")
	assert.EqualValues(t, 1, f.Stats().Rules[1].Refused)
	assert.EqualValues(t, 1, next.calls.Load())
}

func TestLists(t *testing.T) {
	c := still(httplimit.Rule{Limit: ratelimit.PerHour(1).Burst(1)})
	c.Proxies = trusting(t, "192.0.2.1")
	c.Allow = httplimit.List{
		Prefixes: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("2001:db8:a::/48")},
		Key:      httplimit.Header("X-API-Key"), Values: []string{"k-internal"},
	}
	c.Block = httplimit.List{
		Prefixes: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("198.51.100.7/32")},
		Key:      httplimit.Header("X-API-Key"), Values: []string{"k-stolen"},
	}
	f := mustNew(t, c)
	h := f.Wrap(&counting{})
	for _, c := range []struct {
		why   string
		addr  string
		lines []string
		want  [2]int
	}{
		{"neither", "192.0.2.2:1", nil, [2]int{200, 429}},
		{"allowed", "198.51.100.1:1", nil, [2]int{200, 200}},
		{"allowed, mapped", "[::ffff:198.51.100.1]:1", nil, [2]int{200, 200}},
		{"allowed, IPv6", "[2001:db8:a:b::1]:1", nil, [2]int{200, 200}},
		{"allowed by key", "192.0.2.2:1", []string{"X-API-Key: k-internal"}, [2]int{200, 200}},
		{"blocked", "203.0.113.5:1", nil, [2]int{403, 403}},
		{"blocked by key", "192.0.2.3:1", []string{"X-API-Key: k-stolen"}, [2]int{403, 403}},
		{"on both: allow is looked at first", "198.51.100.7:1", nil, [2]int{200, 200}},
		{"behind the proxy", "192.0.2.1:1", []string{"X-Forwarded-For: 198.51.100.1"}, [2]int{200, 200}},
		{"behind the proxy, a forged address before the real one", "192.0.2.1:1", []string{"X-Forwarded-For: 198.51.100.1, 192.0.2.9"}, [2]int{200, 429}},
		{"a forged header without proxy", "192.0.2.8:1", []string{"X-Forwarded-For: 198.51.100.1"}, [2]int{200, 429}},
		{"NAT64 of an allowed address isn't one", "[64:ff9b::198.51.100.1]:1", nil, [2]int{200, 429}},
	} {
		for i := range 2 {
			r := get(h, c.addr, c.lines...)
			assert.Equal(t, c.want[i], r.StatusCode, "%s, request %d", c.why, i)
		}
	}
	s := f.Stats()
	assert.EqualValues(t, 12, s.Allowed)
	assert.EqualValues(t, 4, s.Blocked)
}

func TestBadLists(t *testing.T) {
	for _, allow := range []httplimit.List{
		{Prefixes: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}},
		{Prefixes: make([]netip.Prefix, 1)},
		{Values: []string{"x"}, Key: httplimit.IP()},
		{Values: []string{"x"}, Key: httplimit.Header("")},
	} {
		c := still(httplimit.Rule{Limit: ratelimit.PerHour(1).Burst(1)})
		c.Allow = allow
		_, err := httplimit.New(c)
		assert.ErrorIs(t, err, ratelimit.ErrInvalidConfig)
		assert.ErrorContains(t, err, "Allow.")
	}
	c := still(httplimit.Rule{Limit: ratelimit.PerHour(1).Burst(1)})
	c.Block = httplimit.List{Prefixes: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}}
	_, err := httplimit.New(c)
	assert.NoError(t, err, "blocking everybody can be meant")
}

// remote is a limiter over a network that is down.
type remote struct {
	ratelimit.Reversible
	open  bool
	retry time.Duration
}

func (r remote) TakeContext(context.Context, string, int64) (ratelimit.Decision, error) {
	return ratelimit.Decision{Allowed: r.open, Limit: 10, RetryAfter: r.retry}, errors.New("connection refused")
}

// downStore is a store of limiters that is down.
type downStore struct {
	remote
}

func (s downStore) Store() any { return "down" }

func (s downStore) TakeGroup(claims []ratelimit.Claim) bool {
	for i := range claims {
		claims[i].Decision, claims[i].Err = s.TakeContext(context.Background(), "", 1)
	}
	return s.open
}

func TestSeveralRemoteRulesThatAreDown(t *testing.T) {
	local, err := ratelimit.New(ratelimit.PerHour(10).Burst(10), ratelimit.Config{Clock: &limittest.ManualClock{}})
	require.NoError(t, err)
	only := struct{ ratelimit.Reversible }{local}
	for open, status := range map[bool]int{true: 200, false: 503} {
		down := downStore{remote{only, open, 0}}
		f := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{{Name: "a", Limiter: down}, {Name: "b", Limiter: down}}})
		assert.Equal(t, status, get(f.Wrap(&counting{}), "192.0.2.1:1").StatusCode)
		stats := f.Stats().Rules
		for _, r := range stats {
			assert.EqualValues(t, 1, r.ErrorAllowed+r.ErrorDenied)
		}
	}
}

func TestRemoteLimiterThatIsDown(t *testing.T) {
	local, err := ratelimit.New(ratelimit.PerHour(10).Burst(10), ratelimit.Config{Clock: &limittest.ManualClock{}})
	require.NoError(t, err)
	only := struct{ ratelimit.Reversible }{local} // what remote limiters have in common with local ones

	f := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{{Limiter: remote{only, false, 0}}}})
	closed := get(f.Wrap(&counting{}), "192.0.2.1:1")
	assert.Equal(t, 503, closed.StatusCode)
	assert.Equal(t, "1", closed.Header.Get("Retry-After"), "not 0, even if nobody knows how long")
	assert.JSONEq(t, `{"type": "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
		"title": "Service Unavailable", "status": 503, "violated-policies": ["default"]}`, body(t, closed))
	assert.EqualValues(t, 1, f.Stats().Rules[0].ErrorDenied)
	assert.True(t, json.Valid([]byte(body(t, get(f.Wrap(&counting{}), "192.0.2.1:1")))))

	for retry, want := range map[time.Duration]string{1500 * time.Millisecond: "2", ratelimit.Never: ""} {
		f := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{{Limiter: remote{only, false, retry}}}})
		assert.Equal(t, want, get(f.Wrap(&counting{}), "192.0.2.1:1").Header.Get("Retry-After"))
	}

	f = mustNew(t, httplimit.Config{Rules: []httplimit.Rule{{Limiter: remote{only, true, 0}}}})
	assert.Equal(t, 200, get(f.Wrap(&counting{}), "192.0.2.1:1").StatusCode)
	assert.EqualValues(t, 1, f.Stats().Rules[0].ErrorAllowed)
}

// retaining is a limiter that keeps the keys it is given, as one over a network may.
type retaining struct {
	ratelimit.Reversible
	keys *[]string
}

func (r retaining) Peek(key string, n int64) ratelimit.Decision {
	*r.keys = append(*r.keys, key)
	return r.Reversible.Peek(key, n)
}

func (r retaining) Take(key string, n int64) ratelimit.Decision {
	*r.keys = append(*r.keys, key)
	return r.Reversible.Take(key, n)
}

// Only a Local limiter has promised not to keep the key, which is in a buffer that the next request reuses.
func TestOtherLimitersGetCopiesOfKeys(t *testing.T) {
	local, err := ratelimit.New(generous, ratelimit.Config{})
	require.NoError(t, err)
	for _, rules := range [][]httplimit.Rule{{{}}, {{}, {Name: "also", Limit: generous}}} {
		var keys []string
		rules[0].Limiter, rules[0].Key = retaining{local, &keys}, httplimit.Header("X-API-Key")
		f := mustNew(t, httplimit.Config{Rules: rules})
		f.Decide(withKey("warm.")) // so that the buffer has its size
		f.Decide(withKey("first"))
		at := len(keys) - 1
		f.Decide(withKey("other"))
		assert.Contains(t, keys[at], "first")
		assert.Contains(t, keys[len(keys)-1], "other")
	}
}

// A stolen token is blocked in each spelling of its scheme.
func TestBlockedCredentialsInAnySpelling(t *testing.T) {
	c := still(httplimit.Rule{Limit: ratelimit.PerHour(9).Burst(9)})
	c.Block = httplimit.List{Key: httplimit.Header("Authorization"), Values: []string{"Bearer stolen"}}
	h := mustNew(t, c).Wrap(&counting{})
	for value, status := range map[string]int{"Bearer stolen": 403, "bearer stolen": 403, "BEARER  stolen": 403, "Bearer Stolen": 200, "Basic stolen": 200} {
		assert.Equal(t, status, get(h, "192.0.2.1:1", "Authorization: "+value).StatusCode, value)
	}
}
