package ratelimit

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// changing returns a limiter in the midst of SetRule: the keys are under the new rule already, and Rule tells the old one.
func changing(t *testing.T, from, to Rule) Local {
	l, err := New(from, Config{Clock: stopped(0)})
	require.NoError(t, err)
	require.True(t, l.TryAcquire("known"))
	require.NoError(t, l.SetRule(to))
	switch l := l.(type) {
	case *TokenBucketLimiter:
		l.rule.Store(&from)
	case *FixedWindowLimiter:
		l.rule.Store(&from)
	case *SlidingWindowCounterLimiter:
		l.rule.Store(&from)
	case *SlidingWindowLogLimiter:
		l.rule.Store(&from)
	}
	return l
}

type stopped int64

func (s stopped) NanoTime() int64 { return int64(s) }

func TestATakeWhileTheRuleChangesIsCharged(t *testing.T) {
	for algorithm := TokenBucket; algorithm <= SlidingWindowCounter; algorithm++ {
		small := Rule{algorithm, 10, Rate{10, time.Second}}
		large := Rule{algorithm, 20, Rate{20, time.Second}}
		for _, key := range []string{"known", "unknown"} {
			t.Run(fmt.Sprint(algorithm, "/", key), func(t *testing.T) {
				l := changing(t, small, large)
				left := l.Peek(key, 0).Remaining
				d := l.Take(key, 15)
				if d.Allowed {
					left -= 15
				}
				require.Equal(t, left, l.Peek(key, 0).Remaining, "%+v", d)

				l = changing(t, large, small)
				require.Equal(t, Never, l.Take(key, 15).RetryAfter)
			})
		}
	}
}
