package accesslog

import (
	"cmp"
	"slices"
	"time"
)

// order puts lines in the order of time: a calendar of seconds, in which each line waits until the log is a window past
// it. Lines of one instant stay in their order.
//
//	released        | low     waiting      high |  not yet seen
//	----------------+---------------------------+-------------> time
//	                  <- window, at most      ->
type order struct {
	window int64 // s
	days   []day // a ring: second s is days[s % len]
	low    int64 // every line of a second before it has been released
	high   int64 // the latest second seen
	held   int   // bytes in all days
	maxed  int   // bytes that may be held; beyond it the window is shorter
	count  int   // lines held
	seen   bool  // a line has come
	now    *day  // being released
	next   int   // its next line
}

// day is one second's lines.
type day struct {
	text   []byte
	lines  []waiting
}

// waiting is a line in its day's text.
type waiting struct {
	record record
	from   uint32
	to     uint32
}

// maxHeld bounds the memory of the lines that wait.
const maxHeld = 64 << 20

func newOrder(window time.Duration) *order {
	s := int64(window / time.Second)
	return &order{window: s, days: make([]day, s+2), maxed: maxHeld}
}

func second(ns int64) int64 {
	s := ns / int64(time.Second)
	if ns%int64(time.Second) < 0 {
		s--
	}
	return s
}

// begin makes way for a line of time ns: lines more than a window before it are ripe then.
func (o *order) begin(ns int64) {
	s := second(ns)
	if !o.seen {
		o.high, o.low, o.seen = s, s-o.window, true
	}
	o.high = max(o.high, s)
}

// late reports whether a line of time ns comes after its second has been released.
func (o *order) late(ns int64) bool { return second(ns) < o.low }

// ripe makes the next second that no line can come for any more the one that is released; all says that no line will come
// at all. It reports whether there is one.
func (o *order) ripe(all bool) bool {
	o.now = nil
	for o.count > 0 && (all || o.low < o.high-o.window || o.held > o.maxed && o.low < o.high) {
		d := &o.days[o.at(o.low)]
		o.low++
		if len(d.lines) == 0 {
			continue
		}
		if !slices.IsSortedFunc(d.lines, byTime) {
			slices.SortStableFunc(d.lines, byTime)
		}
		o.now, o.next = d, 0
		return true
	}
	if o.count == 0 {
		o.low = max(o.low, o.high-o.window)
	}
	return false
}

func byTime(a, b waiting) int { return cmp.Compare(a.record.time, b.record.time) }

func (o *order) at(second int64) int64 {
	n := int64(len(o.days))
	return (second%n + n) % n
}

// add lets a line wait. Its second is between low and high, and nothing is ripe.
func (o *order) add(r *record, line []byte) {
	d := &o.days[o.at(second(r.time))]
	from := len(d.text)
	d.text = append(d.text, line...)
	w := waiting{record: *r, from: uint32(from), to: uint32(len(d.text))}
	if len(r.fields) > 0 {
		w.record.fields = slices.Clone(r.fields)
	} else {
		w.record.fields = nil
	}
	d.lines = append(d.lines, w)
	o.held += len(line)
	o.count++
}

// take puts the next line of the second that is being released into e, if one is left.
func (o *order) take(e *Entry) bool {
	d := o.now
	if d == nil {
		return false
	}
	if o.next == len(d.lines) {
		o.now = nil
		clear(d.lines) // their fields
		d.lines, d.text = d.lines[:0], d.text[:0]
		return false
	}
	w := &d.lines[o.next]
	o.next++
	o.count--
	o.held -= int(w.to - w.from)
	w.record.entry(d.text[w.from:w.to], e)
	return true
}
