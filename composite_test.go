package ratelimit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/limittest"
)

func TestCompositeHoldsOneKeyUnderSeveralRules(t *testing.T) {
	var clock limittest.ManualClock
	composite, err := ratelimit.NewComposite(
		limiter(t, ratelimit.PerSecond(2).Burst(2), &clock), limiter(t, ratelimit.PerHour(3).Burst(3), &clock))
	require.NoError(t, err)
	assert.True(t, composite.TryAcquire("k"))
	assert.True(t, composite.TryAcquire("k"))
	assert.Equal(t, time.Second/2, composite.Peek("k", 1).RetryAfter)
	clock.Advance(time.Second)
	d := composite.Take("k", 1)
	assert.True(t, d.Allowed)
	assert.EqualValues(t, 0, d.Remaining)
	assert.EqualValues(t, 3, d.Limit)
	composite.RefundAt("k", 1, d.At)
	assert.EqualValues(t, 1, composite.Peek("k", 0).Remaining)
}

func TestNewCompositeChecksItsLimiters(t *testing.T) {
	var one, two limittest.ManualClock
	a, b := limiter(t, ratelimit.PerSecond(2).Burst(2), &one), limiter(t, ratelimit.PerSecond(2).Burst(2), &two)
	for name, limiters := range map[string][]ratelimit.Reversible{
		"none": {}, "nil": {a, nil}, "a nil pointer": {a, (*ratelimit.TokenBucketLimiter)(nil)}, "a nil composite": {(*ratelimit.Composite)(nil)},
		"two clocks": {a, b},
	} {
		_, err := ratelimit.NewComposite(limiters...)
		assert.ErrorIs(t, err, ratelimit.ErrInvalidConfig, name)
	}
	mixed, err := ratelimit.NewComposite(a, logging{a, new([]string)}) // which takes no time
	require.NoError(t, err)
	_, err = ratelimit.NewComposite(mixed, b)
	require.ErrorIs(t, err, ratelimit.ErrInvalidConfig, "two clocks, one in a composite")
	_, err = ratelimit.NewComposite(new(ratelimit.Composite))
	require.ErrorIs(t, err, ratelimit.ErrInvalidConfig, "a composite of none")
	inner, err := ratelimit.NewComposite(a, a)
	require.NoError(t, err)
	outer, err := ratelimit.NewComposite(inner, a)
	require.NoError(t, err)
	assert.Equal(t, ratelimit.Never, outer.Take("k", 1).RetryAfter, "inner wants two of two, and a one more")
	assert.EqualValues(t, 2, remaining(a, "k"))
}

// A clock that can't be compared is nobody else's, but the limiter's own.
func TestCompositeTakesTheTimeFromOutside(t *testing.T) {
	for _, clock := range []ratelimit.Clock{new(limittest.ManualClock), funcClock(func() int64 { return 0 })} {
		composite, err := ratelimit.NewComposite(limiter(t, ratelimit.PerSecond(1).Burst(1), clock))
		require.NoError(t, err)
		for now := range int64(3) {
			assert.Equal(t, now*1e9, composite.TakeAt("k", 1, now*1e9).At, "%T", clock)
		}
	}
	local, other := limiter(t, ratelimit.PerSecond(1).Burst(1), new(limittest.ManualClock)), limiter(t, ratelimit.PerSecond(9).Burst(9), nil)
	mixed, err := ratelimit.NewComposite(logging{other, new([]string)}, local)
	require.NoError(t, err)
	assert.EqualValues(t, 5e9, mixed.TakeAt("k", 1, 5e9).At, "beside a limiter with a time of its own")
}

// A limiter that stands in a Composite and beside it, or in two of them, is asked for the sum.
func TestTakeAllSumsThePartsOfComposites(t *testing.T) {
	var clock limittest.ManualClock
	a, b := limiter(t, ratelimit.PerSecond(1).Burst(3), &clock), limiter(t, ratelimit.PerSecond(1).Burst(9), &clock)
	compose := func(limiters ...ratelimit.Reversible) *ratelimit.Composite {
		c, err := ratelimit.NewComposite(limiters...)
		require.NoError(t, err)
		return c
	}
	both := compose(b, a)
	nested := compose(compose(both, b), b)
	for _, c := range []struct {
		name       string
		claims     []ratelimit.Claim
		retryAfter time.Duration // with an empty a, which has 3 at most, and 6 of 9 in b
		binding    int
	}{
		{"beside its part", []ratelimit.Claim{{Limiter: both, Key: "k", N: 1}, {Limiter: a, Key: "k", N: 1}}, 2 * time.Second, 0},
		{"after its part", []ratelimit.Claim{{Limiter: a, Key: "k", N: 1}, {Limiter: both, Key: "k", N: 1}}, 2 * time.Second, 0},
		{"beside its other part", []ratelimit.Claim{{Limiter: b, Key: "k", N: 1}, {Limiter: both, Key: "k", N: 1}}, time.Second, 1},
		{"beside another with its part", []ratelimit.Claim{{Limiter: both, Key: "k", N: 1}, {Limiter: compose(a), Key: "k", N: 2}}, 3 * time.Second, 0},
		{"twice", []ratelimit.Claim{{Limiter: both, Key: "k", N: 1}, {Limiter: both, Key: "k", N: 1}}, 2 * time.Second, 0},
		{"nested", []ratelimit.Claim{{Limiter: b, Key: "k", N: 4}, {Limiter: nested, Key: "k", N: 1}}, time.Second, 0},
		{"nested, and what can't ever be", []ratelimit.Claim{{Limiter: b, Key: "k", N: 7}, {Limiter: nested, Key: "k", N: 1}}, ratelimit.Never, 0},
		{"more than there can be", []ratelimit.Claim{{Limiter: both, Key: "k", N: 2}, {Limiter: a, Key: "k", N: 2}}, ratelimit.Never, 0},
		{"another key", []ratelimit.Claim{{Limiter: both, Key: "k", N: 1}, {Limiter: a, Key: "other", N: 3}}, time.Second, 0},
		{"negative", []ratelimit.Claim{{Limiter: both, Key: "k", N: 2}, {Limiter: a, Key: "k", N: -1}}, ratelimit.Never, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			a.Reset("k")
			b.Reset("k")
			require.True(t, both.Take("k", 3).Allowed)
			start := clock.NanoTime()
			d, binding := ratelimit.TakeAll(c.claims)
			assert.False(t, d.Allowed)
			assert.Equal(t, c.retryAfter, d.RetryAfter)
			assert.Equal(t, c.binding, binding)
			assert.Equal(t, d, c.claims[binding].Decision)
			assert.Equal(t, "0 6", fmt.Sprint(remaining(a, "k"), remaining(b, "k")), "nothing was taken")
			if c.retryAfter == ratelimit.Never {
				return
			}
			clock.Set(start + int64(c.retryAfter) - 1)
			early, _ := ratelimit.TakeAll(c.claims)
			assert.False(t, early.Allowed)
			clock.Set(start + int64(c.retryAfter))
			exact, binding := ratelimit.TakeAll(c.claims)
			assert.True(t, exact.Allowed)
			assert.Equal(t, exact, c.claims[binding].Decision)
		})
	}
}

func TestTakeAllTellsOfEachCompositeWhatBindsIt(t *testing.T) {
	var clock limittest.ManualClock
	a, b := limiter(t, ratelimit.PerSecond(1).Burst(10), &clock), limiter(t, ratelimit.PerSecond(1).Burst(20), &clock)
	c := limiter(t, ratelimit.PerSecond(1).Burst(1), &clock)
	composite, err := ratelimit.NewComposite(b, a)
	require.NoError(t, err)
	claims := []ratelimit.Claim{{Limiter: c, Key: "k", N: 1}, {Limiter: composite, Key: "k", N: 1}, {Limiter: b, Key: "k", N: 17}}
	d, binding := ratelimit.TakeAll(claims)
	assert.True(t, d.Allowed)
	assert.Equal(t, 0, binding)
	left := func() string {
		return fmt.Sprint(claims[0].Decision.Remaining, claims[1].Decision.Remaining, claims[2].Decision.Remaining)
	}
	assert.Equal(t, "0 2 2", left(), "b has 2 of 20 left, a smaller share than a's 9 of 10")
	d, binding = ratelimit.TakeAll(append(claims[:0], claims[0], claims[1]))
	assert.False(t, d.Allowed)
	assert.Equal(t, 0, binding)
	assert.True(t, claims[1].Decision.Allowed)
	assert.Equal(t, "0 2 2", left(), "what it has, not what it would have")
}

// What a Composite has in a store is asked last, with the other claims on it.
func TestTakeAllAsksForTheRemotePartsOfComposites(t *testing.T) {
	var clock limittest.ManualClock
	var s store
	here, far := limiter(t, ratelimit.PerSecond(1).Burst(9), &clock), limiter(t, ratelimit.PerSecond(1).Burst(9), &clock)
	composite, err := ratelimit.NewComposite(stored{far, &s}, here)
	require.NoError(t, err)
	elsewhere, err := ratelimit.NewComposite(stored{far, &s})
	require.NoError(t, err)
	claims := []ratelimit.Claim{{Limiter: elsewhere, Key: "k", N: 2}, {Limiter: composite, Key: "k", N: 1}, {Limiter: here, Key: "k", N: 4}}
	d, binding := ratelimit.TakeAll(claims)
	assert.True(t, d.Allowed)
	assert.Equal(t, 1, binding)
	assert.Equal(t, "4 6", fmt.Sprint(remaining(here, "k"), remaining(far, "k")))
	assert.Equal(t, 1, s.calls)
	d, binding = ratelimit.TakeAll(claims)
	assert.False(t, d.Allowed)
	assert.Equal(t, 1, binding)
	assert.Equal(t, time.Second, d.RetryAfter)
	assert.Equal(t, 1, s.calls, "a local refusal asks no store")
	assert.Zero(t, claims[0].Decision, "wasn't asked")
}
