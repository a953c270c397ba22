package limittest

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/casgate/ratelimit"
)

const (
	rulePeek        = "Peek is what Take would say; it takes nothing, creates nothing"
	ruleRefund      = "RefundAt gives back what was taken: the key is as if it hadn't been"
	ruleRefundFull  = "a refund never lifts a key above full; n <= 0 gives back nothing"
	ruleRefundPast  = "nothing is given back into another window"
	ruleRefundKnown = "a refund leaves an unknown key unknown"
)

func reversiblePeek(e *env) {
	p := e.limiter(e.rule(5, 10*time.Second))
	for _, n := range []int64{0, 1, 5, 6, -1, math.MaxInt64} {
		peeked := p.peek("new", n)
		q := e.limiter(p.rule)
		p.expect(rulePeek, "new", n, peeked, q.take("new", n))
	}
	p.unseen("Peek")
	p.take("k", 3)
	for _, n := range []int64{3, 2, 1, 0, 6, -1} {
		first := p.peek("k", n)
		p.expect(rulePeek, "k", n, p.peek("k", n), first)
	}
	p.expect(rulePeek, "k", 2, p.peek("k", 2), p.take("k", 2))
}

func reversibleRefund(e *env) {
	p := e.limiter(e.rule(20, 20*time.Second))
	l := p.reversible()
	p.clock.Advance(2 * time.Second)
	before := p.take("k", 5)
	var taken []grant
	for _, n := range []int64{2, 6, 3} {
		taken = append(taken, grant{p.take("k", n).At, n})
	}
	for _, i := range []int{1, 2, 0} { // in any order
		l.RefundAt("k", taken[i].n, taken[i].at)
	}
	if d := p.take("k", 0); d != before {
		p.broken(ruleRefund, "5 of 20 were taken, then 2, 6 and 3, and these given back: %s; before it was %s", show(d), show(before))
	}
	at := p.take("k", 15).At
	p.clock.Advance(time.Second)
	l.RefundAt("k", 4, at)
	if d := p.take("k", 4); !d.Allowed {
		p.broken(ruleRefund, "20 of 20 were taken, and 4 given back a second later; %s: %s", p.call("k", 4), show(d))
	}
	if d := p.take("k", 2); d.Allowed {
		p.broken(ruleRefund, "20 of 20 were taken, and 4 given back and taken a second later; %s: %s", p.call("k", 2), show(d))
	}
}

func reversibleNeverAboveFull(e *env) {
	p := e.limiter(e.rule(5, 10*time.Second))
	l := p.reversible()
	for _, n := range []int64{5, 6, 1000, math.MaxInt64} {
		at := p.take("k", 2).At
		l.RefundAt("k", n, at)
		l.RefundAt("k", n, at)
		if d := p.take("k", 0); d.Remaining != 5 {
			p.broken(ruleRefundFull, "2 of 5 were taken and %d given back twice: %s", n, show(d))
		}
	}
	after := p.take("k", 3)
	for _, n := range []int64{0, -1, math.MinInt64} {
		l.RefundAt("k", n, after.At)
	}
	p.expect(ruleRefundFull, "k", 0, p.take("k", 0), after)
}

func reversiblePast(e *env) {
	if e.algorithm == ratelimit.TokenBucket {
		e.Skipf("skipped: a token bucket has no windows")
	}
	p := e.limiter(e.rule(5, 10*time.Second))
	l := p.reversible()
	at := p.take("k", 5).At
	p.clock.Advance(25 * time.Second) // neither in that window nor in the next
	want := p.take("k", 2)
	l.RefundAt("k", 5, at)
	p.expect(ruleRefundPast, "k", 0, p.take("k", 0), want)
}

func reversibleUnknownKey(e *env) {
	p := e.limiter(e.rule(5, 10*time.Second))
	p.reversible().RefundAt("new", 3, start)
	p.unseen("RefundAt of an unknown key")
	p.freshKey(ruleRefundKnown, "new", 5)
	if d := p.take("new", 1); d.Allowed {
		p.broken(ruleRefundKnown, "3 were given back before the key was seen; then 5 of 5 were taken, and one more: %s", show(d))
	}
}

func reversibleTwin(e *env) {
	for _, rule := range e.twinRules() {
		seed := e.seed()
		random := rand.New(rand.NewPCG(seed, 1))
		p, exact := e.limiter(rule), newTwin(rule)
		l := p.reversible()
		var last map[string]grant
		for step := range 200 {
			p.clock.Advance(p.randomStep(random))
			key, n, now := randomKey(random), randomCost(random, rule.Capacity), p.clock.NanoTime()
			if g, ok := last[key]; ok && random.IntN(3) == 0 && sameWindow(rule, g.at, now) {
				l.RefundAt(key, g.n, g.at)
				exact.refund(key, g.n, g.at, now)
				delete(last, key)
			}
			same := p.expect(rulePeek, key, n, p.peek(key, n), exact.peek(key, n, now))
			d := p.take(key, n)
			if same = p.expect(ruleTwin, key, n, d, exact.take(key, n, now)) && same; !same {
				p.Logf("step %d with Suite.Seed = %d", step, seed)
				break
			}
			if d.Allowed && n > 0 {
				last = with(last, key, grant{d.At, n})
			}
		}
	}
}

// sameWindow reports whether a refund now of what was taken at an instant goes into the window it was taken from. For a
// bucket there is no other.
func sameWindow(rule ratelimit.Rule, taken, now int64) bool {
	if rule.Algorithm == ratelimit.TokenBucket {
		return true
	}
	window := int64(rule.Window())
	return floorDiv(taken, window) == floorDiv(now, window)
}

func with(m map[string]grant, key string, g grant) map[string]grant {
	if m == nil {
		m = map[string]grant{}
	}
	m[key] = g
	return m
}
