package ratelimit

import (
	"math"
	"time"

	"github.com/casgate/ratelimit/shard"
	"github.com/casgate/ratelimit/window"
)

// SlidingWindowLogLimiter admits a request if fewer than the limit were admitted in the window that ends now: exactly,
// whatever came when. It keeps 8 bytes for each request that is in the window. New makes it, for Algorithm
// SlidingWindowLog.
//
// A key's word in the map is a handle to its log, which is where requests are recorded; the word changes only when the
// key comes and goes.
type SlidingWindowLogLimiter struct {
	base[window.LogParams]
	log window.Log
}

func newSlidingLog(r Rule, c Config) (*SlidingWindowLogLimiter, error) {
	l := new(SlidingWindowLogLimiter)
	return l, l.init(r, c, &l.log, func(r Rule) (window.LogParams, error) {
		p, err := window.CompileLog(r.Capacity, r.Refill.Tokens, int64(r.Refill.Per))
		if err != nil {
			return p, err
		}
		return l.log.Adopt(p), nil
	})
}

// TryAcquire takes one token of key.
func (l *SlidingWindowLogLimiter) TryAcquire(key string) bool {
	hash := hashOf(key)
	l.keys.Prefetch(hash, len(key)) // the slot's line comes in while the clock is read
	return l.tryAcquire(hash, key, l.clock.NanoTime())
}

// TryAcquireAt takes one token of key at the instant now.
func (l *SlidingWindowLogLimiter) TryAcquireAt(key string, now int64) bool {
	return l.tryAcquire(hashOf(key), key, now)
}

// TryAcquireMany takes one token for each key, in order, at one instant.
func (l *SlidingWindowLogLimiter) TryAcquireMany(keys []string, allowed []bool) {
	l.acquireMany(keys, allowed, l.tryAcquire)
}

// tryAcquire is the hot path. A held key is a lookup and one CAS in its log; a refusal is loads only.
func (l *SlidingWindowLogLimiter) tryAcquire(hash uint64, key string, now int64) bool {
	if word, table := l.keys.Find(hash, key); word != nil {
		old := word.Load()
		if at, ok := table.At(now); ok && shard.Live(old) {
			switch l.log.Try(&table.Params, old, at, 1) {
			case window.LogAllowed:
				return true
			case window.LogRefused:
				return false
			}
		}
	}
	return l.takeSlow(hash, key, 1, now).Allowed
}

// Take takes n tokens of key, all or none.
func (l *SlidingWindowLogLimiter) Take(key string, n int64) Decision {
	hash := hashOf(key)
	l.keys.Prefetch(hash, len(key))
	return l.take(hash, key, n, l.clock.NanoTime())
}

// TakeAt takes n tokens of key at the instant now, all or none.
func (l *SlidingWindowLogLimiter) TakeAt(key string, n, now int64) Decision {
	return l.take(hashOf(key), key, n, now)
}

// TakeBytes is Take for a key in a buffer, which is not retained.
func (l *SlidingWindowLogLimiter) TakeBytes(key []byte, n int64) Decision {
	return l.Take(asString(key), n)
}

func (l *SlidingWindowLogLimiter) take(hash uint64, key string, n, now int64) Decision {
	if word, table := l.keys.Find(hash, key); word != nil {
		old := word.Load()
		if at, ok := table.At(now); ok && shard.Live(old) && inRange(n, table.Params.Capacity()) {
			if o, v := l.log.Take(&table.Params, old, at, n); v == window.LogAllowed || v == window.LogRefused {
				return logDecision(o, v)
			}
		}
	}
	return l.takeSlow(hash, key, n, now)
}

// takeSlow is a take that take can't decide. Where the key has a log, the request is recorded there, after the map has told
// which; otherwise it is the first one of a new log, which is the key's if the map takes its word.
func (l *SlidingWindowLogLimiter) takeSlow(hash uint64, key string, n, now int64) Decision {
	if n <= 0 || len(key) > MaxKeyLen {
		return l.peekAt(key, n, now) // which takes nothing: a refusal, or n = 0
	}
	var gone uint64 // a word that no log is behind any more
	for {
		var held, fresh uint64
		var p window.LogParams
		var at int64
		verdict := l.keys.Update(hash, key, now, shard.Create, func(params *window.LogParams, word uint64, instant int64) (uint64, bool) {
			p, at = *params, instant
			l.log.Discard(fresh)
			held, fresh = 0, 0
			switch {
			case word != 0 && word != gone:
				held = word // if nothing is behind it, ask again: the instant must come after that was seen
			case n <= p.Capacity():
				fresh = l.log.New(&p, at, n)
			}
			return fresh, fresh != 0
		})
		if verdict == shard.Applied {
			return logDecision(p.Fresh(at, n), window.LogAllowed)
		}
		l.log.Discard(fresh)
		if held == 0 {
			if verdict == shard.Declined && n > p.Capacity() {
				o := p.Fresh(at, 0)
				o.RetryAfter = window.Never
				return logDecision(o, window.LogRefused)
			}
			if verdict == shard.Declined {
				verdict = shard.Denied // no more logs can be held
			}
			return l.overflow(verdict, Decision{}, n, now)
		}
		o, v := l.log.Take(&p, held, at, n)
		switch v {
		case window.LogAllowed, window.LogRefused:
			return logDecision(o, v)
		case window.LogGone:
			gone = held
		}
	}
}

// logDecision is the Decision that a log's outcome stands for.
func logDecision(o window.LogOutcome, v window.LogVerdict) Decision {
	return Decision{v == window.LogAllowed, o.Limit, o.Remaining, time.Duration(o.RetryAfter), time.Duration(o.ResetAfter), o.At}
}

// Peek returns what Take would say.
func (l *SlidingWindowLogLimiter) Peek(key string, n int64) Decision {
	return l.peekAt(key, n, l.clock.NanoTime())
}

func (l *SlidingWindowLogLimiter) peekAt(key string, n, now int64) Decision {
	if len(key) > MaxKeyLen {
		limit := l.rule.Load().Capacity
		return Decision{Limit: limit, Remaining: limit, RetryAfter: Never, At: now}
	}
	var gone uint64 // a word that no log is behind any more
	for {
		word, p, at := l.locate(key, now)
		limit := p.Capacity()
		ask := n
		if !inRange(n, limit) {
			ask = 0
		}
		o, v := l.log.Peek(&p, word, at, ask)
		switch v {
		case window.LogStale:
			continue
		case window.LogGone:
			if word != gone { // ask again: the instant must come after that was seen
				gone = word
				continue
			}
			o, v = p.Fresh(at, ask), window.LogAllowed
		}
		if n != ask {
			o.RetryAfter, v = int64(Never), window.LogRefused
		}
		return logDecision(o, v)
	}
}

// locate returns key's word, 0 if it has none, with the params and the instant that a call at now counts at.
func (l *SlidingWindowLogLimiter) locate(key string, now int64) (word uint64, p window.LogParams, at int64) {
	hash := hashOf(key)
	if w, table := l.keys.Find(hash, key); w != nil {
		old := w.Load()
		if instant, ok := table.At(now); ok && shard.Live(old) {
			return old, table.Params, instant
		}
	}
	verdict := l.keys.Update(hash, key, now, shard.HeldOnly, func(params *window.LogParams, held uint64, instant int64) (uint64, bool) {
		word, p, at = held, *params, instant
		return 0, false
	})
	if verdict == shard.Absent {
		word = 0
	}
	return word, p, at
}

// Refund gives back n tokens now.
func (l *SlidingWindowLogLimiter) Refund(key string, n int64) { l.RefundAt(key, n, l.clock.NanoTime()) }

// RefundAt takes n tokens off what was recorded at the instant at.
func (l *SlidingWindowLogLimiter) RefundAt(key string, n, at int64) {
	if n <= 0 || len(key) > MaxKeyLen {
		return
	}
	for {
		word, p, _ := l.locate(key, math.MinInt64) // the latest call there can be: it moves no time on
		if word == 0 || l.log.Refund(&p, word, n, at) != window.LogStale {
			return
		}
	}
}

// Stats returns counts since the start.
func (l *SlidingWindowLogLimiter) Stats() Stats {
	s := l.base.Stats()
	s.Bytes += l.log.Bytes()
	return s
}
