package shard

import (
	"fmt"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/cespare/xxhash/v2"
)

// validate walks a map at rest and checks every invariant of its structure. It returns the keys held.
func validate(t testing.TB, m *Map[tokens]) map[string]bool {
	t.Helper()
	v := validator{m: m, live: map[string]bool{}, seen: map[string]bool{}, tables: map[*Table[tokens]]bool{}}
	if m.top.dir.Load() != nil {
		m.walk(&m.top, func(tb *Table[tokens]) bool { m.settle(tb); return false })
		v.space(&m.top)
	}
	if n := m.held.Load(); int(n) != len(v.live) {
		v.fault("Len is %d, live slots are %d", n, len(v.live))
	}
	if m.maxKeys > 0 && m.held.Load() > m.maxKeys {
		v.fault("%d keys held, at most %d allowed", m.held.Load(), m.maxKeys)
	}
	for _, f := range v.faults {
		t.Error(f)
	}
	if v.faults != nil {
		t.FailNow()
	}
	return v.live
}

type validator struct {
	m      *Map[tokens]
	live   map[string]bool
	seen   map[string]bool // keys with a slot
	tables map[*Table[tokens]]bool
	faults []string
}

func (v *validator) fault(format string, args ...any) {
	if len(v.faults) < 10 {
		v.faults = append(v.faults, fmt.Sprintf(format, args...))
	}
}

func (v *validator) space(s *space[tokens]) {
	d := s.dir.Load()
	if len(d.entries) != 1<<d.depth || d.depth > v.m.limits.depth {
		v.fault("directory of depth %d with %d entries", d.depth, len(d.entries))
	}
	for i := range d.entries {
		tb := d.entries[i].Load()
		if tb.space != s {
			v.fault("entry %d shows a table of another space", i)
		}
		if tb.depth > d.depth {
			v.fault("entry %d of depth %d shows a table of depth %d", i, d.depth, tb.depth)
		}
		if tb.depth > 0 && (tb.path^d.start(i))>>(64-tb.depth) != 0 {
			v.fault("entry %d (path %x) shows a table of path %x, depth %d", i, d.start(i), tb.path, tb.depth)
		}
		switch {
		case v.tables[tb]:
		case tb.under != nil:
			if tb.under.stem != tb || tb.done.Load() {
				v.fault("entry %d shows a wrong stem", i)
			}
			v.space(tb.under)
		default:
			v.table(tb)
		}
		v.tables[tb] = true
	}
}

func (v *validator) table(tb *Table[tokens]) {
	if tb.done.Load() || tb.next.Load() != nil || tb.from.Load() != nil {
		v.fault("a table at rest is moving")
	}
	if mark := tb.mark.Load(); tb.floor > mark || mark > tb.horizon-markStep || tb.horizon > Horizon || tb.Params.epoch != tb.floor {
		v.fault("floor %d, epoch %d, mark %d, horizon %d", tb.floor, tb.Params.epoch, mark, tb.horizon)
	}
	for i := range tb.banks {
		b, keys := &tb.banks[i], 0
		if uintptr(unsafe.Pointer(b.first))%128 != 0 || (b.first == nil) != (b.places == 0) {
			v.fault("slots at %p, %d homes", b.first, b.homes())
		}
		for j := range b.places {
			s := b.at(j)
			switch used := s.ctrl.Load() != empty; {
			case j%b.step == 0 && used:
				keys++
				v.slot(tb, s, i)
			case j%b.step == 1 && i == wide && b.at(j-1).ctrl.Load() != empty:
			case used || s.word.Load() != 0 || s.w0.Load() != 0 || s.w1.Load() != 0:
				v.fault("place %d is empty but not zero, or should not be in use", j)
			}
		}
		if n := tb.count()[i]; keys > n || n > 0 && (n >= b.size() || int(tb.limit[i]) >= b.size()) {
			v.fault("bank %d: %d slots have keys, %d are claimed, limit %d, size %d", i, keys, n, tb.limit[i], b.size())
		}
	}
	if tb.size() > 2*v.m.limits.slots {
		v.fault("a table of %d slots", tb.size())
	}
}

func (v *validator) slot(tb *Table[tokens], s *slot, bank int) {
	ctrl, word := s.ctrl.Load(), s.word.Load()
	if ctrl == sealed || word&frozen != 0 {
		v.fault("a slot of a table at rest: ctrl %x, word %x", ctrl, word)
		return
	}
	var buf keyBuf
	key := string(tb.key(s, &buf))
	if v.seen[key] {
		v.fault("(I2) key %q has two slots", key)
	}
	v.seen[key] = true
	hash := xxhash.Sum64String(key) &^ v.m.dull
	id := identify(key, hash)
	v.m.cross(&id, tb.space)
	if id.bank != bank {
		v.fault("key %q is in bank %d", key, bank)
	}
	if tb.depth > 0 && (tb.space.path(id.hash)^tb.path)>>(64-tb.depth) != 0 {
		v.fault("key %q of path %x is in a table of path %x, depth %d", key, tb.space.path(id.hash), tb.path, tb.depth)
	}
	if got, r := tb.seek(&id, look); r != found || got != s {
		v.fault("key %q is in slot %p, but the search ends with %d at %p", key, s, r, got)
	}
	var w *atomic.Uint64
	if w, _ = v.m.Find(hash, key); w != &s.word {
		v.fault("Find doesn't find key %q", key)
	}
	if Live(word) {
		v.live[key] = true
		if word > uint64(tb.Params.v(tb.horizon)) {
			v.fault("word %x of key %q is out of range", word, key)
		}
	}
}
