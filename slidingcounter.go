package ratelimit

import (
	"github.com/casgate/ratelimit/shard"
	"github.com/casgate/ratelimit/window"
)

// SlidingWindowCounterLimiter admits a request while this window's count, plus the last one's weighed by the part of it
// that a window ending now would still cover, is below the limit. That is exact if the last window's requests came evenly;
// otherwise up to about the limit more can pass in some window. New makes it, for Algorithm SlidingWindowCounter.
type SlidingWindowCounterLimiter struct {
	*core[window.CounterParams, *window.CounterParams]
}

func newSlidingCounter(r Rule, c Config) (*SlidingWindowCounterLimiter, error) {
	core, err := newCore[window.CounterParams](r, c, func(r Rule) (window.CounterParams, error) {
		return window.CompileCounter(r.Capacity, r.Refill.Tokens, int64(r.Refill.Per))
	})
	if err != nil {
		return nil, err
	}
	return &SlidingWindowCounterLimiter{core}, nil
}

// TryAcquire takes one token of key.
func (l *SlidingWindowCounterLimiter) TryAcquire(key string) bool {
	hash := hashOf(key)
	l.keys.Prefetch(hash, len(key)) // the slot's line comes in while the clock is read
	return l.tryAcquire(hash, key, l.clock.NanoTime())
}

// TryAcquireAt takes one token of key at the instant now.
func (l *SlidingWindowCounterLimiter) TryAcquireAt(key string, now int64) bool {
	return l.tryAcquire(hashOf(key), key, now)
}

// TryAcquireMany takes one token for each key, in order, at one instant.
func (l *SlidingWindowCounterLimiter) TryAcquireMany(keys []string, allowed []bool) {
	l.acquireMany(keys, allowed, l.tryAcquire)
}

// tryAcquire is the hot path. A held key is a lookup and one CAS; a refusal is loads only.
func (l *SlidingWindowCounterLimiter) tryAcquire(hash uint64, key string, now int64) bool {
	word, table := l.keys.Find(hash, key)
	for word != nil {
		old := word.Load()
		at, ok := table.At(now) // after the word: the mark is then at least as new as what the word has seen
		if !ok || !shard.Live(old) {
			break
		}
		next, ok := table.Params.Take(old, at, 1)
		if !ok {
			return false
		}
		if word.CompareAndSwap(old, next) {
			return true
		}
	}
	return l.takeSlow(hash, key, 1, now).Allowed
}
