package redislimit

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/casgate/ratelimit"
)

// Limiter is a limit that all servers share: its state is in the store. It is a ratelimit.Limiter, ContextLimiter,
// Reversible and Remote.
type Limiter struct {
	store *Store
	name  string
	rule  atomic.Pointer[compiled]
}

// Limiter returns the limiter of the rule named name. Limiters of one name share their state, on all servers, and should have the same
// rule; where rules differ, as during a deployment, each call counts by its own. A name is what rule files allow: a letter, then letters, digits, "_", "." or "-".
func (s *Store) Limiter(name string, r ratelimit.Rule) (*Limiter, error) {
	if name == "" || strings.ContainsAny(name, "{}") {
		return nil, fmt.Errorf("%w: name: %q: must not be empty or contain braces", ratelimit.ErrInvalidConfig, name)
	}
	c, err := compile(r)
	if err != nil {
		return nil, err
	}
	l := &Limiter{store: s, name: name}
	l.rule.Store(c)
	return l, nil
}

// SetRule changes the limit for calls of this process from now on. What clients have used is kept: whole tokens of a
// bucket, the counts of windows. Another algorithm is ratelimit.ErrAlgorithm.
func (l *Limiter) SetRule(r ratelimit.Rule) error {
	if have := l.Rule().Algorithm; r.Algorithm != have {
		return fmt.Errorf("%w: %v in force, %v given", ratelimit.ErrAlgorithm, have, r.Algorithm)
	}
	c, err := compile(r)
	if err == nil {
		l.rule.Store(c)
	}
	return err
}

// Rule returns the rule in force.
func (l *Limiter) Rule() ratelimit.Rule { return l.rule.Load().rule }

// TryAcquire takes one token of key.
func (l *Limiter) TryAcquire(key string) bool { return l.Take(key, 1).Allowed }

// Take takes n tokens of key, all or none, within the store's budget.
func (l *Limiter) Take(key string, n int64) ratelimit.Decision {
	d, _ := l.TakeContext(context.Background(), key, n)
	return d
}

// TakeContext is Take within ctx, too.
func (l *Limiter) TakeContext(ctx context.Context, key string, n int64) (ratelimit.Decision, error) {
	return l.ask(ctx, "take", key, n)
}

// Peek returns what Take would say.
func (l *Limiter) Peek(key string, n int64) ratelimit.Decision {
	d, _ := l.ask(context.Background(), "peek", key, n)
	return d
}

// ask has the script do op for n tokens of key.
func (l *Limiter) ask(ctx context.Context, op, key string, n int64) (ratelimit.Decision, error) {
	c := l.rule.Load()
	if len(key) > ratelimit.MaxKeyLen {
		return ratelimit.Decision{Limit: c.rule.Capacity, Remaining: c.rule.Capacity, RetryAfter: ratelimit.Never}, nil
	}
	never := n < 0 || n > c.rule.Capacity
	if never {
		op, n = "peek", 0
	}
	reply, err := l.store.eval(ctx, []string{l.store.key(key, l.name)}, c.args([]string{op}, n, 0), 1)
	if err != nil {
		return ratelimit.Decision{}, err
	}
	d := c.decide(reply, n)
	if never {
		d.Allowed, d.RetryAfter = false, ratelimit.Never
	}
	return d, nil
}

// RefundAt gives back n tokens that were taken at the instant at. If the server can't be reached they are lost.
func (l *Limiter) RefundAt(key string, n, at int64) {
	c := l.rule.Load()
	if n <= 0 || len(key) > ratelimit.MaxKeyLen {
		return
	}
	_, _ = l.store.eval(context.Background(), []string{l.store.key(key, l.name)},
		c.args([]string{"refund"}, min(n, c.rule.Capacity), floorMicros(at)), 1)
}

// Store identifies the store, so that ratelimit.TakeAll decides claims on it in one call.
func (l *Limiter) Store() any { return l.store }

// TakeGroup takes all claims, whose limiters are of this store, or none.
func (l *Limiter) TakeGroup(claims []ratelimit.Claim) bool {
	keys, args, rules := make([]string, 0, len(claims)), make([]string, 1, 1+6*len(claims)), make([]*compiled, len(claims))
	args[0] = "take"
	for i, claim := range claims {
		one := claim.Limiter.(*Limiter)
		rules[i] = one.rule.Load()
		keys = append(keys, l.store.key(claim.Key, one.name))
		args = rules[i].args(args, claim.N, 0)
	}
	reply, err := l.store.eval(context.Background(), keys, args, len(claims))
	if err != nil {
		return false
	}
	all := true
	for i := range claims {
		claims[i].Decision = rules[i].decide(reply[5*i:], claims[i].N)
		all = all && claims[i].Decision.Allowed
	}
	return all
}

// eval runs the script within the budget.
func (s *Store) eval(ctx context.Context, keys, args []string, rules int) ([]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.Budget)
	defer cancel()
	reply, err := s.server.Eval(ctx, s.script, keys, args)
	if err == nil && len(reply) != 5*rules {
		err = fmt.Errorf("redislimit: reply of %d integers: want %d", len(reply), 5*rules)
	}
	return reply, err
}

func floorMicros(ns int64) int64 { return (ns - (ns%1000+1000)%1000) / 1000 }
