package ratelimit_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
)

// Calls at the first and last instants there are, in any order, for keys of any length and numbers of any size, end, and
// answer something that can be.
func TestExtremes(t *testing.T) {
	const year = 365 * 24 * time.Hour
	last := int64(math.MaxInt64 - 1<<57) // that is counted at
	instants := []int64{math.MinInt64, math.MinInt64 + 1, -1 << 62, -1, 0, 1, 1e18, 5e18, 7e18, last - 1, last, last + 1, math.MaxInt64 - 1, math.MaxInt64}
	keys := []string{"", "k", "12345678" + strings.Repeat("\x00", 8) + "12"}
	for _, n := range []int{1, 8, 23, 24, 36, 56, 1 << 16, 1<<16 + 1} {
		keys = append(keys, strings.Repeat("\x00", n))
	}
	rates := []ratelimit.Rule{
		{Capacity: 1, Refill: ratelimit.Rate{Tokens: 1, Per: year}},
		{Capacity: 90, Refill: ratelimit.Rate{Tokens: 1, Per: year}},
		{Capacity: 10, Refill: ratelimit.Rate{Tokens: 10, Per: time.Second}},
		{Capacity: 1e9, Refill: ratelimit.Rate{Tokens: 1e9, Per: time.Second}},
	}
	rounds := 300
	if testing.Short() {
		rounds = 30
	}
	for _, a := range []ratelimit.Algorithm{ratelimit.TokenBucket, ratelimit.FixedWindow, ratelimit.SlidingWindowLog, ratelimit.SlidingWindowCounter} {
		t.Run(a.String(), func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			r := rand.New(rand.NewPCG(seed, 0))
			tried := false
			for _, rule := range rates {
				rule.Algorithm = a
				if rule.Validate() != nil {
					continue
				}
				tried = true
				counts := []int64{0, 1, 2, rule.Capacity, rule.Capacity + 1, -1, math.MinInt64, math.MaxInt64}
				for round := range rounds {
					now, some, kinds := int64(0), instants[r.IntN(len(instants)):], 1+r.IntN(8)
					l, err := ratelimit.New(rule, ratelimit.Config{Clock: funcClock(func() int64 { return now }), MaxKeys: []int{0, 1, 3}[round%3], Overflow: ratelimit.Overflow(round / 3 % 3)})
					require.NoError(t, err)
					for range 100 {
						now = some[r.IntN(len(some))]
						key, n := keys[r.IntN(len(keys))], counts[r.IntN(len(counts))]
						var d ratelimit.Decision
						switch r.IntN(kinds) {
						case 0:
							d = l.TakeAt(key, n, now)
						case 1:
							l.TryAcquire(key)
						case 2:
							l.RefundAt(key, 1, now)
						case 3:
							d = l.Peek(key, n)
						case 4:
							l.TryAcquireMany([]string{key, key, "k"}, make([]bool, 3))
						case 5:
							l.Reset(key)
						case 6:
							to := rule
							to.Capacity = max(1, rule.Capacity-r.Int64N(2))
							if to.Validate() == nil {
								require.NoError(t, l.SetRule(to))
							}
						case 7:
							l.Sweep()
						}
						if d.Remaining < 0 || d.RetryAfter < 0 || d.ResetAfter < 0 || d.Allowed && d.RetryAfter != 0 {
							t.Fatalf("%v: %d of a key of %d bytes at %d: %+v", rule, n, len(key), now, d)
						}
					}
				}
			}
			require.True(t, tried)
		})
	}
}
