package rules_test

import (
	"testing"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/limittest"
	"github.com/casgate/ratelimit/rules"
	"github.com/stretchr/testify/require"
)

// world is a store on a clock of its own, and the least filter that can decide by it.
type world struct {
	*testing.T
	clock *limittest.ManualClock
	store *rules.Store
}

func newWorld(t *testing.T, list ...rules.RuleSpec) *world {
	t.Helper()
	w := &world{T: t, clock: &limittest.ManualClock{}}
	var err error
	w.store, err = rules.NewStore(rules.Spec{Rules: list}, rules.Config{Limiters: ratelimit.Config{Clock: w.clock}})
	require.NoError(t, err)
	return w
}

// update changes the rules.
func (w *world) update(list ...rules.RuleSpec) {
	w.Helper()
	require.NoError(w, w.store.Update(rules.Spec{Rules: list}))
}

// take decides a request with the same key for all rules.
func (w *world) take(key string, n int64) ratelimit.Decision {
	return decide(w.store.Current(), "", "GET", "/", key, n)
}

// left returns what a key has left under the only rule.
func (w *world) left(key string) int64 { return w.take(key, 0).Remaining }

// decide is what a filter does: all the rules that a request meets, or none.
func decide(set *rules.Set, plan, method, path, key string, n int64) ratelimit.Decision {
	var buf [8]rules.Match
	var claims []ratelimit.Claim
	for _, m := range set.Match(buf[:0], set.Plan(plan), method, "", path, "") {
		if m.Limit.Limiter != nil && m.Limit.Rule.Mode == rules.Enforce {
			claims = append(claims, ratelimit.Claim{Limiter: m.Limit.Limiter, Key: key, N: n * m.Limit.Rule.Cost})
		}
	}
	d, _ := ratelimit.TakeAll(claims)
	return d
}

// perIP is the simplest rule.
func perIP(limit string) rules.RuleSpec { return named("api", limit) }

func named(name, limit string) rules.RuleSpec {
	rate, err := ratelimit.ParseRate(limit)
	if err != nil {
		panic(err)
	}
	return rules.RuleSpec{Name: name, Key: rules.List{"ip"}, Limit: rate}
}

func withBurst(r rules.RuleSpec, burst int64) rules.RuleSpec {
	r.Burst = &burst
	return r
}

func matching(r rules.RuleSpec, patterns ...string) rules.RuleSpec {
	r.Match = patterns
	return r
}

// problemAt returns the only problem at a path.
func problemAt(t *testing.T, err error, path string) rules.Problem {
	t.Helper()
	var e *rules.Error
	require.ErrorAs(t, err, &e)
	var found []rules.Problem
	for _, p := range e.Problems {
		if p.Path == path {
			found = append(found, p)
		}
	}
	require.Len(t, found, 1, "problems at %q, of %v", path, err)
	return found[0]
}
