package shard

import (
	"sync/atomic"
	"unsafe"
)

// Find returns the word of a held key, and the table it is counted in. nil: the key isn't held, or its table is moving;
// Update knows. The word may have been frozen or evicted meanwhile: act on it only while it is Live.
func (m *Map[P]) Find(hash uint64, key string) (*atomic.Uint64, *Table[P]) {
	d := m.top.dir.Load()
	if d == nil {
		return nil, nil
	}
	t := d.at(hash).Load()
	if n := len(key); n >= 16 && n <= smallMax {
		// identify and the first slot of the walk, written out for most keys.
		b := &t.banks[small]
		ctrl, w0, w1 := uint64(n+1)<<kindShift|load64(key, n-8)>>8, load64(key, 0), load64(key, 8)
		s := b.at(b.home(hash))
		if s.ctrl.Load() == ctrl && s.w0.Load() == w0 && s.w1.Load() == w1 && w0 != 0 && w1 != 0 {
			return &s.word, t
		}
		if s = b.walk(hash, ctrl, w0, w1); s != nil && w0 != 0 && w1 != 0 {
			return &s.word, t
		}
		if t.under == nil && w0 != 0 && w1 != 0 {
			return nil, nil
		}
	} else if n > smallMax && n < 40 && t.banks[wide].places != 0 {
		b := &t.banks[wide]
		i := b.home(hash)
		s, more := b.at(i), b.at(i+1)
		ctrl, w0, w1, w2, w3 := uint64(n+1)<<kindShift|load64(key, n-8)>>8, load64(key, 0), load64(key, 8), load64(key, 16), uint64(0)
		decided := w0 != 0 && w1 != 0 && w2 != 0
		if n >= 32 {
			w3 = load64(key, 24)
			decided = decided && w3 != 0
		}
		if s.ctrl.Load() == ctrl && s.w0.Load() == w0 && s.w1.Load() == w1 && more.word.Load() == w2 && more.w0.Load() == w3 && decided {
			return &s.word, t
		}
		if s = b.walkWide(hash, ctrl, w0, w1, w2, w3); s != nil && decided {
			return &s.word, t
		}
		if t.under == nil && decided {
			return nil, nil
		}
	}
	return m.find(t, hash, key)
}

// walk returns the slot with such a ctrl and words, nil if there is none.
func (b *bank) walk(hash, ctrl, w0, w1 uint64) *slot {
	for p := b.start(hash); !p.over(b); p.advance(b) {
		s := b.at(p.place)
		switch s.ctrl.Load() {
		case ctrl:
			if s.w0.Load() == w0 && s.w1.Load() == w1 {
				return s
			}
		case empty, sealed:
			return nil
		}
	}
	return nil
}

// walkWide is walk in the wide bank.
func (b *bank) walkWide(hash, ctrl, w0, w1, w2, w3 uint64) *slot {
	for p := b.start(hash); !p.over(b); p.advance(b) {
		s, more := b.at(p.place), b.at(p.place+1)
		switch s.ctrl.Load() {
		case ctrl:
			if s.w0.Load() == w0 && s.w1.Load() == w1 && more.word.Load() == w2 && more.w0.Load() == w3 {
				return s
			}
		case empty, sealed:
			return nil
		}
	}
	return nil
}

// find is Find for any key.
func (m *Map[P]) find(t *Table[P], hash uint64, key string) (*atomic.Uint64, *Table[P]) {
	id := identify(key, hash)
	b := &t.banks[id.bank]
	for p := b.start(hash); !p.over(b); p.advance(b) {
		s := b.at(p.place)
		switch s.ctrl.Load() {
		case id.ctrl:
			if t.holds(s, &id) {
				return &s.word, t
			}
		case empty, sealed:
			return m.findBelow(t, &id)
		}
	}
	return m.findBelow(t, &id)
}

// holds tells whether the slot s, whose ctrl is id's, has id's key.
func (t *Table[P]) holds(s *slot, id *ident) bool {
	if id.long {
		ref := s.w0.Load()
		return ref != 0 && t.arena.get(ref) == id.key
	}
	for i := range id.n {
		if s.key(i).Load() != id.words[i] {
			return false
		}
	}
	return true
}

// findBelow goes on from a stem.
func (m *Map[P]) findBelow(t *Table[P], id *ident) (*atomic.Uint64, *Table[P]) {
	if t.under == nil {
		return nil, nil
	}
	for t.under != nil {
		s := t.under
		m.cross(id, s)
		t = s.dir.Load().at(s.path(id.hash)).Load()
	}
	if s, r := t.seek(id, look); r == found {
		return &s.word, t
	}
	return nil, nil
}

// Prefetch fetches the lines in which Find will most probably find a key of n bytes: those of its first home.
func (m *Map[P]) Prefetch(hash uint64, n int) {
	if d := m.top.dir.Load(); d != nil && d.depth > 0 { // a single table stays in the caches anyway
		prefetchHome(&d.at(hash).Load().banks, hash, n)
	}
}

// PrefetchAll is Prefetch for several keys. It does nothing else, so that a processor gets through the loop while the
// first lines, and the page tables on the way to them, are still coming.
func (m *Map[P]) PrefetchAll(hashes []uint64, keys []string) {
	if d := m.top.dir.Load(); d != nil && d.depth > 0 {
		for i, hash := range hashes {
			prefetchHome(&d.at(hash).Load().banks, hash, len(keys[i]))
		}
	}
}

func prefetchHome(banks *[2]bank, hash uint64, n int) {
	b := &banks[small]
	if n > smallMax && n <= wideMax {
		if b = &banks[wide]; b.places == 0 {
			return
		}
	}
	place := b.home(hash)
	prefetch(unsafe.Pointer(b.at(place)))
	prefetch(unsafe.Pointer(b.at(place ^ homePlaces/2)))
}
