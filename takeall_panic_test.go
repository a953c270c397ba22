package ratelimit_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/limittest"
)

// panicking is a limiter that allows all to who looks, and panics when it is to take.
type panicking struct{ ratelimit.Reversible }

func (panicking) Take(string, int64) ratelimit.Decision { panic("broken") }

// panickingStore panics in the call for its store.
type panickingStore struct{ stored }

func (panickingStore) TakeGroup([]ratelimit.Claim) bool { panic("broken") }

// A server goes on after a panic in a handler. So what was taken for that request must not stay taken.
func TestTakeAllGivesBackWhenALimiterPanics(t *testing.T) {
	clock := new(limittest.ManualClock)
	rule := ratelimit.Rule{Algorithm: ratelimit.SlidingWindowLog, Capacity: 9, Refill: ratelimit.PerSecond(9)}
	a, b, broken := limiter(t, rule, clock), limiter(t, rule, clock), limiter(t, rule, clock)
	first, last, third := stored{a, new(store)}, stored{b, new(store)}, panickingStore{stored{broken, new(store)}}
	composite, err := ratelimit.NewComposite(a, panicking{broken}, b)
	require.NoError(t, err)
	for name, claims := range map[string][]ratelimit.Claim{
		"first":     {{Limiter: panicking{broken}, Key: "k", N: 2}, {Limiter: a, Key: "k", N: 3}, {Limiter: b, Key: "k", N: 4}},
		"between":   {{Limiter: a, Key: "k", N: 3}, {Limiter: panicking{broken}, Key: "k", N: 2}, {Limiter: b, Key: "k", N: 4}},
		"last":      {{Limiter: a, Key: "k", N: 3}, {Limiter: b, Key: "k", N: 4}, {Limiter: panicking{broken}, Key: "k", N: 2}},
		"composite": {{Limiter: composite, Key: "k", N: 2}},
		"a store":   {{Limiter: a, Key: "k", N: 2}, {Limiter: last, Key: "k", N: 2}, {Limiter: third, Key: "k", N: 2}},
		"stores":    {{Limiter: first, Key: "k", N: 2}, {Limiter: third, Key: "k", N: 2}, {Limiter: last, Key: "k", N: 2}},
	} {
		assert.PanicsWithValue(t, "broken", func() { ratelimit.TakeAll(claims) }, name)
		assert.EqualValues(t, 9, remaining(a, "k"), name)
		assert.EqualValues(t, 9, remaining(b, "k"), name)
	}
}
