package rules_test

import (
	"errors"
	"testing"
	"time"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/rules"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStoreVersionsAndHooks(t *testing.T) {
	type swap struct{ old, new uint64 }
	var swaps []swap
	var failures []error
	store, err := rules.NewStore(rules.Spec{Rules: []rules.RuleSpec{perIP("1/s")}}, rules.Config{
		OnUpdate: func(old, new *rules.Set) {
			from := uint64(0)
			if old != nil {
				from = old.Version()
			}
			swaps = append(swaps, swap{from, new.Version()})
		},
		OnError: func(err error) { failures = append(failures, err) },
	})
	require.NoError(t, err)
	first := store.Current()

	require.NoError(t, store.Update(rules.Spec{Rules: []rules.RuleSpec{perIP("1/s")}}))
	assert.Same(t, first, store.Current(), "the same rules change nothing")
	require.NoError(t, store.Update(rules.Spec{Rules: []rules.RuleSpec{perIP("2/s")}}))
	assert.ErrorIs(t, store.Update(rules.Spec{}), rules.ErrInvalidSpec)
	stats := store.Stats()
	assert.EqualValues(t, 2, stats.Version)
	assert.EqualValues(t, 2, stats.Updates)
	assert.EqualValues(t, 1, stats.Failures)
	require.Len(t, failures, 1)
	assert.Equal(t, failures[0], stats.LastError)
	assert.Equal(t, []swap{{0, 1}, {1, 2}}, swaps)
	assert.Equal(t, "2/s", store.Current().Limits()[0].Limit.Refill.String(), "the old rules stand")

	require.NoError(t, store.Update(rules.Spec{Rules: []rules.RuleSpec{perIP("2/s")}}))
	assert.NoError(t, store.Stats().LastError, "all is well again")
	assert.NotSame(t, first, store.Current())
	assert.EqualValues(t, 1, first.Version(), "a set doesn't change")
}

func TestNewStoreRefusesABadSpec(t *testing.T) {
	_, err := rules.NewStore(rules.Spec{}, rules.Config{})
	assert.ErrorIs(t, err, rules.ErrInvalidSpec)
	_, err = rules.NewStore(rules.Spec{Rules: []rules.RuleSpec{perIP("1/s")}}, rules.Config{Limiters: ratelimit.Config{MaxKeys: -1}})
	assert.ErrorIs(t, err, ratelimit.ErrInvalidConfig, "what the factory says stays reachable")
	assert.ErrorIs(t, err, rules.ErrLimiter)
}

func TestStoreURLNeedsAProgramThatKnowsIt(t *testing.T) {
	_, err := rules.NewStore(rules.Spec{Store: "redis://:secret@r", Rules: []rules.RuleSpec{perIP("1/s")}}, rules.Config{})
	assert.ErrorIs(t, problemAt(t, err, "rules[0]"), rules.ErrLimiter)
	assert.NotContains(t, err.Error(), "secret")
	local := perIP("1/s")
	local.Store = "local"
	_, err = rules.NewStore(rules.Spec{Store: "redis://r", Rules: []rules.RuleSpec{local}}, rules.Config{})
	assert.NoError(t, err)
}

func TestSubscribers(t *testing.T) {
	w := newWorld(t, perIP("1/s"))
	var seen []uint64
	refuse := errors.New("a function is unknown")
	var verdict error
	cancel, err := w.store.Subscribe(func(next *rules.Set) (func(), error) {
		return func() { seen = append(seen, next.Version()) }, verdict
	})
	require.NoError(t, err)
	assert.Equal(t, []uint64{1}, seen, "called at once")

	before := w.take("k", 1)
	verdict = refuse
	assert.ErrorIs(t, w.store.Update(rules.Spec{Rules: []rules.RuleSpec{perIP("5/s")}}), refuse)
	assert.Equal(t, []uint64{1}, seen, "not committed")
	assert.Equal(t, before.Limit, w.take("k", 0).Limit, "no limiter has changed")

	verdict = nil
	w.update(perIP("5/s"))
	assert.Equal(t, []uint64{1, 2}, seen)
	cancel()
	w.update(perIP("6/s"))
	assert.Equal(t, []uint64{1, 2}, seen, "cancelled")

	_, err = w.store.Subscribe(func(*rules.Set) (func(), error) { return nil, refuse })
	assert.ErrorIs(t, err, refuse)
	w.update(perIP("7/s"))
}

// remote is a limiter like one with a store of its own.
type remote struct {
	ratelimit.Local
	setRule func(ratelimit.Rule) error
	closed  int
}

func (r *remote) SetRule(rule ratelimit.Rule) error {
	if r.setRule != nil {
		return r.setRule(rule)
	}
	return r.Local.SetRule(rule)
}

func (r *remote) Close() error { r.closed++; return nil }

// fixed is a limiter without SetRule.
type fixed struct {
	ratelimit.Reversible
	build rules.Build
}

func TestLimitersOfTheProgram(t *testing.T) {
	made := map[string]*remote{}
	store, err := rules.NewStore(
		rules.Spec{Store: "redis://r", Rules: []rules.RuleSpec{named("a", "1/s"), matching(named("b", "2/s"), "/b")}},
		rules.Config{NewLimiter: func(b rules.Build) (ratelimit.Reversible, error) {
			assert.Equal(t, "redis://r", b.Store)
			assert.Equal(t, "ip", b.Key)
			limiter, err := ratelimit.New(b.Limit, ratelimit.Config{})
			made[b.Rule] = &remote{Local: limiter}
			return made[b.Rule], err
		}})
	require.NoError(t, err)
	a, b := made["a"], made["b"]

	require.NoError(t, store.Update(rules.Spec{Store: "redis://r", Rules: []rules.RuleSpec{named("a", "3/s"), matching(named("c", "2/s"), "/c")}}))
	assert.Same(t, a, made["a"], "kept, and told its new rule")
	assert.EqualValues(t, 3, a.Rule().Capacity)
	assert.Equal(t, 1, b.closed, "no rule has it any more")
	assert.Zero(t, a.closed)
	require.NoError(t, store.Close())
	assert.Equal(t, []int{1, 1, 1}, []int{a.closed, b.closed, made["c"].closed})
}

// A limiter that isn't there is found at the change, and not by the first request.
func TestNoLimiterOfTheProgram(t *testing.T) {
	for _, none := range []ratelimit.Reversible{nil, (*ratelimit.Composite)(nil)} {
		_, err := rules.NewStore(rules.Spec{Rules: []rules.RuleSpec{perIP("1/s")}},
			rules.Config{NewLimiter: func(rules.Build) (ratelimit.Reversible, error) { return none, nil }})
		p := problemAt(t, err, "rules[0]")
		assert.ErrorIs(t, p, ratelimit.ErrInvalidConfig)
		assert.Contains(t, p.Text, "NewLimiter")
	}
}

func TestLimiterWithoutSetRuleIsMadeAnew(t *testing.T) {
	var made []rules.Build
	store, err := rules.NewStore(rules.Spec{Rules: []rules.RuleSpec{perIP("1/s")}},
		rules.Config{NewLimiter: func(b rules.Build) (ratelimit.Reversible, error) {
			made = append(made, b)
			limiter, err := ratelimit.New(b.Limit, ratelimit.Config{})
			return fixed{limiter, b}, err
		}})
	require.NoError(t, err)
	shadowed := perIP("1/s")
	shadowed.Mode = rules.Shadow
	require.NoError(t, store.Update(rules.Spec{Rules: []rules.RuleSpec{shadowed}}))
	assert.Len(t, made, 1, "its limit hasn't changed")
	require.NoError(t, store.Update(rules.Spec{Rules: []rules.RuleSpec{perIP("2/s")}}))
	require.Len(t, made, 2)
	before, after := made[0], made[1]
	before.Limit = after.Limit
	assert.Equal(t, before, after, "the same in all that its counts are known by")
}

func TestSetRuleThatFailsIsUndone(t *testing.T) {
	var made []*remote
	broken := errors.New("out of range here")
	store, err := rules.NewStore(rules.Spec{Rules: []rules.RuleSpec{named("a", "1/s"), matching(named("b", "1/s"), "/b")}},
		rules.Config{NewLimiter: func(b rules.Build) (ratelimit.Reversible, error) {
			limiter, err := ratelimit.New(b.Limit, ratelimit.Config{})
			made = append(made, &remote{Local: limiter})
			return made[len(made)-1], err
		}})
	require.NoError(t, err)
	made[1].setRule = func(ratelimit.Rule) error { return broken }
	before := store.Current()
	err = store.Update(rules.Spec{Rules: []rules.RuleSpec{named("a", "5/s"), matching(named("b", "5/s"), "/b"), matching(named("c", "1/s"), "/c")}})
	assert.ErrorIs(t, err, broken)
	assert.Equal(t, "b", problemAt(t, err, "rules[1]").Rule)
	assert.Same(t, before, store.Current())
	assert.EqualValues(t, 1, made[0].Rule().Capacity, "told its old rule again")
	assert.Equal(t, 1, made[2].closed, "made for nothing")
}

func TestPlansHaveTheirOwnCounts(t *testing.T) {
	rule := perIP("1/minute")
	rule.Plans = map[string]rules.PlanLimit{"gold": {Limit: ratelimit.PerMinute(3)}}
	spec := rules.Spec{Plans: rules.PlansSpec{Names: rules.List{"gold"}}, Rules: []rules.RuleSpec{rule}}
	w := newWorld(t, perIP("1/s"))
	require.NoError(t, w.store.Update(spec))
	set := w.store.Current()
	assert.True(t, decide(set, "gold", "GET", "/", "k", 3).Allowed)
	assert.False(t, decide(set, "gold", "GET", "/", "k", 1).Allowed)
	assert.True(t, decide(set, "lead", "GET", "/", "k", 1).Allowed, "an unknown plan has the rule's own limit")
	assert.False(t, decide(set, "", "GET", "/", "k", 1).Allowed, "the same count")
}

func TestShares(t *testing.T) {
	rule := withBurst(perIP("100/minute"), 30)
	n := 3
	rule.Share = &n
	w := newWorld(t, rule)
	limit := w.store.Current().Limits()[0].Limit
	want, err := ratelimit.PerMinute(100).Burst(30).Split(3)
	require.NoError(t, err)
	assert.Equal(t, want, limit)
	w.take("k", 10)
	assert.Equal(t, 1800*time.Millisecond, w.take("k", 1).RetryAfter, "100 a minute among three")
	n = 2
	w.update(rule)
	assert.Zero(t, w.left("k"), "another number of servers is another limit, and keeps the counts")
}
