package ratelimit_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/limittest"
)

func TestValidateNamesFieldValueAndBound(t *testing.T) {
	for _, c := range []struct {
		name string
		rule ratelimit.Rule
		says []string
	}{
		{"zero", ratelimit.Rule{}, []string{"Refill.Tokens", "0", "at least 1"}},
		{"no capacity", ratelimit.Rule{Refill: ratelimit.PerSecond(1)}, []string{"Capacity", "0", "1"}},
		{"negative capacity", ratelimit.PerSecond(1).Burst(-5), []string{"Capacity", "-5", "1"}},
		{"no tokens", ratelimit.PerSecond(0).Burst(1), []string{"Refill.Tokens", "0", "at least 1"}},
		{"negative time", ratelimit.Rate{Tokens: 1, Per: -time.Second}.Burst(1), []string{"Refill.Per", "-1s", "at least 1ns"}},
		{"capacity of int64", ratelimit.PerSecond(1).Burst(math.MaxInt64), []string{"Capacity", "9223372036854775807"}},
		{"three hundred years to full", ratelimit.PerDay(1).Burst(110_000), []string{"Capacity", "110000"}},
		{"window of a third of a ns", ratelimit.Rule{Algorithm: ratelimit.FixedWindow, Capacity: 1, Refill: ratelimit.Rate{Tokens: 3, Per: 1}}, []string{"Refill"}},
		{"window not whole", ratelimit.Rule{Algorithm: ratelimit.SlidingWindowCounter, Capacity: 1, Refill: ratelimit.PerSecond(3)}, []string{"Refill"}},
		{"unknown algorithm", ratelimit.Rule{Algorithm: 9, Capacity: 1, Refill: ratelimit.PerSecond(1)}, []string{"Algorithm", "9", "TOKEN_BUCKET"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.rule.Validate()
			require.ErrorIs(t, err, ratelimit.ErrInvalidRule)
			for _, word := range c.says {
				assert.Contains(t, err.Error(), word)
			}
			_, err = ratelimit.New(c.rule, ratelimit.Config{})
			assert.ErrorIs(t, err, ratelimit.ErrInvalidRule)
			assert.Zero(t, c.rule.Window())
			_, err = c.rule.Split(2)
			assert.ErrorIs(t, err, ratelimit.ErrInvalidRule)
		})
	}
}

func TestWindow(t *testing.T) {
	assert.Equal(t, time.Minute, ratelimit.Rule{Algorithm: ratelimit.FixedWindow, Capacity: 100, Refill: ratelimit.PerMinute(100)}.Window())
	assert.Equal(t, 12*time.Second, ratelimit.Rule{Algorithm: ratelimit.SlidingWindowLog, Capacity: 20, Refill: ratelimit.PerMinute(100)}.Window())
	assert.Equal(t, 333333334*time.Nanosecond, ratelimit.PerSecond(3).Burst(1).Window(), "time to full, rounded up")
}

func TestSplit(t *testing.T) {
	bucket, err := ratelimit.PerMinute(100).Burst(25).Split(3)
	require.NoError(t, err)
	assert.Equal(t, ratelimit.Rate{Tokens: 100, Per: 3 * time.Minute}.Burst(8), bucket, "exactly a third of the rate")

	reduced, err := ratelimit.PerMinute(100).Burst(25).Split(5)
	require.NoError(t, err)
	assert.Equal(t, ratelimit.PerMinute(20).Burst(5), reduced)

	small, err := ratelimit.PerSecond(1).Burst(2).Split(10)
	require.NoError(t, err)
	assert.EqualValues(t, 1, small.Capacity, "at least 1")

	for _, algorithm := range []ratelimit.Algorithm{ratelimit.FixedWindow, ratelimit.SlidingWindowLog, ratelimit.SlidingWindowCounter} {
		share, err := ratelimit.Rule{Algorithm: algorithm, Capacity: 100, Refill: ratelimit.PerMinute(100)}.Split(3)
		require.NoError(t, err)
		assert.EqualValues(t, 33, share.Capacity)
		assert.Equal(t, time.Minute, share.Window(), "a share keeps the window")
	}

	for _, n := range []int{0, -1, math.MinInt, math.MaxInt} {
		_, err := ratelimit.PerDay(1).Burst(1).Split(n)
		assert.ErrorIs(t, err, ratelimit.ErrInvalidRule, "%d", n)
	}
}

func TestAlgorithmText(t *testing.T) {
	for a, name := range map[ratelimit.Algorithm]string{
		ratelimit.TokenBucket: "TOKEN_BUCKET", ratelimit.FixedWindow: "FIXED_WINDOW",
		ratelimit.SlidingWindowLog: "SLIDING_WINDOW_LOG", ratelimit.SlidingWindowCounter: "SLIDING_WINDOW_COUNTER",
	} {
		text, err := a.MarshalText()
		require.NoError(t, err)
		assert.Equal(t, name, string(text))
		assert.Equal(t, name, a.String())
		var back ratelimit.Algorithm
		require.NoError(t, back.UnmarshalText(text))
		assert.Equal(t, a, back)
	}
	_, err := ratelimit.Algorithm(4).MarshalText()
	require.ErrorIs(t, err, ratelimit.ErrInvalidRule)
	kept := ratelimit.FixedWindow
	require.ErrorIs(t, kept.UnmarshalText([]byte("token_bucket")), ratelimit.ErrInvalidRule)
	assert.Equal(t, ratelimit.FixedWindow, kept)
}

func TestConfigIsChecked(t *testing.T) {
	for _, c := range []struct {
		config ratelimit.Config
		says   []string
	}{
		{ratelimit.Config{MaxKeys: -1}, []string{"MaxKeys", "-1", "0"}},
		{ratelimit.Config{Overflow: 3}, []string{"Overflow", "3", "DenyNewKeys"}},
		{ratelimit.Config{Clock: (*limittest.ManualClock)(nil)}, []string{"Clock", "nil *limittest.ManualClock"}},
		{ratelimit.Config{Clock: (*ratelimit.CoarseClock)(nil)}, []string{"Clock", "nil *ratelimit.CoarseClock"}},
		{ratelimit.Config{Clock: funcClock(nil)}, []string{"Clock", "nil ratelimit_test.funcClock"}},
	} {
		_, err := ratelimit.New(ratelimit.PerSecond(1).Burst(1), c.config)
		require.ErrorIs(t, err, ratelimit.ErrInvalidConfig)
		for _, word := range c.says {
			assert.Contains(t, err.Error(), word)
		}
	}
}
