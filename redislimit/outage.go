package redislimit

import (
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/casgate/ratelimit"
)

// Policy says how a decision is made when the server can't make it.
type Policy uint8

const (
	// Local decides by this server's share of the limit, the rule split by the number of servers. A key first met in an
	// outage starts with its part of what was last known of it, or with one token, never with a full share.
	Local Policy = iota
	// Open allows.
	Open
	// Closed refuses, until the server can be expected to be asked again.
	Closed
)

// String returns local, open or closed.
func (p Policy) String() string {
	if p > Closed {
		return fmt.Sprintf("Policy(%d)", uint8(p))
	}
	return [...]string{"local", "open", "closed"}[p]
}

// outage is what one limiter answers by while the server can't.
type outage struct {
	store *Store
	known known // what the server last said of keys

	mu    sync.Mutex // held while share changes
	share atomic.Pointer[share]
	spent spent // what was allowed by it, to be taken from the server when that is back
}

// share is this server's part of the rule, for one outage.
type share struct {
	ratelimit.Local
	of      ratelimit.Rule // the whole rule
	servers int
	seeding [64]sync.Mutex // by key: one call at a time decides what a key starts with
}

// decide is the policy's answer to n tokens, 0 to its capacity, of a client's key under rule.
func (o *outage) decide(rule ratelimit.Rule, who client, key string, n int64) ratelimit.Decision {
	d := o.answer(rule, who, key, n)
	if d.Allowed {
		o.store.counters.errorAllowed.Add(1)
	} else {
		o.store.counters.errorDenied.Add(1)
	}
	return d
}

func (o *outage) answer(rule ratelimit.Rule, who client, key string, n int64) ratelimit.Decision {
	now := o.store.config.Clock.NanoTime()
	refused := ratelimit.Decision{Limit: rule.Capacity, RetryAfter: retryOutage, At: now}
	switch o.store.config.OnError {
	case Open:
		return ratelimit.Decision{Allowed: true, Limit: rule.Capacity, Remaining: rule.Capacity - n, At: now}
	case Closed:
		return refused
	}
	s, err := o.shareOf(rule)
	if err != nil { // too small a share to be counted
		return refused
	}
	s.seed(o, who, key, now)
	d := s.TakeAt(key, n, now)
	if d.RetryAfter == ratelimit.Never {
		return refused // more than the share holds, but not more than the rule
	}
	if d.Allowed && n > 0 {
		o.spent.add(key, n)
		o.store.debts.arm()
	}
	return d
}

// retryOutage is the wait that a refusal for want of the server names: nobody knows the real one.
const retryOutage = time.Second

// shareOf returns the share in force, made anew when the rule or the fleet has changed.
func (o *outage) shareOf(r ratelimit.Rule) (*share, error) {
	servers := o.store.fleet.size()
	if s := o.share.Load(); s != nil && s.of == r && s.servers == servers {
		return s, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	old := o.share.Load()
	if old != nil && old.of == r && old.servers == servers {
		return old, nil
	}
	rule, err := r.Split(servers)
	if err != nil {
		return nil, err
	}
	if old != nil && old.of.Algorithm == r.Algorithm {
		if err := old.SetRule(rule); err != nil {
			return nil, err
		}
		next := &share{Local: old.Local, of: r, servers: servers}
		o.share.Store(next)
		return next, nil
	}
	local, err := ratelimit.New(rule, ratelimit.Config{Clock: o.store.config.Clock, MaxKeys: o.store.config.LocalKeys})
	if err != nil {
		return nil, err
	}
	next := &share{Local: local, of: r, servers: servers}
	o.share.Store(next)
	return next, nil
}

// seed sees to it that a key that the share doesn't hold, and hence takes for full, starts with no more than its part
// of what was last known, and of what has come back since.
func (s *share) seed(o *outage, who client, key string, now int64) {
	rule := s.Rule()
	if s.Peek(key, 0).Remaining < rule.Capacity {
		return
	}
	lock := &s.seeding[who.hash%uint64(len(s.seeding))]
	lock.Lock()
	defer lock.Unlock()
	if s.Peek(key, 0).Remaining < rule.Capacity {
		return
	}
	start, since := int64(1), who.breaker.since.Load()
	if remaining, at, ok := o.known.last(who.hash); ok {
		start, since = remaining/int64(s.servers), at
	}
	if start = start + refilled(rule, now-since); start < rule.Capacity {
		s.TakeAt(key, rule.Capacity-max(start, 0), now)
	}
}

// undo gives back n tokens of key that the share allowed at the instant at.
func (o *outage) undo(key string, n, at int64) {
	if s := o.share.Load(); s != nil {
		s.RefundAt(key, n, at)
		o.spent.add(key, -n)
	}
}

// reset forgets the outage: the next one starts anew.
func (o *outage) reset() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.share.Store(nil)
}

// refilled returns the whole tokens that come back in ns: of a window, all of them when it is over.
func refilled(r ratelimit.Rule, ns int64) int64 {
	ns = max(ns, 0)
	if window := r.Window(); ns >= int64(window) {
		return r.Capacity
	}
	if r.Algorithm != ratelimit.TokenBucket {
		return 0
	}
	hi, lo := bits.Mul64(uint64(ns), uint64(r.Refill.Tokens))
	tokens, _ := bits.Div64(hi, lo, uint64(r.Refill.Per)) // less than a full bucket: no overflow
	return int64(tokens)
}
