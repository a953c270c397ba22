package shard

import "sync/atomic"

// Table is what the words of some keys are counted under, and where they are.
type Table[P any] struct {
	// A line that every call reads.
	banks [2]bank // of half lines, and of whole ones
	times
	limit [2]uint32 // slots of a bank that may be claimed
	space *space[P]

	Params P // their epoch is floor

	// Immutable, as the above save the mark.
	floor int64 // nothing dropped on the way to this table was judged idle at a later instant
	rule  *rule[P]
	under *space[P] // not nil: a stem, without keys; they are in that space
	path  uint64    // of the first hash that belongs here
	depth uint8     // leading bits of path that all keys here share

	// Accessed atomically.
	worked  atomic.Bool                  // somebody is at moving the slots
	done    atomic.Bool                  // all slots are sealed, or frozen and carried
	next    atomic.Pointer[successor[P]] // where the keys go; nil while the table isn't moving
	from    atomic.Pointer[sources[P]]   // what is still to be carried in; nil once it is
	arena   arena
	claimed [2]atomic.Uint32 // slots of a bank claimed or about to be, and room for words to be carried in; closed: a flag
	cursor  [2]atomic.Uint32 // place in a bank where the search for idle keys goes on
}

const closed = 1 << 31

// claim reserves a slot; false if the bank has given out all it may, or is closed.
func (t *Table[P]) claim(bank int) bool {
	for {
		n := t.claimed[bank].Load()
		if n >= t.limit[bank] || t.arena.size() > maxArena {
			return false
		}
		if t.claimed[bank].CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (t *Table[P]) unclaim(bank int) { t.claimed[bank].Add(^uint32(0)) }

// count returns how many slots are claimed, room kept included.
func (t *Table[P]) count() (n [2]int) {
	for i := range n {
		n[i] = int(t.claimed[i].Load() &^ closed)
	}
	return n
}

// sparse tells that so little of a bank is claimed that walks in it should be short.
func (t *Table[P]) sparse(bank int) bool {
	return t.count()[bank] < t.banks[bank].size()*5/8
}

// close ends claims, and returns how many slots can have a key at most, ever.
func (t *Table[P]) close() (n [2]int) {
	for i := range n {
		n[i] = int(t.claimed[i].Or(closed) &^ closed)
	}
	return n
}

// size returns the slots of both banks, a wide one as two.
func (t *Table[P]) size() int { return t.banks[small].size() + 2*t.banks[wide].size() }

// successor is where a moving table's keys go: to a, or by the next bit of their path to a and b.
type successor[P any] struct{ a, b *Table[P] }

// child returns where a path goes that leaves a table of that depth.
func (s *successor[P]) child(path uint64, depth uint8) *Table[P] {
	if s.b != nil && path<<depth>>63 != 0 {
		return s.b
	}
	return s.a
}

// sources are the tables that move into a new one, and the room kept for what they bring.
type sources[P any] struct {
	tables [2]*Table[P]
	n      int // of tables
	into   *successor[P]
	room   [2]int
}

// rule is the params that a map's tables are to have; gen counts their changes.
type rule[P any] struct {
	gen    uint64
	params P
}

// maker gathers what a new table is made from.
type maker[P any] struct {
	rule  *rule[P]
	floor int64
	space *space[P]
	path  uint64
	depth uint8
	load
	room [2]int // slots of the banks kept for words to be carried in
}

// load is how much a table has to take.
type load struct {
	keys  [2]int // in the banks
	bytes int    // of long keys
}

func (l *load) add(o load) {
	l.keys[small] += o.keys[small]
	l.keys[wide] += o.keys[wide]
	l.bytes += o.bytes
}

// slots returns the sizes of banks for it: with room to double, or with the least that will do if a table of most slots
// hasn't so many. false: then neither.
func (l *load) slots(most int) (sizes [2]int, ok bool) {
	for _, size := range []func(int) int{roomFor, leastFor} {
		sizes = [2]int{size(l.keys[small]), size(l.keys[wide])}
		if sizes[small]+2*sizes[wide] <= most {
			return sizes, true
		}
	}
	return sizes, false
}

// size returns the slots of a table with room to double.
func (l *load) size() int { return roomFor(l.keys[small]) + 2*roomFor(l.keys[wide]) }

// make returns a new table, into which the tables will move by the way of s.
func (m *Map[P]) make(c maker[P], s *successor[P], tables ...*Table[P]) *Table[P] {
	t := &Table[P]{rule: c.rule, space: c.space, path: c.path, depth: c.depth}
	sizes, _ := c.slots(m.limits.slots)
	for i, size := range sizes {
		b := &t.banks[i]
		if c.room[i] > 0 || i == small {
			size = max(size, ladder(c.room[i]+1))
		}
		*b = newBank(i, size)
		// Between 0.75 and 0.85, by the path, so that tables that fill evenly don't all grow at once.
		t.limit[i] = uint32(size*3/4 + size*int(c.path>>32*0x9e3779b1>>24&0xff)/2560)
		t.claimed[i].Store(uint32(c.room[i]))
	}
	t.floor = max(min(c.floor, Horizon-markStep), beyond+1)
	t.Params = m.kernel.Rebase(&c.rule.params, t.floor)
	t.horizon = min(m.kernel.Horizon(&t.Params), Horizon)
	t.mark.Store(t.floor)
	if s != nil {
		from := &sources[P]{into: s, room: c.room}
		from.n = copy(from.tables[:], tables)
		t.from.Store(from)
	}
	if c.bytes > 0 {
		t.arena.append(nil, c.bytes)
	}
	m.work(t.size())
	return t
}
