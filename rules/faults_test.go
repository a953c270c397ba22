package rules_test

import (
	"math"
	"testing"
	"time"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/limittest"
	"github.com/casgate/ratelimit/rules"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each test here is a kind of fault that limiters have been reported for: what a change of rules does to clients, and
// what becomes of settings that can't be meant.

func TestChangeOfCapacity(t *testing.T) { // the rate could be changed, the burst not
	w := newWorld(t, withBurst(perIP("10/s"), 10))
	w.take("k", 3)
	w.update(withBurst(perIP("10/s"), 4))
	assert.EqualValues(t, 4, w.left("k"), "clamped at once")
	w.update(withBurst(perIP("10/s"), 10))
	assert.EqualValues(t, 10, w.left("k"), "full stays full")
	w.take("k", 7)
	w.update(withBurst(perIP("10/s"), 20))
	assert.EqualValues(t, 3, w.left("k"), "grows at the rate, not by the change")
	w.clock.Advance(time.Second)
	assert.EqualValues(t, 13, w.left("k"))
}

func TestChangeOfRateKeepsTokens(t *testing.T) { // a debt kept as time grows a hundredfold when the rate does
	w := newWorld(t, withBurst(perIP("1/2s"), 16))
	w.take("k", 2)
	w.update(withBurst(perIP("1/20ms"), 16))
	d := w.take("k", 1)
	assert.True(t, d.Allowed)
	assert.EqualValues(t, 13, d.Remaining)
}

func TestChangeOfWindow(t *testing.T) { // a new limit was ignored until the window ended
	window := func(limit string) rules.RuleSpec {
		r := perIP(limit)
		r.Algorithm = rules.FixedWindow
		return r
	}
	w := newWorld(t, window("100/minute"))
	w.take("k", 1)
	w.update(window("10/minute"))
	assert.EqualValues(t, 9, w.left("k"))
	assert.EqualValues(t, 8, w.take("k", 1).Remaining)
	w.update(window("1/minute"))
	d := w.take("k", 1)
	assert.False(t, d.Allowed)
	assert.Zero(t, d.Remaining, "never negative")
	w.update(window("100/minute"))
	assert.EqualValues(t, 98, w.left("k"), "what was used is used")
}

func TestChangeBelowWhatIsUsed(t *testing.T) { // remaining became -5
	w := newWorld(t, perIP("20/minute"))
	w.take("k", 10)
	w.update(perIP("5/minute"))
	assert.EqualValues(t, 5, w.left("k"), "of 10 left")
	w.take("k", 5)
	w.update(perIP("3/minute"))
	assert.Zero(t, w.left("k"))
}

func TestRaisedLimitOfADrainedClient(t *testing.T) { // one store ignored the change, another refilled
	w := newWorld(t, perIP("5/minute"))
	w.take("k", 5)
	w.update(perIP("10/minute"))
	assert.Zero(t, w.left("k"))
	w.clock.Advance(time.Minute)
	assert.EqualValues(t, 10, w.left("k"))
}

func TestLoweredLimitGoesOnRefilling(t *testing.T) { // the refill task died when the limit fell below what was there
	w := newWorld(t, perIP("5/s"))
	w.take("k", 0)
	w.update(perIP("2/s"))
	for range 11 {
		assert.True(t, w.take("k", 2).Allowed)
		assert.False(t, w.take("k", 1).Allowed)
		w.clock.Advance(time.Second)
	}
}

func TestReloadDoesNotRefill(t *testing.T) { // each reload built new, full buckets
	w := newWorld(t, perIP("5/minute"))
	w.take("k", 5)
	w.update(perIP("5/minute"))
	assert.Zero(t, w.left("k"), "the same rule")
	w.update(perIP("6/minute"))
	assert.Zero(t, w.left("k"), "a larger one")
	moved := perIP("6/minute")
	moved.Match, moved.Mode, moved.Layer = rules.List{"/"}, rules.Shadow, "elsewhere"
	w.update(named("first", "1/s"), moved)
	w.update(perIP("6/minute"))
	assert.Zero(t, w.left("k"), "what isn't its name, key or algorithm may change, too")
	w.update(named("other", "1/s"))
	w.update(perIP("6/minute"))
	assert.EqualValues(t, 6, w.left("k"), "a rule that was gone starts anew")
}

func TestLimitIsNoPartOfTheKey(t *testing.T) { // a request with another limit started a new count
	w := newWorld(t, perIP("10/minute"))
	w.take("k", 10)
	w.update(withBurst(perIP("11/minute"), 11))
	assert.Zero(t, w.left("k"))
}

func TestOrderOfRulesDoesNotMatter(t *testing.T) { // with two zones on one key, the outcome followed a map's order
	a, b := named("second", "10/s"), named("minute", "20/minute")
	a.Layer, b.Layer = "short", "long"
	one, other := newWorld(t, a, b), newWorld(t, b, a)
	for range 60 {
		d, e := one.take("k", 1), other.take("k", 1)
		assert.Equal(t, d.Allowed, e.Allowed)
		assert.Equal(t, d.RetryAfter, e.RetryAfter)
		one.clock.Advance(40 * time.Millisecond)
		other.clock.Advance(40 * time.Millisecond)
	}
}

func TestRefusalsCostNoOtherRule(t *testing.T) { // refused by the short rule, they used up the long one
	short, long := named("short", "10/minute"), named("long", "30/30m")
	short.Algorithm, long.Algorithm = rules.FixedWindow, rules.FixedWindow
	short.Layer, long.Layer = "short", "long"
	w := newWorld(t, short, long)
	admitted := 0
	for range 31 {
		if w.take("k", 1).Allowed {
			admitted++
		}
		w.clock.Advance(2 * time.Minute / 31)
	}
	assert.LessOrEqual(t, admitted, 20)
	used := 30 - w.store.Current().Limits()[1].Limiter.Peek("k", 0).Remaining
	assert.EqualValues(t, admitted, used)
}

func TestSpecificRuleReplacesTheGeneralOne(t *testing.T) { // the general bucket held in addition, unexpectedly
	general, specific := named("all", "1/s"), matching(named("a", "100/2s"), "/a")
	w := newWorld(t, general, specific)
	passed := func(path string) (n int) {
		for range 200 {
			if decide(w.store.Current(), "", "GET", path, "k", 1).Allowed {
				n++
			}
		}
		return n
	}
	assert.Equal(t, 100, passed("/a"), "in one layer the more specific rule holds alone")
	assert.Equal(t, 1, passed("/b"))
	specific.Layer = "endpoints"
	w.clock.Advance(time.Hour)
	w.update(general, specific)
	assert.Equal(t, 1, passed("/a"), "in two layers both hold")
}

func TestDerivedBurst(t *testing.T) { // a tenth of a small limit, or a third of a small rate, was no burst at all
	for _, limit := range []string{"1/s", "2/s", "29/10s"} {
		w := newWorld(t, perIP(limit))
		assert.GreaterOrEqual(t, w.left("k"), int64(1), limit)
	}
	w := newWorld(t, perIP("5/day"))
	assert.True(t, w.take("k", 5).Allowed)
	d := w.take("k", 1)
	assert.False(t, d.Allowed)
	assert.Equal(t, 24*time.Hour/5, d.RetryAfter)
}

func TestUnlimitedPlan(t *testing.T) { // "unlimited" refused large requests, showed 0 or -1, and kept every key
	rule := perIP("1/minute")
	rule.Plans = map[string]rules.PlanLimit{"staff": {Unlimited: true}}
	set, err := rules.Compile(rules.Spec{Plans: rules.PlansSpec{Names: rules.List{"staff"}}, Rules: []rules.RuleSpec{rule}})
	require.NoError(t, err)
	matches := set.Match(nil, set.Plan("staff"), "GET", "", "/", "")
	require.Len(t, matches, 1, "it is met, so that it can be explained")
	assert.True(t, matches[0].Limit.Unlimited)
	assert.Zero(t, matches[0].Limit.Limit)

	store, err := rules.NewStore(rules.Spec{Plans: rules.PlansSpec{Names: rules.List{"staff"}}, Rules: []rules.RuleSpec{rule}}, rules.Config{})
	require.NoError(t, err)
	d := decide(store.Current(), "staff", "GET", "/", "k", math.MaxInt64)
	assert.True(t, d.Allowed)
	for _, l := range store.Current().Limits() {
		if l.Limiter != nil {
			assert.Zero(t, l.Limiter.(ratelimit.Local).Len(), "no key is kept")
		}
	}
}

func TestLimitsThatCannotBe(t *testing.T) { // zero limits crashed a store, tiny and negative times meant no limit
	for _, text := range []string{"0/s", "-1/s", "1/0s", "1/-1s", "NaN/s", "Inf/s", "1e3/s", "/s", "5"} {
		_, err := rules.ParseJSON([]byte(`{"rules": [{"name": "api", "key": "ip", "limit": "` + text + `"}]}`))
		assert.ErrorIs(t, problemAt(t, err, "rules[0].limit"), ratelimit.ErrInvalidRule, text)
	}
	for _, rate := range []ratelimit.Rate{{Tokens: 0, Per: time.Second}, {Tokens: -1, Per: time.Second}, {Tokens: 1}, {Tokens: 1, Per: -1}} {
		spec := rules.Spec{Rules: []rules.RuleSpec{{Name: "api", Key: rules.List{"ip"}, Limit: rate}}}
		assert.ErrorIs(t, problemAt(t, spec.Validate(), "rules[0].limit"), ratelimit.ErrInvalidRule)
	}
	for _, per := range []time.Duration{1, 999} {
		spec := rules.Spec{Rules: []rules.RuleSpec{{Name: "api", Key: rules.List{"ip"}, Limit: ratelimit.Rate{Tokens: 1, Per: per}}}}
		clock := &limittest.ManualClock{}
		store, err := rules.NewStore(spec, rules.Config{Limiters: ratelimit.Config{Clock: clock}})
		require.NoError(t, err)
		assert.True(t, decide(store.Current(), "", "GET", "/", "k", 1).Allowed)
		assert.Equal(t, per, decide(store.Current(), "", "GET", "/", "k", 1).RetryAfter, "exact, not unlimited")
	}
}

func TestNothingIsIgnoredInSilence(t *testing.T) { // a setting was accepted and shown, and another one used
	keyed := perIP("1/s")
	keyed.Key, keyed.Missing = rules.List{"header:x-api-key"}, rules.MissingRefuse
	set, err := rules.Compile(rules.Spec{Rules: []rules.RuleSpec{keyed}})
	require.NoError(t, err)
	assert.Equal(t, [][]rules.Part{{{Kind: rules.Header, Name: "X-Api-Key"}}}, set.Rules()[0].Key.Alternatives)
	assert.Equal(t, rules.MissingRefuse, set.Rules()[0].Missing)

	_, err = rules.ParseJSON([]byte("{\"rules\": [\n{\"name\": \"api\", \"key\": \"ip\", \"limit\": \"1/s\", \"brust\": 5}\n]}"))
	p := problemAt(t, err, "rules[0].brust")
	assert.ErrorIs(t, p, rules.ErrUnknownField)
	assert.Equal(t, 2, p.Line)
	assert.Contains(t, p.Text, "burst", "the fields that there are")
}
