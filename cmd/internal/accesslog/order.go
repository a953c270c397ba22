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
	window int64  // s
	slots  []slot // a ring: second s is slots[s % len]
	low    int64  // every line of a second before it has been released
	high   int64  // the latest second seen
	held   int    // bytes in all slots
	maxed  int    // bytes that may be held; beyond it the window is shorter
	count  int    // lines held
	seen   bool   // a line has come
	now    *slot  // being released
	next   int    // its next line
}

// slot is one second's lines.
type slot struct {
	text  []byte
	lines []waiting
}

// waiting is a line in its slot's text.
type waiting struct {
	record record
	from   uint32
	to     uint32
}

// maxHeld bounds the memory of the lines that wait.
const maxHeld = 64 << 20

func newOrder(window time.Duration) *order {
	s := int64(window / time.Second)
	return &order{window: s, slots: make([]slot, s+2), maxed: maxHeld}
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
		t := &o.slots[o.at(o.low)]
		o.low++
		if len(t.lines) == 0 {
			continue
		}
		if !slices.IsSortedFunc(t.lines, byTime) {
			slices.SortStableFunc(t.lines, byTime)
		}
		o.now, o.next = t, 0
		return true
	}
	if o.count == 0 {
		o.low = max(o.low, o.high-o.window)
	}
	return false
}

func byTime(a, b waiting) int { return cmp.Compare(a.record.time, b.record.time) }

func (o *order) at(second int64) int64 {
	n := int64(len(o.slots))
	return (second%n + n) % n
}

// add lets a line wait. Its second is between low and high, and nothing is ripe.
func (o *order) add(r *record, line []byte) {
	t := &o.slots[o.at(second(r.time))]
	from := len(t.text)
	t.text = append(t.text, line...)
	w := waiting{record: *r, from: uint32(from), to: uint32(len(t.text))}
	if len(r.fields) > 0 {
		w.record.fields = slices.Clone(r.fields)
	} else {
		w.record.fields = nil
	}
	t.lines = append(t.lines, w)
	o.held += len(line)
	o.count++
}

// take puts the next line of the second that is being released into e, if one is left.
func (o *order) take(e *Entry) bool {
	t := o.now
	if t == nil {
		return false
	}
	if o.next == len(t.lines) {
		o.now = nil
		clear(t.lines) // their fields
		t.lines, t.text = t.lines[:0], t.text[:0]
		return false
	}
	w := &t.lines[o.next]
	o.next++
	o.count--
	o.held -= int(w.to - w.from)
	w.record.entry(t.text[w.from:w.to], e)
	return true
}
