package ratelimit

import (
	"github.com/casgate/ratelimit/shard"
	"github.com/casgate/ratelimit/window"
)

// FixedWindowLimiter counts the requests of each key in windows that start at multiples of their length on the clock:
// quotas by the calendar's hour or UTC day. Across an edge it admits up to twice the limit in a short time: the end of one
// window and the start of the next. If that matters, take a token bucket or a sliding window. New makes it, for Algorithm FixedWindow.
type FixedWindowLimiter struct {
	*core[window.FixedParams, *window.FixedParams]
}

func newFixedWindow(r Rule, c Config) (*FixedWindowLimiter, error) {
	core, err := newCore[window.FixedParams](r, c, func(r Rule) (window.FixedParams, error) {
		return window.CompileFixed(r.Capacity, r.Refill.Tokens, int64(r.Refill.Per))
	})
	if err != nil {
		return nil, err
	}
	return &FixedWindowLimiter{core}, nil
}

// TryAcquire takes one token of key.
func (l *FixedWindowLimiter) TryAcquire(key string) bool {
	hash := hashOf(key)
	l.keys.Prefetch(hash, len(key)) // the slot's line comes in while the clock is read
	return l.tryAcquire(hash, key, l.clock.NanoTime())
}

// TryAcquireAt takes one token of key at the instant now.
func (l *FixedWindowLimiter) TryAcquireAt(key string, now int64) bool {
	return l.tryAcquire(hashOf(key), key, now)
}

// TryAcquireMany takes one token for each key, in order, at one instant.
func (l *FixedWindowLimiter) TryAcquireMany(keys []string, allowed []bool) {
	l.acquireMany(keys, allowed, l.tryAcquire)
}

// tryAcquire is the hot path. A held key is a lookup and one CAS; a refusal is loads only.
func (l *FixedWindowLimiter) tryAcquire(hash uint64, key string, now int64) bool {
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
