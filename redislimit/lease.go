package redislimit

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/casgate/ratelimit"
	"github.com/puzpuzpuz/xsync/v4"
)

const (
	// LeaseShare is the part of the capacity that the leases of a whole fleet on one key come to at most: an eighth.
	LeaseShare = 8
	// leaseAfter is how many calls for a key within heatPeriod earn it a lease.
	leaseAfter = 4
	heatPeriod = 4 * time.Second
	heatCells  = 1 << 16
	// leaseIdle is how long a lease lies unused before it is given back, and up to twice that.
	leaseIdle = time.Second
	// leaseCalls bounds the calls for leases that are under way.
	leaseCalls = 64
)

// leases holds tokens that were taken from the server beforehand, by key, and spends them without asking it. At most
// size tokens of a key are unspent at any time, so that N servers together let through at most N*size more than the
// rule in any interval: those taken before it and spent within.
type leases struct {
	limiter *Limiter
	keys    *xsync.Map[string, *lease]
	heat    []atomic.Uint64 // calls of late, by key: period, the key's tag, count
	calls   atomic.Int64    // for leases, under way
	looking atomic.Bool     // a look at idle leases is to come
}

// lease is one key's tokens.
type lease struct {
	breaker   *breaker
	left      atomic.Int64 // tokens; below 0: given back, and the lease no longer in use
	low       atomic.Int64 // below it, more are taken
	refilling atomic.Bool
	used      atomic.Bool                        // since the last look
	said      atomic.Pointer[ratelimit.Decision] // by the server when last asked; not nil once there are tokens
}

const givenBack = -1 << 62

func newLeases(l *Limiter) *leases {
	return &leases{limiter: l, keys: xsync.NewMap[string, *lease](), heat: make([]atomic.Uint64, heatCells)}
}

// size is the most tokens that this server may lease of a key: a capacity's eighth, divided among the servers.
func (l *leases) size() int64 {
	return l.limiter.rule.Load().rule.Capacity / (LeaseShare * int64(l.limiter.store.fleet.size()))
}

// spend takes n tokens of key from its lease, if it has one that holds them.
func (l *leases) spend(key string, n int64) (d ratelimit.Decision, ok bool) {
	held, ok := l.keys.Load(key)
	if !ok {
		return d, false
	}
	left := held.left.Load()
	for left >= n && !held.left.CompareAndSwap(left, left-n) {
		left = held.left.Load()
	}
	if !held.used.Load() {
		held.used.Store(true)
	}
	if ok = left >= n; ok {
		left -= n
	}
	if left >= 0 && left < held.low.Load() {
		l.refill(key, held)
	}
	if !ok {
		return d, false
	}
	d = *held.said.Load()
	d.Remaining = min(d.Remaining+left, d.Limit)
	return d, true
}

// unspend puts back n tokens of key that were spent from its lease.
func (l *leases) unspend(key string, n int64, d ratelimit.Decision) {
	if held, ok := l.keys.Load(key); ok && held.add(n, l.size()) {
		return
	}
	l.limiter.refund(context.Background(), key, n, d.At)
}

// add puts n tokens into the lease, unless it was given back or would then have more than most.
func (h *lease) add(n, most int64) bool {
	for {
		left := h.left.Load()
		if left < 0 || left+n > most {
			return false
		}
		if h.left.CompareAndSwap(left, left+n) {
			return true
		}
	}
}

// refill takes what held lacks from the server, in the background, unless that is under way or the server isn't asked.
func (l *leases) refill(key string, held *lease) {
	if held.refilling.Load() || held.breaker.open() || !held.refilling.CompareAndSwap(false, true) {
		return
	}
	if l.calls.Add(1) > leaseCalls || !l.limiter.store.background.start() {
		l.calls.Add(-1) // the next spend tries again
		held.refilling.Store(false)
		return
	}
	key = strings.Clone(key)
	go func() {
		l.fill(key, held)
		held.refilling.Store(false)
		l.calls.Add(-1)
		l.limiter.store.background.running.Done()
	}()
}

func (l *leases) fill(key string, held *lease) {
	size := l.size()
	held.low.Store(size / 2)
	left := held.left.Load()
	if left < 0 || left >= size {
		return
	}
	got, said, err := l.limiter.drain(key, size-left, false)
	if err != nil || got == 0 {
		return
	}
	l.limiter.store.counters.leasedTaken.Add(uint64(got))
	held.said.Store(&said)
	if !held.add(got, size) { // given back meanwhile, or tokens were unspent
		l.giveBack(key, got, said.At)
	}
}

// called counts a call for a key, and gives it a lease if it is hot.
func (l *leases) called(key string, b *breaker) {
	if l.size() < 2 || !l.hot(l.limiter.outage.hash(key)) {
		return
	}
	held, ok := l.keys.Load(key)
	if !ok {
		held, _ = l.keys.LoadOrStore(strings.Clone(key), &lease{breaker: b})
	}
	held.used.Store(true)
	l.refill(key, held)
	l.look()
}

// hot counts a call for the key with that hash, and reports whether there have been leaseAfter of late. Of several keys
// with one cell, one at a time is counted, until it is hot.
func (l *leases) hot(hash uint64) bool {
	period := uint64(l.limiter.store.config.Clock.NanoTime()) / uint64(heatPeriod) & 0xffff
	tag := period<<48 | hash>>32<<16
	cell := &l.heat[hash%heatCells]
	old := cell.Load()
	count := old & 0xffff
	if old&^0xffff != tag {
		if old>>48 == period && count < leaseAfter {
			return false
		}
		count = 0
	}
	count = min(count+1, leaseAfter)
	cell.Store(tag | count) // a count lost to a race makes a lease a call later
	return count == leaseAfter
}

// look sees to it that idle leases are given back.
func (l *leases) look() {
	if l.looking.Load() || l.looking.Swap(true) {
		return
	}
	l.limiter.store.background.after(leaseIdle, func() {
		l.giveBackIdle(false)
		l.looking.Store(false)
		if l.keys.Size() > 0 {
			l.look()
		}
	})
}

// giveBackIdle gives back the leases that have not been used since the last look, or all of them.
func (l *leases) giveBackIdle(all bool) {
	type idle struct {
		key  string
		held *lease
	}
	inParallel(func(yield func(idle)) {
		l.keys.Range(func(key string, held *lease) bool {
			if !held.used.Swap(false) || all {
				yield(idle{key, held})
			}
			return true
		})
	}, func(i idle) {
		left := i.held.left.Swap(givenBack)
		if left < 0 {
			return
		}
		l.keys.Delete(i.key) // after the swap, so that no second lease can be filled beside one that is still spent from
		if left > 0 {
			l.giveBack(i.key, left, i.held.said.Load().At)
		}
	})
}

func (l *leases) giveBack(key string, n, at int64) {
	l.limiter.store.counters.leasedBack.Add(uint64(n))
	l.limiter.refund(context.Background(), key, n, at)
}
