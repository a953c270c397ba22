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
	ctrl, w0, w1, ok := pack(key)
	if !ok {
		return m.findLong(t, hash, key)
	}
	s := &t.slots[t.home(hash)<<t.shift]
	if s.ctrl.Load() == ctrl && s.w0.Load() == w0 && s.w1.Load() == w1 {
		return &s.word, t
	}
	return m.findFar(t, hash, key, ctrl, w0, w1)
}

func (m *Map[P]) findFar(t *Table[P], hash uint64, key string, ctrl, w0, w1 uint64) (*atomic.Uint64, *Table[P]) {
	for p := t.start(hash); !p.over(&t.shape); p.advance(&t.shape) {
		s := &t.slots[p.slot]
		switch s.ctrl.Load() {
		case ctrl:
			if s.w0.Load() == w0 && s.w1.Load() == w1 {
				return &s.word, t
			}
		case empty, sealed:
			return m.findBelow(t, hash, key)
		}
	}
	return nil, nil
}

func (m *Map[P]) findLong(t *Table[P], hash uint64, key string) (*atomic.Uint64, *Table[P]) {
	ctrl := long | hash&tail
	for p := t.start(hash); !p.over(&t.shape); p.advance(&t.shape) {
		s := &t.slots[p.slot]
		switch s.ctrl.Load() {
		case ctrl:
			if ref := s.w0.Load(); ref != 0 && t.arena.get(ref) == key {
				return &s.word, t
			}
		case empty, sealed:
			return m.findBelow(t, hash, key)
		}
	}
	return nil, nil
}

// findBelow goes on from a stem.
func (m *Map[P]) findBelow(t *Table[P], hash uint64, key string) (*atomic.Uint64, *Table[P]) {
	if t.under == nil {
		return nil, nil
	}
	id := identify(key, hash)
	for t.under != nil {
		s := t.under
		m.cross(&id, s)
		t = s.dir.Load().at(s.path(id.hash)).Load()
	}
	if s, r := t.seek(&id, look); r == found {
		return &s.word, t
	}
	return nil, nil
}

// Prefetch fetches the line that Find will want.
func (m *Map[P]) Prefetch(hash uint64) {
	if d := m.top.dir.Load(); d != nil {
		t := d.at(hash).Load()
		prefetch(unsafe.Pointer(&t.slots[t.home(hash)<<t.shift]))
	}
}
