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
	// leaseAfter is how many calls for a key within a second earn it a lease.
	leaseAfter = 4
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
	heat    [1024]atomic.Uint64 // calls of late, by key: second, the key's tag, count
	calls   chan struct{}       // one element a call under way

	mu    sync.Mutex
	timer *time.Timer // of the next look at idle leases; nil while there are none
	ended bool
}

// lease is one key's tokens.
type lease struct {
	left      atomic.Int64 // tokens; below 0: given back, no longer in use
	refilling atomic.Bool
	used      atomic.Bool  // since the last look
	beyond    atomic.Int64 // tokens that the server had left when last asked
	at        atomic.Int64 // the server's instant then, ns
}

const givenBack = -1 << 62

func newLeases(l *Limiter) *leases {
	return &leases{limiter: l, keys: xsync.NewMap[string, *lease](), calls: make(chan struct{}, leaseCalls)}
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
	size, left := l.size(), held.left.Load()
	for left >= n && !held.left.CompareAndSwap(left, left-n) {
		left = held.left.Load()
	}
	if !held.used.Load() {
		held.used.Store(true)
	}
	if ok = left >= n; ok {
		left -= n
	}
	if left < size/2 && left >= 0 {
		l.refill(key, held, size)
	}
	if !ok {
		return d, false
	}
	limit := l.limiter.rule.Load().rule.Capacity
	return ratelimit.Decision{Allowed: true, Limit: limit, Remaining: min(held.beyond.Load()+left, limit), At: held.at.Load()}, true
}

// refill takes what held lacks from the server, in the background, unless that is under way.
func (l *leases) refill(key string, held *lease, size int64) {
	if held.refilling.Load() || !held.refilling.CompareAndSwap(false, true) {
		return
	}
	select {
	case l.calls <- struct{}{}:
	default: // too many calls; the next spend tries again
		held.refilling.Store(false)
		return
	}
	go func() {
		defer func() {
			held.refilling.Store(false)
			<-l.calls
		}()
		want := size - held.left.Load() // what is left only falls until this is added
		if want <= 0 || want > size {
			return
		}
		got, d, err := l.limiter.drain(key, want)
		if err != nil || got == 0 {
			return
		}
		l.limiter.store.counters.leasedTaken.Add(uint64(got))
		held.beyond.Store(d.Remaining)
		held.at.Store(d.At)
		for {
			left := held.left.Load()
			if left < 0 { // given back meanwhile
				l.giveBack(key, got, d.At)
				return
			}
			if held.left.CompareAndSwap(left, left+got) {
				return
			}
		}
	}()
}

// called counts a call for a key, and gives it a lease if it is hot.
func (l *leases) called(key string, hash uint64) {
	size := l.size()
	second := uint64(l.limiter.store.config.Clock.NanoTime()) / uint64(time.Second) & 0xffff
	tag := second<<48 | hash>>32<<16
	cell := &l.heat[hash%uint64(len(l.heat))]
	old := cell.Load()
	if old&^0xffff != tag {
		old = tag
	}
	cell.Store(old + 1) // a count lost to a race makes a lease a call later
	if size < 2 || old&0xffff+1 < leaseAfter {
		return
	}
	held, _ := l.keys.LoadOrStore(strings.Clone(key), new(lease))
	held.used.Store(true)
	l.refill(key, held, size)
	l.look()
}

// look sees to it that idle leases are given back.
func (l *leases) look() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer == nil && !l.ended {
		l.timer = time.AfterFunc(leaseIdle, func() {
			l.giveBackIdle(false)
			l.mu.Lock()
			l.timer = nil
			l.mu.Unlock()
			if l.keys.Size() > 0 {
				l.look()
			}
		})
	}
}

// giveBackIdle gives back the leases that have not been used since the last look, or all of them.
func (l *leases) giveBackIdle(all bool) {
	l.keys.Range(func(key string, held *lease) bool {
		if held.used.Swap(false) && !all {
			return true
		}
		l.keys.Delete(key)
		if left := held.left.Swap(givenBack); left > 0 {
			l.giveBack(key, left, held.at.Load())
		}
		return true
	})
}

func (l *leases) giveBack(key string, n, at int64) {
	l.limiter.store.counters.leasedBack.Add(uint64(n))
	l.limiter.refund(context.Background(), key, n, at)
}

// close gives everything back.
func (l *leases) close() {
	l.mu.Lock()
	l.ended = true
	if l.timer != nil {
		l.timer.Stop()
	}
	l.mu.Unlock()
	l.giveBackIdle(true)
}
