package redislimit

import (
	"context"

	"github.com/casgate/ratelimit"
)

// Store identifies the store, so that ratelimit.TakeAll decides claims on it together.
func (l *Limiter) Store() any { return l.store }

// TakeGroup takes all claims, whose limiters are of this store, or none. It is one call to the server; on a Cluster one
// for each client's key, in order, and what the first have taken is given back if a later one refuses. If the server
// doesn't answer, the outage policy decides.
func (l *Limiter) TakeGroup(claims []ratelimit.Claim) bool {
	if !l.store.config.Cluster {
		return l.store.takeOnNode(claims)
	}
	for taken := 0; taken < len(claims); {
		next := taken + 1
		for next < len(claims) && claims[next].Key == claims[taken].Key {
			next++
		}
		if !l.store.takeOnNode(claims[taken:next]) {
			giveBack(claims[:taken])
			return false
		}
		taken = next
	}
	return true
}

// takeOnNode takes claims whose keys are on one node, or none of them.
func (s *Store) takeOnNode(claims []ratelimit.Claim) bool {
	keys, args, rules := make([]string, len(claims)), make([]string, 1, 1+6*len(claims)), make([]*compiled, len(claims))
	args[0] = "take"
	var who client
	for i, claim := range claims {
		one := claim.Limiter.(*Limiter)
		rules[i] = one.rule.Load()
		if claim.N < 0 || claim.N > rules[i].rule.Capacity || len(claim.Key) > ratelimit.MaxKeyLen {
			return s.refuseForever(claims)
		}
		who = s.client(claim.Key)
		keys[i] = s.key(who, one.name)
		args = rules[i].args(args, claim.N, 0)
	}
	reply, err := s.eval(context.Background(), who.breaker, keys, args)
	if err != nil {
		return s.decideWithout(claims)
	}
	all := true
	for i := range claims {
		claims[i].Decision = rules[i].decide(reply[replyLen*i:], claims[i].N)
		all = all && claims[i].Decision.Allowed
	}
	return all
}

// refuseForever fills the decisions of a group in which one claim can't ever be admitted.
func (s *Store) refuseForever(claims []ratelimit.Claim) bool {
	for i := range claims {
		claims[i].Decision = claims[i].Limiter.Peek(claims[i].Key, claims[i].N)
	}
	return false
}

// decideWithout is the outage policy's answer to a group: all or none, too.
func (s *Store) decideWithout(claims []ratelimit.Claim) bool {
	for i := range claims {
		l := claims[i].Limiter.(*Limiter)
		claims[i].Decision = l.outage.decide(l.Rule(), s.client(claims[i].Key), claims[i].Key, claims[i].N)
		if !claims[i].Decision.Allowed {
			for _, taken := range claims[:i] {
				taken.Limiter.(*Limiter).outage.undo(taken.Key, taken.N, taken.Decision.At)
			}
			return false
		}
	}
	return true
}

func giveBack(claims []ratelimit.Claim) {
	for _, c := range claims {
		c.Limiter.RefundAt(c.Key, c.N, c.Decision.At)
	}
}
