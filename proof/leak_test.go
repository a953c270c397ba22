package proof

import (
	"fmt"
	"runtime"
	"testing"

	"go.uber.org/goleak"

	"github.com/casgate/ratelimit"
)

// A limiter needs no Close: one that holds keys and is dropped leaves nothing running.
func TestDroppedLimitersLeaveNothing(t *testing.T) {
	defer goleak.VerifyNone(t)
	for a := ratelimit.TokenBucket; a <= ratelimit.SlidingWindowCounter; a++ {
		for range 20 {
			l, err := ratelimit.New(ratelimit.Rule{Algorithm: a, Capacity: 2, Refill: ratelimit.PerSecond(2)}, ratelimit.Config{})
			if err != nil {
				t.Fatal(err)
			}
			for i := range 1000 {
				l.TryAcquire(fmt.Sprint(i))
			}
		}
	}
	for range 3 {
		runtime.GC()
	}
}
