package bench

import (
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/casgate/ratelimit"
)

// Run measures contender c under w, in one goroutine (b.Loop) or, with goroutines > 0, in that many for each processor.
// Every answer is counted, and the benchmark fails if one isn't as the workload says: no limiter is measured that does
// less, such as one that has all keys in one bucket.
func Run(b *testing.B, w Workload, c Contender, goroutines int) {
	name := w.Name() + "/limiter=" + c.Name
	if goroutines > 0 {
		name = fmt.Sprintf("%s/goroutines=%dx/limiter=%s", w.Name(), goroutines, c.Name)
	}
	clock, stop := w.clock()
	defer stop()
	l := c.New(w.rule(), clock)
	if closer, ok := l.(io.Closer); ok {
		defer closer.Close()
	}
	at, takesTime := l.(AtLimiter)
	keys := sync.OnceValue(func() []string { // once for all runs of the benchmark, and only if it runs
		w.fill(c, l)
		return w.keys()
	})
	b.Run(name, func(b *testing.B) {
		if w.Clock == Given && !takesTime || w.Clock == Coarse && c.OwnClock {
			b.Skip("it reads its own clock")
		}
		asked := keys()
		w.apart(b, l)
		b.ReportAllocs()
		b.ResetTimer()
		var allowed int
		switch {
		case goroutines > 0 && w.Clock == Given:
			allowed = parallelAt(b, at, asked, goroutines)
		case goroutines > 0:
			allowed = parallel(b, l, asked, goroutines)
		case w.Clock == Given:
			allowed = loopAt(b, at, asked)
		default:
			allowed = loop(b, l, asked)
		}
		b.StopTimer()
		w.check(b, c, allowed)
	})
}

// apart fails the benchmark if l refuses a key that it has never seen.
func (w Workload) apart(b *testing.B, l Limiter) {
	b.Helper()
	if fresh := fmt.Sprint("never asked before: ", freshKeys.Add(1)); !l.TryAcquire(fresh) {
		b.Fatalf("%T refuses %q, which it has never seen", l, fresh)
	}
}

var freshKeys atomic.Int64

// check fails the benchmark unless as many of b.N calls were allowed as the mode says. A contender may be one whose
// calls fail under contention.
func (w Workload) check(b *testing.B, c Contender, allowed int) {
	b.Helper()
	want := 0
	if w.Mode == Allow {
		want = b.N
	}
	if allowed == want {
		return
	}
	if c.MayFail {
		b.ReportMetric(float64(want-allowed)/float64(b.N), "failed/op")
		return
	}
	b.Fatalf("mode=%s: %d of %d calls were allowed", w.Mode, allowed, b.N)
}

// The loops do nothing but ask, and count what was allowed. Their keys come one after another from memory, so that the
// harness adds about a ns.

func loop(b *testing.B, l Limiter, asked []string) (allowed int) {
	i := 0
	for b.Loop() {
		if i == len(asked) {
			i = 0
		}
		if l.TryAcquire(asked[i]) {
			allowed++
		}
		i++
	}
	return allowed
}

// pause is the time between two calls, in ns, where the caller gives the time.
const pause = 50

func loopAt(b *testing.B, l AtLimiter, asked []string) (allowed int) {
	i, now := 0, ratelimit.SystemClock().NanoTime()
	for b.Loop() {
		if i == len(asked) {
			i = 0
		}
		if l.TryAcquireAt(asked[i], now) {
			allowed++
		}
		i++
		now += pause
	}
	return allowed
}

// share runs body in that many goroutines for each processor, which make b.N calls between them, and returns the sum of
// what it returns. testing.PB counts for each goroutine in 32 bytes: two of them can be in one cache line, and then that
// is what is measured.
func share(b *testing.B, goroutines int, body func(worker, calls int) (allowed int)) int {
	var total atomic.Int64
	var all sync.WaitGroup
	workers := goroutines * runtime.GOMAXPROCS(0)
	for worker := range workers {
		calls := b.N / workers
		if worker < b.N%workers {
			calls++
		}
		all.Go(func() { total.Add(int64(body(worker, calls))) })
	}
	all.Wait()
	return int(total.Load())
}

func parallel(b *testing.B, l Limiter, asked []string, goroutines int) int {
	return share(b, goroutines, func(worker, calls int) (allowed int) {
		i := worker * 7919 % len(asked)
		for range calls {
			if i == len(asked) {
				i = 0
			}
			if l.TryAcquire(asked[i]) {
				allowed++
			}
			i++
		}
		return allowed
	})
}

func parallelAt(b *testing.B, l AtLimiter, asked []string, goroutines int) int {
	start := ratelimit.SystemClock().NanoTime()
	return share(b, goroutines, func(worker, calls int) (allowed int) {
		i, now := worker*7919%len(asked), start
		for range calls {
			if i == len(asked) {
				i = 0
			}
			if l.TryAcquireAt(asked[i], now) {
				allowed++
			}
			i++
			now += pause
		}
		return allowed
	})
}
