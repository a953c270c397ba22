package ratelimit

import (
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/cespare/xxhash/v2"

	"github.com/casgate/ratelimit/shard"
)

// base is what the limiters of all algorithms share: the map of their keys, the clock, the rule.
type base[P any] struct {
	keys    *shard.Map[P]
	clock   Clock
	compile func(Rule) (P, error)

	mu   sync.Mutex // held while SetRule runs
	rule atomic.Pointer[Rule]
}

// init makes b a limiter's for r, which is valid.
func (b *base[P]) init(r Rule, c Config, k shard.Kernel[P], compile func(Rule) (P, error)) error {
	params, err := compile(r)
	if err != nil {
		return err
	}
	b.clock, b.compile = c.Clock, compile
	b.keys = shard.New(shard.Config[P]{
		Kernel:   k,
		Params:   params,
		MaxKeys:  c.MaxKeys,
		Overflow: shard.Overflow(c.Overflow),
		Now:      c.Clock.NanoTime,
	})
	b.rule.Store(&r)
	return nil
}

// hashOf is the hash that places key.
func hashOf(key string) uint64 { return xxhash.Sum64String(key) }

// asString is b as a string that shares its memory: for calls that don't retain the key. The map copies what it keeps.
func asString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// inRange reports whether n tokens can be asked of a key: 1 to capacity.
func inRange(n, capacity int64) bool { return uint64(n-1) < uint64(capacity) }

// overflow replaces d where the map has answered by its Overflow.
func (b *base[P]) overflow(v shard.Verdict, d Decision, n, now int64) Decision {
	if v != shard.Denied && v != shard.Untracked {
		return d
	}
	rule := b.rule.Load()
	if v == shard.Untracked {
		return Decision{Allowed: true, Limit: rule.Capacity, Remaining: max(rule.Capacity-n, 0), At: now}
	}
	return Decision{Limit: rule.Capacity, RetryAfter: rule.timeOfOne(), At: now}
}

// acquireMany is TryAcquireMany by the adapter's tryAcquire. It hashes a batch of keys and touches their slots before it
// decides them, so that the cache misses overlap.
func (b *base[P]) acquireMany(keys []string, allowed []bool, tryAcquire func(hash uint64, key string, now int64) bool) {
	if len(keys) != len(allowed) {
		panic(fmt.Sprintf("ratelimit: TryAcquireMany: %d keys, %d answers", len(keys), len(allowed)))
	}
	const batch = 16
	now := b.clock.NanoTime()
	var hashes [batch]uint64
	for len(keys) > 0 {
		n := min(len(keys), batch)
		for i, key := range keys[:n] {
			hashes[i] = hashOf(key)
		}
		b.keys.PrefetchAll(hashes[:n], keys[:n])
		for i, key := range keys[:n] {
			allowed[i] = tryAcquire(hashes[i], key, now)
		}
		keys, allowed = keys[n:], allowed[n:]
	}
}

func (b *base[P]) timeline() Clock { return b.clock }

// Reset makes key as if never seen.
func (b *base[P]) Reset(key string) { b.keys.Reset(hashOf(key), key) }

// SetRule changes the limits of all keys and keeps what each has used.
func (b *base[P]) SetRule(r Rule) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	old := b.rule.Load()
	if r.Algorithm != old.Algorithm {
		return fmt.Errorf("%w: %v in force, %v given", ErrAlgorithm, old.Algorithm, r.Algorithm)
	}
	if err := r.Validate(); err != nil {
		return err
	}
	if r == *old {
		return nil
	}
	params, err := b.compile(r)
	if err != nil {
		return err
	}
	b.keys.SetParams(params, b.clock.NanoTime())
	b.rule.Store(&r)
	return nil
}

// Rule returns the rule in force.
func (b *base[P]) Rule() Rule { return *b.rule.Load() }

// Len returns the number of keys held.
func (b *base[P]) Len() int { return b.keys.Len() }

// Sweep evicts every idle key now, and returns how many were evicted meanwhile.
func (b *base[P]) Sweep() int { return b.keys.Sweep(b.clock.NanoTime()) }

// Stats returns counts since the start.
func (b *base[P]) Stats() Stats { return Stats(b.keys.Stats()) }
