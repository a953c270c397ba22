package bench

import (
	"fmt"
	"testing"

	"github.com/casgate/ratelimit"
)

// Idle is no limiter: what it takes is what the clock, the loop and the machine take.
var Idle = Contender{Name: "none", CopiesKeys: true, New: func(ratelimit.Rule, ratelimit.Clock) Limiter { return idle{} }}

type idle struct{}

func (idle) TryAcquire(string) bool { return true }

// RunGrow measures how long single calls take while contender c grows from nothing to that many keys: each call is of a
// new key, and is timed by itself. It reports quantiles and the longest. An operation (ns/op) is the whole growth.
func RunGrow(b *testing.B, keys int, c Contender) {
	b.Run(fmt.Sprintf("keys=%s/limiter=%s", count(keys), c.Name), func(b *testing.B) {
		forgetKeys()
		var h histogram
		var buffer []byte
		clock := ratelimit.SystemClock()
		for b.Loop() {
			l := c.New(ratelimit.PerDay(1).Burst(1), clock)
			for i := range keys {
				key := newKey(c, &buffer, i, KeyBytes)
				before := clock.NanoTime()
				l.TryAcquire(key)
				h.add(clock.NanoTime() - before)
			}
		}
		for name, q := range map[string]float64{"p50-ns": 0.5, "p99-ns": 0.99, "p99.9-ns": 0.999, "p99.99-ns": 0.9999, "p99.999-ns": 0.99999} {
			b.ReportMetric(float64(h.quantile(q)), name)
		}
		b.ReportMetric(float64(h.max), "max-ns")
	})
}
