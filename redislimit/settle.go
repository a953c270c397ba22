package redislimit

import (
	"context"
	"sync/atomic"

	"github.com/casgate/ratelimit"
)

// settle takes from the server what its shares have allowed without it. What a key doesn't have any more is forgiven;
// what can't be taken, because the server fails again, stays owed.
func (s *Store) settle(b *breaker) error {
	for _, l := range s.all() {
		if share := l.outage.shares[b.index].Load(); share != nil {
			if err := l.repay(share); err != nil {
				return err
			}
		}
	}
	return nil
}

// forget ends the shares of a breaker that has closed; it settles what they have allowed in the last moment.
func (s *Store) forget(b *breaker) {
	for _, l := range s.all() {
		if share := l.outage.shares[b.index].Swap(nil); share != nil {
			_ = l.repay(share)
		}
	}
}

// repay drains from the server what is owed on a share's keys.
func (l *Limiter) repay(of *share) error {
	type debt struct {
		key  string
		owed *atomic.Int64
	}
	var failure atomic.Pointer[error]
	inParallel(func(yield func(debt)) {
		of.keys.Range(func(key string, owed *atomic.Int64) bool {
			if owed.Load() > 0 {
				yield(debt{key, owed})
			}
			return failure.Load() == nil
		})
	}, func(d debt) {
		n := d.owed.Swap(0)
		if _, _, err := l.drain(l.rule.Load(), d.key, n, true); err != nil {
			d.owed.Add(n)
			failure.Store(&err)
		}
	})
	if err := failure.Load(); err != nil {
		return *err
	}
	return nil
}

// drain takes what is there of a key, at most n, and tells what is left; whatever the breaker says, if it is to close it.
func (l *Limiter) drain(rule *compiled, key string, n int64, closing bool) (got int64, left ratelimit.Decision, err error) {
	who := l.store.client(key)
	script, keys, args := takeScripts.of(rule), []string{l.serverKey(who)}, []string{"drain", rule.arg(min(max(n, 0), rule.rule.Capacity), 0)}
	var reply []int64
	if closing {
		reply, err = l.store.call(context.Background(), script, keys, args)
	} else {
		reply, err = l.store.eval(context.Background(), who.breaker, script, keys, args)
	}
	if err != nil {
		return 0, left, err
	}
	left = rule.decide(reply, 0)
	left.Allowed, left.RetryAfter = true, 0
	l.heard(key, left)
	return reply[0], left, nil
}
