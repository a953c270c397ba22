package bench

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
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
	OwnClock   bool // TryAcquire reads the system's clock, whatever it is given
	MayFail    bool // its calls may fail under contention
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

// Workloads returns those that are measured, for each of the clocks.
func Workloads(clocks ...string) []Workload {
	var all []Workload
	for _, clock := range clocks {
		for _, mode := range []string{Allow, Refuse} {
			all = append(all,
				Workload{1, Uniform, mode, clock, KeyBytes},
				Workload{1_000, Uniform, mode, clock, KeyBytes},
				Workload{1_000_000, Uniform, mode, clock, KeyBytes},
				Workload{1_000_000, Uniform, mode, clock, 36}, // a UUID's length
				Workload{1_000_000, Zipf, mode, clock, KeyBytes},
				Workload{10_000_000, Uniform, mode, clock, KeyBytes},
			)
		}
	}
	return all
}

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
