package window

import "math/bits"

// counts is a counter's word unpacked, as at some offset.
type counts struct {
	current, previous uint64
	end               uint64 // offset of the window's end
	left              uint64 // ns of it that are left: all of it for a call from before
}

// unpack returns what word tells at offset u, which may lie beyond the horizon.
func (p *CounterParams) unpack(word, u uint64) counts {
	c := counts{current: word >> p.width & p.mask, previous: word & p.mask, end: (word>>p.shift + 1) * p.window}
	if u >= c.end {
		gap := u - c.end
		c.current, c.previous = 0, c.current
		c.end += p.window
		if gap >= p.window {
			c.previous, c.end = 0, u+p.window-gap%p.window
		}
	}
	c.left = min(c.end-u, p.window)
	return c
}

// used returns the estimate, rounded up.
func (p *CounterParams) used(c counts) uint64 {
	hi, lo := bits.Mul64(c.previous, c.left)
	share, rest := bits.Div64(hi, lo, p.window) // at most previous, because left <= window
	if rest > 0 {
		share++
	}
	return c.current + share
}

// leftFor returns how many ns of a window may be left so that previous, weighed by
// them, is down to room. At most the window.
func (p *CounterParams) leftFor(previous, room uint64) uint64 {
	if previous <= room {
		return p.window
	}
	hi, lo := bits.Mul64(room, p.window)
	left, _ := bits.Div64(hi, lo, previous) // below the window, because room < previous
	return left
}

// Outcome tells of word at now: the requests left by the estimate, rounded down; the ns
// until n of them fit if nobody else takes (0: now; Never: n > capacity); the ns until
// word is as if never seen, which is when both counts are gone.
func (p *CounterParams) Outcome(word uint64, now, n int64) (remaining, retryAfter, resetAfter int64) {
	u := uint64(now) - p.origin
	c := p.unpack(word, u)
	switch {
	case c.current > 0:
		resetAfter = saturate(c.end - u + p.window)
	case c.previous > 0:
		resetAfter = saturate(c.end - u)
	}
	remaining = int64(p.capacity - min(p.used(c), p.capacity))
	switch {
	case n > int64(p.capacity):
		retryAfter = Never
	case n > remaining:
		retryAfter = saturate(p.fitsAt(c, uint64(n)) - u)
	}
	return remaining, retryAfter, resetAfter
}

// fitsAt returns the first offset at which n requests fit, if they don't now.
func (p *CounterParams) fitsAt(c counts, n uint64) uint64 {
	if c.current+n <= p.capacity {
		return c.end - p.leftFor(c.previous, p.capacity-c.current-n)
	}
	// Not in this window. In the next one current is the previous count.
	return c.end + p.window - p.leftFor(c.current, p.capacity-n)
}

// IdleAt returns the first instant at which word is as if never seen: both counts gone, or
// the window's start if nothing is counted, because an older call must still hear that it
// has begun.
func (p *CounterParams) IdleAt(word uint64) int64 {
	number := word >> p.shift
	switch {
	case word>>p.width&p.mask > 0:
		number += 2
	case word&p.mask > 0:
		number++
	}
	return p.instant(number * p.window)
}

// Convert returns the word in `to` that stands for word in p: the same rule or another
// one, at the same or a later epoch. It is pure. It returns 0 for a word that is idle at
// to's epoch, which may be dropped.
//
// It counts at to's epoch, or at the start of word's window if that is later. Windows of
// the same length keep both counts; at others the estimate, rounded up, becomes the
// current count. A count may exceed to's capacity; then nothing more fits (I6).
func (p *CounterParams) Convert(word uint64, to *CounterParams) uint64 {
	if p.IdleAt(word) <= to.epoch {
		return 0
	}
	at := max(to.epoch, p.instant(word>>p.shift*p.window))
	c := p.unpack(word, p.offset(at))
	if p.window != to.window {
		c.current, c.previous = p.used(c), 0
	}
	number := min(to.offset(at)/to.window, to.last)
	return number<<to.shift | min(c.current, to.mask)<<to.width | min(c.previous, to.mask)
}
