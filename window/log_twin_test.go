package window

import (
	"math"
	"math/bits"
	"slices"
)

// logTwin is a log that is obviously right: a list of what was admitted and when, the oldest
// first. It knows no ring, no base and no running total.
type logTwin struct {
	capacity, window int64
	widest           int64 // the largest capacity there has been
	unit             int64 // 1, or the power of two of ns that times are told in
	admitted         []admission
	seen             int64 // the newest instant, in units
}

// An admission counts from its instant until its end, which is rounded up to units.
type admission struct {
	at     int64 // the latest instant it may have come at
	tokens int64
}

func newLogTwin(capacity, window, widest int64) *logTwin {
	widest = max(widest, capacity)
	w := &logTwin{capacity: capacity, window: window, widest: widest, unit: 1, seen: math.MinInt64}
	room := int64(1)<<(62-bits.Len64(uint64(widest))) - 1
	for 2*ceilDiv(window, w.unit)+2 > room {
		w.unit *= 2
	}
	return w
}

func ceilDiv(a, b int64) int64 { return -floorDiv(-a, b).Int64() }

// units returns the time that a call at the instant at counts at.
func (w *logTwin) units(at int64) int64 { return max(floorDiv(at, w.unit).Int64(), w.seen) }

// end returns the units at which a is out of the window.
func (w *logTwin) end(a admission) int64 {
	rounded := a.at
	if w.unit > 1 {
		rounded = floorDiv(a.at, w.unit).Int64() + 1
	}
	return rounded + ceilDiv(w.window, w.unit)
}

func (w *logTwin) used(units int64) (tokens int64) {
	for _, a := range w.admitted {
		if w.end(a) > units {
			tokens += a.tokens
		}
	}
	return tokens
}

func (w *logTwin) take(at, n int64) bool {
	units := w.units(at)
	if w.used(units)+n > w.capacity {
		return false
	}
	w.admitted = append(slices.Clip(w.admitted), admission{w.last(units), n})
	w.seen = units
	return true
}

// last returns the last instant of a unit.
func (w *logTwin) last(units int64) int64 { return (units+1)*w.unit - 1 }

func (w *logTwin) refund(n, at int64) {
	for i := len(w.admitted) - 1; i >= 0; i-- {
		if a := &w.admitted[i]; floorDiv(a.at, w.unit).Cmp(floorDiv(at, w.unit)) == 0 && w.end(*a) > w.units(at) {
			back := min(n, a.tokens)
			a.tokens -= back
			n -= back
		}
	}
	w.admitted = slices.DeleteFunc(w.admitted, func(a admission) bool { return a.tokens == 0 })
}

// outcome tells what a take of n at the instant at would; of none, what there is.
func (w *logTwin) outcome(at, n int64) LogOutcome {
	if after := *w; n > 0 && after.take(at, n) {
		return after.outcome(at, 0)
	}
	units := w.units(at)
	o := LogOutcome{Limit: w.capacity, Remaining: max(w.capacity-w.used(units), 0), At: max(at, units*w.unit)}
	if n > w.capacity {
		o.RetryAfter = Never
	} else if n > o.Remaining {
		for _, a := range w.admitted { // the first end at which n fit
			if end := w.end(a); end > units && w.used(end)+n <= w.capacity {
				o.RetryAfter = end*w.unit - o.At
				break
			}
		}
	}
	for _, a := range w.admitted {
		if w.end(a) > units {
			o.ResetAfter = w.end(a)*w.unit - o.At
		}
	}
	return o
}

// convert returns the log under another rule from the instant at on. Of what was admitted the
// newest entries are still known, so many as told.
func (w *logTwin) convert(at, capacity, window int64, known int) *logTwin {
	units := w.units(at)
	to := newLogTwin(capacity, window, w.widest)
	to.seen = floorDiv(max(at, units*w.unit), to.unit).Int64()
	left := int64(1)<<bits.Len64(uint64(to.widest)) - 1 // what a total has bits for
	for _, a := range slices.Backward(w.admitted[max(0, len(w.admitted)-known):]) {
		if tokens := min(a.tokens, left); tokens > 0 && to.end(a) > to.seen {
			to.admitted = slices.Insert(to.admitted, 0, admission{to.last(floorDiv(a.at, to.unit).Int64()), tokens})
			left -= tokens
		}
	}
	for _, a := range to.admitted { // in finer units a rounded instant may be newer
		to.seen = max(to.seen, floorDiv(a.at, to.unit).Int64())
	}
	return to
}
