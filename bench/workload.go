package bench

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/casgate/ratelimit"
)

// Limiter is what is measured.
type Limiter interface {
	TryAcquire(key string) bool
}

// AtLimiter is a Limiter that takes the time from its caller, in ns.
type AtLimiter interface {
	Limiter
	TryAcquireAt(key string, now int64) bool
}

// Contender is a limiter by name. New returns a fresh one.
type Contender struct {
	Name       string
	New        func(ratelimit.Rule, ratelimit.Clock) Limiter
	CopiesKeys bool // it keeps no caller's string
}

// Ours is the limiter of this module; Textbooks are what it is compared with here.
var (
	Ours = Contender{Name: "lockfree", CopiesKeys: true, New: func(r ratelimit.Rule, c ratelimit.Clock) Limiter {
		l, err := ratelimit.New(r, ratelimit.Config{Clock: c})
		if err != nil {
			panic(err)
		}
		return l
	}}
	Textbooks = []Contender{
		{Name: "mutex-syncmap", New: func(r ratelimit.Rule, c ratelimit.Clock) Limiter { return NewSyncMapLimiter(r, c) }},
		{Name: "mutex-sharded", New: func(r ratelimit.Rule, c ratelimit.Clock) Limiter { return NewShardedLimiter(r, c) }},
	}
)

// Workload is what is asked of a limiter.
type Workload struct {
	Keys     int    // how many clients there are
	Dist     string // Uniform or Zipf
	Mode     string // Allow: no client is ever refused; Refuse: every client always is
	Clock    string // Given: the caller passes the time; System, Coarse: the limiter reads that clock
	KeyBytes int
}

// What Workload's fields may be.
const (
	Allow  = "allow"
	Refuse = "refuse"
	Given  = "given"
	System = "system"
	Coarse = "coarse"
)

// Name returns the workload as key=value pairs.
func (w Workload) Name() string {
	return fmt.Sprintf("keys=%s/dist=%s/keybytes=%d/mode=%s/clock=%s", count(w.Keys), w.Dist, w.KeyBytes, w.Mode, w.Clock)
}

// count writes n as 1e6 where that is shorter.
func count(n int) string {
	digits := strconv.Itoa(n)
	if short := strings.TrimRight(digits, "0"); len(digits)-len(short) >= 3 {
		return fmt.Sprintf("%se%d", short, len(digits)-len(short))
	}
	return digits
}

// rule returns a rule under which the mode holds for as long as anyone measures, and no key is ever idle: one that is
// full again may be evicted, and is then a new key when it is asked for.
func (w Workload) rule() ratelimit.Rule {
	switch {
	case w.Mode == Refuse:
		return ratelimit.PerDay(1).Burst(1)
	case w.Keys == 1:
		return ratelimit.PerSecond(1).Burst(1_000_000_000)
	}
	return ratelimit.PerMinute(2).Burst(10_000_000)
}

func (w Workload) clock() (clock ratelimit.Clock, stop func()) {
	if w.Clock == Coarse {
		coarse := ratelimit.NewCoarseClock(time.Millisecond)
		return coarse, coarse.Close
	}
	return ratelimit.SystemClock(), func() {}
}

// visits is how many keys are asked for before the first comes again: for many keys, more than any cache holds.
func (w Workload) visits() int {
	return min(max(w.Keys, 1024), 1<<22)
}

// visitsOf remembers the last workload's keys, which take longer to make than to ask for.
var visitsOf struct {
	sync.Mutex
	name string
	keys []string
}

func (w Workload) keys() []string {
	visitsOf.Lock()
	defer visitsOf.Unlock()
	if name := fmt.Sprint(w.Keys, w.KeyBytes, w.Dist); visitsOf.name != name {
		visitsOf.name, visitsOf.keys = name, Visits(w.visits(), w.Keys, w.KeyBytes, w.Dist)
	}
	return visitsOf.keys
}

// forgetKeys lets the collector have the last workload's keys, and waits until it has them.
func forgetKeys() {
	visitsOf.Lock()
	defer visitsOf.Unlock()
	visitsOf.name, visitsOf.keys = "", nil
	runtime.GC()
}

// fill makes every key known to l. In the mode Refuse it is empty then.
func (w Workload) fill(c Contender, l Limiter) {
	var buffer []byte
	for i := range w.Keys {
		l.TryAcquire(newKey(c, &buffer, i, w.KeyBytes))
	}
	runtime.GC()
}

// check fails the benchmark unless l does what the workload says of every key, so that no limiter is measured doing
// less: it holds each key apart, and allows it or refuses it.
func (w Workload) check(b *testing.B, l Limiter, asked []string) {
	b.Helper()
	for _, key := range asked[:min(len(asked), 4096)] {
		if got := l.TryAcquire(key); got != (w.Mode == Allow) {
			b.Fatalf("%T: mode=%s: TryAcquire(%q) = %v", l, w.Mode, key, got)
		}
	}
	if fresh := fmt.Sprint("never asked before: ", freshKeys.Add(1)); !l.TryAcquire(fresh) {
		b.Fatalf("%T refuses %q, which it has never seen", l, fresh)
	}
}

var freshKeys atomic.Int64

// Run measures contender c under w, in one goroutine (b.Loop) or, with goroutines > 0, in that many for each processor.
func Run(b *testing.B, w Workload, c Contender, goroutines int) {
	asked := w.keys()
	clock, stop := w.clock()
	defer stop()
	fresh := sync.OnceValue(func() Limiter {
		l := c.New(w.rule(), clock)
		w.fill(c, l)
		return l
	})
	name := w.Name() + "/limiter=" + c.Name
	if goroutines > 0 {
		name = fmt.Sprintf("%s/goroutines=%dx/limiter=%s", w.Name(), goroutines, c.Name)
	}
	b.Run(name, func(b *testing.B) {
		l := fresh()
		at, takesTime := l.(AtLimiter)
		if w.Clock == Given && !takesTime {
			b.Skip("it reads its own clock")
		}
		w.check(b, l, asked)
		b.ReportAllocs()
		b.ResetTimer()
		switch {
		case goroutines > 0 && w.Clock == Given:
			parallelAt(b, at, asked, goroutines)
		case goroutines > 0:
			parallel(b, l, asked, goroutines)
		case w.Clock == Given:
			loopAt(b, at, asked)
		default:
			loop(b, l, asked)
		}
		b.StopTimer()
		w.check(b, l, asked)
	})
}

// The loops do nothing but ask. Their keys come one after another from memory, so the harness adds about a ns.

func loop(b *testing.B, l Limiter, asked []string) {
	i := 0
	for b.Loop() {
		if i == len(asked) {
			i = 0
		}
		l.TryAcquire(asked[i])
		i++
	}
}

func loopAt(b *testing.B, l AtLimiter, asked []string) {
	i, now := 0, ratelimit.SystemClock().NanoTime()
	for b.Loop() {
		if i == len(asked) {
			i = 0
		}
		l.TryAcquireAt(asked[i], now)
		i++
		now += 50
	}
}

func parallel(b *testing.B, l Limiter, asked []string, goroutines int) {
	var started atomic.Int64
	b.SetParallelism(goroutines)
	b.RunParallel(func(pb *testing.PB) {
		i := int(started.Add(1)) * 7919 % len(asked)
		for pb.Next() {
			if i == len(asked) {
				i = 0
			}
			l.TryAcquire(asked[i])
			i++
		}
	})
}

func parallelAt(b *testing.B, l AtLimiter, asked []string, goroutines int) {
	var started atomic.Int64
	start := ratelimit.SystemClock().NanoTime()
	b.SetParallelism(goroutines)
	b.RunParallel(func(pb *testing.PB) {
		i, now := int(started.Add(1))*7919%len(asked), start
		for pb.Next() {
			if i == len(asked) {
				i = 0
			}
			l.TryAcquireAt(asked[i], now)
			i++
			now += 50
		}
	})
}
