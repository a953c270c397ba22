package limittest

import (
	"fmt"
	"testing"
	"time"

	"github.com/casgate/ratelimit"
)

// start is where the suite's clocks start: a whole hour in 2023, so that windows which divide an hour begin there.
const start = int64(472_222 * time.Hour)

// env is what one case of the suite works with.
type env struct {
	testing.TB
	suite     Suite
	algorithm ratelimit.Algorithm
}

// rule returns the rule of the algorithm under test by which capacity tokens come back in window.
func (e *env) rule(capacity int64, window time.Duration) ratelimit.Rule {
	return ratelimit.Rule{Algorithm: e.algorithm, Capacity: capacity, Refill: ratelimit.Rate{Tokens: capacity, Per: window}}
}

// tick is the smallest step of time that the limiter can tell.
func (e *env) tick() time.Duration { return e.suite.Resolution }

// limiter returns a fresh limiter for rule. If it isn't supported the case ends here, skipped.
func (e *env) limiter(rule ratelimit.Rule) *probe {
	e.Helper()
	clock := new(ManualClock)
	clock.Set(start)
	l := e.suite.New(rule, clock)
	if l == nil {
		e.Skipf("skipped: New returned nil for %v", showRule(rule))
	}
	return &probe{env: e, Limiter: l, clock: clock, rule: rule, newest: start}
}

// broken reports that the limiter breaks a rule of the contract.
func (e *env) broken(rule, format string, args ...any) {
	e.Helper()
	e.Errorf("%s\n\t%s", rule, fmt.Sprintf(format, args...))
}

// probe is a limiter under test with its clock. Every decision that it passes on is checked for what holds of all.
type probe struct {
	*env
	ratelimit.Limiter
	clock  *ManualClock
	rule   ratelimit.Rule
	newest int64 // the newest instant that a call had
}

// local returns the limiter as a ratelimit.Local; if it isn't one the case ends here, skipped.
func (p *probe) local() ratelimit.Local {
	p.Helper()
	l, ok := p.Limiter.(ratelimit.Local)
	if !ok {
		p.Skipf("skipped: %T is not a ratelimit.Local", p.Limiter)
	}
	return l
}

// reversible returns the limiter as a ratelimit.Reversible; if it isn't one the case ends here, skipped.
func (p *probe) reversible() ratelimit.Reversible {
	p.Helper()
	l, ok := p.Limiter.(ratelimit.Reversible)
	if !ok {
		p.Skipf("skipped: %T is not a ratelimit.Reversible", p.Limiter)
	}
	return l
}

func (p *probe) take(key string, n int64) ratelimit.Decision {
	p.Helper()
	return p.checked(p.Take(key, n), key, n, p.clock.NanoTime())
}

func (p *probe) peek(key string, n int64) ratelimit.Decision {
	p.Helper()
	return p.checked(p.reversible().Peek(key, n), key, n, p.clock.NanoTime())
}

// checked holds d, the answer to n for key at now, against what is true of every Decision.
func (p *probe) checked(d ratelimit.Decision, key string, n, now int64) ratelimit.Decision {
	p.Helper()
	p.newest = max(p.newest, now)
	var rule string
	switch {
	case d.Limit != p.rule.Capacity:
		rule = "Limit is the rule's capacity"
	case d.Remaining < 0 || d.Remaining > d.Limit:
		rule = "Remaining is 0 to Limit"
	case d.Allowed && d.RetryAfter != 0:
		rule = "RetryAfter is 0 when allowed"
	case !d.Allowed && d.RetryAfter <= 0:
		rule = "RetryAfter is positive when refused"
	case d.ResetAfter < 0:
		rule = "ResetAfter is not negative"
	case d.At < now || d.At > p.newest:
		rule = "At is the call's own instant, or a newer one that was seen before"
	default:
		return d
	}
	p.broken(rule, "%s under %s: %s", p.call(key, n), showRule(p.rule), show(d))
	return d
}

// expect compares a decision with the one that the contract asks for.
func (p *probe) expect(rule, key string, n int64, got, want ratelimit.Decision) bool {
	p.Helper()
	want.RetryAfter, want.ResetAfter = p.roundUp(want.RetryAfter), p.roundUp(want.ResetAfter)
	if got == want {
		return true
	}
	p.broken(rule, "%s under %s:\n\tgot  %s\n\twant %s", p.call(key, n), showRule(p.rule), show(got), show(want))
	return false
}

// roundUp returns d as a limiter of the suite's resolution tells it.
func (e *env) roundUp(d time.Duration) time.Duration {
	if d == ratelimit.Never || d%e.tick() == 0 {
		return d
	}
	return d - d%e.tick() + e.tick()
}

// call describes a call that is made now, for a failure's text.
func (p *probe) call(key string, n int64) string {
	if len(key) > 40 {
		key = fmt.Sprintf("%s…(%d bytes)", key[:40], len(key))
	}
	return fmt.Sprintf("Take(%q, %d) at %+v", key, n, time.Duration(p.clock.NanoTime()-start))
}

func showRule(r ratelimit.Rule) string {
	return fmt.Sprintf("%v, capacity %d, %v", r.Algorithm, r.Capacity, r.Refill)
}

func show(d ratelimit.Decision) string {
	verdict := "allowed"
	if !d.Allowed {
		verdict = "refused, retry after " + showWait(d.RetryAfter)
	} else if d.RetryAfter != 0 {
		verdict = "allowed, yet retry after " + showWait(d.RetryAfter)
	}
	return fmt.Sprintf("%s; %d of %d left; reset after %v; at %+v", verdict, d.Remaining, d.Limit, d.ResetAfter,
		time.Duration(d.At-start))
}

func showWait(d time.Duration) string {
	if d == ratelimit.Never {
		return "never"
	}
	return d.String()
}
