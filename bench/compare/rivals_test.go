package compare

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/bench"
)

// TestRivalsAreExercised holds every contender to the least that a limiter is for: each key has its own limit. A
// benchmark in which all keys are one, or none is limited, measures something else.
func TestRivalsAreExercised(t *testing.T) {
	rule := ratelimit.Rate{Tokens: 3, Per: 24 * time.Hour}.Burst(3)
	for _, c := range contenders() {
		t.Run(c.Name, func(t *testing.T) {
			l := c.New(rule, ratelimit.SystemClock())
			for i := range 2000 {
				key := bench.Key(i, bench.KeyBytes)
				for n := range 3 {
					require.True(t, l.TryAcquire(key), "request %d of %s, under a limit of 3 a day", n+1, key)
				}
			}
			for i := range 2000 {
				key := bench.Key(i, bench.KeyBytes)
				require.False(t, l.TryAcquire(key), "request 4 of %s, under a limit of 3 a day", key)
			}
		})
	}
}

func TestTimeIsTaken(t *testing.T) {
	now := ratelimit.SystemClock().NanoTime()
	for _, c := range contenders() {
		l, ok := c.New(ratelimit.PerSecond(1).Burst(1), ratelimit.SystemClock()).(bench.AtLimiter)
		if !ok {
			continue
		}
		require.True(t, l.TryAcquireAt("k", now+int64(time.Hour)), c.Name)
		require.False(t, l.TryAcquireAt("k", now+int64(time.Hour)), c.Name)
		require.True(t, l.TryAcquireAt("k", now+int64(time.Hour+time.Second)), c.Name)
	}
}
