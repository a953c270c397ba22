package limittest

import (
	"errors"
	"fmt"
	"math/big"
	"sync"
	"time"
	"unsafe"

	"github.com/casgate/ratelimit"
)

// reference is a ratelimit.Local that is right because it is slow: the twin under one mutex. A fault makes it wrong in
// one way that some limiter in the field was, or ours was once.
type reference struct {
	fault string

	mu    sync.Mutex
	clock ratelimit.Clock
	exact *twin
	stats ratelimit.Stats
}

var _ ratelimit.Local = (*reference)(nil)

func newReference(fault string) func(ratelimit.Rule, ratelimit.Clock) ratelimit.Limiter {
	return func(rule ratelimit.Rule, clock ratelimit.Clock) ratelimit.Limiter {
		return &reference{fault: fault, clock: clock, exact: newTwin(rule)}
	}
}

func (l *reference) has(fault string) bool { return l.fault == fault }

func (l *reference) TryAcquire(key string) bool {
	n := int64(1)
	if l.has("TryAcquire takes two") {
		n = 2
	}
	return l.takeAt(l.mixUp(key), n, l.clock.NanoTime(), false).Allowed
}

func (l *reference) TryAcquireAt(key string, now int64) bool {
	if l.has("the At variants ask the clock") {
		now = l.clock.NanoTime()
	}
	return l.takeAt(l.mixUp(key), 1, now, false).Allowed
}

func (l *reference) Take(key string, n int64) ratelimit.Decision {
	return l.TakeAt(key, n, l.clock.NanoTime())
}

func (l *reference) TakeAt(key string, n, now int64) ratelimit.Decision {
	return l.misreport(l.takeAt(l.mixUp(key), n, now, true), n)
}

// takeAt decides; the Decision is told in full if that is asked for, which takes longer.
func (l *reference) takeAt(key string, n, now int64, full bool) ratelimit.Decision {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(key) > ratelimit.MaxKeyLen && !l.has("stores keys of any length") {
		limit := l.exact.rule.Capacity
		return ratelimit.Decision{Limit: limit, Remaining: limit, RetryAfter: ratelimit.Never, At: now}
	}
	now = nearby(now)
	l.misjudge(key, now)
	held := l.exact.accounts[key] != nil
	d := l.mistake(key, &n, now)
	if !held && l.exact.accounts[key] != nil {
		l.stats.Created++
	}
	if full {
		d = l.exact.describe(d, l.exact.account(key), n)
	}
	return d
}

// nearby clamps now to 288 years around 0, so that the sums of later times don't overflow.
func nearby(now int64) int64 {
	const far = int64(288 * 365 * 24 * time.Hour)
	return min(max(now, -far), far)
}

func (l *reference) TakeBytes(key []byte, n int64) ratelimit.Decision {
	if l.has("retains the buffer of TakeBytes") {
		return l.Take(unsafe.String(unsafe.SliceData(key), len(key)), n)
	}
	return l.Take(string(key), n)
}

func (l *reference) TryAcquireMany(keys []string, allowed []bool) {
	if len(keys) != len(allowed) && !l.has("checks no lengths") {
		panic(fmt.Sprint(len(keys), " keys, ", len(allowed), " answers"))
	}
	answers := map[string]bool{}
	for i := range allowed {
		answer, known := answers[keys[i]]
		if !known || !l.has("decides duplicates in a batch once") {
			answer = l.TryAcquire(keys[i])
		}
		answers[keys[i]], allowed[i] = answer, answer
	}
}

func (l *reference) Peek(key string, n int64) ratelimit.Decision {
	if l.has("peeking takes") {
		return l.Take(key, n)
	}
	l.mu.Lock()
	if l.has("peeking creates the key") {
		l.exact.accounts[key] = l.exact.account(key)
	}
	d := l.exact.peek(key, n, l.clock.NanoTime())
	l.mu.Unlock()
	return l.misreport(d, n)
}

func (l *reference) Refund(key string, n int64) { l.RefundAt(key, n, l.clock.NanoTime()) }

func (l *reference) RefundAt(key string, n, at int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.NanoTime()
	switch {
	case l.has("refunds nothing"):
		return
	case l.has("refunds create the key") && l.exact.accounts[key] == nil:
		l.exact.accounts[key] = l.exact.account(key)
	case l.has("refunds go into the present window"):
		at = now
		if a, ok := l.exact.accounts[key].(*logAccount); ok && len(a.entries) > 0 {
			at = a.entries[len(a.entries)-1].at
		}
	case l.has("refunds lift above full"):
		if a, ok := l.exact.accounts[key].(*fixedAccount); ok && n > 0 {
			a.count -= n
			return
		}
	case l.has("a negative refund takes") && n < 0 && n > -1<<40:
		if a := l.exact.accounts[key]; a != nil {
			a.charge(-n, now)
		}
		return
	}
	l.exact.refund(key, n, at, now)
}

func (l *reference) Reset(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.has("resets every key"):
		clear(l.exact.accounts)
	case l.has("resets nothing"):
	default:
		delete(l.exact.accounts, key)
	}
}

func (l *reference) SetRule(r ratelimit.Rule) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.exact.rule
	if r.Algorithm != old.Algorithm && !l.has("SetRule takes any algorithm") {
		return fmt.Errorf("%w: it is %v", ratelimit.ErrAlgorithm, old.Algorithm)
	}
	if err := r.Validate(); err != nil {
		if l.has("SetRule reports no sentinel") {
			err = errors.New(err.Error())
		}
		return err
	}
	if l.has("SetRule ignores keys that are held") {
		return nil
	}
	l.exact.newest = max(l.exact.newest, l.clock.NanoTime())
	l.exact.setRule(r, l.has("SetRule keeps a full key's tokens"))
	switch {
	case l.has("SetRule forgets what was used"):
		clear(l.exact.accounts)
	case l.has("SetRule gives the difference to all"):
		for _, a := range l.exact.accounts {
			if b, ok := a.(*bucketAccount); ok {
				b.left.Add(b.left, parts(r.Capacity-old.Capacity, b.perToken()))
				b.left = b.capped(b.left)
			}
		}
	}
	return nil
}

func (l *reference) Rule() ratelimit.Rule {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.exact.rule
}

func (l *reference) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.exact.accounts)
}

func (l *reference) Sweep() (evicted int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := max(l.exact.newest, nearby(l.clock.NanoTime()))
	for key, a := range l.exact.accounts {
		idle := a.fresh(now)
		switch {
		case l.has("sweeps keys that are not idle"):
			idle = true
		case l.has("sweeps keys that are nearly idle"):
			idle = remaining(a, now) > 0
		case l.has("sweeps nothing"):
			idle = false
		}
		if idle {
			delete(l.exact.accounts, key)
			evicted++
		}
	}
	l.stats.Evicted += uint64(evicted)
	return evicted
}

func (l *reference) Stats() ratelimit.Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stats
	s.Keys = len(l.exact.accounts)
	s.Bytes = int64(100 * len(l.exact.accounts))
	if l.has("counts every call as a creation") {
		s.Created *= 2
	}
	return s
}

// setRule changes the rule at the newest instant: a bucket keeps its tokens, up to the capacity, and a full one is full;
// a window keeps its count, and one that has nothing left gets nothing.
func (t *twin) setRule(rule ratelimit.Rule, keepTokens bool) {
	t.rule = rule
	for _, a := range t.accounts {
		switch a := a.(type) {
		case *bucketAccount:
			left := a.free(t.newest)
			left.Mul(left, big.NewInt(int64(rule.Refill.Per)))
			left.Div(left, big.NewInt(a.perToken()))
			if a.fresh(t.newest) && !keepTokens {
				left = parts(rule.Capacity, int64(rule.Refill.Per))
			}
			a.rule, a.stamp = rule, t.newest
			a.left = a.capped(left)
		case *fixedAccount:
			a.capacity = rule.Capacity
		case *logAccount:
			a.capacity = rule.Capacity
		case *counterAccount:
			a.capacity = rule.Capacity
		}
	}
}
