package window

import (
	"math/bits"
	"sync/atomic"
	"unsafe"
)

// MaxCounterCapacity is the largest capacity of a sliding-window counter. Its two counts
// take 30 bits each and leave 2 to the window's number: three windows on one epoch. A
// capacity of 1<<24 leaves 12, four thousand windows.
const MaxCounterCapacity int64 = 1<<30 - 1

// keptCounter is keptFixed for each of a counter's two counts.
const keptCounter = 20

// CounterParams is a sliding-window counter's rule at an epoch. It keeps the count of the
// window and of the one before, and admits n requests while
//
//	previous * (1 - elapsed/window) + current + n <= capacity
//
// holds, elapsed being the time since the window began. Windows start at the multiples of
// their length on the clock. The comparison is exact, in integers of 128 bits.
//
// The left side is an estimate: it takes the previous window's requests for evenly spread.
// For such traffic it is right to within one request. Where it isn't:
//
//   - It admits too many when they came late in their window: at most 2*capacity - 1 in
//     the length of one window (199 of 100, for a burst in the last instant of a window
//     and then every request that fits), which is a token bucket's bound. In each window
//     of the grid it admits at most capacity.
//   - It admits too few when they came early: after a burst of the whole capacity at a
//     window's start, the log would admit as many at the next one's; the estimate lets the
//     first one through window/capacity later and all of them one window later. A client
//     that always asks gets 100 of 100 in its first window and 99 in each of the next.
//
// Compiled, immutable, copied by value. Its zero value is no rule; CompileCounter makes one.
type CounterParams struct {
	grid
	capacity uint64
	mask     uint64 // of a count
	width    uint8  // of a count
	shift    uint8  // of the number: two counts
}

// CompileCounter returns the rule of capacity requests in a window that lasts until
// `tokens` per `per` ns come to capacity, at epoch 0. The range is checked here and
// nowhere else: capacity is 1 to MaxCounterCapacity, the window is a whole number of ns
// from 1 to MaxWindow, and an epoch lasts MinEpoch at least. An error names the field, its value and the bound.
func CompileCounter(capacity, tokens, per int64) (CounterParams, error) {
	length, err := lengthOf(capacity, tokens, per, MaxCounterCapacity)
	if err != nil {
		return CounterParams{}, err
	}
	width := max(bits.Len64(uint64(capacity)), keptCounter)
	p := CounterParams{
		grid:     newGrid(length, payloadBits-2*width),
		capacity: uint64(capacity),
		mask:     1<<width - 1,
		width:    uint8(width),
		shift:    uint8(2 * width),
	}
	return p, p.lasts(capacity)
}

// Capacity returns the limit that the estimate is held to.
func (p *CounterParams) Capacity() int64 { return int64(p.capacity) }

// Rebase returns the same rule at another epoch.
func (p *CounterParams) Rebase(floor int64) CounterParams {
	q := *p
	q.rebase(floor)
	return q
}

// Take is the step: from word, n requests at now. It returns the next word and true, or
// false when they don't fit. 0 < n <= capacity and epoch <= now <= Horizon are the
// caller's duty.
//
// A call from before word's window counts in it, at its start: the newer window stands (I2).
func (p *CounterParams) Take(word uint64, now, n int64) (next uint64, ok bool) {
	u := uint64(now) - p.origin
	end := (word>>(p.shift&63) + 1) * p.window
	if u >= end {
		word, end = p.roll(word, u, end)
	}
	previous, current := word&p.mask, word>>(p.width&63)&p.mask
	room := int64(p.capacity-current) - n
	return word + uint64(n)<<(p.width&63),
		int64(previous) <= room || // all of it fits; most calls end here, without a product
			room > 0 && p.fits(previous, end-u, uint64(room))
}

// roll moves word on from its window, which ends at the offset end, to that of offset u,
// and returns the new one's end. Only a gap of a whole window costs a division.
func (p *CounterParams) roll(word, u, end uint64) (rolled, newEnd uint64) {
	if u-end < p.window {
		return (word>>p.shift+1)<<p.shift | word>>p.width&p.mask, end + p.window
	}
	number := u / p.window
	return number << p.shift, (number + 1) * p.window
}

// fits tells whether previous * left/window <= room. For a call from before the window left
// is more than a window; then nothing fits that doesn't fit whole, as at the window's start.
func (p *CounterParams) fits(previous, left, room uint64) bool {
	hi, lo := bits.Mul64(previous, left)
	roomHi, roomLo := bits.Mul64(room, p.window)
	_, borrow := bits.Sub64(roomLo, lo, 0)
	_, borrow = bits.Sub64(roomHi, hi, borrow)
	return borrow == 0
}

// CountsAt returns the instant that a call at now counts at, once word is what it found
// or left: now, or the start of word's window if the call is older. A refund of it must
// name that instant.
func (p *CounterParams) CountsAt(word uint64, now int64) int64 {
	return max(now, p.instant(word>>p.shift*p.window))
}

// Refund gives back n requests that counted at the instant at, if that lies in word's
// window or the one before; otherwise it changes nothing. What exceeds the count is lost.
func (p *CounterParams) Refund(word uint64, n, at int64) uint64 {
	if n <= 0 {
		return word
	}
	switch p.offset(at) / p.window {
	case word >> p.shift:
		return word - min(uint64(n), word>>p.width&p.mask)<<p.width
	case word>>p.shift - 1:
		return word - min(uint64(n), word&p.mask)
	}
	return word
}

// Counter is one sliding-window counter, for those who have a place of their own for it.
// The zero value has counted nothing. All its methods may be called at once from any
// goroutine, with the same params each time: the rule isn't part of it. An instant outside
// epoch to Horizon counts as the nearer of the two.
type Counter struct{ word atomic.Uint64 }

var _ [8]byte = [unsafe.Sizeof(Counter{})]byte{}

// Take counts n requests at now (ns), all or none. 0 always fit; fewer than 0, or more
// than the capacity, never do.
func (c *Counter) Take(p *CounterParams, now, n int64) bool {
	if n <= 0 || n > int64(p.capacity) {
		return n == 0
	}
	now = p.clamp(now)
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

// Outcome tells what CounterParams.Outcome tells, of the counts as they are. It takes nothing.
func (c *Counter) Outcome(p *CounterParams, now, n int64) (remaining, retryAfter, resetAfter int64) {
	return p.Outcome(c.word.Load(), p.clamp(now), n)
}

// Refund gives back n requests that counted at the instant at, into no other window.
func (c *Counter) Refund(p *CounterParams, n, at int64) {
	for {
		old := c.word.Load()
		next := p.Refund(old, n, at)
		if next == old || c.word.CompareAndSwap(old, next) {
			return
		}
	}
}
