package redislimit

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/casgate/ratelimit"
)

const (
	// bad calls in a row that open a breaker
	breakerFailures = 5
	// waits between probes of an open breaker: from the first, doubling, to the last
	firstProbe = 250 * time.Millisecond
	lastProbe  = 5 * time.Second
	// a breaker whose probe succeeds closes after a random part of this, so that a fleet doesn't come back at one instant
	closeJitter = 100 * time.Millisecond
	// settleAfter is how long tokens that were allowed because of single bad calls wait to be taken from the server
	settleAfter = time.Second
)

// breaker keeps requests from waiting for a server that doesn't answer. It opens after breakerFailures bad calls in a
// row. While it is open no request asks the server; a probe in the background does, until one succeeds and what was
// allowed meanwhile has been taken from the server.
type breaker struct {
	store *Store
	index int // in store.breakers

	bad     atomic.Int32 // calls in a row; breakerFailures or more: open
	since   atomic.Int64 // the instant of the first of them, ns
	settles atomic.Bool  // a settling after single bad calls is to come
	key     atomic.Pointer[string]
}

// open reports whether no request should ask the server.
func (b *breaker) open() bool { return b.bad.Load() >= breakerFailures }

// troubled returns the instant since which calls have been bad; now if none has.
func (b *breaker) troubled(now int64) int64 {
	if b.bad.Load() == 0 {
		return now
	}
	return b.since.Load()
}

// succeeded counts a good call. An open breaker is closed by its probe alone.
func (b *breaker) succeeded() {
	if bad := b.bad.Load(); bad != 0 && bad < breakerFailures {
		b.bad.CompareAndSwap(bad, 0) // if it fails, calls have been bad since
	}
}

// failed counts a bad call for a key, and reports whether it opened the breaker.
func (b *breaker) failed(key string) bool {
	if b.bad.Load() == 0 {
		b.since.Store(b.store.config.Clock.NanoTime())
	}
	if b.bad.Add(1) != breakerFailures {
		return false
	}
	b.key.Store(&key)
	b.probeAfter(firstProbe)
	return true
}

// probeAfter probes when wait, give or take a quarter, is over, and again after twice that while it fails.
func (b *breaker) probeAfter(wait time.Duration) {
	b.store.background.after(wait*3/4+rand.N(wait/2), func() {
		err := b.store.probe(*b.key.Load())
		if err == nil {
			err = b.store.settle(b)
		}
		if err != nil {
			b.probeAfter(min(2*wait, lastProbe))
			return
		}
		b.store.background.after(rand.N(closeJitter), func() {
			b.bad.Store(0)
			b.store.forget(b)
		})
	})
}

// settleSoon settles what single bad calls have led to, once the server answers again.
func (b *breaker) settleSoon() {
	if b.settles.Swap(true) {
		return
	}
	b.store.background.after(settleAfter, func() {
		b.settles.Store(false)
		switch {
		case b.open(): // it settles when it closes
		case b.store.settle(b) != nil:
			b.settleSoon()
		default:
			b.store.forget(b)
		}
	})
}

// probe asks the server for a state that it doesn't hold, on the node of key, as a decision would.
func (s *Store) probe(key string) error {
	_, err := s.call(context.Background(), takeScripts[probeRule.kind], []string{key + ":probe"}, []string{"peek", probeRule.one})
	return err
}

// probeRule is any rule: nothing is taken under it.
var probeRule, _ = compile(ratelimit.PerSecond(1).Burst(1))
