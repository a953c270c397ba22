package window

// A view is what a call has seen of a ring. It is true if the head still holds old (L4).
// Four words, so that it travels in registers.
type view struct {
	old   uint64 // what the head holds: the oldest entry
	last  uint64 // the newest entry
	now   uint64 // the time the call counts at
	slots uint64 // head in the lower half, tail in the upper one, as in the hint
}

// head returns the slot to write next.
func (v view) head() uint32 { return uint32(v.slots) }

// tail returns the newest slot that is out of the window.
func (v view) tail() uint32 { return uint32(v.slots >> 32) }

// walk is how many slots a call goes on from a hint before it searches.
const walk = 8

// look reads the ring at the instant at, or at the newest entry's if that is later.
func (r *ring) look(p *LogParams, at int64) (v view) {
	mask := r.mask()
	hint := r.hint.Load()
	head := uint32(hint) & mask
	for steps := 0; ; steps++ {
		if steps == walk {
			head, steps = r.seek(), 0
		}
		v.old = r.load(head)
		v.last = r.load((head - 1) & mask) // after old, because only then are both of one lap
		if turned := (v.old^v.last)&lap != 0; turned == (head != 0) {
			break
		}
		head = (head + 1) & mask
	}
	v.last &= entry

	v.now = p.window
	if at = min(at, p.horizon); at > r.base {
		v.now = max(v.now, uint64(at-r.base)>>(p.unit&63))
	}
	if newest := r.time(v.last); v.now+uint64(p.round) < newest {
		v.now = newest - uint64(p.round)
	}
	tail := (head - 1) & mask
	if bound := (min(v.now-p.window, p.span) + 1) << (p.width & 63); v.last >= bound {
		tail = r.tail(uint32(hint>>32)&mask, head, bound)
	}
	v.slots = uint64(tail)<<32 | uint64(head)
	return v
}

// seek searches the head: the first slot whose lap isn't slot 0's.
func (r *ring) seek() uint32 {
	first := r.load(0) & lap
	low, high := uint32(1), uint32(1)<<r.log2
	for low < high {
		if middle := low + (high-low)/2; r.load(middle)&lap == first {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low & r.mask()
}

// tail returns the newest slot that is below bound, from where it was seen last. The
// oldest slot is, the newest isn't.
func (r *ring) tail(from, head uint32, bound uint64) uint32 {
	mask := r.mask()
	if r.load(from)&entry < bound {
		for range walk {
			next := (from + 1) & mask
			if r.load(next)&entry >= bound {
				return from
			}
			from = next
		}
	}
	low, high := uint32(0), mask // slots after head
	for high-low > 1 {
		if middle := low + (high-low)/2; r.load((head+middle)&mask)&entry < bound {
			low = middle
		} else {
			high = middle
		}
	}
	return (head + low) & mask
}

// true tells that nothing was written since v.
func (r *ring) true(v view) bool { return r.load(v.head()) == v.old }

// room returns how many tokens fit the window.
func (r *ring) room(p *LogParams, v view) int64 {
	return p.capacity - int64((v.last-r.load(v.tail()))&p.totals)
}

// live returns how many slots are in the window.
func (r *ring) live(v view) uint32 { return (v.head() - 1 - v.tail()) & r.mask() }

// fits tells that the head may be written: the ring goes on, another entry than the head is
// out of the window (L5), the time fits, and enough slots are in use (L9).
func (r *ring) fits(p *LogParams, v view) bool {
	return v.old < sealed && v.tail() != v.head() && v.now < p.span && r.live(v) >= r.few()
}

// unfit tells, where fits doesn't hold, that the ring must be replaced.
func (r *ring) unfit(p *LogParams, v view) bool {
	return v.old >= sealed || v.tail() == v.head() || v.now >= p.span || r.sparse(p, v)
}

// few is an eighth of the slots; 0 in a ring that is small anyway.
func (r *ring) few() uint32 { return 1 << (r.log2 & 31) >> 3 &^ 3 }

// sparse tells that few entries were written in the last two windows, of a ring that takes
// a KiB or less, or in the last one, of a larger ring.
func (r *ring) sparse(p *LogParams, v view) bool {
	lately := p.window
	if r.log2 <= 7 {
		lately *= 2
	}
	return r.time(r.load((v.head()-r.few())&r.mask()))+lately <= v.now
}

// record writes an entry of n tokens. It fails if v isn't true any more.
func (r *ring) record(p *LogParams, v view, n int64) bool {
	next := ^v.old&lap | (v.now+uint64(p.round))<<(p.width&63) | (v.last+uint64(n))&p.totals
	if !r.cas(v.head(), v.old, next) {
		return false
	}
	if head := v.head() + 1; head&3 == 0 { // a hint now and then: walking is cheaper than writing
		r.hint.Store(v.slots>>32<<32 | uint64(head&r.mask()))
	}
	return true
}
