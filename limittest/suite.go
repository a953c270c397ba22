package limittest

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/casgate/ratelimit"
)

// TestLimiter is the conformance suite: what every ratelimit.Limiter of this module does, whatever its algorithm and
// wherever its state. It calls create for a fresh limiter of each rule and clock that it needs. What else the limiter is
// (ratelimit.Reversible, ratelimit.Local) it tests too. A failure begins with the rule that is broken.
//
// create returns nil for what it doesn't support; those cases are skipped, and say so. It is an error if it supports
// nothing. The instants of the suite's clocks are Unix times of 2023, in ns.
func TestLimiter(tb testing.TB, create func(ratelimit.Rule, ratelimit.Clock) ratelimit.Limiter) {
	tb.Helper()
	Suite{New: create}.Run(tb)
}

// Suite is TestLimiter for a limiter that can't do all of it. Fields other than New may be left zero.
type Suite struct {
	// New returns a fresh limiter, or nil for a rule that isn't supported.
	New func(ratelimit.Rule, ratelimit.Clock) ratelimit.Limiter
	// Resolution is the unit that the limiter counts time in, if it is coarser than a ns. The suite's instants are
	// multiples of it, and RetryAfter and ResetAfter are the exact ones, rounded up to it.
	Resolution time.Duration
	// Skip gives reasons not to run cases, by their names without the algorithm, such as "take/retry-after".
	Skip map[string]string
	// Seed starts the random walks; 0 is a random seed. A failure tells the seed that it had.
	Seed uint64
}

// conformance lists the cases by name. The names are part of what users see: Skip takes them.
var conformance = []struct {
	name string
	run  func(*env)
}{
	{"take/never-seen", takeNeverSeen},
	{"take/zero", takeZero},
	{"take/impossible", takeImpossible},
	{"take/drain", takeDrain},
	{"take/refusal", takeRefusal},
	{"take/retry-after", takeRetryAfter},
	{"take/reset-after", takeResetAfter},
	{"take/try-acquire", takeTryAcquire},
	{"take/twin", takeTwin},
	{"key/isolation", keyIsolation},
	{"key/any-bytes", keyAnyBytes},
	{"key/tails", keyTails},
	{"key/too-long", keyTooLong},
	{"late/harmless", lateHarmless},
	{"late/alternating", lateAlternating},
	{"concurrent/one-instant", concurrentOneInstant},
	{"concurrent/first-sight", concurrentFirstSight},
	{"concurrent/costs", concurrentCosts},
	{"concurrent/moving-time", concurrentMovingTime},
	{"reversible/peek", reversiblePeek},
	{"reversible/refund", reversibleRefund},
	{"reversible/refund-never-above-full", reversibleNeverAboveFull},
	{"reversible/refund-past", reversiblePast},
	{"reversible/unknown-key", reversibleUnknownKey},
	{"reversible/twin", reversibleTwin},
	{"local/at", localAt},
	{"local/far-times", localFarTimes},
	{"local/take-bytes", localTakeBytes},
	{"local/many", localMany},
	{"local/reset", localReset},
	{"local/sweep", localSweep},
	{"local/stats", localStats},
	{"local/set-rule-refuses", localSetRuleRefuses},
	{"local/set-rule-keeps-state", localSetRuleKeepsState},
	{"local/set-rule-full-stays-full", localSetRuleFull},
	{"local/concurrent-sweep-and-set-rule", localConcurrentUpkeep},
}

// Run runs the suite.
func (s Suite) Run(tb testing.TB) {
	tb.Helper()
	if s.Resolution <= 0 {
		s.Resolution = 1
	}
	var supported bool
	for a := ratelimit.TokenBucket; a <= ratelimit.SlidingWindowCounter; a++ {
		if s.New(ratelimit.Rule{Algorithm: a, Capacity: 1, Refill: ratelimit.PerSecond(1)}, new(ManualClock)) == nil {
			tb.Logf("limittest: %v is skipped: New returned nil for 1/s, capacity 1", a)
			continue
		}
		supported = true
		subtest(tb, a.String(), func(tb testing.TB) {
			for _, c := range conformance {
				subtest(tb, c.name, func(tb testing.TB) {
					if why, skip := s.Skip[c.name]; skip {
						tb.Skipf("skipped: %s", why)
					}
					c.run(&env{TB: tb, suite: s, algorithm: a})
				})
			}
		})
	}
	if !supported {
		tb.Errorf("limittest: New returned nil for every algorithm: nothing was tested")
	}
}

// subtest runs f as a subtest of tb if it is a *testing.T; otherwise in place, with name before what it reports.
func subtest(tb testing.TB, name string, f func(testing.TB)) {
	tb.Helper()
	if t, ok := tb.(interface {
		Run(string, func(*testing.T)) bool
	}); ok {
		t.Run(name, func(t *testing.T) { f(t) })
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() { f(part{tb, name}) }) // a goroutine of its own, which Fatalf and Skipf can end
	wg.Wait()
}

// part is a subtest of a testing.TB that has none.
type part struct {
	testing.TB
	name string
}

func (p part) Errorf(format string, args ...any) {
	p.TB.Helper()
	p.TB.Errorf("%s: %s", p.name, fmt.Sprintf(format, args...))
}

func (p part) Logf(format string, args ...any) {
	p.TB.Helper()
	p.TB.Logf("%s: %s", p.name, fmt.Sprintf(format, args...))
}

func (p part) Fatalf(format string, args ...any) {
	p.TB.Helper()
	p.Errorf(format, args...)
	runtime.Goexit()
}

func (p part) Skipf(format string, args ...any) {
	p.TB.Helper()
	p.Logf(format, args...)
	runtime.Goexit()
}
