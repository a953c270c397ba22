package window

import (
	"math"
	"math/bits"
	"sync/atomic"
	"unsafe"
)

// MaxCounterCapacity is the largest capacity of a sliding-window counter: two
// counts of 30 bits leave 2 for the window's number. Up to 1<<24 - 1 the number has
// 14 bits or more.
const MaxCounterCapacity = 1<<30 - 1

// CounterParams is the compiled rule of a sliding-window counter: n requests are
// admitted while
//
//	previous * (1 - elapsed/window) + current + n <= capacity
//
// holds, where previous and current are what the last window and this one admitted,
// and elapsed is the time since this one began. Windows start at the multiples of
// their length. The comparison is exact: integers of 128 bits.
//
// Immutable, and copied by value.
type CounterParams struct {
	grid
	capacity uint64
	mask     uint64 // of a count
	width    uint8  // of a count
	shift    uint8  // of the number: two widths
}

// CompileCounter returns the params of a window that lasts as long as tokens per
// `per` ns takes to give capacity, with epoch 0. Its error names the field, the
// value and the bound: capacity is 1 to [MaxCounterCapacity], the window a whole
// number of ns from 1 to [MaxWindow].
func CompileCounter(capacity, tokens, per int64) (CounterParams, error) {
	length, err := lengthOf(capacity, tokens, per, MaxCounterCapacity)
	if err != nil {
		return CounterParams{}, err
	}
	width := bits.Len64(uint64(capacity))
	return CounterParams{
		grid:     newGrid(length, payloadBits-2*width),
		capacity: uint64(capacity),
		mask:     1<<width - 1,
		width:    uint8(width),
		shift:    uint8(2 * width),
	}, nil
}

// Rebase returns the same rule with its windows numbered from floor's.
func (p *CounterParams) Rebase(floor int64) CounterParams {
	q := *p
	q.rebase(floor)
	return q
}

// Take is the step: it counts n requests at now. The caller sees to
// 0 < n <= capacity and epoch <= now <= Horizon.
//
// A call older than the stored window counts in that one, at its start: the newer
// window stands.
func (p *CounterParams) Take(word uint64, now, n int64) (next uint64, ok bool) {
	u := uint64(now) - p.origin
	end := (word>>(p.shift&63) + 1) * p.window
	if u >= end {
		word, end = p.roll(word, u, end)
	}
	rest := min(end-u, p.window)
	room := int64(p.capacity-word>>(p.width&63)&p.mask) - n
	if room < 0 {
		return word, false
	}
	// previous * rest/window <= room, times window
	hi, lo := bits.Mul64(word&p.mask, rest)
	roomHi, roomLo := bits.Mul64(uint64(room), p.window)
	_, borrow := bits.Sub64(roomLo, lo, 0)
	_, borrow = bits.Sub64(roomHi, hi, borrow)
	return word + uint64(n)<<(p.width&63), borrow == 0
}

// roll moves word, whose window ended at or before offset u, on to the window that
// u lies in, and returns that one's end. Only a gap of a window or more costs a division.
func (p *CounterParams) roll(word, u, end uint64) (rolled, newEnd uint64) {
	if u-end < p.window {
		return (word>>p.shift+1)<<p.shift | word>>p.width&p.mask, end + p.window
	}
	number := u / p.window
	return number << p.shift, (number + 1) * p.window
}

// counts is a word unpacked: a window by its end, what it and the last one admitted,
// and how much of it is left.
type counts struct{ end, current, previous, rest uint64 }

// unpack returns word's counts as at offset u, which may be beyond the horizon.
func (p *CounterParams) unpack(word, u uint64) counts {
	c := counts{
		end:      (word>>p.shift + 1) * p.window,
		current:  word >> p.width & p.mask,
		previous: word & p.mask,
	}
	if u >= c.end {
		gap := u - c.end
		c.end += p.window
		c.current, c.previous = 0, c.current
		if gap >= p.window {
			c.previous = 0
			c.end = u + (p.window - gap%p.window)
		}
	}
	c.rest = min(c.end-u, p.window)
	return c
}

// used returns the estimate, rounded up.
func (p *CounterParams) used(c counts) uint64 {
	hi, lo := bits.Mul64(c.previous, c.rest)
	q, r := bits.Div64(hi, lo, p.window) // previous < 2^30 and rest <= window: no overflow
	if r > 0 {
		q++
	}
	return c.current + q
}

// restFor returns how much of a window may be left when the estimate's share of
// previous has come down to room: the floor of room*window/previous, or all of it.
func (p *CounterParams) restFor(room, previous uint64) uint64 {
	if previous <= room {
		return p.window
	}
	hi, lo := bits.Mul64(room, p.window)
	q, _ := bits.Div64(hi, lo, previous) // room < previous: less than a window
	return q
}

// Outcome returns what a caller wants to know of word at now: the requests left
// by the estimate, rounded down; the ns until n of them are admitted if nobody else
// takes (0: now; MaxInt64: never), and the ns until both counts are gone.
func (p *CounterParams) Outcome(word uint64, now, n int64) (remaining, retryAfter, resetAfter int64) {
	u := uint64(now) - p.origin
	c := p.unpack(word, u)
	toEnd := c.end - u // more than a window for a call older than the stored one
	switch {
	case c.current > 0:
		resetAfter = clampNS(toEnd + p.window)
	case c.previous > 0:
		resetAfter = clampNS(toEnd)
	}
	remaining = int64(p.capacity - min(p.used(c), p.capacity))
	switch {
	case n > int64(p.capacity):
		retryAfter = math.MaxInt64
	case n > remaining:
		retryAfter = clampNS(p.wait(c, toEnd, uint64(n)))
	}
	return remaining, retryAfter, resetAfter
}

// wait returns the ns until n more fit, if they don't now and n <= capacity.
func (p *CounterParams) wait(c counts, toEnd, n uint64) uint64 {
	if c.current+n <= p.capacity {
		if rest := p.restFor(p.capacity-c.current-n, c.previous); rest > 0 {
			return toEnd - rest
		}
	}
	// Past the edge current is the previous count, and nothing is the current one.
	return toEnd + p.window - p.restFor(p.capacity-n, c.current)
}

// CountsAt returns the instant that a call at now counts at: the start of word's
// window for one that is older, else now. A refund of it must name this instant.
func (p *CounterParams) CountsAt(word uint64, now int64) int64 {
	return max(now, p.instant(word>>p.shift*p.window))
}

// Refund gives back n requests that were counted at the instant at, into whichever
// of word's two windows that lies in, or neither. n > 0, word != 0.
func (p *CounterParams) Refund(word uint64, n, at int64) uint64 {
	switch number := word >> p.shift; p.offset(at) / p.window {
	case number:
		return word - min(uint64(n), word>>p.width&p.mask)<<p.width
	case number - 1:
		return word - min(uint64(n), word&p.mask)
	}
	return word
}

// IdleAt returns the first instant at which word is as if never seen: both counts
// gone; MinInt64 if nothing is counted.
func (p *CounterParams) IdleAt(word uint64) int64 {
	end := (word>>p.shift + 1) * p.window
	switch {
	case word>>p.width&p.mask > 0:
		return p.instant(end + p.window)
	case word&p.mask > 0:
		return p.instant(end)
	}
	return math.MinInt64
}

// Convert returns word under another counter's params, or the same one's with a later
// epoch. It counts as at to's epoch, or at the start of word's own window if that is
// later. With the same window both counts are carried; with another, the estimate,
// rounded up, becomes the current count. At most to's capacity; and a word that has
// nothing left has nothing left when the capacity is raised: whoever is being
// refused gains nothing. 0: idle at to's epoch.
func (p *CounterParams) Convert(word uint64, to *CounterParams) uint64 {
	if p.IdleAt(word) <= to.epoch {
		return 0
	}
	u := max(p.offset(to.epoch), word>>p.shift*p.window)
	c := p.unpack(word, u)
	used := p.used(c)
	if p.window != to.window {
		c.current, c.previous = used, 0
	}
	if used >= p.capacity && to.capacity > p.capacity {
		c.current += to.capacity - p.capacity
	}
	number := min(to.offset(p.instant(u))/to.window, to.last)
	current, previous := min(c.current, to.capacity), min(c.previous, to.capacity)
	return number<<to.shift | current<<to.width | previous
}

// Counter is one sliding-window counter in eight bytes, for many goroutines. The
// zero value has admitted nothing. All calls pass the same params.
type Counter struct{ word atomic.Uint64 }

var _ [8]byte = [unsafe.Sizeof(Counter{})]byte{}

// Take counts n requests at now, or refuses: all or none.
func (c *Counter) Take(p *CounterParams, now, n int64) bool {
	for {
		old := c.word.Load()
		next, ok := p.Take(old, now, n)
		if !ok {
			return false
		}
		if c.word.CompareAndSwap(old, next) {
			return true
		}
	}
}

// Capacity returns the limit that the estimate is held to.
func (p *CounterParams) Capacity() int64 { return int64(p.capacity) }
