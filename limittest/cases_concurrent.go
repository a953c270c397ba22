package limittest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/casgate/ratelimit"
)

const (
	ruleExactly   = "at one instant exactly the capacity is granted, whoever asks at once"
	ruleOneState  = "first sight of a key makes exactly one state, however many callers arrive at once"
	ruleNeverMany = "in any interval no more is granted than the rule allows, under any interleaving"
)

// callers is how many goroutines the concurrent cases run at once.
const callers = 16

// together runs f in many goroutines that start at once, and returns when all have ended.
func together(f func(caller int)) {
	var ready, done sync.WaitGroup
	begin := make(chan struct{})
	for caller := range callers {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-begin
			f(caller)
		})
	}
	ready.Wait()
	close(begin)
	done.Wait()
}

func concurrentOneInstant(e *env) {
	p := e.limiter(e.rule(500, time.Hour))
	var granted atomic.Int64
	together(func(int) {
		for range 100 {
			if p.TryAcquire("hot") {
				granted.Add(1)
			}
		}
	})
	if granted.Load() != 500 {
		p.broken(ruleExactly, "%d callers asked 100 times each under %s: %d granted", callers, showRule(p.rule), granted.Load())
	}
}

func concurrentFirstSight(e *env) {
	p := e.limiter(e.rule(3, time.Hour))
	granted := make([]atomic.Int64, 200)
	together(func(int) {
		for i := range granted {
			if p.TryAcquire(fmt.Sprintf("client-%d", i)) {
				granted[i].Add(1)
			}
		}
	})
	for i := range granted {
		if n := granted[i].Load(); n != 3 {
			p.broken(ruleOneState, "%d callers met client-%d at once under %s: %d granted", callers, i, showRule(p.rule), n)
			return
		}
	}
}

func concurrentCosts(e *env) {
	p := e.limiter(e.rule(1000, time.Hour))
	var granted atomic.Int64
	together(func(caller int) {
		for i := range 60 {
			if n := int64(1 + (caller+i)%7); p.Take("hot", n).Allowed {
				granted.Add(n)
			}
		}
		for range 7 { // the rest, one by one
			if p.Take("hot", 1).Allowed {
				granted.Add(1)
			}
		}
	})
	if granted.Load() != 1000 {
		p.broken(ruleExactly, "%d callers asked for 1 to 7 tokens, 3000 in all, under %s: %d granted", callers, showRule(p.rule),
			granted.Load())
	}
}

func concurrentMovingTime(e *env) {
	p := e.limiter(e.rule(20, time.Second))
	grants := make([][]grant, callers)
	together(func(caller int) {
		random := rand.New(rand.NewPCG(uint64(caller), e.seed()))
		for range 300 {
			if n := 1 + random.Int64N(3); true {
				if d := p.Take("hot", n); d.Allowed {
					grants[caller] = append(grants[caller], grant{d.At, n})
				}
			}
			p.clock.Advance(time.Duration(random.Int64N(int64(4*time.Millisecond))) / p.tick() * p.tick())
		}
	})
	p.neverTooMany(slices.Concat(grants...))
}

// grant is what one call was given, and the instant that it counted at.
type grant struct{ at, n int64 }

// neverTooMany holds the grants of one key against the bound that the algorithm promises, and against none at all.
func (p *probe) neverTooMany(grants []grant) {
	p.Helper()
	slices.SortStableFunc(grants, func(a, b grant) int { return cmp.Compare(a.at, b.at) })
	var total int64
	for _, g := range grants {
		total += g.n
	}
	if len(grants) == 0 || total < p.rule.Capacity {
		p.broken("a key that has tokens is allowed", "only %d of a full key's %d were ever granted", total, p.rule.Capacity)
	}
	switch p.rule.Algorithm {
	case ratelimit.TokenBucket:
		p.withinRefill(grants)
	case ratelimit.SlidingWindowLog:
		p.withinAnyWindow(grants)
	default: // the counter's estimate is at least what its own window has
		p.withinEachWindow(grants)
	}
}

// withinRefill checks that each interval has at most capacity + rate*t.
func (p *probe) withinRefill(grants []grant) {
	p.Helper()
	rate, per := p.rule.Refill.Tokens, int64(p.rule.Refill.Per)
	for i := range grants {
		sum := int64(0)
		for _, g := range grants[i:] {
			sum += g.n
			if over := sum - p.rule.Capacity; over > 0 && over*per > rate*(g.at-grants[i].at) {
				p.broken(ruleNeverMany, "%s granted %d in %v", showRule(p.rule), sum, time.Duration(g.at-grants[i].at))
				return
			}
		}
	}
}

// withinAnyWindow checks that (t - window, t] has at most the capacity, for each t.
func (p *probe) withinAnyWindow(grants []grant) {
	p.Helper()
	for i, last := range grants {
		sum := int64(0)
		for _, g := range grants[:i+1] {
			if g.at > last.at-int64(p.rule.Window()) {
				sum += g.n
			}
		}
		if sum > p.rule.Capacity {
			p.broken(ruleNeverMany, "%s granted %d in the window that ends at %+v", showRule(p.rule), sum,
				time.Duration(last.at-start))
			return
		}
	}
}

// withinEachWindow checks that each window of the clock has at most the capacity.
func (p *probe) withinEachWindow(grants []grant) {
	p.Helper()
	sums := map[int64]int64{}
	for _, g := range grants {
		index := floorDiv(g.at, int64(p.rule.Window()))
		if sums[index] += g.n; sums[index] > p.rule.Capacity {
			p.broken(ruleNeverMany, "%s granted %d in window %d of the clock", showRule(p.rule), sums[index], index)
			return
		}
	}
}
