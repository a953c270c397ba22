package bench

import (
	"math"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/casgate/ratelimit"
)

// textbookBucket is the token bucket of the textbooks: two fields under a mutex. It is a careful one: a late time
// refills nothing and takes nothing back, a refusal changes nothing.
type textbookBucket struct {
	mu     sync.Mutex
	tokens float64
	stamp  int64 // ns; when tokens was right
}

// textbook is what the two limiters have in common: the rule, the clock, and all that happens to a bucket.
type textbook struct {
	capacity float64
	perNano  float64
	clock    ratelimit.Clock
}

func newTextbook(r ratelimit.Rule, c ratelimit.Clock) textbook {
	return textbook{
		capacity: float64(r.Capacity),
		perNano:  float64(r.Refill.Tokens) / float64(r.Refill.Per),
		clock:    c,
	}
}

func (t *textbook) newBucket(now int64) *textbookBucket {
	return &textbookBucket{tokens: t.capacity, stamp: now}
}

// refill brings b up to now. Its lock is held.
func (t *textbook) refill(b *textbookBucket, now int64) {
	if now > b.stamp {
		b.tokens = math.Min(t.capacity, b.tokens+float64(now-b.stamp)*t.perNano)
		b.stamp = now
	}
}

// tryAcquire takes one token of b.
func (t *textbook) tryAcquire(b *textbookBucket, now int64) bool {
	b.mu.Lock()
	t.refill(b, now)
	ok := b.tokens >= 1
	if ok {
		b.tokens--
	}
	b.mu.Unlock()
	return ok
}

// take takes n tokens of b, which is nil for a key that isn't held, if they can ever be taken.
func (t *textbook) take(b *textbookBucket, n, now int64) ratelimit.Decision {
	d := ratelimit.Decision{Limit: int64(t.capacity), Remaining: int64(t.capacity), At: now}
	if b == nil {
		d.Allowed = n == 0
		d.RetryAfter = wait(d.Allowed, ratelimit.Never)
		return d
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	t.refill(b, now)
	d.At = b.stamp
	cost := float64(n)
	if d.Allowed = n >= 0 && cost <= b.tokens; d.Allowed {
		b.tokens -= cost
	}
	d.Remaining = int64(b.tokens)
	d.ResetAfter = t.timeOf(t.capacity - b.tokens)
	if n < 0 || cost > t.capacity {
		d.RetryAfter = ratelimit.Never
	} else {
		d.RetryAfter = wait(d.Allowed, t.timeOf(cost-b.tokens))
	}
	return d
}

// timeOf returns the time in which that many tokens flow.
func (t *textbook) timeOf(tokens float64) time.Duration {
	return time.Duration(math.Ceil(tokens / t.perNano))
}

func wait(allowed bool, d time.Duration) time.Duration {
	if allowed {
		return 0
	}
	return max(d, 1)
}

// possible reports whether n tokens can be taken at all, and so whether a key may be created for it.
func (t *textbook) possible(n int64) bool { return n > 0 && float64(n) <= t.capacity }

// SyncMapLimiter is the textbook limiter over a sync.Map. It evicts nothing.
type SyncMapLimiter struct {
	textbook
	buckets sync.Map // string -> *textbookBucket
}

// NewSyncMapLimiter returns one for a token bucket's rule, which must be valid.
func NewSyncMapLimiter(r ratelimit.Rule, c ratelimit.Clock) *SyncMapLimiter {
	return &SyncMapLimiter{textbook: newTextbook(r, c)}
}

func (l *SyncMapLimiter) bucket(key string, now int64) *textbookBucket {
	if b, ok := l.buckets.Load(key); ok {
		return b.(*textbookBucket)
	}
	b, _ := l.buckets.LoadOrStore(key, l.newBucket(now))
	return b.(*textbookBucket)
}

// TryAcquire takes one token of key.
func (l *SyncMapLimiter) TryAcquire(key string) bool { return l.TryAcquireAt(key, l.clock.NanoTime()) }

// TryAcquireAt takes one token of key at the instant now.
func (l *SyncMapLimiter) TryAcquireAt(key string, now int64) bool {
	return l.tryAcquire(l.bucket(key, now), now)
}

// Take takes n tokens of key, all or none.
func (l *SyncMapLimiter) Take(key string, n int64) ratelimit.Decision {
	now := l.clock.NanoTime()
	if l.possible(n) {
		return l.take(l.bucket(key, now), n, now)
	}
	b, _ := l.buckets.Load(key)
	held, _ := b.(*textbookBucket)
	return l.take(held, n, now)
}

// shards is how many maps a ShardedLimiter has; a power of two.
const shards = 256

// ShardedLimiter is the textbook limiter over maps under RWMutexes. It evicts nothing.
type ShardedLimiter struct {
	textbook
	shards [shards]struct {
		mu      sync.RWMutex
		buckets map[string]*textbookBucket
		_       [32]byte // no two locks in one cache line
	}
}

// NewShardedLimiter returns one for a token bucket's rule, which must be valid.
func NewShardedLimiter(r ratelimit.Rule, c ratelimit.Clock) *ShardedLimiter {
	l := &ShardedLimiter{textbook: newTextbook(r, c)}
	for i := range l.shards {
		l.shards[i].buckets = map[string]*textbookBucket{}
	}
	return l
}

// held returns key's bucket, nil if there is none.
func (l *ShardedLimiter) held(key string) *textbookBucket {
	s := &l.shards[xxhash.Sum64String(key)%shards]
	s.mu.RLock()
	b := s.buckets[key]
	s.mu.RUnlock()
	return b
}

func (l *ShardedLimiter) bucket(key string, now int64) *textbookBucket {
	if b := l.held(key); b != nil {
		return b
	}
	s := &l.shards[xxhash.Sum64String(key)%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.buckets[key]
	if b == nil {
		b = l.newBucket(now)
		s.buckets[key] = b
	}
	return b
}

// TryAcquire takes one token of key.
func (l *ShardedLimiter) TryAcquire(key string) bool { return l.TryAcquireAt(key, l.clock.NanoTime()) }

// TryAcquireAt takes one token of key at the instant now.
func (l *ShardedLimiter) TryAcquireAt(key string, now int64) bool {
	return l.tryAcquire(l.bucket(key, now), now)
}

// Take takes n tokens of key, all or none.
func (l *ShardedLimiter) Take(key string, n int64) ratelimit.Decision {
	now := l.clock.NanoTime()
	if l.possible(n) {
		return l.take(l.bucket(key, now), n, now)
	}
	return l.take(l.held(key), n, now)
}
