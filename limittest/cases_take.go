package limittest

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/casgate/ratelimit"
)

// The rules that the cases of this file hold a limiter to, as failures cite them.
const (
	ruleNeverSeen  = "a key never seen: Remaining = Limit, ResetAfter = 0"
	ruleZero       = "Take(k, 0) is allowed, tells Remaining, and takes nothing"
	ruleCreates    = "neither a refusal nor n = 0 creates a key"
	ruleImpossible = "n < 0 or n > Limit is refused with Never, and changes nothing"
	ruleAllOrNone  = "n tokens are taken, all or none; Remaining is what is left after it"
	ruleRefusal    = "a refusal changes nothing"
	ruleRetryAfter = "RetryAfter is exact: refused a moment earlier, allowed then"
	ruleResetAfter = "ResetAfter is the time until the key is as if never seen"
	ruleTryAcquire = "TryAcquire(k) is Take(k, 1).Allowed"
	ruleTwin       = "every decision is that of exact arithmetic"
)

func takeNeverSeen(e *env) {
	p := e.limiter(e.rule(5, 10*time.Second))
	p.expect(ruleNeverSeen, "new", 0, p.take("new", 0), ratelimit.Decision{Allowed: true, Limit: 5, Remaining: 5, At: start})
	p.unseen("Take(k, 0)")
}

// unseen checks that no key is held, where the limiter tells.
func (p *probe) unseen(after string) {
	p.Helper()
	if l, ok := p.Limiter.(ratelimit.Local); ok && l.Len() != 0 {
		p.broken(ruleCreates, "after %s: Len() = %d, want 0", after, l.Len())
	}
}

func takeZero(e *env) {
	p := e.limiter(e.rule(5, 10*time.Second))
	for _, left := range []int64{2, 0} {
		after := p.take("k", p.take("k", 0).Remaining-left)
		p.expect(ruleZero, "k", 0, p.take("k", 0), after)
		p.expect(ruleZero, "k", 0, p.take("k", 0), after)
	}
}

func takeImpossible(e *env) {
	p := e.limiter(e.rule(5, 10*time.Second))
	costs := []int64{-1, math.MinInt64, 6, math.MaxInt64}
	want := ratelimit.Decision{Limit: 5, Remaining: 5, RetryAfter: ratelimit.Never, At: start}
	for _, n := range costs {
		p.expect(ruleImpossible, "new", n, p.take("new", n), want)
	}
	p.unseen("refusals with Never")
	used := p.take("k", 2)
	want.Remaining, want.ResetAfter = used.Remaining, used.ResetAfter
	for _, n := range costs {
		p.expect(ruleImpossible, "k", n, p.take("k", n), want)
	}
	if d := p.take("k", 3); !d.Allowed || d.Remaining != 0 {
		p.broken(ruleImpossible, "after 2 of 5 and refusals with Never, %s: %s", p.call("k", 3), show(d))
	}
}

func takeDrain(e *env) {
	p := e.limiter(e.rule(7, time.Minute))
	for left := int64(6); left >= 0; left-- {
		if d := p.take("one by one", 1); !d.Allowed || d.Remaining != left {
			p.broken(ruleAllOrNone, "%s: %s; want allowed, %d left", p.call("one by one", 1), show(d), left)
		}
	}
	if d := p.take("at once", 7); !d.Allowed || d.Remaining != 0 {
		p.broken(ruleAllOrNone, "%s: %s; want allowed, 0 left", p.call("at once", 7), show(d))
	}
	for _, key := range []string{"one by one", "at once"} {
		if d := p.take(key, 1); d.Allowed || d.Remaining != 0 {
			p.broken(ruleAllOrNone, "%s: %s; want refused, 0 left", p.call(key, 1), show(d))
		}
	}
}

func takeRefusal(e *env) {
	p := e.limiter(e.rule(5, 5*time.Second))
	p.take("k", 3)
	first := p.take("k", 3)
	for range 100 {
		if !p.expect(ruleRefusal, "k", 3, p.take("k", 3), first) {
			return
		}
	}
	if d := p.take("k", 2); !d.Allowed || d.Remaining != 0 {
		p.broken(ruleRefusal, "3 of 5 were taken, 3 more were refused, so 2 are left; %s: %s", p.call("k", 2), show(d))
	}
}

func takeRetryAfter(e *env) {
	for _, rule := range []ratelimit.Rule{e.rule(5, 7*time.Second), e.rule(3, 10*time.Second), e.rule(1, time.Hour)} {
		for n := int64(1); n <= rule.Capacity; n++ {
			p := e.limiter(rule)
			p.clock.Advance(rule.Window() - time.Duration(start)%rule.Window()) // to a window's start
			p.clock.Advance(rule.Window() / 3 / e.tick() * e.tick())
			p.take("k", rule.Capacity-rule.Capacity/2)
			p.clock.Advance(rule.Window() / 7 / e.tick() * e.tick())
			p.take("k", rule.Capacity/2)
			p.retriesExactly("k", n)
		}
	}
}

// retriesExactly checks that the RetryAfter of n for key is right, by waiting for it.
func (p *probe) retriesExactly(key string, n int64) {
	p.Helper()
	d := p.take(key, n)
	if d.Allowed || d.RetryAfter == ratelimit.Never {
		p.broken(ruleRetryAfter, "%s under %s: %s; want refused for a time", p.call(key, n), showRule(p.rule), show(d))
		return
	}
	p.clock.Advance(d.RetryAfter - p.tick())
	if early := p.take(key, n); early.Allowed || early.RetryAfter != p.tick() {
		p.broken(ruleRetryAfter, "RetryAfter was %v; %v earlier, %s under %s: %s", d.RetryAfter, p.tick(), p.call(key, n),
			showRule(p.rule), show(early))
	}
	p.clock.Advance(p.tick())
	if then := p.take(key, n); !then.Allowed {
		p.broken(ruleRetryAfter, "RetryAfter was %v; %s under %s: %s", d.RetryAfter, p.call(key, n), showRule(p.rule), show(then))
	}
}

func takeResetAfter(e *env) {
	for n := int64(1); n <= 3; n++ {
		p := e.limiter(e.rule(3, 10*time.Second))
		p.clock.Advance(4 * time.Second)
		d := p.take("k", n)
		p.clock.Advance(d.ResetAfter - p.tick())
		if early := p.take("k", 0); early.ResetAfter != p.tick() || early.Remaining == early.Limit {
			p.broken(ruleResetAfter, "it was %v; %v earlier, %s under %s: %s", d.ResetAfter, p.tick(), p.call("k", 0),
				showRule(p.rule), show(early))
		}
		p.clock.Advance(p.tick())
		want := ratelimit.Decision{Allowed: true, Limit: 3, Remaining: 3, At: p.clock.NanoTime()}
		p.expect(ruleResetAfter, "k", 0, p.take("k", 0), want)
	}
}

func takeTryAcquire(e *env) {
	p, q := e.limiter(e.rule(4, 4*time.Second)), e.limiter(e.rule(4, 4*time.Second))
	for i := range 40 {
		took, acquired := p.take("k", 1), q.TryAcquire("k")
		if took.Allowed != acquired {
			p.broken(ruleTryAcquire, "call %d: TryAcquire says %v, %s: %s", i, acquired, p.call("k", 1), show(took))
		}
		step := time.Duration(i%5) * 300 * time.Millisecond
		p.clock.Advance(step)
		q.clock.Advance(step)
	}
	if p.take("k", 0) != q.take("k", 0) {
		p.broken(ruleTryAcquire, "after 40 calls, %s: %s; after as many TryAcquire: %s", p.call("k", 0),
			show(p.take("k", 0)), show(q.take("k", 0)))
	}
}

// twinRules are rules whose arithmetic has been got wrong before: times that no whole number of ns divides, rates
// beyond one a ns, long windows.
func (e *env) twinRules() []ratelimit.Rule {
	u := e.tick()
	rules := []ratelimit.Rule{
		e.rule(1, time.Second), e.rule(5, 7*u), e.rule(3, time.Second+u), e.rule(10, 13*time.Second), e.rule(100, time.Minute),
		e.rule(65_535, time.Second), e.rule(4, 31*24*time.Hour),
	}
	if e.algorithm == ratelimit.TokenBucket {
		rules = append(rules, ratelimit.Rate{Tokens: 3, Per: u}.Burst(1000), ratelimit.Rate{Tokens: 1001, Per: 30 * u}.Burst(7),
			ratelimit.Rate{Tokens: 10, Per: 13 * time.Second}.Burst(1), ratelimit.PerDay(1).Burst(2))
	}
	return rules
}

func takeTwin(e *env) {
	for _, rule := range e.twinRules() {
		seed := e.seed()
		random := rand.New(rand.NewPCG(seed, 0))
		p, exact := e.limiter(rule), newTwin(rule)
		for step := range 300 {
			p.clock.Advance(p.randomStep(random))
			key, n := randomKey(random), randomCost(random, rule.Capacity)
			if !p.expect(ruleTwin, key, n, p.take(key, n), exact.take(key, n, p.clock.NanoTime())) {
				p.Logf("step %d with Suite.Seed = %d", step, seed)
				break
			}
		}
	}
}

// seed returns the suite's seed, or a random one.
func (e *env) seed() uint64 {
	if e.suite.Seed != 0 {
		return e.suite.Seed
	}
	return rand.Uint64() | 1
}

// randomStep returns a time to wait that leads to states where answers change: the time of a token, of a window, a tick
// less or more.
func (p *probe) randomStep(random *rand.Rand) time.Duration {
	window, tick := p.rule.Window(), p.tick()
	token := p.rule.Refill.Per / time.Duration(p.rule.Refill.Tokens)
	steps := []time.Duration{0, 0, 0, tick, token - tick, token, token + tick, window / 3, window - tick, window, 3 * window}
	step := steps[random.IntN(len(steps))]
	if random.IntN(4) == 0 {
		step = time.Duration(random.Int64N(int64(window)))
	}
	return max(0, step/tick*tick)
}

func randomKey(random *rand.Rand) string {
	return []string{"alice", "bob", "a client whose key is longer than a cache line holds, so that it lives elsewhere"}[random.IntN(3)]
}

func randomCost(random *rand.Rand, capacity int64) int64 {
	costs := []int64{1, 1, 1, 2, capacity, capacity/2 + 1, 1 + random.Int64N(capacity), 0, -1, capacity + 1}
	return costs[random.IntN(len(costs))]
}
