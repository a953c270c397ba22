package window

import (
	"math"
	"math/bits"
	"sync/atomic"
	"unsafe"
)

// MaxFixedCapacity is the largest capacity of a fixed window. It leaves 21 bits
// for the window's number, two million windows of one table.
const MaxFixedCapacity = 1 << 40

// FixedParams is the compiled rule of a fixed window: at most capacity requests
// in each window, and windows start at the multiples of their length.
//
// Across an edge it admits twice the capacity within an instant: all of one
// window at its end, all of the next one at its start. [CounterParams] and the
// sliding log don't.
//
// Immutable, and copied by value.
type FixedParams struct {
	grid
	capacity uint64
	mask     uint64 // of the count
	shift    uint8  // of the number
}

// CompileFixed returns the params of a window that lasts as long as tokens per
// `per` ns takes to give capacity, with epoch 0. Its error names the field, the
// value and the bound: capacity is 1 to [MaxFixedCapacity], the window a whole
// number of ns from 1 to [MaxWindow].
func CompileFixed(capacity, tokens, per int64) (FixedParams, error) {
	length, err := lengthOf(capacity, tokens, per, MaxFixedCapacity)
	if err != nil {
		return FixedParams{}, err
	}
	width := bits.Len64(uint64(capacity))
	return FixedParams{
		grid:     newGrid(length, payloadBits-width),
		capacity: uint64(capacity),
		mask:     1<<width - 1,
		shift:    uint8(width),
	}, nil
}

// Rebase returns the same rule with its windows numbered from floor's.
func (p *FixedParams) Rebase(floor int64) FixedParams {
	q := *p
	q.rebase(floor)
	return q
}

// Take is the step: it counts n requests at now. The caller sees to
// 0 < n <= capacity and epoch <= now <= Horizon.
//
// The stored window's end is a product away; only a new window costs a division.
// A call older than the stored window counts in that one: the newer window stands.
func (p *FixedParams) Take(word uint64, now, n int64) (next uint64, ok bool) {
	if u := uint64(now) - p.origin; u >= (word>>(p.shift&63)+1)*p.window {
		word = u / p.window << (p.shift & 63)
	}
	return word + uint64(n), word&p.mask <= p.capacity-uint64(n)
}

// Outcome returns what a caller wants to know of word at now: the requests left
// in the window, the ns until n of them are admitted if nobody else takes (0: now;
// MaxInt64: never), and the ns until the window's end (0: nothing is counted).
func (p *FixedParams) Outcome(word uint64, now, n int64) (remaining, retryAfter, resetAfter int64) {
	u := uint64(now) - p.origin
	end, count := (word>>p.shift+1)*p.window, word&p.mask
	if u >= end || count == 0 {
		end, count = u, 0
	}
	remaining, resetAfter = int64(p.capacity-count), clampNS(end-u)
	if n > int64(p.capacity) {
		return remaining, math.MaxInt64, resetAfter
	}
	if n > remaining {
		retryAfter = resetAfter
	}
	return remaining, retryAfter, resetAfter
}

// CountsAt returns the instant that a call at now counts at: the start of word's
// window for one that is older, else now. A refund of it must name this instant.
func (p *FixedParams) CountsAt(word uint64, now int64) int64 {
	return max(now, p.instant(word>>p.shift*p.window))
}

// Refund gives back n requests that were counted at the instant at, if word's
// window is still that one. n > 0, word != 0.
func (p *FixedParams) Refund(word uint64, n, at int64) uint64 {
	if p.offset(at)/p.window != word>>p.shift {
		return word
	}
	return word - min(uint64(n), word&p.mask)
}

// IdleAt returns the first instant at which word is as if never seen: its
// window's end; MinInt64 if nothing is counted.
func (p *FixedParams) IdleAt(word uint64) int64 {
	if word&p.mask == 0 {
		return math.MinInt64
	}
	return p.instant((word>>p.shift + 1) * p.window)
}

// Convert returns word under another fixed window's params, or the same one's with a
// later epoch: exact if the rule is the same. Otherwise the count becomes that of the
// window that to's epoch lies in (or of a later one if word's own starts later),
// at most to's capacity. A word at its capacity stays at its capacity when that
// is raised: whoever is being refused gains nothing. 0: idle at to's epoch.
func (p *FixedParams) Convert(word uint64, to *FixedParams) uint64 {
	if p.IdleAt(word) <= to.epoch {
		return 0
	}
	count := word & p.mask
	if count >= min(p.capacity, to.capacity) {
		count = to.capacity
	}
	start := max(p.offset(to.epoch), word>>p.shift*p.window)
	number := min(to.offset(p.instant(start))/to.window, to.last)
	return number<<to.shift | count
}

// Fixed is one fixed window in eight bytes, for one caller's own use or many
// goroutines'. The zero value has admitted nothing. All calls pass the same params.
type Fixed struct{ word atomic.Uint64 }

var _ [8]byte = [unsafe.Sizeof(Fixed{})]byte{}

// Take counts n requests at now, or refuses: all or none.
func (f *Fixed) Take(p *FixedParams, now, n int64) bool {
	for {
		old := f.word.Load()
		next, ok := p.Take(old, now, n)
		if !ok {
			return false
		}
		if f.word.CompareAndSwap(old, next) {
			return true
		}
	}
}

// Capacity returns the most requests that a window admits.
func (p *FixedParams) Capacity() int64 { return int64(p.capacity) }
