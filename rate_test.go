package ratelimit_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
)

func TestParseRate(t *testing.T) {
	for _, c := range []struct {
		text string
		want ratelimit.Rate
	}{
		{"100/minute", ratelimit.PerMinute(100)},
		{"10/s", ratelimit.PerSecond(10)},
		{"5/2h", ratelimit.Rate{Tokens: 5, Per: 2 * time.Hour}},
		{"1000/day", ratelimit.PerDay(1000)},
		{"10r/s", ratelimit.PerSecond(10)},
		{"30r/m", ratelimit.PerMinute(30)},
		{"100 per minute", ratelimit.PerMinute(100)},
		{" 7 / hour ", ratelimit.PerHour(7)},
		{"1/1m30s", ratelimit.Rate{Tokens: 1, Per: 90 * time.Second}},
		{"1/0.5s", ratelimit.Rate{Tokens: 1, Per: 500 * time.Millisecond}},
		{"1/1.5s", ratelimit.Rate{Tokens: 1, Per: 1500 * time.Millisecond}},
		{"1/.5s", ratelimit.Rate{Tokens: 1, Per: 500 * time.Millisecond}},
		{"1/0h30m", ratelimit.Rate{Tokens: 1, Per: 30 * time.Minute}},
		{"3/250ms", ratelimit.Rate{Tokens: 3, Per: 250 * time.Millisecond}},
		{"2/10 seconds", ratelimit.Rate{Tokens: 2, Per: 10 * time.Second}},
		{"9223372036854775807/ns", ratelimit.Rate{Tokens: math.MaxInt64, Per: 1}},
	} {
		got, err := ratelimit.ParseRate(c.text)
		require.NoError(t, err, c.text)
		assert.Equal(t, c.want, got, c.text)
	}
}

func TestParseRateRefusesAnythingElse(t *testing.T) {
	for _, text := range []string{
		"", "/", "10", "10/", "/s", "0/s", "-1/s", "+1/s", "1.5/s", "1e3/s", "10/0s", "10/0", "10/0h0m", "10/-1s", "10/fortnight", "ten/s", "10//s",
		"10/s/s", "9223372036854775808/s", "1/107000days", "1/99999999999999999999s", "10 s", "10r", "10/s\x00",
	} {
		got, err := ratelimit.ParseRate(text)
		require.ErrorIs(t, err, ratelimit.ErrInvalidRule, "%q gave %v", text, got)
		assert.Zero(t, got, text)
		assert.Contains(t, err.Error(), "Refill")
	}
}

func TestRateStringIsReadBack(t *testing.T) {
	for _, r := range []ratelimit.Rate{
		ratelimit.PerSecond(1), ratelimit.PerMinute(100), ratelimit.PerHour(3), ratelimit.PerDay(1000),
		{Tokens: 5, Per: 2 * time.Hour}, {Tokens: 1, Per: 90 * time.Second}, {Tokens: 1, Per: 1}, {Tokens: 7, Per: math.MaxInt64},
	} {
		got, err := ratelimit.ParseRate(r.String())
		require.NoError(t, err, r.String())
		assert.Equal(t, r, got)
	}
	assert.Equal(t, "100/minute", ratelimit.PerMinute(100).String())
	assert.Equal(t, "5/2h", ratelimit.Rate{Tokens: 5, Per: 2 * time.Hour}.String())
}

func TestFloatRateFindsTheSmallFraction(t *testing.T) {
	for _, c := range []struct {
		perSecond float64
		want      ratelimit.Rate
	}{
		{10, ratelimit.PerSecond(10)},
		{100 / 60.0, ratelimit.PerMinute(100)},
		{1000 / 86400.0, ratelimit.PerDay(1000)},
		{10 / 13.0, ratelimit.Rate{Tokens: 10, Per: 13 * time.Second}},
		{1e-9, ratelimit.Rate{Tokens: 1, Per: 1e18}},
		{1e13, ratelimit.PerSecond(1e13)},
	} {
		got, err := ratelimit.FloatRate(c.perSecond)
		require.NoError(t, err)
		assert.Equal(t, c.want, got, "%v", c.perSecond)
	}
	for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1), 5e-324, 1e-10, 1e18, 1e300} {
		_, err := ratelimit.FloatRate(bad)
		assert.ErrorIs(t, err, ratelimit.ErrInvalidRule, "%v", bad)
	}
}

func TestFloatRateIsNearTheFloatThatWasGiven(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 10_000 {
		f := math.Exp(random.Float64()*34 - 17) // 4e-8 to 2e7 a second
		r, err := ratelimit.FloatRate(f)
		require.NoError(t, err, "%v", f)
		assert.InEpsilon(t, f, r.PerSecond(), 1e-9)
		assert.NoError(t, r.Burst(1).Validate(), "%v", r)
	}
}
