package httplimit_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/httplimit"
	"github.com/casgate/ratelimit/limittest"
)

const everyStyle = httplimit.Draft8 | httplimit.Draft12 | httplimit.Draft6 | httplimit.XEpoch

// limited returns a handler behind one rule named api, on a clock at Unix 1,700,000,000.
func limited(t *testing.T, limit ratelimit.Rule, styles httplimit.HeaderStyle, when httplimit.When) (http.Handler, *limittest.ManualClock) {
	t.Helper()
	clock := &limittest.ManualClock{}
	clock.Set(1_700_000_000e9)
	f := mustNew(t, httplimit.Config{
		Rules:    []httplimit.Rule{{Name: "api", Limit: limit}},
		Headers:  styles,
		When:     when,
		Limiters: ratelimit.Config{Clock: clock},
	})
	return f.Wrap(&counting{}), clock
}

// told returns what the fields of a response say, one string a field.
func told(r *http.Response) map[string]string {
	got := map[string]string{}
	for _, name := range []string{"RateLimit-Policy", "RateLimit", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset",
		"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Retry-After"} {
		if lines := r.Header.Values(name); len(lines) > 0 {
			got[name] = lines[0]
		}
	}
	return got
}

func TestDefaultFields(t *testing.T) {
	h, clock := limited(t, ratelimit.PerMinute(2).Burst(2), 0, httplimit.Always)
	assert.Equal(t, map[string]string{
		"RateLimit-Policy": `"api";q=2;w=60`, "RateLimit": `"api";r=1;t=30`,
		"X-RateLimit-Limit": "2", "X-RateLimit-Remaining": "1", "X-RateLimit-Reset": "30",
	}, told(get(h, "192.0.2.1:1")))
	clock.Advance(500 * time.Millisecond)
	assert.Equal(t, map[string]string{
		"RateLimit-Policy": `"api";q=2;w=60`, "RateLimit": `"api";r=0;t=60`,
		"X-RateLimit-Limit": "2", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "60",
	}, told(get(h, "192.0.2.1:1")), "59.5 s to full")
	assert.Equal(t, map[string]string{
		"RateLimit-Policy": `"api";q=2;w=60`, "RateLimit": `"api";r=0;t=30`, "Retry-After": "30",
		"X-RateLimit-Limit": "2", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "30",
	}, told(get(h, "192.0.2.1:1")), "29.5 s to the next token")
}

func TestEveryStyle(t *testing.T) {
	h, clock := limited(t, ratelimit.PerMinute(2).Burst(2), everyStyle, httplimit.Always)
	clock.Advance(200 * time.Millisecond)
	assert.Equal(t, map[string]string{
		"RateLimit-Policy": `"api";q=2;w=60`, "RateLimit": `"api";r=1;t=30;a=1;w=30`,
		"RateLimit-Limit": "2", "RateLimit-Remaining": "1", "RateLimit-Reset": "30",
		"X-RateLimit-Limit": "2", "X-RateLimit-Remaining": "1", "X-RateLimit-Reset": "1700000031",
	}, told(get(h, "192.0.2.1:1")))
	get(h, "192.0.2.1:1")
	assert.Equal(t, map[string]string{
		"RateLimit-Policy": `"api";q=2;w=60`, "RateLimit": `"api";r=0;t=30;a=0;w=30`, "Retry-After": "30",
		"RateLimit-Limit": "2", "RateLimit-Remaining": "0", "RateLimit-Reset": "30",
		"X-RateLimit-Limit": "2", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1700000031",
	}, told(get(h, "192.0.2.1:1")))
}

func TestWhen(t *testing.T) {
	for when, want := range map[httplimit.When][4]bool{ // told at 19, 2, 1 left, and refused
		httplimit.Always:    {true, true, true, true},
		httplimit.NearLimit: {false, true, true, true},
		httplimit.OnRefusal: {false, false, false, true},
		httplimit.Never:     {false, false, false, false},
	} {
		h, _ := limited(t, ratelimit.PerHour(20).Burst(20), 0, when)
		var got [4]bool
		for i := range 21 {
			r := get(h, "192.0.2.1:1")
			at := map[int]int{0: 0, 17: 1, 18: 2, 20: 3}
			if slot, ok := at[i]; ok {
				got[slot] = r.Header.Get("RateLimit") != ""
			}
			assert.Equal(t, i == 20, r.Header.Get("Retry-After") != "", "Retry-After stands on refusals, whatever When says")
		}
		assert.Equal(t, want, got, "When %d", when)
	}
}

// Seconds are rounded up, and no second is added to whole ones.
func TestWholeSecondsRoundedUp(t *testing.T) {
	h, clock := limited(t, ratelimit.Rate{Tokens: 1, Per: 2 * time.Second}.Burst(16), httplimit.Draft6, httplimit.Always)
	assert.Equal(t, "2", told(get(h, "192.0.2.1:1"))["RateLimit-Reset"], "exactly 2 s to full")
	clock.Advance(2*time.Second - time.Nanosecond)
	assert.Equal(t, "3", told(get(h, "192.0.2.1:1"))["RateLimit-Reset"], "2.000000001 s to full")

	h, clock = limited(t, ratelimit.Rate{Tokens: 1, Per: 1500 * time.Millisecond}.Burst(1), 0, httplimit.Always)
	get(h, "192.0.2.1:1")
	assert.Equal(t, "2", told(get(h, "192.0.2.1:1"))["Retry-After"], "1500 ms")
	clock.Advance(1500*time.Millisecond - 1)
	assert.Equal(t, "1", told(get(h, "192.0.2.1:1"))["Retry-After"], "1 ns: never 0")
	clock.Advance(1)
	assert.Equal(t, 200, get(h, "192.0.2.1:1").StatusCode)

	h, _ = limited(t, ratelimit.PerDay(1).Burst(400), 0, httplimit.Always)
	for range 400 {
		get(h, "192.0.2.1:1")
	}
	assert.Equal(t, "86400", told(get(h, "192.0.2.1:1"))["Retry-After"])
	h, _ = limited(t, ratelimit.Rate{Tokens: 1, Per: 400 * 24 * time.Hour}.Burst(1), 0, httplimit.Always)
	get(h, "192.0.2.1:1")
	assert.Equal(t, "34560000", told(get(h, "192.0.2.1:1"))["Retry-After"], "digits only, however long")
}

// What the header says is what the limiter says: of the rule, the window and the instant at hand, not of a default.
func TestWaitIsThatOfTheRuleInForce(t *testing.T) {
	fixed := func(n int64, window time.Duration) ratelimit.Rule {
		return ratelimit.Rule{Algorithm: ratelimit.FixedWindow, Capacity: n, Refill: ratelimit.Rate{Tokens: n, Per: window}}
	}
	h, clock := limited(t, fixed(1, 60*time.Second), httplimit.Draft6|httplimit.XEpoch, httplimit.Always)
	clock.Set(1_700_000_010_200_000_000) // the window ends at 1,700,000,040
	first := told(get(h, "192.0.2.1:1"))
	assert.Equal(t, "30", first["RateLimit-Reset"], "29.8 s to go")
	assert.Equal(t, "1700000040", first["X-RateLimit-Reset"])
	assert.Equal(t, "30", told(get(h, "192.0.2.1:1"))["Retry-After"])

	h, clock = limited(t, fixed(1, 100*time.Second), 0, httplimit.Always)
	clock.Set(1_700_000_030e9)
	get(h, "192.0.2.1:1")
	assert.Equal(t, "70", told(get(h, "192.0.2.1:1"))["Retry-After"], "30 s into a window of 100 s")
}

// A request that no waiting helps gets no time to retry at.
func TestNever(t *testing.T) {
	f := mustNew(t, httplimit.Config{
		Rules:   []httplimit.Rule{{Name: "api", Limit: ratelimit.PerHour(5).Burst(5), Cost: func(*http.Request) int64 { return 6 }}},
		Headers: everyStyle,
	})
	refused := get(f.Wrap(&counting{}), "192.0.2.1:1")
	assert.Equal(t, 429, refused.StatusCode)
	assert.Equal(t, map[string]string{
		"RateLimit-Policy": `"api";q=5;w=3600`, "RateLimit": `"api";r=0;a=0`,
		"RateLimit-Limit": "5", "RateLimit-Remaining": "0", "X-RateLimit-Limit": "5", "X-RateLimit-Remaining": "0",
	}, told(refused))
}

func TestPolicy(t *testing.T) {
	for _, c := range []struct {
		limit ratelimit.Rule
		want  string
	}{
		{ratelimit.PerMinute(100).Burst(100), `"api";q=100;w=60`},
		{ratelimit.PerMinute(100).Burst(20), `"api";q=20;w=12`},
		{ratelimit.PerSecond(100).Burst(10), `"api";q=100;w=1`}, // 10 in 100 ms
		{ratelimit.PerSecond(1e9).Burst(1), `"api";q=1000000000;w=1`},
		{ratelimit.PerMinute(100).Burst(7), `"api";q=7;w=5`}, // 4.2 s
		{ratelimit.PerDay(1000).Burst(1000), `"api";q=1000;w=86400`},
	} {
		h, _ := limited(t, c.limit, 0, httplimit.Always)
		assert.Equal(t, c.want, told(get(h, "192.0.2.1:1"))["RateLimit-Policy"], "%v", c.limit)
	}
}

func TestPolicyFollowsSetRule(t *testing.T) {
	limiter, err := ratelimit.New(ratelimit.PerMinute(10).Burst(10), ratelimit.Config{})
	require.NoError(t, err)
	h := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{{Name: "api", Limiter: limiter}}}).Wrap(&counting{})
	assert.Equal(t, `"api";q=10;w=60`, told(get(h, "192.0.2.1:1"))["RateLimit-Policy"])
	require.NoError(t, limiter.SetRule(ratelimit.PerHour(20).Burst(20)))
	got := told(get(h, "192.0.2.1:1"))
	assert.Equal(t, `"api";q=20;w=3600`, got["RateLimit-Policy"])
	assert.Equal(t, "20", got["X-RateLimit-Limit"])
}

// Of a limiter that doesn't tell its rule, clients hear the limit, and no window that nobody knows.
func TestPolicyOfAComposite(t *testing.T) {
	a, err := ratelimit.New(ratelimit.PerMinute(10).Burst(10), ratelimit.Config{})
	require.NoError(t, err)
	b, err := ratelimit.New(ratelimit.PerHour(20).Burst(20), ratelimit.Config{})
	require.NoError(t, err)
	both, err := ratelimit.NewComposite(a, b)
	require.NoError(t, err)
	h := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{{Name: "api", Limiter: both}}}).Wrap(&counting{})
	assert.Equal(t, `"api";q=10`, told(get(h, "192.0.2.1:1"))["RateLimit-Policy"])
}

// Filters one within the other: the lists of RateLimit grow, and the X- fields tell of the tighter one.
func TestNestedFilters(t *testing.T) {
	one := func(name string, n int64) func(http.Handler) http.Handler {
		return mustNew(t, httplimit.Config{
			Rules:    []httplimit.Rule{{Name: name, Limit: ratelimit.PerMinute(n).Burst(n)}},
			Limiters: ratelimit.Config{Clock: &limittest.ManualClock{}},
		}).Wrap
	}
	for _, h := range []http.Handler{
		one("all", 10)(one("search", 2)(&counting{})),
		one("search", 2)(one("all", 10)(&counting{})),
	} {
		r := get(h, "192.0.2.1:1")
		assert.ElementsMatch(t, []string{`"all";q=10;w=60`, `"search";q=2;w=60`}, r.Header.Values("RateLimit-Policy"))
		assert.ElementsMatch(t, []string{`"all";r=9;t=6`, `"search";r=1;t=30`}, r.Header.Values("RateLimit"))
		assert.Equal(t, []string{"2"}, r.Header.Values("X-RateLimit-Limit"))
		assert.Equal(t, []string{"1"}, r.Header.Values("X-RateLimit-Remaining"))
		assert.Equal(t, []string{"30"}, r.Header.Values("X-RateLimit-Reset"))
	}
}

// What stands in the X- fields and isn't ours to understand is replaced.
func TestForeignFields(t *testing.T) {
	f := mustNew(t, still(httplimit.Rule{Name: "api", Limit: ratelimit.PerMinute(2).Burst(2)}))
	for _, foreign := range []string{"many", "-1", "", "9"} {
		h := http.Header{"X-Ratelimit-Limit": {"10"}, "X-Ratelimit-Remaining": {foreign}}
		f.Decide(withKey(foreign)).SetHeaders(h)
		assert.Equal(t, []string{"2"}, h["X-Ratelimit-Limit"], foreign)
	}
}
