package ratelimit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/limittest"
)

// What was taken can be given back also under a rule whose capacity is smaller than that.
func TestRefundOfMoreThanTheNewCapacity(t *testing.T) {
	for algorithm := ratelimit.TokenBucket; algorithm <= ratelimit.SlidingWindowCounter; algorithm++ {
		for _, times := range []int64{1, 40_000} { // so that the log's instants are ns, or some
			t.Run(fmt.Sprint(algorithm, "/", times), func(t *testing.T) {
				large := ratelimit.Rule{Algorithm: algorithm, Capacity: 100 * times, Refill: ratelimit.PerDay(100 * times)}
				small := ratelimit.Rule{Algorithm: algorithm, Capacity: 10, Refill: ratelimit.PerDay(10)}
				l := limiter(t, large, new(limittest.ManualClock))
				at := int64(20*time.Hour) + 3
				d := l.TakeAt("k", large.Capacity, at)
				require.True(t, d.Allowed)
				require.NoError(t, l.SetRule(small))
				l.RefundAt("k", large.Capacity, d.At)
				require.Equal(t, small.Capacity, l.TakeAt("k", 0, at).Remaining)
				require.NoError(t, l.SetRule(large))
				require.Equal(t, large.Capacity, l.TakeAt("k", 0, at).Remaining)
			})
		}
	}
}
