package shard

import (
	"sync/atomic"
	"unsafe"
)

// slot is half a cache line: a key and its word. ctrl goes from empty to a key or to sealed, and stays; the key's other
// words go from 0 to their values, and stay. So a slot never changes its key. In the wide bank a slot's key goes on in
// the next half.
type slot struct {
	word, w0, w1, ctrl atomic.Uint64
}

var _ [placeBytes]byte = [unsafe.Sizeof(slot{})]byte{}

// key returns the word i of the key: w0, w1, then the four of the next half.
func (s *slot) key(i int) *atomic.Uint64 {
	switch i {
	case 0:
		return &s.w0
	case 1:
		return &s.w1
	}
	return &(*[8]atomic.Uint64)(unsafe.Pointer(s))[i+2]
}

// sight is what a search in one table has found.
type sight uint8

const (
	found   sight = iota // the key's slot
	absent               // not here, and the table isn't moving
	passed               // not here, and never again: the next table has it or gets it
	tight                // not here, and no slot may be claimed any more
	crowded              // not here, and the way to an empty slot is suspiciously long
)

// intent is what a search may do about a key that is absent.
type intent uint8

const (
	look  intent = iota // nothing
	claim               // claim a slot for it
	carry               // take a slot for it, out of the room kept for words carried in
)

// seek looks for the key's slot, and claims one if the key is absent and it is asked to.
//
// A claim goes word by word, ctrl first, each decided by a CAS from 0. Whoever finds a word decided otherwise goes on to
// the next slot; whoever finds it decided as its own goes on with it, whoever did it. So nobody waits for a slot half
// written by a goroutine that was descheduled, and two claims of one key end in one slot.
func (t *Table[P]) seek(id *ident, to intent) (*slot, sight) {
	b := &t.banks[id.bank]
	if b.places == 0 { // no slot, hence none to seal either
		switch {
		case t.next.Load() != nil:
			return nil, passed
		case to == look:
			return nil, absent
		}
		return nil, tight
	}
	for p := b.start(id.hash); !p.over(b); p.advance(b) {
		s := b.at(p.place)
		mine := to == carry // the slot is counted as claimed on this call's behalf
		ctrl := s.ctrl.Load()
		for ctrl == empty {
			switch {
			case t.next.Load() != nil: // after ctrl was loaded, because empty means absent only while nothing comes next
				if to == carry {
					return nil, passed // the table before this one was done long ago
				}
				s.ctrl.CompareAndSwap(empty, sealed)
			case to == look:
				return nil, absent
			case to == carry:
				s.ctrl.CompareAndSwap(empty, id.ctrl)
			case p.homes*(homePlaces/b.step) > t.space.patience:
				return nil, crowded
			case !t.claim(id.bank):
				return nil, tight
			case s.ctrl.CompareAndSwap(empty, id.ctrl):
				mine = true
			default:
				t.unclaim(id.bank)
			}
			ctrl = s.ctrl.Load()
		}
		if ctrl == sealed {
			return nil, passed
		}
		if ctrl == id.ctrl {
			if r := t.decide(s, id, to, mine); r != passed {
				return s, r
			}
		}
	}
	return nil, passed
}

// decide settles whose slot s is, its ctrl being id's: found, or passed if it is another key's.
func (t *Table[P]) decide(s *slot, id *ident, to intent, mine bool) (r sight) {
	if id.long {
		ref := s.w0.Load()
		if ref == 0 {
			if r = t.mayDecide(id, to, mine); r != found {
				return r
			}
			s.w0.CompareAndSwap(0, t.arena.put(id.key)) // the bytes first, because the word publishes them
			ref = s.w0.Load()
		}
		if t.arena.get(ref) != id.key {
			return passed
		}
		return found
	}
	for i := range id.n {
		w := s.key(i)
		got := w.Load()
		if got == 0 {
			if r = t.mayDecide(id, to, mine); r != found {
				return r
			}
			w.CompareAndSwap(0, id.words[i])
			got = w.Load()
		}
		if got != id.words[i] {
			return passed
		}
	}
	return found
}

// mayDecide answers found if an undecided word of a slot whose ctrl fits may be decided.
//
//   - A mere look needs not: the key can't be further on, because whoever brought it would have decided the word.
//   - In a table that moves even a look must: if another key took the word later, the key's own claim would go on past
//     those who have looked here.
//   - A slot that somebody else claimed needs a claim of one's own: the other one, if sent on, claims another slot. One
//     claim too many is harmless, one too few is not, because room is kept by them.
func (t *Table[P]) mayDecide(id *ident, to intent, mine bool) sight {
	switch {
	case mine || t.next.Load() != nil:
		return found
	case to == look:
		return absent
	case !t.claim(id.bank):
		return tight
	}
	return found
}

// place carries a word into t, the next of a table that moves. If it isn't there afterwards, the move was over, and the
// word carried, long ago.
func (t *Table[P]) place(id *ident, word uint64) {
	if s, r := t.seek(id, carry); r == found {
		s.word.CompareAndSwap(0, word) // never a plain store, because a slow helper must not undo a newer charge
	}
}

// key returns the key of a slot whose words are decided; buf holds it if it stood in the slot.
func (t *Table[P]) key(s *slot, buf *keyBuf) []byte {
	ctrl := s.ctrl.Load()
	if ctrl&long != 0 {
		key := t.arena.get(s.w0.Load())
		return unsafe.Slice(unsafe.StringData(key), len(key))
	}
	return buf.unpack(ctrl, s)
}
