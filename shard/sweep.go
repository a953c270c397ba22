package shard

import (
	"math"
	"unsafe"
)

// Sweep evicts every key that is idle at now (ns), and gives back the memory that is no longer needed. It returns how
// many keys were evicted meanwhile, by other calls too.
func (m *Map[P]) Sweep(now int64) int {
	before := m.evicted.Load()
	m.walk(&m.top, func(t *Table[P]) bool {
		m.sweepTable(t, now)
		return false
	})
	return int(m.evicted.Load() - before)
}

// sweepTable evicts the idle keys of t, and shrinks it and joins it with its neighbour if that leaves it too large. It
// returns when the next key of t is idle.
func (m *Map[P]) sweepTable(t *Table[P], now int64) (next int64) {
	m.settle(t)
	at := t.instant(now)
	next = math.MaxInt64
	var live load
	gone := 0
	for i := range t.banks {
		for j := range t.banks[i].size() {
			s := t.banks[i].slot(j)
			word := s.word.Load()
			state := payload(word)
			if state == 0 || word&evicted != 0 {
				continue
			}
			idleAt := m.kernel.IdleAt(&t.Params, state)
			if idleAt <= at && Live(word) && m.evictIdle(t, s, word, at) {
				gone++
				continue
			}
			live.keys[i]++ // frozen ones too: they are on their way
			next = min(next, idleAt)
		}
	}
	m.held.Add(int64(-gone))
	m.evicted.Add(uint64(gone))
	m.shrink(t, live, now)
	return next
}

// shrink moves t, of which so many keys are live, if most of its keys are dead or its slots empty, and unites it with
// its neighbours as long as they are small enough.
func (m *Map[P]) shrink(t *Table[P], live load, now int64) {
	// The first move leaves the dead keys behind, but must keep room for all. Then it is known how little is needed.
	for range 2 {
		if n := t.count(); n[small] <= 2*live.keys[small] && n[wide] <= 2*live.keys[wide] && t.size() < 2*max(live.size(), minSlots) {
			break
		}
		m.move(t, now)
		if t = t.heir(); t == nil {
			return
		}
	}
	for m.unite(t, now) {
		if t = t.heir(); t == nil {
			return
		}
	}
}

// heir returns the one table that came after t; nil if it was two.
func (t *Table[P]) heir() *Table[P] {
	if next := t.next.Load(); next.b == nil {
		return next.a
	}
	return nil
}

// unite merges t with its neighbour if half of the largest table has room for both, or moves it up if it is all that is
// left of its space.
func (m *Map[P]) unite(t *Table[P], now int64) bool {
	m.flatten(t.space)
	d := t.space.dir.Load()
	if t.next.Load() != nil {
		return false
	}
	if d.depth == 0 {
		if t.space.stem == nil || d.at(0).Load() != t || t.count()[small]+t.count()[wide] > surfaced {
			return false
		}
		m.surface(t, now)
		return true
	}
	if t.depth == 0 || !d.shows(t) {
		return false
	}
	b := d.at(t.path ^ 1<<(64-t.depth)).Load()
	if b.depth != t.depth || b.under != nil || b.next.Load() != nil || !d.shows(b) {
		return false
	}
	sum := load{keys: t.count()}
	if sum.add(load{keys: b.count()}); 2*sum.size() > m.limits.slots {
		return false
	}
	m.merge(t, b, now)
	return t.next.Load() != nil
}

// SetParams puts every key under p, table by table, from the instant now (ns) on. It returns when all are moved.
func (m *Map[P]) SetParams(p P, now int64) {
	r := &rule[P]{params: p}
	for {
		old := m.rule.Load()
		r.gen = old.gen + 1
		if m.rule.CompareAndSwap(old, r) {
			break
		}
	}
	if m.top.dir.Load() == nil {
		// Because a first table of the old params may be under way, and must not be planted after this returns. It has no
		// floor, so that callers' times begin where they like.
		m.top.plant(m.first(math.MinInt64))
	}
	m.renew(r, now)
	m.janitor.idle.lower(math.MinInt64)
}

// renew moves the tables that are under an older rule than r.
func (m *Map[P]) renew(r *rule[P], now int64) {
	m.walk(&m.top, func(t *Table[P]) bool {
		if t.rule.gen >= r.gen {
			return false
		}
		m.move(t, now)
		return true
	})
}

// Reset makes the key as if never seen.
func (m *Map[P]) Reset(hash uint64, key string) {
	if len(key) > maxKey {
		return
	}
	id := identify(key, hash)
	t := m.enter(&id)
	if t == nil {
		return
	}
	for {
		s, r := t.seek(&id, look)
		if r == absent {
			return
		}
		if r == found {
			word := s.word.Load()
			moving := t.next.Load() != nil
			switch state := payload(word); {
			case word&frozen == 0 && (state > full || Live(word)):
				if !s.word.CompareAndSwap(word, evicted|full) {
					continue
				}
				if Live(word) {
					m.held.Add(-1)
					m.reset.Add(1)
				}
				m.release(t, state)
				return
			case !moving:
				return
			}
			m.help(t, s)
		}
		t = m.follow(t, &id)
	}
}

// Stats returns what the map holds, and what it has done so far.
func (m *Map[P]) Stats() Stats {
	limited := m.limited.Load() // before evicted, because an eviction is counted there first
	s := Stats{
		Keys:             m.Len(),
		Evicted:          m.evicted.Load(),
		EvictedLimited:   limited,
		DeniedNew:        m.denied.Load(),
		AllowedUntracked: m.untracked.Load(),
	}
	s.Created = uint64(s.Keys) + s.Evicted + m.reset.Load()
	s.Bytes = m.bytes(&m.top)
	return s
}

// bytes returns the memory of s: directory, tables, keys, and the spaces below.
func (m *Map[P]) bytes(s *space[P]) (n int64) {
	d := s.dir.Load()
	if d == nil {
		return 0
	}
	n = int64(len(d.entries)) * int64(unsafe.Sizeof(d.entries[0]))
	var last *Table[P]
	for i := range d.entries {
		t := d.entries[i].Load()
		if t == last {
			continue
		}
		last = t
		n += int64(unsafe.Sizeof(*t))
		if t.under != nil {
			n += m.bytes(t.under)
		} else {
			n += int64(t.banks[small].places+t.banks[wide].places)*int64(unsafe.Sizeof(slot{})) + int64(t.arena.size())
		}
	}
	return n
}
