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
	m.succeed(t, floor, false)
	m.finish(t)
}

// succeed gives t a successor: one table, two if it is full of keys, or a keyed space if they can't be told apart. It
// leaves the slots to others, and answers whether it was this call's doing. t must be settled.
func (m *Map[P]) succeed(t *Table[P], floor int64, hostile bool) bool {
	room := t.close()
	c := m.legacy(floor, t)
	v := m.survey(t, c.floor)
	keys := v.keys[0] + v.keys[1]
	c.keys, c.bytes, c.room = keys, v.bytes[0]+v.bytes[1], room
	split := roomFor(keys) > m.limits.slots || c.bytes > maxArena/2
	if split && !t.space.keyed && keys >= 64 && max(v.keys[0], v.keys[1]) > keys/4*3 {
		hostile = true // halves that differ so much come from keys made for it
	}
	switch {
	case hostile:
		c.space, c.path, c.depth = m.below(t, true), 0, 0
	case split && t.depth == m.limits.depth:
		c.space, c.path, c.depth = m.below(t, false), 0, 0
	}
	s := &successor[P]{}
	if split && !hostile {
		unseen := room - v.seen[0] - v.seen[1] // claimed, but not written yet: may be of either half
		c.depth++
		right := c
		right.path |= 1 << (64 - c.depth)
		c.keys, c.bytes, c.room = v.keys[0], v.bytes[0], v.seen[0]+unseen
		right.keys, right.bytes, right.room = v.keys[1], v.bytes[1], v.seen[1]+unseen
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
	return c
}

// survey counts, by the next bit of their path, what would be carried out of t to a table of that floor.
func (m *Map[P]) survey(t *Table[P], floor int64) (v struct{ keys, seen, bytes [2]int }) {
	var buf [24]byte
	for i := range t.slots {
		s := &t.slots[i]
		word := payload(s.word.Load())
		if word == 0 {
			continue // also if its key isn't written yet, because a word comes after its key
		}
		key := t.key(s, &buf)
		half := t.space.path(m.hashIn(t.space, key)) << t.depth >> 63
		v.seen[half]++
		if word == full || m.kernel.IdleAt(&t.Params, word) <= floor {
			continue
		}
		v.keys[half]++
		if s.ctrl.Load()&long != 0 {
			v.bytes[half] += len(key)
		}
	}
	m.work(len(t.slots))
	return v
}

func (m *Map[P]) hashIn(s *space[P], key []byte) uint64 {
	if s.keyed {
		return s.keyedHash(key)
	}
	return m.plainHash(key)
}

// help moves one slot of t, a table that moves. It is pure in the frozen word, t and its successor, so it may be done by
// anybody who meets the slot, and again. It returns the table that has the word now; nil if the word was dropped.
func (m *Map[P]) help(t *Table[P], s *slot) *Table[P] {
	word := s.word.Load()
	won := false
	for word&frozen == 0 && !won {
		won = s.word.CompareAndSwap(word, word|frozen)
		if !won {
			word = s.word.Load()
		}
	}
	state := payload(word)
	if state == 0 {
		return nil
	}
	var buf [24]byte
	key := t.key(s, &buf)
	hash := m.hashIn(t.space, key)
	n := t.next.Load().child(t.space.path(hash), t.depth)
	n.raise(t.mark.Load())
	carried := m.convert(t, n, state)
	if carried != 0 {
		id := ident{hash: hash, ctrl: s.ctrl.Load(), w0: s.w0.Load(), w1: s.w1.Load()}
		if n.space.keyed != t.space.keyed {
			id.hash = m.hashIn(n.space, key)
		}
		if id.long = id.ctrl&long != 0; id.long {
			id.key = unsafe.String(unsafe.SliceData(key), len(key)) // in t's arena
			id.ctrl, id.w0, id.w1 = long|id.hash&tail, 0, 0
		}
		n.place(&id, carried|word&evicted)
	}
	if won {
		if carried == 0 && Live(word) {
			m.held.Add(-1)
			m.evicted.Add(1)
		}
		// The last thing, because a helper that overtakes must still find the state as it was.
		if carried != state {
			m.release(t, state)
		}
	}
	if carried == 0 {
		return nil
	}
	return n
}

// convert returns what a state in t is in n: 0 if it is idle at n's floor.
func (m *Map[P]) convert(t, n *Table[P], state uint64) uint64 {
	if state == full || m.kernel.IdleAt(&t.Params, state) <= n.floor && m.retire(t, state, n.floor) {
		return 0
	}
	return m.kernel.Convert(state, &t.Params, &n.Params)
}

// drain moves or seals every slot of t, and returns how many words went to each of its successors.
func (m *Map[P]) drain(t *Table[P]) (a, b int) {
	t.worked.Store(true)
	next := t.next.Load()
	for i := range t.slots {
		s := &t.slots[i]
		for s.ctrl.Load() == empty {
			s.ctrl.CompareAndSwap(empty, sealed)
		}
		if s.ctrl.Load() == sealed {
			continue
		}
		switch m.help(t, s) {
		case nil:
		case next.a:
			a++
		default:
			b++
		}
	}
	m.work(len(t.slots))
	t.done.Store(true)
	m.swing(t)
	if stem := t.space.stem; stem != nil && next.a.space == stem.space {
		stem.next.CompareAndSwap(nil, next)
		stem.done.Store(true)
		m.swing(stem)
	}
	return a, b
}

// finish ends the move of t and, for those of its successors that nothing else moves into, gives back the room kept for
// words that did not come.
func (m *Map[P]) finish(t *Table[P]) {
	next := t.next.Load()
	a, b := m.drain(t)
	next.a.settled(t, a)
	if next.b != nil {
		next.b.settled(t, b)
	}
}

// settled notes that what came from t, if it was n's only source, were so many words.
func (n *Table[P]) settled(t *Table[P], words int) {
	if from := n.from.Load(); from != nil && len(from.tables) == 1 && n.from.CompareAndSwap(from, nil) {
		n.claimed.Add(uint32(words - from.room))
	}
}

// settle finishes every move into n. n itself must not move before, because who helps a slot along relies on it that
// words stay in the next table until this one is done.
func (m *Map[P]) settle(n *Table[P]) {
	from := n.from.Load()
	if from == nil {
		return
	}
	words := 0
	for _, t := range from.tables {
		t.next.CompareAndSwap(nil, from.into) // a merge may have begun with the other one only
		if t.next.Load() != from.into {
			continue // and this one went another way
		}
		a, b := m.drain(t)
		if n == from.into.a {
			words += a
		} else {
			words += b
		}
	}
	if n.from.CompareAndSwap(from, nil) {
		n.claimed.Add(uint32(words - from.room))
	}
}

// merge moves the tables a and b, the halves of a place one bit shorter, into one.
func (m *Map[P]) merge(a, b *Table[P], floor int64) {
	m.settle(a)
	m.settle(b)
	c := m.legacy(floor, a, b)
	c.depth--
	c.path &^= 1 << (63 - c.depth)
	c.room = a.close() + b.close()
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
		c.keys += v.keys[0] + v.keys[1]
		c.bytes += v.bytes[0] + v.bytes[1]
	}
	s := &successor[P]{}
	s.a = m.make(c, s, tables...)
	if tables[0].next.CompareAndSwap(nil, s) {
		m.settle(s.a)
	}
}
