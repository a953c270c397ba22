package shard

import (
	"hash/maphash"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"
)

const (
	maxDepth = 13        // bits of one directory: 8,192 tables, 64 KiB
	anywhere = 1<<32 - 1 // slots
)

// space is a tree of tables under one hash: a directory, whose entries are tables, or stems of spaces below. The top
// space goes by the hash that callers bring. Below it there are two kinds:
//
//   - more of the same hash, where a directory has no bits left;
//   - keyed, under hash/maphash, where a table's keys can't be told apart by a public hash.
type space[P any] struct {
	dir      atomic.Pointer[directory[P]] // nil: nothing here yet
	skip     uint8                        // leading bits of the hash spent above
	keyed    bool
	seed     maphash.Seed
	patience uint32        // slots that a claim looks at before it cries crowded
	cursor   atomic.Uint64 // path where the search for idle keys goes on
	stem     *Table[P]     // what stands for the space in the one above; nil: the top
}

// directory is indexed by the leading bits of a path. Entries are hints: one that shows a table already moved is right
// too, and put right by whoever comes upon it.
type directory[P any] struct {
	depth   uint8
	shift   uint8 // 63 - depth
	entries []atomic.Pointer[Table[P]]
}

func newDirectory[P any](depth uint8) *directory[P] {
	return &directory[P]{depth: depth, shift: 63 - depth, entries: make([]atomic.Pointer[Table[P]], 1<<depth)}
}

func (d *directory[P]) at(path uint64) *atomic.Pointer[Table[P]] {
	return &d.entries[d.index(path)]
}

// index is that of the entry for a path.
func (d *directory[P]) index(path uint64) int { return int(path >> 1 >> (d.shift & 63)) }

// start is the first path of the entry i.
func (d *directory[P]) start(i int) uint64 { return uint64(i) << 1 << (d.shift & 63) }

// after returns the first path beyond that of path whose entry isn't t, if there is one.
func (d *directory[P]) after(path uint64, t *Table[P]) (next uint64, more bool) {
	i := d.index(path) + 1
	for i < len(d.entries) && d.entries[i].Load() == t {
		i++
	}
	return d.start(i), i < len(d.entries)
}

// span is the number of entries for t's place.
func (d *directory[P]) span(t *Table[P]) int {
	if t.depth >= d.depth {
		return 1
	}
	return 1 << (d.depth - t.depth)
}

// shows tells that all of t's place is t. After a merge that one of two halves did not join, it isn't.
func (d *directory[P]) shows(t *Table[P]) bool {
	if t.depth > d.depth {
		return false
	}
	for i := d.index(t.path); i < d.index(t.path)+d.span(t); i++ {
		if d.entries[i].Load() != t {
			return false
		}
	}
	return true
}

// path is the part of a hash that says where in the space a key belongs.
func (s *space[P]) path(hash uint64) uint64 { return hash << (s.skip & 63) }

// below returns a new space under t's place, of the same hash or a keyed one.
func (m *Map[P]) below(t *Table[P], keyed bool) *space[P] {
	above := t.space
	s := &space[P]{keyed: above.keyed, seed: above.seed, skip: above.skip + t.depth, patience: above.patience}
	if keyed {
		s.keyed, s.seed, s.skip, s.patience = true, maphash.MakeSeed(), 0, anywhere
	}
	stem := &Table[P]{banks: stemBanks, space: above, path: t.path, depth: t.depth, under: s}
	s.stem = stem
	return s
}

// stemBanks make a search in a stem end at once.
var stemBanks = func() [2]bank {
	b := newBank(wide, minSlots)
	b.places = homePlaces
	b.first.ctrl.Store(sealed)
	return [2]bank{b, b}
}()

func (m *Map[P]) plainHash(key []byte) uint64 { return xxhash.Sum64(key) &^ m.dull }

func (s *space[P]) keyedHash(key []byte) uint64 { return maphash.Bytes(s.seed, key) }

// enter returns the table that the top directory, or the one of a space below, shows for the key. nil: the map has
// never held a key.
func (m *Map[P]) enter(id *ident) *Table[P] {
	s := &m.top
	for {
		d := s.dir.Load()
		if d == nil {
			return nil
		}
		path := s.path(id.hash)
		t := d.at(path).Load()
		if t.done.Load() {
			m.swing(t)
			t = s.dir.Load().at(path).Load()
		}
		if t.under == nil {
			return t
		}
		if next := t.next.Load(); next != nil {
			return next.a // the space below was given up
		}
		s = t.under
		m.cross(id, s)
	}
}

// plant makes first the tables of a space, if it is the first to do so.
func (s *space[P]) plant(first *successor[P]) {
	d := newDirectory[P](first.a.depth)
	d.entries[0].Store(first.a)
	if first.b != nil {
		d.entries[1].Store(first.b)
	}
	s.dir.CompareAndSwap(nil, d)
}

// cross makes id ready for another space.
func (m *Map[P]) cross(id *ident, s *space[P]) {
	if s.keyed {
		id.rehash(maphash.String(s.seed, id.key))
	} else {
		id.rehash(id.plain)
	}
}

// follow returns the table that a key in t, a table that moves, goes on in.
func (m *Map[P]) follow(t *Table[P], id *ident) *Table[P] {
	n := t.next.Load().child(t.space.path(id.hash), t.depth)
	if n.space != t.space {
		m.cross(id, n.space)
	}
	return n
}

// entry returns what t's space shows for a path once t is done: t's successor, or the stem that stands for its space;
// nil if t's space itself was given up.
func (t *Table[P]) entry(path uint64) *Table[P] {
	n := t.next.Load().child(path, t.depth)
	switch {
	case n.space == t.space:
		return n
	case n.space.stem != nil && n.space.stem.space == t.space:
		return n.space.stem
	}
	return nil
}

// swing makes the directory show what came after t, which is done.
func (m *Map[P]) swing(t *Table[P]) {
	s := t.space
	for {
		d := s.dir.Load()
		if n := t.entry(t.path); n != nil && n.under == nil && n.depth > d.depth {
			m.deepen(s, d)
			continue
		}
		first := d.index(t.path)
		for i := first; i < first+d.span(t); i++ {
			e, path := &d.entries[i], d.start(i)
			for old := e.Load(); old.done.Load(); old = e.Load() {
				n := old.entry(path)
				if n == nil || n.depth > d.depth {
					break
				}
				e.CompareAndSwap(old, n)
			}
		}
		if s.dir.Load() == d { // else what was set may have been copied before
			return
		}
	}
}

// giveUp ends the space of t, if t, which is done, was all that was left of it and has moved up.
func (m *Map[P]) giveUp(t *Table[P]) {
	next, stem := t.next.Load(), t.space.stem
	if stem != nil && next.a.space == stem.space {
		stem.next.CompareAndSwap(nil, next) // before done, because whoever sees done follows next
		stem.done.Store(true)
		m.swing(stem)
	}
}

// deepen doubles the directory d of s.
func (m *Map[P]) deepen(s *space[P], d *directory[P]) {
	double := newDirectory[P](d.depth + 1)
	for i := range d.entries {
		t := d.entries[i].Load()
		double.entries[2*i].Store(t)
		double.entries[2*i+1].Store(t)
	}
	s.dir.CompareAndSwap(d, double)
	m.work(len(double.entries) / 4)
}

// flatten halves the directory of s as long as its entries come in pairs.
func (m *Map[P]) flatten(s *space[P]) {
	for d := s.dir.Load(); d.depth > 0 && d.paired(); d = s.dir.Load() {
		half := d.half()
		if half == nil || !s.dir.CompareAndSwap(d, half) {
			return
		}
		m.work(len(half.entries) / 4)
	}
}

// paired tells that the entries of d come in pairs.
func (d *directory[P]) paired() bool {
	for i := len(d.entries) - 2; i >= 0; i -= 2 { // from the end, because sweeps come from the beginning
		if d.entries[i].Load() != d.entries[i+1].Load() {
			return false
		}
	}
	return true
}

// half returns d with one entry for each pair; nil if they aren't pairs any more.
func (d *directory[P]) half() *directory[P] {
	half := newDirectory[P](d.depth - 1)
	for i := range half.entries {
		t := d.entries[2*i].Load()
		if d.entries[2*i+1].Load() != t {
			return nil // a split shows since; never half.entries[i] = one of the two, because the other's keys would be lost
		}
		half.entries[i].Store(t)
	}
	return half
}

// walk visits the tables of s and of the spaces below, none of which is moving when it is visited; visit answers whether
// it wants to be shown once more what is in that place.
func (m *Map[P]) walk(s *space[P], visit func(t *Table[P]) (again bool)) {
	for path, more := uint64(0), true; more; {
		path, more = m.visit(s, path, visit)
	}
}

// visit is a walk over one place of s, that of path. It returns where the next one begins, if there are more.
func (m *Map[P]) visit(s *space[P], path uint64, visit func(t *Table[P]) (again bool)) (next uint64, more bool) {
	for {
		d := s.dir.Load()
		if d == nil {
			return 0, false
		}
		t := d.at(path).Load()
		switch {
		case t.done.Load():
			if m.swing(t); d.at(path).Load() == t && s.dir.Load() == d {
				m.giveUp(t)
				return 0, false // all of s was given up
			}
		case t.under != nil:
			if m.walk(t.under, visit); !t.done.Load() { // else what it was given up for is to be visited
				return d.after(path, t)
			}
		case t.next.Load() != nil:
			m.finish(t)
		case !visit(t):
			return d.after(path, t)
		}
	}
}
