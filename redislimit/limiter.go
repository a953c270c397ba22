package redislimit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/casgate/ratelimit"
)

// Mode says how often a limiter asks the server.
type Mode uint8

const (
	// Strict asks for every decision: never a token too many.
	Strict Mode = iota
	// DenyCache asks too, but repeats a refusal on its own until its RetryAfter is over, to requests for more, too, whose
	// own would be longer: never a token too many, and a client that is being refused costs nothing.
	DenyCache
	// Lease is DenyCache, and takes tokens of busy keys beforehand, in batches, and spends them on its own: with N
	// servers and leases of L = capacity/(8*N), at most capacity + rate*t + N*L in any time t. Where L would be below 2 it is DenyCache.
	Lease
)

// Limiter is a limit that all servers share: its state is in the store. It is a ratelimit.Limiter, ContextLimiter,
// Reversible and Remote.
type Limiter struct {
	store  *Store
	tail   string // of its keys on the server, after the client's hash
	mode   Mode
	rule   atomic.Pointer[compiled]
	outage outage
	denied *denials    // nil in mode Strict
	leases *leases     // nil but in mode Lease
	closed atomic.Bool // it, or its store: no more is leased
}

var (
	_ ratelimit.ContextLimiter = (*Limiter)(nil)
	_ ratelimit.Remote         = (*Limiter)(nil)
)

// Limiter returns the limiter of the rule named name, which must not be empty or contain braces. Limiters of one name
// share their state, on all servers, and should have the same rule; where rules differ, as during a deployment, each
// call counts by its own. In a process make one of each name, since each has leases, and a share in an outage, of its own. The error wraps ratelimit.ErrInvalidRule, also for a rule that is too large or too fine to be
// counted over Redis, or ratelimit.ErrInvalidConfig.
func (s *Store) Limiter(name string, r ratelimit.Rule, mode Mode) (*Limiter, error) {
	if name == "" || strings.ContainsAny(name, "{}") {
		return nil, fmt.Errorf("%w: name: %q: must not be empty or contain braces", ratelimit.ErrInvalidConfig, name)
	}
	if mode > Lease {
		return nil, fmt.Errorf("%w: mode: %d: must be Strict, DenyCache or Lease", ratelimit.ErrInvalidConfig, mode)
	}
	c, err := compile(r)
	if err != nil {
		return nil, err
	}
	l := &Limiter{store: s, tail: "}:" + c.kind + ":" + name, mode: mode}
	l.rule.Store(c)
	l.outage = outage{store: s, salt: rand.Uint64(), shares: make([]atomic.Pointer[share], len(s.breakers))}
	if mode != Strict {
		l.denied = newDenials()
	}
	if mode == Lease {
		l.leases = newLeases(l)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l.closed.Store(s.closed)
	s.limiters = append(slices.Clone(s.limiters), l)
	return l, nil
}

// Close gives the limiter's leased tokens back. The limiter goes on answering, strictly. It never fails.
func (l *Limiter) Close() error {
	l.store.mu.Lock()
	l.store.limiters = slices.DeleteFunc(slices.Clone(l.store.limiters), func(other *Limiter) bool { return other == l })
	l.store.mu.Unlock()
	l.closed.Store(true)
	l.giveBackLeases()
	return nil
}

func (l *Limiter) giveBackLeases() {
	if l.leases != nil {
		l.leases.giveBackIdle(true)
	}
}

// SetRule changes the limit for calls of this process from now on. What clients have used is kept: whole tokens of a
// bucket, the counts of windows. Another algorithm is ratelimit.ErrAlgorithm.
func (l *Limiter) SetRule(r ratelimit.Rule) error {
	if have := l.Rule().Algorithm; r.Algorithm != have {
		return fmt.Errorf("%w: %v in force, %v given", ratelimit.ErrAlgorithm, have, r.Algorithm)
	}
	c, err := compile(r)
	if err == nil && r != l.Rule() { // else leases and remembered refusals stay
		l.rule.Store(c)
	}
	return err
}

// Rule returns the rule in force.
func (l *Limiter) Rule() ratelimit.Rule { return l.rule.Load().rule }

// TryAcquire takes one token of key.
func (l *Limiter) TryAcquire(key string) bool { return l.Take(key, 1).Allowed }

// Take takes n tokens of key, all or none, within the store's budget. When the server doesn't answer within that, the
// decision is the outage policy's.
func (l *Limiter) Take(key string, n int64) ratelimit.Decision {
	d, _ := l.TakeContext(context.Background(), key, n)
	return d
}

// TakeContext is Take within ctx, too. With an error, the Decision is the outage policy's. A call that ctx ends says nothing of the
// server, and opens no breaker: what callers wait for at most is for Config.Budget to say, not for a shorter deadline.
func (l *Limiter) TakeContext(ctx context.Context, key string, n int64) (ratelimit.Decision, error) {
	rule := l.rule.Load()
	if n <= 0 || n > rule.rule.Capacity || len(key) > ratelimit.MaxKeyLen {
		return l.look(ctx, key, n) // it takes nothing
	}
	if l.leases != nil {
		if d, from := l.leases.spend(rule, key, n); from != nil {
			return d, nil
		}
	}
	if d, ok := l.refusedAgain(rule, key, n); ok {
		return d, nil
	}
	return l.ask(ctx, "take", rule, key, n)
}

// refusedAgain returns the refusal of n tokens of key that is known to hold still.
func (l *Limiter) refusedAgain(rule *compiled, key string, n int64) (d ratelimit.Decision, ok bool) {
	if l.denied == nil {
		return d, false
	}
	if d, ok = l.denied.again(rule, key, n, l.store.config.Clock.NanoTime()); ok {
		l.store.counters.deniedHere.Add(1)
	}
	return d, ok
}

// Peek returns what Take would say, if it asked the server.
func (l *Limiter) Peek(key string, n int64) ratelimit.Decision {
	d, _ := l.look(context.Background(), key, n)
	return d
}

// look decides without taking.
func (l *Limiter) look(ctx context.Context, key string, n int64) (ratelimit.Decision, error) {
	rule := l.rule.Load()
	limit := rule.rule.Capacity
	if len(key) > ratelimit.MaxKeyLen {
		return ratelimit.Decision{Limit: limit, Remaining: limit, RetryAfter: ratelimit.Never}, nil
	}
	never := n < 0 || n > limit
	if never {
		n = 0
	}
	d, err := l.ask(ctx, "peek", rule, key, n)
	if never {
		d.Allowed, d.RetryAfter = false, ratelimit.Never
	}
	return d, err
}

// ask has the script do op, take or peek, for n tokens, 0 to the capacity.
func (l *Limiter) ask(ctx context.Context, op string, rule *compiled, key string, n int64) (ratelimit.Decision, error) {
	take := op == "take"
	if b := l.store.breakers[0]; len(l.store.breakers) == 1 && b.open() { // before the key is hashed, which costs more than all the rest
		return l.outage.decide(rule, b, key, n, take, ErrOpen), ErrOpen
	}
	who := l.store.client(key)
	reply, err := l.store.eval(ctx, who.breaker, takeScripts.of(rule), []string{l.serverKey(who)}, []string{op, rule.arg(n, 0)})
	if err != nil {
		return l.outage.decide(rule, who.breaker, key, n, take, err), err
	}
	d := rule.decide(reply, n)
	if take {
		l.learn(rule, who, key, n, d)
	} else {
		l.heard(key, d)
	}
	return d, nil
}

// learn draws the conclusions from the server's decision on n tokens of key.
func (l *Limiter) learn(rule *compiled, who client, key string, n int64, d ratelimit.Decision) {
	l.heard(key, d)
	switch {
	case !d.Allowed && l.denied != nil:
		l.denied.refused(rule, key, n, l.store.config.Clock.NanoTime(), d)
	case d.Allowed && l.leases != nil && !l.closed.Load():
		l.leases.called(key, who.breaker)
	}
}

// heard remembers what the server said of a key, for outages.
func (l *Limiter) heard(key string, d ratelimit.Decision) {
	if l.store.config.OnError == Local {
		l.store.known.heard(l.outage.hash(key), d.Remaining, l.store.config.Clock.NanoTime())
	}
}

// serverKey is the server's key for a client under the limiter's rule.
func (l *Limiter) serverKey(who client) string { return l.store.lead + string(who.tag[:]) + l.tail }

// RefundAt gives back n tokens that were taken at the instant at. If the server can't be reached they are lost.
func (l *Limiter) RefundAt(key string, n, at int64) {
	if n > 0 && len(key) <= ratelimit.MaxKeyLen {
		_ = l.refund(context.Background(), key, n, at)
	}
}

func (l *Limiter) refund(ctx context.Context, key string, n, at int64) error {
	rule, who := l.rule.Load(), l.store.client(key)
	_, err := l.store.eval(ctx, who.breaker, takeScripts.of(rule), []string{l.serverKey(who)},
		[]string{"refund", rule.arg(n, floorMicros(at))})
	if l.denied != nil {
		l.denied.forget(key)
	}
	return err
}

// floorMicros returns ns in microseconds, rounded down.
func floorMicros(ns int64) int64 {
	us := ns / 1000
	if ns%1000 < 0 {
		us--
	}
	return us
}
