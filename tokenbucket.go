package ratelimit

import (
	"github.com/casgate/ratelimit/atomicbucket"
	"github.com/casgate/ratelimit/shard"
)

// TokenBucketLimiter holds one token bucket a key: bursts up to the capacity, then evenly at the refill rate. In any
// interval t a key gets at most capacity + rate*t. New makes it, for Algorithm TokenBucket.
type TokenBucketLimiter struct {
	*core[atomicbucket.Params, *atomicbucket.Params]
}

func newTokenBucket(r Rule, c Config) (*TokenBucketLimiter, error) {
	core, err := newCore[atomicbucket.Params](r, c, func(r Rule) (atomicbucket.Params, error) {
		return atomicbucket.Compile(r.Capacity, r.Refill.Tokens, int64(r.Refill.Per))
	})
	if err != nil {
		return nil, err
	}
	return &TokenBucketLimiter{core}, nil
}

// TryAcquire takes one token of key.
func (l *TokenBucketLimiter) TryAcquire(key string) bool {
	hash := hashOf(key)
	l.keys.Prefetch(hash, len(key)) // the slot's line comes in while the clock is read
	return l.tryAcquire(hash, key, l.clock.NanoTime())
}

// TryAcquireAt takes one token of key at the instant now.
func (l *TokenBucketLimiter) TryAcquireAt(key string, now int64) bool {
	return l.tryAcquire(hashOf(key), key, now)
}

// TryAcquireMany takes one token for each key, in order, at one instant.
func (l *TokenBucketLimiter) TryAcquireMany(keys []string, allowed []bool) {
	l.acquireMany(keys, allowed, l.tryAcquire)
}

// tryAcquire is the hot path. A held key is a lookup and one CAS; a refusal is loads only.
func (l *TokenBucketLimiter) tryAcquire(hash uint64, key string, now int64) bool {
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
