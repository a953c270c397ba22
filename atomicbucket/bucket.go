package atomicbucket

import (
	"sync/atomic"
	"unsafe"
)

// Bucket is one token bucket, for those who have a place of their own for it. The zero value is full. All its
// methods may be called at once from any goroutine, with the same Params each time: the rule isn't part of a bucket.
// An instant outside epoch to Horizon counts as the nearer of the two.
type Bucket struct{ word atomic.Uint64 }

var _ [8]byte = [unsafe.Sizeof(Bucket{})]byte{}

// Take takes n tokens at now (ns), all or none. 0 tokens are always there; fewer than 0, or more than the capacity,
// never are.
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

// Outcome tells what Params.Outcome tells, for the bucket as it is. It takes nothing.
func (b *Bucket) Outcome(p *Params, now, n int64) (remaining, retryAfter, resetAfter int64) {
	return p.Outcome(b.word.Load(), p.clamp(now), n)
}

// Refund gives back n tokens; what exceeds a full bucket is lost.
func (b *Bucket) Refund(p *Params, n int64) {
	for {
		old := b.word.Load()
		if old == 0 || b.word.CompareAndSwap(old, p.Refund(old, n, p.epoch)) {
			return
		}
	}
}

// Reset makes the bucket full.
func (b *Bucket) Reset() { b.word.Store(0) }
