package window

// A change is what another ring says that the old one didn't.
type change struct {
	take       int64 // this many tokens more, at the instant that the call counts at
	refund, at int64 // this many tokens less, of the instant at
}

// replace puts a ring that fits behind r's handle: of the size that its entries need, with
// a base at now, under the rule `to`, changed by c. First r is sealed: it may be read, and
// any call that meets it may replace it. Only the winner's ring stands; replace tells
// whether that was this one, and so whether c came about.
func (l *Log) replace(r *ring, v view, to *LogParams, at int64, c change) bool {
	return r.seal(v) && l.swap(r, r.successor(v, to, at, c))
}

// seal ends r. It fails if the view isn't true any more.
func (r *ring) seal(v view) bool {
	return v.old&sealed != 0 || r.cas(v.head(), v.old, v.old|sealed)
}

// successor returns a ring that says what r says, changed by c.
func (r *ring) successor(v view, to *LogParams, at int64, c change) *ring {
	now := r.counted(to, v, at) // the newest entry's, also where `to` has no such instant
	base := to.start(now)
	entries, total, _ := r.replay(v, to, base, c, nil)
	if c.take > 0 {
		entries++
	}
	s := newRing(r.id, entries)
	s.begin(to, base)
	i := s.mask()
	total += c.take
	put := func(time uint64, tokens int64) {
		s.put(i, time<<to.width|uint64(total))
		total -= tokens
		i--
	}
	if c.take > 0 {
		put(to.stamp(now, base), c.take)
	}
	r.replay(v, to, base, c, put)
	s.hint.Store(uint64(i) << 32)
	return s
}

// replay goes back from the newest entry to the oldest in the window that ends where a ring
// of `to` with that base starts. It gives keep their times in that ring and their tokens,
// changed by c. They come to what a total can tell at most, which is the capacity or more.
// It returns how many there are, their tokens, and what is left of the refund.
func (r *ring) replay(v view, to *LogParams, base int64, c change, keep func(time uint64, tokens int64)) (entries uint32, total, refund int64) {
	mask, totals := r.mask(), uint64(1)<<r.width-1
	most, target := int64(to.totals), to.stamp(c.at, base)
	for i := (v.head() - 1) & mask; i != v.head() && total < most; i = (i - 1) & mask {
		word := r.load(i)
		time := to.stamp(r.latest(word), base)
		if time == 0 {
			break
		}
		tokens := int64((word - r.load((i-1)&mask)) & totals)
		if time == target {
			back := min(tokens, c.refund)
			tokens, c.refund = tokens-back, c.refund-back
		}
		tokens = min(tokens, most-total)
		if tokens == 0 {
			continue
		}
		entries++
		total += tokens
		if keep != nil {
			keep(time, tokens)
		}
	}
	return entries, total, c.refund
}

// counted returns the instant that a call at the instant at counts at.
func (r *ring) counted(p *LogParams, v view, at int64) int64 {
	return max(min(at, p.horizon), r.base+int64(v.now<<r.unit))
}

// outcome tells of the key when n tokens have been taken, or when they can be.
func (r *ring) outcome(p *LogParams, v view, at, n int64) LogOutcome {
	room, now := r.room(p, v), r.counted(p, v, at)
	o := LogOutcome{Limit: p.capacity, Remaining: max(room, 0), At: now}
	newest := r.time(v.last)
	switch {
	case n > p.capacity:
		o.RetryAfter = Never
	case n > 0 && n > room:
		o.RetryAfter = p.until(r.time(r.enough(p, v, n)), r.base, now)
	case n > 0:
		o.Remaining -= n
		newest = v.now + uint64(p.round)
	}
	if o.Remaining < p.capacity {
		o.ResetAfter = p.until(newest, r.base, now)
	}
	return o
}

// enough returns the entry at whose end n tokens fit the window: the oldest with at most
// capacity-n tokens after it.
func (r *ring) enough(p *LogParams, v view, n int64) uint64 {
	mask := r.mask()
	low, high := uint32(1), r.live(v) // slots after tail
	for low < high {
		middle := low + (high-low)/2
		if after := (v.last - r.load((v.tail()+middle)&mask)) & p.totals; after > uint64(p.capacity-n) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return r.load((v.tail() + low) & mask)
}
