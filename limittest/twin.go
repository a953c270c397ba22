package limittest

import (
	"math"
	"time"

	"github.com/casgate/ratelimit"
)

// twin is a limiter's slow double: one account a key, in exact fractions, with every answer found from its
// definition. It is single-threaded and forgets nothing.
type twin struct {
	rule     ratelimit.Rule
	newest   int64 // the newest instant seen; older ones count as it
	accounts map[string]account
}

func newTwin(rule ratelimit.Rule) *twin {
	return &twin{rule: rule, newest: math.MinInt64, accounts: map[string]account{}}
}

func (t *twin) account(key string) account {
	if a := t.accounts[key]; a != nil {
		return a
	}
	window := int64(t.rule.Window())
	switch t.rule.Algorithm {
	case ratelimit.FixedWindow:
		return &fixedAccount{capacity: t.rule.Capacity, window: window}
	case ratelimit.SlidingWindowLog:
		return &logAccount{capacity: t.rule.Capacity, window: window}
	case ratelimit.SlidingWindowCounter:
		return &counterAccount{capacity: t.rule.Capacity, window: window}
	}
	return newBucketAccount(t.rule)
}

// take answers as ratelimit.Limiter's Take must. The key is an ordinary one.
func (t *twin) take(key string, n, now int64) ratelimit.Decision {
	d := t.acquire(key, n, now)
	return t.describe(d, t.account(key), n)
}

// acquire is take, without what the Decision says beside Allowed, Limit and At.
func (t *twin) acquire(key string, n, now int64) ratelimit.Decision {
	a := t.account(key)
	d := t.verdict(a, n, now)
	if d.Allowed && n > 0 {
		a.charge(n, d.At)
		t.accounts[key] = a
	}
	t.newest = d.At
	return d
}

// peek answers as take would, and changes nothing.
func (t *twin) peek(key string, n, now int64) ratelimit.Decision {
	a := t.account(key).clone()
	d := t.verdict(a, n, now)
	if d.Allowed && n > 0 {
		a.charge(n, d.At)
	}
	return t.describe(d, a, n)
}

func (t *twin) verdict(a account, n, now int64) ratelimit.Decision {
	at := max(now, t.newest)
	enough := n >= 0 && n <= t.rule.Capacity && has(a, n, at)
	return ratelimit.Decision{Allowed: enough, Limit: t.rule.Capacity, At: at}
}

func (t *twin) refund(key string, n, taken, now int64) {
	t.newest = max(now, t.newest)
	if a := t.accounts[key]; a != nil && n > 0 {
		a.refund(n, taken, t.newest)
	}
}

// describe fills in what d says about a: each from its definition.
func (t *twin) describe(d ratelimit.Decision, a account, n int64) ratelimit.Decision {
	d.Remaining = remaining(a, d.At)
	if !d.Allowed {
		d.RetryAfter = ratelimit.Never
		if n > 0 && n <= t.rule.Capacity {
			d.RetryAfter = t.first(func(in int64) bool { return has(a, n, d.At+in) })
		}
	}
	d.ResetAfter = t.first(func(in int64) bool { return a.fresh(d.At + in) })
	return d
}

// first returns the shortest time after which is holds. Once it holds it goes on to, and after two windows it does.
func (t *twin) first(is func(in int64) bool) time.Duration {
	low, high := int64(0), 2*int64(t.rule.Window())
	for low < high {
		if mid := low + (high-low)/2; is(mid) {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return time.Duration(low)
}
