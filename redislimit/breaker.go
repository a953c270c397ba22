package redislimit

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// bad calls in a row that open a breaker
	breakerFailures = 5
	// waits between probes of an open breaker: from the first, doubling, to the last
	firstProbe = 250 * time.Millisecond
	lastProbe  = 5 * time.Second
	// a breaker whose probe succeeds closes after a random part of this, so that a fleet doesn't come back at one instant
	closeJitter = 100 * time.Millisecond
)

// breaker keeps requests from waiting for a server that doesn't answer. It opens after breakerFailures bad calls in a
// row. While it is open no request asks the server; a probe in the background does, until one succeeds.
type breaker struct {
	now       func() int64           // ns
	probe     func(key string) error // asks the server for a key, cheaply
	recovered func()                 // called when a probe has succeeded, before the breaker closes

	bad   atomic.Int32 // calls in a row; breakerFailures or more: open
	since atomic.Int64 // the instant of the first of them

	mu    sync.Mutex
	key   string      // that failed: what a probe asks for, so that it asks the right node
	timer *time.Timer // of the next probe, or of closing
	ended bool        // no more probes
}

func (s *Store) newBreaker() *breaker {
	return &breaker{now: s.config.Clock.NanoTime, probe: s.probe, recovered: s.debts.reconcile}
}

// open reports whether no request should ask the server.
func (b *breaker) open() bool { return b.bad.Load() >= breakerFailures }

// succeeded counts a good call.
func (b *breaker) succeeded() {
	if b.bad.Load() != 0 && !b.open() { // an open one is closed by its probe alone
		b.bad.Store(0)
	}
}

// failed counts a bad call, and reports whether it opened the breaker.
func (b *breaker) failed(key string) bool {
	bad := b.bad.Add(1)
	if bad == 1 {
		b.since.Store(b.now())
	}
	if bad != breakerFailures {
		return false
	}
	b.mu.Lock()
	b.key = key
	b.mu.Unlock()
	b.probeAfter(firstProbe)
	return true
}

// probeAfter probes when wait, give or take a quarter, is over, and again after twice that while it fails.
func (b *breaker) probeAfter(wait time.Duration) {
	b.after(wait*3/4+rand.N(wait/2), func() {
		if b.probe(b.key) != nil {
			b.probeAfter(min(2*wait, lastProbe))
			return
		}
		b.recovered()
		b.after(rand.N(closeJitter), func() { b.bad.Store(0) })
	})
}

// after calls f when wait is over, unless the breaker has been ended by then.
func (b *breaker) after(wait time.Duration, f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.ended {
		b.timer = time.AfterFunc(wait, f)
	}
}

// close ends the probes.
func (b *breaker) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	if b.timer != nil {
		b.timer.Stop()
	}
}

// probe asks the server for the state of key, which it need not hold, as a decision would.
func (s *Store) probe(key string) error {
	_, err := s.call(context.Background(), []string{key + ":probe"}, []string{"peek", "b", "0", "1", "1", "1", "0"})
	return err
}
