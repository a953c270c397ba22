package redislimit

import (
	"fmt"
	"math/bits"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/casgate/ratelimit"
	"github.com/puzpuzpuz/xsync/v4"
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

// retryOutage is the wait that a refusal for want of the server names: nobody knows the real one.
const retryOutage = time.Second

// outage is what one limiter answers by while the server can't.
type outage struct {
	store *Store
	salt  uint64 // of the limiter's keys in store.known

	mu     sync.Mutex              // held while a share changes
	shares []atomic.Pointer[share] // by breaker; nil: none needed since it last closed
}

// share is this server's part of a rule, for one outage.
type share struct {
	ratelimit.Local
	of      *compiled // the whole rule
	part    ratelimit.Rule
	servers int
	*started
}

// started is what was met in an outage: the tokens allowed of each key, which the server must be told of.
type started struct {
	keys  *xsync.Map[string, *atomic.Int64]
	locks [64]sync.Mutex // by key: one call at a time decides what it starts with
}

func (o *outage) hash(key string) uint64 { return o.store.known.hash(key, o.salt) }

// decide is the policy's answer to n tokens, 0 to its capacity, of a client's key under rule. Unless it takes, it tells
// what it would answer. err is why the server doesn't decide.
func (o *outage) decide(rule *compiled, b *breaker, key string, n int64, take bool, err error) ratelimit.Decision {
	if err == ErrOpen {
		o.store.counters.open.Add(1)
	}
	d := o.answer(rule, b, key, n, take)
	if d.Allowed {
		o.store.counters.errorAllowed.Add(1)
	} else {
		o.store.counters.errorDenied.Add(1)
	}
	return d
}

func (o *outage) answer(rule *compiled, b *breaker, key string, n int64, take bool) ratelimit.Decision {
	now, limit := o.store.config.Clock.NanoTime(), rule.rule.Capacity
	refused := ratelimit.Decision{Limit: limit, RetryAfter: retryOutage, At: now}
	switch o.store.config.OnError {
	case Open:
		return ratelimit.Decision{Allowed: true, Limit: limit, Remaining: limit - n, At: now}
	case Closed:
		return refused
	}
	s, err := o.shareOf(rule, b)
	if err != nil { // too small a share to be counted
		return refused
	}
	owed := s.start(o, b, key, now)
	var d ratelimit.Decision
	if take {
		d = s.TakeAt(key, n, now)
	} else {
		d = s.Peek(key, n)
	}
	if d.RetryAfter == ratelimit.Never {
		return refused // more than the share holds, but not more than the rule
	}
	if take && d.Allowed && owed != nil {
		owed.Add(n)
	}
	d.Limit = limit
	return d
}

// shareOf returns the share in force, made anew when the rule or the fleet has changed.
func (o *outage) shareOf(rule *compiled, b *breaker) (*share, error) {
	servers := o.store.fleet.size()
	if s := o.shares[b.index].Load(); s != nil && s.of == rule && s.servers == servers {
		return s, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	old := o.shares[b.index].Load()
	if old != nil && old.of == rule && old.servers == servers {
		return old, nil
	}
	part, err := rule.rule.Split(servers)
	if err != nil {
		return nil, err
	}
	next := &share{of: rule, part: part, servers: servers}
	if old != nil {
		if err := old.SetRule(part); err != nil {
			return nil, err
		}
		next.Local, next.started = old.Local, old.started
	} else {
		next.started = &started{keys: xsync.NewMap[string, *atomic.Int64]()}
		next.Local, err = ratelimit.New(part, ratelimit.Config{Clock: o.store.config.Clock, MaxKeys: o.store.localKeys()})
		if err != nil {
			return nil, err
		}
	}
	o.shares[b.index].Store(next)
	if old == nil && !b.open() {
		b.settleSoon()
	}
	return next, nil
}

// start sees to it that a key first met in this outage has no more than its part of what was last known, and of what has
// come back since. It returns what is owed on the key; nil if there are too many keys to tell.
func (s *share) start(o *outage, b *breaker, key string, now int64) *atomic.Int64 {
	if owed, ok := s.keys.Load(key); ok {
		return owed
	}
	hash := o.hash(key)
	lock := &s.locks[hash%uint64(len(s.locks))]
	lock.Lock()
	defer lock.Unlock()
	if owed, ok := s.keys.Load(key); ok {
		return owed
	}
	if s.Peek(key, 0).Remaining == s.part.Capacity { // the share doesn't hold it, so it counts as full
		tokens, since := int64(1), b.troubled(now)
		if remaining, at, ok := o.store.known.last(hash); ok {
			tokens, since = remaining/int64(s.servers), at
		}
		if tokens += refilled(s.part, now-since); tokens < s.part.Capacity {
			s.TakeAt(key, s.part.Capacity-tokens, now)
		}
	}
	if s.keys.Size() >= o.store.localKeys() {
		return nil
	}
	owed := new(atomic.Int64)
	s.keys.Store(strings.Clone(key), owed)
	return owed
}

// undo gives back n tokens of key that the share allowed at the instant at.
func (o *outage) undo(b *breaker, key string, n, at int64) {
	s := o.shares[b.index].Load()
	if s == nil {
		return
	}
	if owed, ok := s.keys.Load(key); ok {
		owed.Add(-n)
	}
	s.RefundAt(key, n, at)
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
