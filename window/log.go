package window

import (
	"math"
	"math/bits"
	"sync/atomic"
)

// MaxLogCapacity is the largest capacity of a sliding-window log. Memory follows use, not
// capacity: 8 bytes a request that is in the window.
const MaxLogCapacity = 1 << 30

// LogParams is the compiled rule of a sliding-window log: n requests are admitted if those
// admitted in (now - window, now] and n together are at most capacity.
//
// Immutable, and copied by value.
type LogParams struct {
	capacity int64
	length   int64  // of the window, ns
	floor    int64  // of the table, ns
	horizon  int64  // the last instant told apart, ns
	window   uint64 // in units, rounded up
	span     uint64 // the greatest time of an entry: 62-width bits
	totals   uint64 // mask of a total
	era      uint32 // of the rules that a Log adopts
	unit,    // times are in 2^unit ns
	round, // 1 if unit > 0
	width uint8 // of a total
}

// CompileLog returns the params of a window that lasts as long as tokens per `per` ns
// takes to give capacity. Its error names the field, the value and the bound: capacity is
// 1 to [MaxLogCapacity], the window a whole number of ns from 1 to [MaxWindow].
//
// An entry's time has the bits that the capacity leaves of 62, and must span two windows.
// Where ns don't fit, times are in units of 2^q ns, for the smallest q that makes them. An
// entry then counts up to two units too long, never too short. ns fit up to a window of
// 208 days at capacity 100, 26 days at 1,000, 4.8 hours at 100,000; for a day at 100,000
// the unit is 8 ns.
func CompileLog(capacity, tokens, per int64) (LogParams, error) {
	length, err := lengthOf(capacity, tokens, per, MaxLogCapacity)
	if err != nil {
		return LogParams{}, err
	}
	p := LogParams{capacity: capacity, length: length}
	p.resolve(uint8(bits.Len64(uint64(capacity))))
	return p, nil
}

// resolve sets the bits of a total, and the finest unit of time that they leave room for.
func (p *LogParams) resolve(width uint8) {
	p.width = width
	p.span = entry >> p.width
	p.totals = 1<<p.width - 1
	p.unit, p.round = 0, 0
	p.window = uint64(p.length)
	for 2*p.window+2 > p.span {
		p.unit, p.round = p.unit+1, 1
		p.window = (uint64(p.length)-1)>>p.unit + 1
	}
	p.horizon = math.MaxInt64 - int64((p.window+4)<<p.unit)
}

// Capacity returns the number of requests a window admits.
func (p *LogParams) Capacity() int64 { return p.capacity }

// clamp returns an instant that a ring can start at.
func (p *LogParams) clamp(at int64) int64 {
	return min(max(at, math.MinInt64+int64((p.window+1)<<p.unit)), p.horizon)
}

// start returns the base of a ring whose first instant is at.
func (p *LogParams) start(at int64) (base int64) {
	return p.clamp(at)>>p.unit<<p.unit - int64(p.window<<p.unit)
}

// stamp returns the time of an entry at the instant at in a ring of that base: 0 if it is
// out of the window that the ring starts with.
func (p *LogParams) stamp(at, base int64) uint64 {
	if at < base {
		return 0
	}
	return min(uint64(at-base)>>p.unit+uint64(p.round), p.span)
}

// until returns the ns from now to the instant at which an entry of that time is out of the
// window.
func (p *LogParams) until(time uint64, base, now int64) int64 {
	return base + int64((time+p.window)<<p.unit) - now
}

// Fresh returns what Take tells of n requests of a key never seen; for n = 0, what Peek does.
func (p *LogParams) Fresh(at, n int64) LogOutcome {
	o := LogOutcome{Limit: p.capacity, Remaining: p.capacity - n, At: p.clamp(at)}
	if n > 0 {
		o.ResetAfter = p.until(p.window+uint64(p.round), p.start(at), o.At)
	}
	return o
}

// Log holds the sliding logs of one limiter's keys. The key's word is a handle to its ring
// and stays the same while the key is held; whatever a call changes, it changes in the
// ring, or by putting another ring behind the handle. The zero value is empty.
type Log struct {
	handles
	newest atomic.Pointer[LogParams] // of the rules adopted
	spare  atomic.Uint64             // a word that wasn't needed; 0: none
}

// LogVerdict is what became of a call.
type LogVerdict uint8

const (
	LogAllowed LogVerdict = iota
	LogRefused
	// LogGone: nothing is behind the word. If it still is the key's, the key is as if
	// never seen.
	LogGone
	// LogStale: the key has been under two newer rules since the call found its params.
	// Look it up again.
	LogStale
)

// LogOutcome is what a call tells of the key, at the instant At: the capacity; requests
// left; ns until n of them can be taken (0: now; [Never]: n is more than the capacity); ns
// until the key is as if never seen.
type LogOutcome struct{ Limit, Remaining, RetryAfter, ResetAfter, At int64 }

// Adopt returns p as the rule that follows all those adopted before; one call at a time, and
// not before every key is under the rule adopted last. Its totals have as many bits as theirs
// had, so that a key whose limit is lowered keeps what it has recorded, however much that is.
func (l *Log) Adopt(p LogParams) LogParams {
	p.era = 1
	if last := l.newest.Load(); last != nil {
		p.era = last.era + 1
		p.resolve(max(p.width, last.width))
	}
	l.newest.Store(&p)
	return p
}

// New returns a new word, of a key of which n requests were admitted at the instant at; 0 if
// 2^28 keys are held. 0 < n <= capacity. Discard takes it back if no map takes it.
func (l *Log) New(p *LogParams, at, n int64) uint64 {
	id := l.spare.Swap(0)
	r := l.ring(id)
	if r == nil {
		if id = l.alloc(); id == 0 {
			return 0
		}
		r = newRing(id, 1)
	}
	r.begin(p, p.start(at))
	r.put(r.mask(), (p.window+uint64(p.round))<<p.width|uint64(n))
	r.hint.Store(uint64(r.mask()-1) << 32)
	l.publish(r)
	return id
}

// Discard takes back a word that New returned and nobody else has seen. 0: none.
func (l *Log) Discard(word uint64) {
	if word != 0 {
		l.Release(nil, l.spare.Swap(word))
	}
}

// under tells that r exists and is under p's rule.
func (r *ring) under(p *LogParams) bool { return r != nil && r.era == p.era }

// switched returns the rule of a ring that isn't under its caller's: the newest. Every key
// switches to it once, when its ring does, and before a table shows it. Otherwise nil, and why.
func (l *Log) switched(r *ring) (*LogParams, LogVerdict) {
	if r == nil {
		return nil, LogGone
	}
	if p := l.newest.Load(); p != nil && r.under(p) {
		return p, LogAllowed
	}
	return nil, LogStale
}

// find returns the ring behind word and the rule that it is under. Otherwise nil, and why.
func (l *Log) find(p *LogParams, word uint64) (*ring, *LogParams, LogVerdict) {
	r := l.ring(word)
	if r.under(p) {
		return r, p, LogAllowed
	}
	p, verdict := l.switched(r)
	if p == nil {
		r = nil
	}
	return r, p, verdict
}

// Try admits n requests at the instant at, all or none. 0 < n <= capacity.
func (l *Log) Try(p *LogParams, word uint64, at, n int64) (verdict LogVerdict) {
	for {
		r := l.ring(word)
		if !r.under(p) {
			if p, verdict = l.switched(r); p == nil {
				return verdict
			}
		}
		v := r.look(p, at)
		switch {
		case r.room(p, v) < n:
			if r.true(v) {
				return LogRefused
			}
		case !r.fits(p, v) && r.unfit(p, v):
			if l.replace(r, v, p, at, change{take: n}) {
				return LogAllowed
			}
		case r.record(p, v, n):
			return LogAllowed
		}
	}
}

// Take is Try with an outcome.
func (l *Log) Take(p *LogParams, word uint64, at, n int64) (LogOutcome, LogVerdict) {
	for {
		r, p, verdict := l.find(p, word)
		if r == nil {
			return LogOutcome{}, verdict
		}
		v := r.look(p, at)
		o := r.outcome(p, v, at, n)
		switch {
		case o.RetryAfter > 0:
			if r.true(v) {
				return o, LogRefused
			}
		case !r.fits(p, v) && r.unfit(p, v):
			if l.replace(r, v, p, at, change{take: n}) {
				return o, LogAllowed
			}
		case r.record(p, v, n):
			return o, LogAllowed
		}
	}
}

// Peek tells what Take would say of n requests, and takes nothing. n = 0 tells of the key as
// it is.
func (l *Log) Peek(p *LogParams, word uint64, at, n int64) (LogOutcome, LogVerdict) {
	for {
		r, p, verdict := l.find(p, word)
		if r == nil {
			return LogOutcome{}, verdict
		}
		v := r.look(p, at)
		o := r.outcome(p, v, at, n)
		switch {
		case !r.true(v):
		case o.RetryAfter > 0:
			return o, LogRefused
		default:
			return o, LogAllowed
		}
	}
}

// Refund takes n requests off the entries of the instant at, an outcome's At. It does
// nothing to any other, and nothing if they are out of the window. Entries that were
// recorded under a rule of coarser units (CompileLog) are at the end of theirs, where
// only its own last ns finds them.
func (l *Log) Refund(p *LogParams, word uint64, n, at int64) LogVerdict {
	c := change{refund: n, at: at}
	for {
		r, p, verdict := l.find(p, word)
		if r == nil {
			return verdict
		}
		v := r.look(p, at)
		if _, _, left := r.replay(v, p, p.start(r.counted(p, v, at)), c, nil); left < n {
			if l.replace(r, v, p, at, c) {
				return LogAllowed
			}
		} else if r.true(v) {
			return LogAllowed
		}
	}
}

// Bytes returns the memory that logs take.
func (l *Log) Bytes() int64 { return l.bytes.Load() }
