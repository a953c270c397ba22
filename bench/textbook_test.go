package bench

import (
	"testing"
	"time"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/limittest"
)

// TestTextbooksAreRight runs the conformance suite, so that nobody measures a broken rival.
func TestTextbooksAreRight(t *testing.T) {
	for name, create := range map[string]func(ratelimit.Rule, ratelimit.Clock) ratelimit.Limiter{
		"sync.Map": func(r ratelimit.Rule, c ratelimit.Clock) ratelimit.Limiter { return NewSyncMapLimiter(r, c) },
		"sharded":  func(r ratelimit.Rule, c ratelimit.Clock) ratelimit.Limiter { return NewShardedLimiter(r, c) },
	} {
		t.Run(name, func(t *testing.T) {
			limittest.Suite{
				New: func(r ratelimit.Rule, c ratelimit.Clock) ratelimit.Limiter {
					if r.Algorithm != ratelimit.TokenBucket {
						return nil
					}
					return create(r, c)
				},
				Resolution: time.Microsecond,
				Skip: map[string]string{
					"take/twin":        "a float64 of tokens is wrong by one now and then",
					"take/retry-after": "its waits are rounded up from a float64, off by a ns or two",
					"key/too-long":     "it bounds no key",
				},
			}.Run(t)
		})
	}
}
