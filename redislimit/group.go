package redislimit

import (
	"context"
	"errors"

	"github.com/casgate/ratelimit"
)

// Store identifies the store, so that ratelimit.TakeAll decides claims on it together.
func (l *Limiter) Store() any { return l.store }

// TakeGroup takes all claims, whose limiters are of this store, or none. It is one call to the server for what leases
// and remembered refusals don't decide; on a Cluster one for each client's key, in order, and what the first have taken
// is given back if a later one refuses. If the server doesn't answer, the outage policy decides. The Decision of a claim that
// wasn't asked for, since another one had been refused, is zero.
func (l *Limiter) TakeGroup(claims []ratelimit.Claim) bool {
	if len(claims) == 1 {
		c := &claims[0]
		c.Decision, c.Err = c.Limiter.(*Limiter).TakeContext(context.Background(), c.Key, c.N)
		return c.Decision.Allowed
	}
	for i := range claims {
		c := &claims[i]
		one := c.Limiter.(*Limiter)
		rule := one.rule.Load()
		if c.N < 0 || c.N > rule.rule.Capacity || len(c.Key) > ratelimit.MaxKeyLen {
			return peekAll(claims)
		}
		if c.N == 0 {
			continue
		}
		if d, ok := one.refusedAgain(rule, c.Key, c.N); ok {
			c.Decision = d
			return false
		}
	}
	return l.store.takeUnleased(claims)
}

// peekAll fills the decisions of a group of which one claim can't ever be admitted.
func peekAll(claims []ratelimit.Claim) bool {
	for i := range claims {
		claims[i].Decision = claims[i].Limiter.Peek(claims[i].Key, claims[i].N)
	}
	return false
}

// takeUnleased spends leases where there are some, and asks the server for the rest.
func (s *Store) takeUnleased(claims []ratelimit.Claim) bool {
	leased := make([]*lease, len(claims)) // what it was spent from
	rest := make([]ratelimit.Claim, 0, len(claims))
	for i := range claims {
		c := &claims[i]
		if one := c.Limiter.(*Limiter); one.leases != nil && c.N > 0 {
			c.Decision, leased[i] = one.leases.spend(one.rule.Load(), c.Key, c.N)
		}
		if leased[i] == nil {
			rest = append(rest, *c)
		}
	}
	taken := s.takeCalls(rest)
	for i := range claims {
		c := &claims[i]
		if leased[i] == nil {
			c.Decision, c.Err, rest = rest[0].Decision, rest[0].Err, rest[1:]
		} else if !taken {
			c.Limiter.(*Limiter).leases.unspend(c.Key, leased[i], c.N, c.Decision)
			c.Decision.Remaining = min(c.Decision.Remaining+c.N, c.Decision.Limit)
		}
	}
	return taken
}

// takeCalls takes claims in as few calls as can be.
func (s *Store) takeCalls(claims []ratelimit.Claim) bool {
	without := make([]*breaker, len(claims)) // the breakers of those that the outage policy has allowed
	for start := 0; start < len(claims); {
		end := start + 1
		for end < len(claims) && s.together(claims[start:end], claims[end]) {
			end++
		}
		taken, err := s.takeCall(claims[start:end], without[start:end])
		if errors.Is(err, ErrMoving) { // one by one: a call for one key is led to its node
			end = start + 1
			taken, _ = s.takeCall(claims[start:end], without[start:end])
		}
		if !taken {
			giveBack(claims[:start], without)
			return false
		}
		start = end
	}
	return true
}

// giveBack undoes what claims have taken: of the server, or of the shares that the outage policy decided by.
func giveBack(claims []ratelimit.Claim, without []*breaker) {
	for i := range claims {
		c := &claims[i]
		if b := without[i]; b != nil {
			c.Limiter.(*Limiter).outage.undo(b, c.Key, c.N, c.Decision.At)
		} else {
			c.Limiter.RefundAt(c.Key, c.N, c.Decision.At)
		}
		c.Decision.Remaining = min(c.Decision.Remaining+c.N, c.Decision.Limit)
	}
}

// together reports whether next may be in one call with claims: on a Cluster, where another client's key may be on
// another node, and for a second claim on one key of the server, it may not.
func (s *Store) together(claims []ratelimit.Claim, next ratelimit.Claim) bool {
	if s.config.Cluster && claims[0].Key != next.Key {
		return false
	}
	for _, c := range claims {
		if c.Key == next.Key && c.Limiter.(*Limiter).tail == next.Limiter.(*Limiter).tail {
			return false
		}
	}
	return true
}

// takeCall takes claims in one call, or none of them. Where the outage policy has allowed them, it sets without. ErrMoving
// means that nothing is decided yet.
func (s *Store) takeCall(claims []ratelimit.Claim, without []*breaker) (taken bool, err error) {
	keys, args, rules := make([]string, len(claims)), make([]string, 1, 1+len(claims)), make([]*compiled, len(claims))
	args[0] = "take"
	clients := make([]client, len(claims))
	for i, c := range claims {
		one := c.Limiter.(*Limiter)
		rules[i], clients[i] = one.rule.Load(), s.client(c.Key)
		keys[i] = one.serverKey(clients[i])
		args = append(args, rules[i].arg(c.N, 0))
	}
	reply, err := s.eval(context.Background(), clients[0].breaker, takeScripts.of(rules...), keys, args)
	switch {
	case errors.Is(err, ErrMoving) && len(claims) > 1:
		return false, err
	case err != nil:
		return s.decideWithout(claims, clients, without, err), nil
	}
	all := true
	for i := range claims {
		claims[i].Decision = rules[i].decide(reply[replyLen*i:], claims[i].N)
		all = all && claims[i].Decision.Allowed
	}
	for i, c := range claims {
		if c.N > 0 && (all || !c.Decision.Allowed) {
			c.Limiter.(*Limiter).learn(rules[i], clients[i], c.Key, c.N, c.Decision)
		}
	}
	return all, nil
}

// decideWithout is the outage policy's answer to a group: all or none, too.
func (s *Store) decideWithout(claims []ratelimit.Claim, clients []client, without []*breaker, err error) bool {
	for i := range claims {
		c := &claims[i]
		one := c.Limiter.(*Limiter)
		c.Decision, c.Err = one.outage.decide(one.rule.Load(), clients[i].breaker, c.Key, c.N, true, err), err
		if !c.Decision.Allowed {
			giveBack(claims[:i], without)
			return false
		}
		without[i] = clients[i].breaker
	}
	return true
}
