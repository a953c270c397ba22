package redislimit

import (
	"context"
	"sync"
	"time"
)

// debtsAfter is how long tokens that were allowed without the server wait to be taken from it, while it answers.
const debtsAfter = time.Second

// debts takes from the server what was allowed without it, once it is back: before a breaker closes, or, when single calls
// have failed, a little later. What a key doesn't have any more is forgiven.
type debts struct {
	store *Store

	mu    sync.Mutex
	timer *time.Timer
	ended bool
}

// arm sees to it that debts are tried to be settled soon.
func (d *debts) arm() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer == nil && !d.ended {
		d.timer = time.AfterFunc(debtsAfter, func() {
			d.mu.Lock()
			d.timer = nil
			d.mu.Unlock()
			if !d.store.anyOpen() { // an open breaker settles them itself when it closes
				d.reconcile()
			}
		})
	}
}

// reconcile drains every debt from the server, and forgets the shares that it was allowed by: what the server says of
// the key is what a new share starts with. A debt that can't be settled now is kept.
func (d *debts) reconcile() {
	d.store.mu.Lock()
	limiters := d.store.limiters
	d.store.mu.Unlock()
	for _, l := range limiters {
		for key, n := range l.outage.spent.take() {
			if n <= 0 {
				continue // given back
			}
			rule, who := l.rule.Load(), d.store.client(key)
			reply, err := d.store.call(context.Background(), []string{d.store.key(who, l.name)},
				rule.args([]string{"drain"}, min(n, rule.rule.Capacity), 0))
			if err != nil {
				l.outage.spent.add(key, n)
				continue
			}
			l.heard(who, rule.decide(reply, 0))
		}
		l.outage.reset()
	}
}

func (d *debts) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = true
	if d.timer != nil {
		d.timer.Stop()
	}
}
