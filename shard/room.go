package shard

import "sync/atomic"

const (
	searched = 1024 // slots looked at for an idle key, before Overflow applies
	sampled  = 64   // slots looked at for the fullest one, when it is known that none is idle
)

// reserve takes a place among the keys held, and makes room if need be. Places are taken before a key goes live, so that
// MaxKeys holds at every instant; one made free for this call is handed over, not given up and fought for.
func (m *Map[P]) reserve(c *call) Verdict {
	if m.place() || m.makeRoom(c.now) {
		c.reserved = true
		return Applied
	}
	if m.overflow == DenyNewKeys {
		m.denied.Add(1)
		return Denied
	}
	m.untracked.Add(1) // under EvictNearestFull: all places belong to creations under way
	return Untracked
}

func (m *Map[P]) place() bool {
	if m.maxKeys <= 0 {
		m.held.Add(1)
		return true
	}
	for {
		n := m.held.Load()
		if n >= m.maxKeys {
			return false
		}
		if m.held.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// makeRoom evicts the idle keys in the next stretch of slots, or under EvictNearestFull at least some key, and keeps the
// place of one.
func (m *Map[P]) makeRoom(now int64) bool {
	for range 4 {
		s := search[P]{m: m, now: now, budget: searched}
		if m.retirer == nil && now < m.janitor.idle.load() { // a state behind the word can be idle earlier, unseen
			if m.overflow != EvictNearestFull {
				return false
			}
			s.budget = sampled
		}
		if s.run(); s.idle > 0 {
			m.held.Add(int64(1 - s.idle))
			m.evicted.Add(uint64(s.idle))
			return true
		}
		if m.overflow == EvictNearestFull && s.evict() {
			return true
		}
	}
	return false
}

// search goes over slots, from where the last one stopped, evicts the idle keys and remembers the rest's extremes.
type search[P any] struct {
	m      *Map[P]
	now    int64
	budget int // slots still to look at

	idle     int // keys evicted; their places are still counted
	fullest  candidate[P]
	youngest candidate[P]
}

// candidate is a live slot as it was seen.
type candidate[P any] struct {
	t      *Table[P]
	slot   *slot
	word   uint64
	idleAt int64
}

// run ends with the budget, or when it has seen every slot.
func (s *search[P]) run() {
	budget := s.budget
	for range 2 { // to the end, and from the beginning
		if !s.space(&s.m.top) {
			break
		}
	}
	s.m.work(budget - s.budget)
}

// space looks at the tables of sp from its cursor on, and answers whether it came to the end of them.
func (s *search[P]) space(sp *space[P]) bool {
	for s.budget > 0 {
		path := sp.cursor.Load()
		d := sp.dir.Load()
		t := d.at(path).Load()
		if t.under != nil && !s.space(t.under) || t.under == nil && !s.chain(t) {
			return false
		}
		next, more := d.after(path, t)
		sp.cursor.CompareAndSwap(path, next)
		if !more {
			return true
		}
	}
	return false
}

// chain looks at t, and at what comes after it if t is still moving: there are keys in both.
func (s *search[P]) chain(t *Table[P]) bool {
	if !s.table(t) {
		return false
	}
	next := t.next.Load()
	return next == nil || s.chain(next.a) && (next.b == nil || s.chain(next.b))
}

func (s *search[P]) table(t *Table[P]) bool {
	for i := range t.banks {
		b, from := &t.banks[i], t.cursor[i].Load()
		place := from
		for ; place < b.places && s.budget > 0; place += b.step {
			s.look(t, b.at(place))
			s.budget--
		}
		t.cursor[i].CompareAndSwap(from, place)
		if place < b.places {
			return false
		}
	}
	for i := range t.banks {
		t.cursor[i].Store(0)
	}
	return true
}

func (s *search[P]) look(t *Table[P], slot *slot) {
	word := slot.word.Load()
	if !Live(word) {
		return
	}
	at := t.instant(s.now)
	c := candidate[P]{t: t, slot: slot, word: word, idleAt: s.m.kernel.IdleAt(&t.Params, word)}
	if c.idleAt <= at && s.m.evictIdle(t, slot, word, at) {
		s.idle++
		return
	}
	if s.fullest.t == nil || c.idleAt < s.fullest.idleAt {
		s.fullest = c
	}
	if s.youngest.t == nil || c.idleAt > s.youngest.idleAt {
		s.youngest = c
	}
}

// evictIdle takes an idle key off the map where it is. The word stays, so whoever comes late finds it as it was.
func (m *Map[P]) evictIdle(t *Table[P], s *slot, word uint64, at int64) bool {
	t.raise(at) // first, because a call that finds the word dead goes on from it at the mark, or later
	return m.retire(t, word, at) && s.word.CompareAndSwap(word, word|evicted)
}

// evict takes the fullest key that the search has seen off the map; among equals the youngest. If even the fullest is
// being refused, fullness tells nothing any more: then the youngest goes, so that a flood of new keys replaces itself
// and not the clients that are held back.
func (s *search[P]) evict() bool {
	c := s.fullest
	if c.t == nil {
		return false
	}
	newest := s.m.newestLive()
	refused := s.m.refused(&c, s.now)
	switch {
	case newest.t != nil && (refused || newest.idleAt <= c.idleAt):
		c = newest
	case refused:
		c = s.youngest
	}
	refused = s.m.refused(&c, s.now)
	if !c.slot.word.CompareAndSwap(c.word, evicted|full) {
		return false
	}
	s.m.evicted.Add(1)
	if refused {
		s.m.limited.Add(1)
	}
	s.m.release(c.t, c.word)
	return true
}

func (m *Map[P]) refused(c *candidate[P], now int64) bool {
	return m.kernel.Limited(&c.t.Params, c.word, min(c.t.instant(now), c.t.horizon))
}

// recent is a hint of which keys came last: their hashes, the caller's and the one in the key's space.
type recent struct {
	n    atomic.Uint32
	keys [16]struct{ plain, local atomic.Uint64 }
}

func (r *recent) note(plain, local uint64) {
	k := &r.keys[r.n.Add(1)%uint32(len(r.keys))]
	k.plain.Store(plain)
	k.local.Store(local)
}

// newestLive returns the live slot of the key that came last, as far as is known.
func (m *Map[P]) newestLive() (c candidate[P]) {
	n := m.newest.n.Load()
	for i := range uint32(len(m.newest.keys)) {
		k := &m.newest.keys[(n-i)%uint32(len(m.newest.keys))]
		if c = m.liveByHash(k.plain.Load(), k.local.Load()); c.t != nil {
			break
		}
	}
	return c
}

// liveByHash looks for a live slot by its hashes. They may be wrong, and the table may be moving: it's for a hint.
func (m *Map[P]) liveByHash(plain, local uint64) (c candidate[P]) {
	t := m.top.dir.Load().at(plain).Load()
	hash := plain
	for t.under != nil {
		if t.under.keyed {
			hash = local
		}
		t = t.under.dir.Load().at(t.under.path(hash)).Load()
	}
	for next := t.next.Load(); next != nil; next = t.next.Load() {
		t = next.child(t.space.path(hash), t.depth)
		if hash = plain; t.space.keyed {
			hash = local
		}
	}
	var buf keyBuf
	for i := range t.banks {
		b := &t.banks[i]
		for p := b.start(hash); !p.over(b); p.advance(b) {
			s := b.at(p.place)
			if ctrl := s.ctrl.Load(); ctrl == empty || ctrl == sealed {
				break
			}
			m.work(1)
			if word := s.word.Load(); Live(word) && m.hashIn(t.space, t.key(s, &buf)) == hash {
				return candidate[P]{t, s, word, m.kernel.IdleAt(&t.Params, word)}
			}
		}
	}
	return c
}
