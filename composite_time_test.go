package ratelimit_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/limittest"
)

// A late call counts at the newest instant that one of the parts has seen, in all of them: so RefundAt finds it again.
func TestCompositeCountsAtOneInstant(t *testing.T) {
	for algorithm := ratelimit.TokenBucket; algorithm <= ratelimit.SlidingWindowCounter; algorithm++ {
		for _, first := range []bool{true, false} {
			clock := new(limittest.ManualClock)
			clock.Set(5e9)
			log := limiter(t, ratelimit.Rule{Algorithm: ratelimit.SlidingWindowLog, Capacity: 3, Refill: ratelimit.PerMinute(3)}, clock)
			other := limiter(t, ratelimit.Rule{Algorithm: algorithm, Capacity: 3, Refill: ratelimit.PerMinute(3)}, clock)
			parts := []ratelimit.Reversible{log, other}
			if !first {
				parts = []ratelimit.Reversible{other, log}
			}
			composite, err := ratelimit.NewComposite(parts...)
			require.NoError(t, err)
			require.True(t, log.TakeAt("k", 1, 7e9).Allowed)
			want := composite.Peek("k", 1)
			claims := []ratelimit.Claim{{Limiter: composite, Key: "k", N: 1}}
			for name, take := range map[string]func() ratelimit.Decision{
				"Take":    func() ratelimit.Decision { return composite.Take("k", 1) },
				"TakeAt":  func() ratelimit.Decision { return composite.TakeAt("k", 1, 5e9) },
				"TakeAll": func() ratelimit.Decision { ratelimit.TakeAll(claims); return claims[0].Decision },
			} {
				d := take()
				require.True(t, d.Allowed)
				assert.Equal(t, want, d, "%v, %s", algorithm, name)
				assert.EqualValues(t, 7e9, d.At, "%v, %s", algorithm, name)
				composite.RefundAt("k", 1, d.At)
				assert.EqualValues(t, 2, remaining(log, "k"), "%v, %s", algorithm, name)
				assert.EqualValues(t, 3, remaining(other, "k"), "%v, %s", algorithm, name)
			}
		}
	}
}

// racing is a log that another call comes to first, each time.
type racing struct {
	*ratelimit.SlidingWindowLogLimiter
	at int64
}

func (r racing) TakeAt(key string, n, now int64) ratelimit.Decision {
	r.SlidingWindowLogLimiter.TakeAt(key, 1, r.at)
	return r.SlidingWindowLogLimiter.TakeAt(key, n, now)
}

func TestCompositeTellsTheNewestInstant(t *testing.T) {
	clock := new(limittest.ManualClock)
	log := limiter(t, ratelimit.Rule{Algorithm: ratelimit.SlidingWindowLog, Capacity: 60, Refill: ratelimit.PerMinute(60)}, clock)
	bucket := limiter(t, ratelimit.PerSecond(1).Burst(10), clock)
	composite, err := ratelimit.NewComposite(racing{log.(*ratelimit.SlidingWindowLogLimiter), 3e9}, bucket)
	require.NoError(t, err)
	d := composite.Take("k", 5)
	assert.Equal(t, ratelimit.Decision{Allowed: true, Limit: 10, Remaining: 5, ResetAfter: 2e9, At: 3e9}, d)
	assert.NotZero(t, bucket.TakeAt("k", 0, d.At+int64(d.ResetAfter)-1).ResetAfter)
	assert.Zero(t, bucket.TakeAt("k", 0, d.At+int64(d.ResetAfter)).ResetAfter)
	composite.RefundAt("k", 5, d.At)
	assert.EqualValues(t, 59, log.TakeAt("k", 0, d.At).Remaining)
}
