package shard

import (
	"math"
	"unsafe"
)

// Moving a table is the one way in which anything about it changes: its size, its rule, its epoch and floor, its hash,
// the company it keeps. A move is begun by one CAS, of next; from then on anybody can finish it, or a single slot of it.

// move replaces t and returns once its slots are carried. floor is the instant from which the new table counts.
func (m *Map[P]) move(t *Table[P], floor int64) {
	m.settle(t)
	m.succeed(t, floor, load{}, false)
	m.finish(t)
}

// succeed gives t a successor: one table, two if it is full of keys, or a keyed space if they can't be told apart. It
// leaves the slots to others, and answers whether it was this call's doing. t must be settled. more is what there must
// be room for besides what is carried.
func (m *Map[P]) succeed(t *Table[P], floor int64, more load, hostile bool) bool {
	room := t.close()
	c := m.legacy(floor, t)
	v := m.survey(t, c.floor)
	v.half[0].add(more)
	v.half[1].add(more)
	c.room, c.load = room, v.half[0]
	c.load.add(v.half[1])
	_, fits := c.slots(m.limits.slots)
	split := !fits || c.bytes > maxArena/2
	if n := c.keys[small] + c.keys[wide]; split && !t.space.keyed && (n >= 16 || t.space.skip+t.depth >= 24) && t.space.dir.Load().shows(t) {
		// Halves that differ so much come from keys made for it, unless t was to be a merge and one half did not join.
		left := v.half[0].keys[small] + v.half[0].keys[wide]
		hostile = hostile || max(left, n-left) > n/4*3
	}
	switch {
	case hostile:
		c.space, c.path, c.depth = m.below(t, true), 0, 0
	case split && t.depth == m.limits.depth:
		c.space, c.path, c.depth = m.below(t, false), 0, 0
	}
	s := &successor[P]{}
	if split && !hostile {
		c.depth++
		right := c
		right.path |= 1 << (64 - c.depth)
		c.load, right.load = v.half[0], v.half[1]
		for i := range room {
			unseen := room[i] - v.seen[0][i] - v.seen[1][i] // claimed, but not written yet: may be of either half
			c.room[i], right.room[i] = v.seen[0][i]+unseen, v.seen[1][i]+unseen
		}
		s.b = m.make(right, s, t)
	}
	s.a = m.make(c, s, t)
	if c.space != t.space {
		c.space.plant(s)
	}
	return t.next.CompareAndSwap(nil, s)
}

// legacy returns what a table has from those before it: the newest of their rules and the map's, and a floor that is not
// below theirs.
func (m *Map[P]) legacy(floor int64, tables ...*Table[P]) maker[P] {
	c := maker[P]{rule: m.rule.Load(), floor: math.MinInt64}
	if floor <= Horizon {
		c.floor = floor
	}
	for _, t := range tables {
		if c.rule.gen < t.rule.gen {
			c.rule = t.rule
		}
		c.space, c.path, c.depth = t.space, t.path, t.depth
		c.floor = max(c.floor, t.floor, t.mark.Load())
	}
	c.floor = min(c.floor, Horizon-markStep) // as make does, because a survey must not leave out what is carried
	return c
}

// survey is what there is in a table, by the next bit of the keys' path.
type survey struct {
	half [2]load   // what would be carried
	seen [2][2]int // slots of the banks with a key
}

// survey counts what would be carried out of t to a table of that floor.
func (m *Map[P]) survey(t *Table[P], floor int64) (v survey) {
	var buf keyBuf
	for i := range t.banks {
		for j := range t.banks[i].size() {
			s := t.banks[i].slot(j)
			state := payload(s.word.Load())
			if state == 0 {
				continue // also if its key isn't written yet, because a word comes after its key
			}
			key := t.key(s, &buf)
			half := t.space.path(m.hashIn(t.space, key)) << t.depth >> 63
			v.seen[half][i]++
			if state == full || m.kernel.IdleAt(&t.Params, state) <= floor {
				continue
			}
			v.half[half].keys[i]++
			if s.ctrl.Load()&long != 0 {
				v.half[half].bytes += len(key)
			}
		}
	}
	m.work(t.size())
	return v
}

func (m *Map[P]) hashIn(s *space[P], key []byte) uint64 {
	if s.keyed {
		return s.keyedHash(key)
	}
	return m.plainHash(key)
}

// help moves one slot of t, a table that moves. Anybody who meets the slot may do it, and again. It returns the table
// that has the word now; nil if there is nothing to carry.
//
// The freeze records what is to happen: FROZEN|0, nothing is carried; FROZEN|x, x is. So nobody judges again later,
// when the kernel's answer may have changed; and converting is pure, so whoever carries x carries the same.
func (m *Map[P]) help(t *Table[P], s *slot) *Table[P] {
	next := t.next.Load()
	t.raise(next.a.floor) // first, because a late call must not begin a state anew before the instant at which judge ended it
	word := s.word.Load()
	won, carried := false, uint64(0)
	for word&frozen == 0 {
		to := uint64(frozen)
		if carried = m.judge(t, next.a, payload(word)); carried != 0 { // a and b have one floor and one rule
			to |= word
		}
		if won = s.word.CompareAndSwap(word, to); won {
			if carried == 0 {
				m.dropped(t, word)
			}
			word = to
			break
		}
		word = s.word.Load()
	}
	state := payload(word)
	if state == 0 {
		return nil
	}
	var buf keyBuf
	key := t.key(s, &buf)
	id := identify(unsafe.String(unsafe.SliceData(key), len(key)), m.hashIn(t.space, key))
	n := next.child(t.space.path(id.hash), t.depth)
	if !won {
		if carried = m.kernel.Convert(state, &t.Params, &n.Params); carried == 0 {
			return n // released: it was carried long ago
		}
	}
	if n.space.keyed != t.space.keyed {
		id.rehash(m.hashIn(n.space, key))
	}
	n.raise(t.mark.Load())
	n.place(&id, carried|word&evicted)
	if won && carried != state {
		m.release(t, state) // after the word is in place, because until then others convert it
	}
	return n
}

// judge returns what a state in t is in n: 0 if it is idle at n's floor.
func (m *Map[P]) judge(t, n *Table[P], state uint64) uint64 {
	if state <= full || m.kernel.IdleAt(&t.Params, state) <= n.floor && m.retire(t, state, n.floor) {
		return 0
	}
	return m.kernel.Convert(state, &t.Params, &n.Params)
}

// dropped accounts for a word that a move has left behind.
func (m *Map[P]) dropped(t *Table[P], word uint64) {
	if Live(word) {
		m.held.Add(-1)
		m.evicted.Add(1)
	}
	m.release(t, payload(word))
}

// drain moves or seals every slot of t, and returns how many of each bank went to each of its successors.
func (m *Map[P]) drain(t *Table[P]) (a, b [2]int) {
	t.worked.Store(true)
	next := t.next.Load()
	for i := range t.banks {
		for j := range t.banks[i].size() {
			s := t.banks[i].slot(j)
			for s.ctrl.Load() == empty {
				s.ctrl.CompareAndSwap(empty, sealed)
			}
			if s.ctrl.Load() == sealed {
				continue
			}
			switch m.help(t, s) {
			case nil:
			case next.a:
				a[i]++
			default:
				b[i]++
			}
		}
	}
	m.work(t.size())
	t.done.Store(true)
	m.swing(t)
	m.giveUp(t)
	return a, b
}

// finish ends the move of t and, for those of its successors that nothing else moves into, gives back the room kept for
// words that did not come.
func (m *Map[P]) finish(t *Table[P]) {
	next := t.next.Load()
	a, b := m.drain(t)
	next.a.settled(a, next.a.from.Load(), 1)
	if next.b != nil {
		next.b.settled(b, next.b.from.Load(), 1)
	}
}

// settle finishes every move into n. n itself must not move before, because who helps a slot along relies on it that
// words stay in the next table until this one is done.
func (m *Map[P]) settle(n *Table[P]) {
	from := n.from.Load()
	if from == nil {
		return
	}
	var words [2]int
	for _, t := range from.tables[:from.n] {
		t.next.CompareAndSwap(nil, from.into) // a merge may have begun with the other one only
		if t.next.Load() != from.into {
			continue // and this one went another way
		}
		a, b := m.drain(t)
		if n == from.into.b {
			a = b
		}
		words[small] += a[small]
		words[wide] += a[wide]
	}
	n.settled(words, from, from.n)
}

// settled notes that so many words came in all, if that is the number of tables they were to come from.
func (n *Table[P]) settled(words [2]int, from *sources[P], tables int) {
	if from != nil && from.n == tables && n.from.CompareAndSwap(from, nil) {
		for i := range words {
			n.claimed[i].Add(uint32(words[i] - from.room[i]))
		}
	}
}

// merge moves the tables a and b, the halves of a place one bit shorter, into one.
func (m *Map[P]) merge(a, b *Table[P], floor int64) {
	m.settle(a)
	m.settle(b)
	c := m.legacy(floor, a, b)
	c.depth--
	c.path &^= 1 << (63 - c.depth)
	c.room = a.close()
	for i, n := range b.close() {
		c.room[i] += n
	}
	m.replace(c, a, b)
}

// surface moves t, all that is left of its space, into the space above.
func (m *Map[P]) surface(t *Table[P], floor int64) {
	m.settle(t)
	c := m.legacy(floor, t)
	stem := t.space.stem
	c.space, c.path, c.depth = stem.space, stem.path, stem.depth
	c.room = t.close()
	m.replace(c, t)
}

func (m *Map[P]) replace(c maker[P], tables ...*Table[P]) {
	for _, t := range tables {
		v := m.survey(t, c.floor)
		c.load.add(v.half[0])
		c.load.add(v.half[1])
	}
	s := &successor[P]{}
	s.a = m.make(c, s, tables...)
	if tables[0].next.CompareAndSwap(nil, s) {
		m.settle(s.a)
	}
}
