package atomicbucket

import (
	"sync/atomic"
	"unsafe"
)

// Bucket is one token bucket, for those who have a place of their own for it. The zero value is full.
//
// The rule isn't part of it: every call brings the same Params. Rebase them to the time you start at. A now outside
// epoch to Horizon counts as the nearer of the two, so past the horizon nothing flows in any more. At 10 a second it is
// 146 years away, at 65,535 a second 4 days; Convert moves it on.
type Bucket struct{ word atomic.Uint64 }

var _ [8]byte = [unsafe.Sizeof(Bucket{})]byte{}

// Take takes n tokens at now (ns), all or none. 0 tokens are always there; fewer, or more than the capacity, never.
func (b *Bucket) Take(p *Params, now, n int64) bool {
	if n <= 0 || n > p.capacity {
		return n == 0
	}
	now = p.clamp(now)
	for {
		old := b.word.Load()
		next, ok := p.Take(old, now, n)
		if !ok {
			return false
		}
		if b.word.CompareAndSwap(old, next) {
			return true
		}
	}
}

// Outcome is Params.Outcome of the bucket as it stands. It takes nothing.
func (b *Bucket) Outcome(p *Params, now, n int64) (remaining, retryAfter, resetAfter int64) {
	return p.Outcome(b.word.Load(), p.clamp(now), n)
}

// Refund gives back n tokens. What exceeds a full bucket is lost.
func (b *Bucket) Refund(p *Params, n int64) {
	for {
		old := b.word.Load()
		if old == 0 || b.word.CompareAndSwap(old, p.Refund(old, n, 0)) {
			return
		}
	}
}

// Reset fills the bucket.
func (b *Bucket) Reset() { b.word.Store(0) }

// Convert moves the bucket from one rule or epoch to another, as Params.Convert does. No other call may be running.
func (b *Bucket) Convert(from, to *Params) {
	b.word.Store(from.Convert(b.word.Load(), to))
}
