package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/casgate/ratelimit"
)

// RunAlgorithms measures a call on a known key under each algorithm, the time given: of one key, and of a million.
func RunAlgorithms(b *testing.B) {
	for _, keys := range []int{1, 1_000_000} {
		for _, mode := range []string{Allow, Refuse} {
			w := Workload{keys, Uniform, mode, Given, KeyBytes}
			for a := ratelimit.TokenBucket; a <= ratelimit.SlidingWindowCounter; a++ {
				Run(b, w, algorithm(a, keys), 0)
			}
		}
	}
}

// algorithm returns this module's limiter of an algorithm. The windows are long, so that no key is idle; those of a log
// hold 100 requests, and one key's is so short that each request finds 99 others in it.
func algorithm(a ratelimit.Algorithm, keys int) Contender {
	c := Ours
	c.Name = a.String()
	c.New = func(r ratelimit.Rule, clock ratelimit.Clock) Limiter {
		allow := r.Capacity > 1
		switch {
		case a == ratelimit.TokenBucket:
		case a == ratelimit.SlidingWindowLog && allow && keys == 1:
			r = ratelimit.Rule{Algorithm: a, Capacity: 100, Refill: ratelimit.Rate{Tokens: 1, Per: pause}}
		case a == ratelimit.SlidingWindowLog && allow:
			r = ratelimit.Rule{Algorithm: a, Capacity: 100, Refill: ratelimit.PerHour(100)}
		case allow:
			r = ratelimit.Rule{Algorithm: a, Capacity: 10_000_000, Refill: ratelimit.PerHour(10_000_000)}
			if keys == 1 {
				r = ratelimit.Rule{Algorithm: a, Capacity: 1_000_000_000, Refill: ratelimit.PerHour(1_000_000_000)}
			}
		default:
			r = ratelimit.Rule{Algorithm: a, Capacity: 1, Refill: ratelimit.Rate{Tokens: 1, Per: 1000 * 24 * time.Hour}}
		}
		return Ours.New(r, clock)
	}
	return c
}

// RunBatches measures TryAcquireMany of 16 keys against as many single calls, the time read from the system's clock. An
// operation is one key.
func RunBatches(b *testing.B, keys int) {
	const size = 16
	w := Workload{keys, Uniform, Allow, System, KeyBytes}
	asked := w.keys()
	l := Ours.New(w.rule(), ratelimit.SystemClock()).(ratelimit.Local)
	filled := false
	for _, batch := range []int{1, size} {
		b.Run(fmt.Sprintf("keys=%s/batch=%d", count(keys), batch), func(b *testing.B) {
			if !filled {
				w.fill(Ours, l)
				filled = true
			}
			allowed := make([]bool, size)
			i := 0
			b.ResetTimer()
			for b.Loop() {
				if i+size > len(asked) {
					i = 0
				}
				if batch == size {
					l.TryAcquireMany(asked[i:i+size], allowed)
				} else {
					for n, key := range asked[i : i+size] {
						allowed[n] = l.TryAcquire(key)
					}
				}
				i += size
			}
			b.ReportMetric(float64(b.Elapsed())/float64(b.N)/size, "ns/key")
		})
	}
}

// RunCreate measures calls of which one in each ratio is of a key that was never seen; the others are of the latest
// ones. It reports allocations in fractions: those of a growing map are shared by all of its keys.
func RunCreate(b *testing.B, ratio int, c Contender) {
	b.Run(fmt.Sprintf("new=1in%d/limiter=%s", ratio, c.Name), func(b *testing.B) {
		l := c.New(ratelimit.Rate{Tokens: 1, Per: time.Hour}.Burst(100_000), ratelimit.SystemClock())
		var buffer []byte
		newKey(c, &buffer, 0, KeyBytes)
		before := mallocs()
		i := 0
		for b.Loop() {
			l.TryAcquire(newKey(c, &buffer, i/ratio, KeyBytes))
			i++
		}
		b.ReportMetric(float64(mallocs()-before)/float64(i), "allocs/call")
	})
}
