package limittest

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/casgate/ratelimit"
)

// ManualClock is a ratelimit.Clock that moves only when told to. The zero value stands at 0 and is ready to use. It is
// safe for concurrent use; it must not be copied after first use.
type ManualClock struct {
	now atomic.Int64
}

var _ ratelimit.Clock = (*ManualClock)(nil)

// NanoTime returns the time that the clock stands at, in ns.
func (c *ManualClock) NanoTime() int64 { return c.now.Load() }

// Advance moves the clock on by d, atomically: two concurrent calls move it by both. A negative d moves it back, which
// a ratelimit.Clock promises never to do; see Set. The time stops at the ends of int64.
func (c *ManualClock) Advance(d time.Duration) {
	for {
		old := c.now.Load()
		if c.now.CompareAndSwap(old, saturatingAdd(old, int64(d))) {
			return
		}
	}
}

// Set puts the clock at now, in ns. It may go back: that is how a test shows that a late call, or a clock that breaks
// its promise, does no harm.
func (c *ManualClock) Set(now int64) { c.now.Store(now) }

// saturatingAdd returns a + b, or the end of int64 that the sum lies beyond.
func saturatingAdd(a, b int64) int64 {
	sum := a + b
	if b >= 0 && sum < a {
		return math.MaxInt64
	}
	if b < 0 && sum > a {
		return math.MinInt64
	}
	return sum
}
