package redislimit

import (
	"context"
	"strings"
	"sync"
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
	used      atomic.Bool         // since the last look
	said      atomic.Pointer[say] // by the server when last asked; not nil once there are tokens

	mu      sync.Mutex // held while batches change
	batches []batch    // of tokens taken, the last ones: those that are left are among them
}

// say is what the server said, under which rule.
type say struct {
	ratelimit.Decision
	rule *compiled
}

// batch is n tokens that were taken at one instant of the server, or at several that are alike to a refund.
type batch struct{ n, at int64 }

const (
	givenBack  = -1 << 62
	maxBatches = 16 // beyond them the oldest is forgotten
)

func newLeases(l *Limiter) *leases {
	return &leases{limiter: l, keys: xsync.NewMap[string, *lease](), heat: make([]atomic.Uint64, heatCells)}
}

// size is the most tokens that this server may lease of a key: a capacity's eighth, divided among the servers.
func (l *leases) size(rule *compiled) int64 {
	return rule.rule.Capacity / (LeaseShare * int64(l.limiter.store.fleet.size()))
}

// spend takes n tokens of key from its lease, if it has one that holds them, of that rule, and returns which.
func (l *leases) spend(rule *compiled, key string, n int64) (d ratelimit.Decision, from *lease) {
	held, ok := l.keys.Load(key)
	if !ok {
		return d, nil
	}
	if said := held.said.Load(); said != nil && said.rule != rule {
		if left := l.end(key, held); left > 0 {
			kept := strings.Clone(key)
			l.limiter.store.background.run(func() { l.giveBack(kept, held, left) })
		}
		return d, nil
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
		return d, nil
	}
	d = held.said.Load().Decision
	d.Remaining = min(d.Remaining+left, d.Limit)
	return d, held
}

// unspend puts back n tokens of key that were spent from held.
func (l *leases) unspend(key string, held *lease, n int64, d ratelimit.Decision) {
	if !held.add(n, l.size(l.limiter.rule.Load())) {
		_ = l.limiter.refund(context.Background(), key, n, d.At)
	}
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
	done := func() { // the next spend tries again
		held.refilling.Store(false)
		l.calls.Add(-1)
	}
	kept := strings.Clone(key)
	if l.calls.Add(1) > leaseCalls || !l.limiter.store.background.run(func() { l.fill(kept, held); done() }) {
		done()
	}
}

func (l *leases) fill(key string, held *lease) {
	rule := l.limiter.rule.Load()
	size := l.size(rule)
	held.low.Store(size / 2)
	left := held.left.Load()
	if left < 0 || left >= size {
		return
	}
	got, said, err := l.limiter.drain(rule, key, size-left, false)
	if err != nil || got == 0 {
		return
	}
	l.limiter.store.counters.leasedTaken.Add(uint64(got))
	held.took(rule, got, said.At, size)
	held.said.Store(&say{said, rule})
	if !held.add(got, size) { // given back meanwhile, or tokens were unspent
		l.giveBack(key, held, got)
	}
}

// took notes that n tokens were taken at the instant at under rule, of which at most size are left together with others.
func (h *lease) took(rule *compiled, n, at, size int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if last := len(h.batches) - 1; last >= 0 && rule.alike(h.batches[last].at, at) {
		h.batches[last] = batch{min(h.batches[last].n+n, size), at}
		return
	}
	if len(h.batches) == maxBatches {
		h.batches = h.batches[:copy(h.batches, h.batches[1:])]
	}
	h.batches = append(h.batches, batch{n, at})
}

// newest returns n of the tokens taken, the last ones: the first are spent first.
func (h *lease) newest(n int64) (some []batch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for n > 0 && len(h.batches) > 0 {
		last := &h.batches[len(h.batches)-1]
		part := batch{min(n, last.n), last.at}
		if some, n = append(some, part), n-part.n; part.n == last.n {
			h.batches = h.batches[:len(h.batches)-1]
		} else {
			last.n -= part.n
		}
	}
	switch {
	case n > 0 && len(some) > 0: // older ones, which are forgotten
		some[len(some)-1].n += n
	case n > 0:
		some = append(some, batch{n, h.said.Load().At})
	}
	return some
}

// called counts a call for a key, and gives it a lease if it is hot.
func (l *leases) called(key string, b *breaker) {
	if l.size(l.limiter.rule.Load()) < 2 || !l.hot(l.limiter.outage.hash(key)) {
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
		if old>>48 == period && 0 < count && count < leaseAfter {
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

// giveBackIdle gives back the leases that have not been used since the last look, and what is more than this server's
// part, since the fleet has grown; or all of them.
func (l *leases) giveBackIdle(all bool) {
	type one struct {
		key  string
		held *lease
		idle bool
	}
	most := l.size(l.limiter.rule.Load())
	inParallel(func(yield func(one)) {
		l.keys.Range(func(key string, held *lease) bool {
			if idle := !held.used.Swap(false) || all; idle || held.left.Load() > most {
				yield(one{key, held, idle})
			}
			return true
		})
	}, func(o one) {
		n := int64(0)
		if o.idle {
			n = l.end(o.key, o.held)
		} else {
			n = o.held.trim(most)
		}
		if n > 0 {
			l.giveBack(o.key, o.held, n)
		}
	})
}

// end ends a lease, and returns what is left of it, which is to be given back.
func (l *leases) end(key string, held *lease) (left int64) {
	if left = held.left.Swap(givenBack); left >= 0 {
		l.keys.Delete(key) // after the swap, so that no second lease can be filled beside one that is still spent from
	}
	return left
}

// trim takes from the lease what is above most, and returns how much that is.
func (h *lease) trim(most int64) int64 {
	for {
		left := h.left.Load()
		if left <= most {
			return 0
		}
		if h.left.CompareAndSwap(left, most) {
			return left - most
		}
	}
}

func (l *leases) giveBack(key string, held *lease, n int64) {
	for _, b := range held.newest(n) {
		if l.limiter.refund(context.Background(), key, b.n, b.at) == nil {
			l.limiter.store.counters.leasedBack.Add(uint64(b.n))
		}
	}
}
