package window

import (
	"math/bits"
	"sync/atomic"
	"unsafe"
)

// MaxFixedCapacity is the largest capacity of a fixed window. Its count takes 41 bits
// and leaves 21 to the window's number: two million windows on one epoch.
const MaxFixedCapacity int64 = 1 << 40

// keptFixed is the least number of bits of a count. A count that a reload has left above a
// small new capacity is kept as it is up to that: what was used is used, whatever the
// capacity is by then.
const keptFixed = 30

// FixedParams is a fixed window's rule at an epoch: at most capacity requests in each
// window, and windows start at the multiples of their length on the clock.
//
// The limit holds in each of those windows, and not in any other span: twice the
// capacity passes within an instant, half at the end of one window and half at the
// start of the next (200 of 100 a minute within two seconds). Where that matters, take
// the sliding-window counter, the log or a token bucket.
//
// Compiled, immutable, copied by value. Its zero value is no rule; CompileFixed makes one.
type FixedParams struct {
	grid
	capacity uint64
	mask     uint64 // of the count
	shift    uint8  // of the number
}

// CompileFixed returns the rule of capacity requests in a window that lasts until
// `tokens` per `per` ns come to capacity, at epoch 0. The range is checked here and
// nowhere else: capacity is 1 to MaxFixedCapacity, the window is a whole number of ns
// from 1 to MaxWindow, and an epoch lasts MinEpoch at least. An error names the field, its value and the bound.
func CompileFixed(capacity, tokens, per int64) (FixedParams, error) {
	length, err := lengthOf(capacity, tokens, per, MaxFixedCapacity)
	if err != nil {
		return FixedParams{}, err
	}
	width := max(bits.Len64(uint64(capacity)), keptFixed)
	p := FixedParams{
		grid:     newGrid(length, payloadBits-width),
		capacity: uint64(capacity),
		mask:     1<<width - 1,
		shift:    uint8(width),
	}
	return p, p.lasts(capacity)
}

// Capacity returns the most requests that a window admits.
func (p *FixedParams) Capacity() int64 { return int64(p.capacity) }

// Rebase returns the same rule at another epoch.
func (p *FixedParams) Rebase(floor int64) FixedParams {
	q := *p
	q.rebase(floor)
	return q
}

// Take is the step: from word, n requests at now. It returns the next word and true,
// or false when they don't fit. 0 < n <= capacity and epoch <= now <= Horizon are the
// caller's duty.
//
// The end of word's window is a product away, so only a new window costs a division.
// A call from before word's window counts in it: the newer window stands (I2).
func (p *FixedParams) Take(word uint64, now, n int64) (next uint64, ok bool) {
	if u := uint64(now) - p.origin; u >= (word>>(p.shift&63)+1)*p.window {
		word = u / p.window << (p.shift & 63)
	}
	return word + uint64(n), word&p.mask <= p.capacity-uint64(n)
}

// Outcome tells of word at now: the requests left in the window; the ns until n of them
// fit if nobody else takes (0: now; Never: n > capacity); the ns until word is as if
// never seen, which is the window's end.
func (p *FixedParams) Outcome(word uint64, now, n int64) (remaining, retryAfter, resetAfter int64) {
	u := uint64(now) - p.origin
	end, count := (word>>p.shift+1)*p.window, word&p.mask
	if u >= end || count == 0 {
		end, count = u, 0
	}
	remaining, resetAfter = int64(p.capacity-min(count, p.capacity)), saturate(end-u)
	switch {
	case n > int64(p.capacity):
		retryAfter = Never
	case n > remaining:
		retryAfter = resetAfter
	}
	return remaining, retryAfter, resetAfter
}

// CountsAt returns the instant that a call at now counts at, once word is what it found
// or left: now, or the start of word's window if the call is older. A refund of it must
// name that instant.
func (p *FixedParams) CountsAt(word uint64, now int64) int64 {
	return max(now, p.instant(word>>p.shift*p.window))
}

// Refund gives back n requests that counted at the instant at, if word is still in that
// window; otherwise it changes nothing. What exceeds the count is lost.
func (p *FixedParams) Refund(word uint64, n, at int64) uint64 {
	if n <= 0 || p.offset(at)/p.window != word>>p.shift {
		return word
	}
	return word - min(uint64(n), word&p.mask)
}

// IdleAt returns the first instant at which word is as if never seen: its window's end, or
// its start if nothing is counted, because an older call must still hear that it has begun.
func (p *FixedParams) IdleAt(word uint64) int64 {
	number := word >> p.shift
	if word&p.mask > 0 {
		number++
	}
	return p.instant(number * p.window)
}

// Convert returns the word in `to` that stands for word in p: the same rule or another
// one, at the same or a later epoch. It is pure. It returns 0 for a word that is idle at
// to's epoch, which may be dropped.
//
// A later epoch alone changes the number and nothing else. Under another rule the count is
// that of the window that to's epoch lies in, or in which word's own window starts if that is
// later. It may exceed to's capacity; then nothing more fits (I6).
func (p *FixedParams) Convert(word uint64, to *FixedParams) uint64 {
	if p.IdleAt(word) <= to.epoch {
		return 0
	}
	at := max(to.epoch, p.instant(word>>p.shift*p.window))
	number := min(to.offset(at)/to.window, to.last)
	return number<<to.shift | min(word&p.mask, to.mask)
}

// Fixed is one fixed window's count, for those who have a place of their own for it. The
// zero value has counted nothing. All its methods may be called at once from any
// goroutine, with the same params each time: the rule isn't part of it. An instant outside
// epoch to Horizon counts as the nearer of the two.
type Fixed struct{ word atomic.Uint64 }

var _ [8]byte = [unsafe.Sizeof(Fixed{})]byte{}

// Take counts n requests at now (ns), all or none. 0 always fit; fewer than 0, or more
// than the capacity, never do.
func (f *Fixed) Take(p *FixedParams, now, n int64) bool {
	if n <= 0 || n > int64(p.capacity) {
		return n == 0
	}
	now = p.clamp(now)
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

// Outcome tells what FixedParams.Outcome tells, of the count as it is. It takes nothing.
func (f *Fixed) Outcome(p *FixedParams, now, n int64) (remaining, retryAfter, resetAfter int64) {
	return p.Outcome(f.word.Load(), p.clamp(now), n)
}

// Refund gives back n requests that counted at the instant at, into no other window.
func (f *Fixed) Refund(p *FixedParams, n, at int64) {
	for {
		old := f.word.Load()
		next := p.Refund(old, n, at)
		if next == old || f.word.CompareAndSwap(old, next) {
			return
		}
	}
}
