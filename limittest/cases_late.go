package limittest

import (
	"time"

	"github.com/casgate/ratelimit"
)

const (
	ruleLate      = "a late, older time counts as the newest that was seen: it refuses no key that has tokens, and debits none"
	ruleLateMints = "a late, older time refills nothing and wipes nothing"
)

// lateSteps are how late the calls are: within a window, across its edge, several windows.
var lateSteps = []time.Duration{3 * time.Millisecond, time.Second, 4 * time.Second, 12 * time.Second, time.Hour}

func lateHarmless(e *env) {
	for _, late := range lateSteps {
		p, exact := e.limiter(e.rule(5, 5*time.Second)), newTwin(e.rule(5, 5*time.Second))
		both := func(n int64) (got, want ratelimit.Decision) {
			return p.take("k", n), exact.take("k", n, p.clock.NanoTime())
		}
		both(3)
		p.clock.Advance(16 * time.Second)
		both(1)
		newest := p.clock.NanoTime()
		for range 3 {
			p.clock.Set(newest - int64(late))
			if got, _ := both(1); !got.Allowed {
				p.broken(ruleLate, "%v late, %s under %s: %s", late, p.call("k", 1), showRule(p.rule), show(got))
			}
			p.clock.Set(newest)
			got, want := both(0)
			p.expect(ruleLate, "k", 0, got, want)
		}
		for range 10 {
			p.clock.Advance(700 * time.Millisecond)
			got, want := both(1)
			p.expect(ruleLate, "k", 1, got, want)
		}
	}
}

func lateAlternating(e *env) {
	for _, late := range lateSteps {
		p, exact := e.limiter(e.rule(5, 5*time.Second)), newTwin(e.rule(5, 5*time.Second))
		p.clock.Advance(11 * time.Second)
		newest := p.clock.NanoTime()
		p.take("k", 5)
		exact.take("k", 5, newest)
		for range 200 {
			p.clock.Set(newest - int64(late))
			early := p.take("k", 1)
			p.clock.Set(newest)
			if now := p.take("k", 1); early.Allowed || now.Allowed {
				p.broken(ruleLateMints, "5 of 5 were taken at %+v, then one call %v late, one not: allowed %v, %v",
					time.Duration(newest-start), late, early.Allowed, now.Allowed)
				break
			}
		}
		p.clock.Advance(1500 * time.Millisecond)
		p.expect(ruleLateMints, "k", 1, p.take("k", 1), exact.take("k", 1, p.clock.NanoTime()))
	}
}
