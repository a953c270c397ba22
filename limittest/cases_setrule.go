package limittest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/casgate/ratelimit"
)

const (
	ruleSetRule     = "SetRule refuses another algorithm with ErrAlgorithm, an invalid rule with ErrInvalidRule, and then changes nothing"
	ruleSetRuleKeep = "SetRule keeps the tokens of a bucket, clamped to the capacity, and what a window has counted"
	ruleSetRuleFull = "a key that is full is full under the new rule, held or not"
	ruleUpkeep      = "sweeping and SetRule to the same limits change no decision, whatever runs beside them"
)

func localSetRuleRefuses(e *env) {
	p := e.limiter(e.rule(5, 10*time.Second))
	l := p.local()
	before := p.take("k", 3)
	another := p.rule
	another.Algorithm = (another.Algorithm + 1) % (ratelimit.SlidingWindowCounter + 1)
	for _, c := range []struct {
		rule ratelimit.Rule
		want error
	}{
		{another, ratelimit.ErrAlgorithm},
		{ratelimit.Rule{Algorithm: e.algorithm, Refill: p.rule.Refill}, ratelimit.ErrInvalidRule},
		{ratelimit.Rule{Algorithm: e.algorithm, Capacity: -1, Refill: p.rule.Refill}, ratelimit.ErrInvalidRule},
		{ratelimit.Rule{Algorithm: e.algorithm, Capacity: 5}, ratelimit.ErrInvalidRule},
	} {
		if err := l.SetRule(c.rule); !errors.Is(err, c.want) {
			p.broken(ruleSetRule, "SetRule(%s) = %v, want %v", showRule(c.rule), err, c.want)
		}
	}
	if l.Rule() != p.rule {
		p.broken(ruleSetRule, "the rule was %s, and is %s", showRule(p.rule), showRule(l.Rule()))
	}
	p.expect(ruleSetRule, "k", 0, p.take("k", 0), before)
}

// setRule changes the rule, which must be accepted.
func (p *probe) setRule(rule ratelimit.Rule) {
	p.Helper()
	if err := p.local().SetRule(rule); err != nil {
		p.Fatalf("SetRule(%s): %v", showRule(rule), err)
	}
	p.rule = rule
	if got := p.local().Rule(); got != rule {
		p.broken("Rule returns the rule in force", "after SetRule(%s): %s", showRule(rule), showRule(got))
	}
}

func localSetRuleKeepsState(e *env) {
	p := e.limiter(e.rule(10, 10*time.Second))
	p.local()
	const keys = 100
	for i := range keys {
		p.take(fmt.Sprintf("client-%d", i), 7)
		p.take(fmt.Sprintf("drained-%d", i), 10)
	}
	type change struct{ capacity, left, drained int64 }
	changes := []change{{20, 3, 0}, {2, 2, 0}, {20, 20, 0}} // a bucket keeps its tokens; two of two are full, and stay so
	if e.algorithm != ratelimit.TokenBucket {
		changes = []change{{20, 20 - 7, 20 - 10}, {2, 0, 0}, {11, 11 - 7, 11 - 10}} // a window keeps its count
	}
	for _, c := range changes {
		p.setRule(e.rule(c.capacity, 10*time.Second))
		for i := range keys {
			if !p.keeps(7, fmt.Sprintf("client-%d", i), c.left) || !p.keeps(10, fmt.Sprintf("drained-%d", i), c.drained) {
				return
			}
		}
	}
}

// keeps checks that key, which had used that many of 10, has so many left under the new rule.
func (p *probe) keeps(used int, key string, left int64) bool {
	p.Helper()
	d := p.take(key, 0)
	if d.Remaining != left {
		p.broken(ruleSetRuleKeep, "%d of 10 were taken, then the capacity was set to %d; %s: %s; want %d left", used,
			p.rule.Capacity, p.call(key, 0), show(d), left)
	}
	return d.Remaining == left
}

func localSetRuleFull(e *env) {
	p := e.limiter(e.rule(5, 10*time.Second))
	p.local()
	p.take("held", 2)
	p.clock.Advance(20 * time.Second)
	for _, capacity := range []int64{50, 3, 8} {
		p.setRule(e.rule(capacity, 10*time.Second))
		for _, key := range []string{"held", "unknown"} {
			if d := p.take(key, 0); d.Remaining != capacity || d.ResetAfter != 0 {
				p.broken(ruleSetRuleFull, "after SetRule, %s: %s; want %d left", p.call(key, 0), show(d), capacity)
			}
		}
	}
	p.freshKey(ruleSetRuleFull, "held", 8)
}

func localConcurrentUpkeep(e *env) {
	p := e.limiter(e.rule(20, time.Second))
	l := p.local()
	same := p.rule // the same limits, written differently, so that the tables move
	same.Refill.Tokens, same.Refill.Per = 2*same.Refill.Tokens, 2*same.Refill.Per
	if p.rule.Algorithm != ratelimit.TokenBucket && same.Window() != p.rule.Window() {
		e.Fatalf("the rules %s and %s differ", showRule(p.rule), showRule(same))
	}
	grants := make([][]grant, callers)
	together(func(caller int) {
		random := rand.New(rand.NewPCG(uint64(caller), e.seed()))
		for i := range 200 {
			now := p.clock.NanoTime()
			if random.IntN(4) == 0 { // late, by a little or by a window or two
				now -= random.Int64N(int64(3*time.Millisecond) + int64(i%2)*int64(2*time.Second))
			}
			if d := l.TakeAt("hot", 1, now); d.Allowed {
				grants[caller] = append(grants[caller], grant{d.At, 1})
			}
			l.TakeAt(fmt.Sprintf("other-%d", random.IntN(1000)), 1, now)
			switch {
			case caller == 0 && i%4 == 0:
				l.Sweep()
			case caller == 1 && i%8 == 0:
				l.SetRule([]ratelimit.Rule{same, p.rule}[i/8%2])
			}
			p.clock.Advance(time.Duration(random.Int64N(int64(2 * time.Millisecond))))
		}
	})
	p.neverTooMany(slices.Concat(grants...))
	if d := l.Take("hot", 0); d.Remaining < 0 || d.Remaining > d.Limit {
		p.broken(ruleUpkeep, "%s: %s", p.call("hot", 0), show(d))
	}
}
