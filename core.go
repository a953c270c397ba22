package ratelimit

import (
	"math"
	"time"

	"github.com/casgate/ratelimit/shard"
)

// kernel is what an algorithm's compiled parameters can do. P is a plain struct; words and instants are integers.
type kernel[P any] interface {
	*P
	Capacity() int64
	Rebase(floor int64) P
	Horizon() int64
	IdleAt(word uint64) int64
	Convert(word uint64, to *P) uint64
	Take(word uint64, now, n int64) (next uint64, ok bool)
	Outcome(word uint64, now, n int64) (remaining, retryAfter, resetAfter int64)
	Refund(word uint64, n, at int64) uint64
	CountsAt(word uint64, now int64) int64
}

// core is all of a limiter but tryAcquire, which each adapter writes out so that its kernel's step inlines: a call
// through a type parameter never does.
type core[P any, K kernel[P]] struct {
	base[P]
}

// newCore returns the core of a limiter for r, which is valid.
func newCore[P any, K kernel[P]](r Rule, c Config, compile func(Rule) (P, error)) (*core[P, K], error) {
	core := new(core[P, K])
	return core, core.init(r, c, bridge[P, K]{}, compile)
}

// bridge gives the map the part of a kernel that it needs.
type bridge[P any, K kernel[P]] struct{}

func (bridge[P, K]) Rebase(p *P, floor int64) P              { return K(p).Rebase(floor) }
func (bridge[P, K]) Horizon(p *P) int64                      { return K(p).Horizon() }
func (bridge[P, K]) IdleAt(p *P, word uint64) int64          { return K(p).IdleAt(word) }
func (bridge[P, K]) Convert(word uint64, from, to *P) uint64 { return K(from).Convert(word, to) }

func (bridge[P, K]) Limited(p *P, word uint64, at int64) bool {
	_, ok := K(p).Take(word, at, 1)
	return !ok
}

// Take takes n tokens of key, all or none.
func (c *core[P, K]) Take(key string, n int64) Decision {
	hash := hashOf(key)
	c.keys.Prefetch(hash, len(key)) // the slot's line comes in while the clock is read
	return c.take(hash, key, n, c.clock.NanoTime())
}

// TakeAt takes n tokens of key at the instant now, all or none.
func (c *core[P, K]) TakeAt(key string, n, now int64) Decision {
	return c.take(hashOf(key), key, n, now)
}

// TakeBytes is Take for a key in a buffer, which is not retained.
func (c *core[P, K]) TakeBytes(key []byte, n int64) Decision { return c.Take(asString(key), n) }

func (c *core[P, K]) take(hash uint64, key string, n, now int64) Decision {
	word, table := c.keys.Find(hash, key)
	for word != nil {
		old := word.Load()
		at, ok := table.At(now)
		p := K(&table.Params)
		if !ok || !shard.Live(old) || !inRange(n, p.Capacity()) {
			break
		}
		next, ok := p.Take(old, at, n)
		if !ok || word.CompareAndSwap(old, next) {
			return decide[P, K](&table.Params, old, next, ok, n, at)
		}
	}
	return c.takeSlow(hash, key, n, now)
}

// takeSlow is a take that take can't decide: of a key that isn't held, of one whose table is moving, of an n or key out
// of range.
func (c *core[P, K]) takeSlow(hash uint64, key string, n, now int64) (d Decision) {
	if n <= 0 || len(key) > MaxKeyLen {
		return c.peekAt(key, n, now) // which takes nothing: a refusal, or n = 0
	}
	// Whether n is too large is for the step to say, because only its rule is the one that the key is under.
	verdict := c.keys.Update(hash, key, now, shard.Create, func(p *P, word uint64, at int64) (next uint64, ok bool) {
		if n > K(p).Capacity() {
			d = never[P, K](p, word, at)
			return 0, false
		}
		next, ok = K(p).Take(word, at, n)
		d = decide[P, K](p, word, next, ok, n, at)
		return next, ok
	})
	return c.overflow(verdict, d, n, now)
}

// decide is the Decision on taking n with word before it, and next after it if ok.
func decide[P any, K kernel[P]](p *P, word, next uint64, ok bool, n, at int64) Decision {
	if ok {
		word, n = next, 0 // nothing to wait for
	}
	at = K(p).CountsAt(word, at)
	remaining, retryAfter, resetAfter := K(p).Outcome(word, at, n)
	return Decision{ok, K(p).Capacity(), remaining, time.Duration(retryAfter), time.Duration(resetAfter), at}
}

// never is the Decision on an n that can't ever be taken.
func never[P any, K kernel[P]](p *P, word uint64, at int64) Decision {
	d := decide[P, K](p, word, word, true, 0, at)
	d.Allowed, d.RetryAfter = false, Never
	return d
}

// peekAt is Peek at the instant now.
func (c *core[P, K]) peekAt(key string, n, now int64) (d Decision) {
	if len(key) > MaxKeyLen {
		limit := c.rule.Load().Capacity
		return Decision{Limit: limit, Remaining: limit, RetryAfter: Never, At: now}
	}
	hash := hashOf(key)
	if word, table := c.keys.Find(hash, key); word != nil {
		old := word.Load()
		if at, ok := table.At(now); ok && shard.Live(old) {
			return look[P, K](&table.Params, old, n, at)
		}
	}
	c.keys.Update(hash, key, now, shard.HeldOnly, func(p *P, word uint64, at int64) (uint64, bool) {
		d = look[P, K](p, word, n, at)
		return 0, false
	})
	return d
}

// look is the Decision that a take of n would get.
func look[P any, K kernel[P]](p *P, word uint64, n, at int64) Decision {
	switch {
	case n == 0:
		return decide[P, K](p, word, word, true, 0, at)
	case !inRange(n, K(p).Capacity()):
		return never[P, K](p, word, at)
	}
	next, ok := K(p).Take(word, at, n)
	return decide[P, K](p, word, next, ok, n, at)
}

// Peek returns what Take would say.
func (c *core[P, K]) Peek(key string, n int64) Decision { return c.peekAt(key, n, c.clock.NanoTime()) }

// Refund gives back n tokens now.
func (c *core[P, K]) Refund(key string, n int64) { c.RefundAt(key, n, c.clock.NanoTime()) }

// RefundAt gives back n tokens that were taken at the instant at. That says nothing of the time now: the call is the
// latest there can be, so that it moves no time on.
func (c *core[P, K]) RefundAt(key string, n, at int64) {
	if n <= 0 || len(key) > MaxKeyLen {
		return
	}
	c.keys.Update(hashOf(key), key, math.MinInt64, shard.HeldOnly, func(p *P, word uint64, _ int64) (uint64, bool) {
		if word == 0 {
			return 0, false
		}
		return K(p).Refund(word, n, at), true // not min(n, capacity): a window may have counted more under an older rule
	})
}
