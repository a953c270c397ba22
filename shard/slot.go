package shard

import (
	"sync/atomic"
	"unsafe"
)

// slot is half a cache line: a key and its word. ctrl goes from empty to a key or to sealed, and stays; w0 and w1 go
// from 0 to a key's words, and stay. So a slot never changes its key.
type slot struct {
	word, w0, w1, ctrl atomic.Uint64
}

var _ [32]byte = [unsafe.Sizeof(slot{})]byte{}

// ident is a key on its way through tables.
type ident struct {
	key          string
	plain        uint64 // the hash the caller brought
	hash         uint64 // in the space at hand
	ctrl, w0, w1 uint64 // as pack has them; for a long key ctrl holds the tag of hash, w0 and w1 nothing
	long         bool
}

func identify(key string, hash uint64) ident {
	id := ident{key: key, plain: hash, hash: hash}
	var ok bool
	id.ctrl, id.w0, id.w1, ok = pack(key)
	if id.long = !ok; id.long {
		id.ctrl, id.w0, id.w1 = long|hash&tail, 0, 0
	}
	return id
}

// rehash takes hash for the key's, in another space.
func (id *ident) rehash(hash uint64) {
	id.hash = hash
	if id.long {
		id.ctrl = long | hash&tail
	}
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
// A claim goes word by word: ctrl, w0, w1, each decided by a CAS from 0. Whoever finds a word decided otherwise goes on
// to the next slot; whoever finds it decided as its own goes on with it, whoever did it. So nobody waits for a slot half
// written by a goroutine that was descheduled, and two claims of one key end in one slot.
func (t *Table[P]) seek(id *ident, to intent) (*slot, sight) {
	for p := t.start(id.hash); !p.over(&t.shape); p.advance(&t.shape) {
		s := &t.slots[p.slot]
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
			case p.homes > t.space.patience:
				return nil, crowded
			case !t.claim():
				return nil, tight
			case s.ctrl.CompareAndSwap(empty, id.ctrl):
				mine = true
			default:
				t.unclaim()
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
			if r = t.mayDecide(to, mine); r != found {
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
	for i, want := range [2]uint64{id.w0, id.w1} {
		if want == 0 {
			break
		}
		w := &s.w0
		if i == 1 {
			w = &s.w1
		}
		got := w.Load()
		if got == 0 {
			if r = t.mayDecide(to, mine); r != found {
				return r
			}
			w.CompareAndSwap(0, want)
			got = w.Load()
		}
		if got != want {
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
func (t *Table[P]) mayDecide(to intent, mine bool) sight {
	switch {
	case mine || t.next.Load() != nil:
		return found
	case to == look:
		return absent
	case !t.claim():
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
func (t *Table[P]) key(s *slot, buf *[24]byte) []byte {
	ctrl := s.ctrl.Load()
	if ctrl&long != 0 {
		key := t.arena.get(s.w0.Load())
		return unsafe.Slice(unsafe.StringData(key), len(key))
	}
	return buf[:unpack(buf, ctrl, s.w0.Load(), s.w1.Load())]
}
