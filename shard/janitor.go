package shard

import (
	"math"
	"sync/atomic"
	"time"
	"weak"
)

// The janitor gives memory back when nobody calls. It is a timer, not a goroutine, and it holds the map by a weak
// pointer, so a map dropped is collected with no Close. It is armed only while keys are held.
type janitor struct {
	armed atomic.Bool
	idle  idleBound

	// Owned by the armed one.
	first int64  // the time of the call that armed it
	path  uint64 // the lap has come so far
	steps int    // of the lap
	quiet int    // ticks since the last lap
}

const (
	tick       = time.Second
	pause      = 5 * time.Millisecond // between the steps of a lap
	stepTables = 16                   // tables swept in a step
	rest       = 3                    // pauses after a lap for each of its steps, at least
	mostQuiet  = 60                   // ticks after which a lap is made in any case
	skew       = uint64(time.Minute)  // by which callers' times may differ from the clock's
)

// arm starts the janitor, if it isn't running, because of a key created at now that is idle at idleAt.
func (m *Map[P]) arm(now, idleAt int64) {
	j := &m.janitor
	j.idle.lower(idleAt)
	if m.now == nil || j.armed.Load() || !j.armed.CompareAndSwap(false, true) {
		return
	}
	j.first = now
	m.schedule(tick)
}

func (m *Map[P]) schedule(d time.Duration) {
	w := weak.Make(m)
	time.AfterFunc(d, func() {
		if m := w.Value(); m != nil {
			m.tidy()
		}
	})
}

// tidy is one turn of the janitor: it waits on, or does a step of a lap over all tables.
func (m *Map[P]) tidy() {
	j := &m.janitor
	now := m.now()
	if ahead(m.born, j.first) > skew || ahead(j.first, now) > skew {
		// Callers bring times of their own, of a simulation say. The clock knows nothing of them; a mark does.
		now = m.someMark()
	}
	if j.steps == 0 {
		if j.quiet++; now < j.idle.load() && m.held.Load() > 0 && j.quiet < mostQuiet {
			m.schedule(tick)
			return
		}
		j.idle.begin()
	}
	more := true
	for i := 0; i < stepTables && more; i++ {
		j.path, more = m.visit(&m.top, j.path, func(t *Table[P]) bool {
			j.idle.lower(m.sweepTable(t, now))
			return false
		})
	}
	j.steps++
	if more {
		m.schedule(pause)
		return
	}
	j.idle.end()
	wait := max(tick, rest*pause*time.Duration(j.steps))
	j.path, j.steps, j.quiet = 0, 0, 0
	if m.held.Load() == 0 {
		j.armed.Store(false)
		if m.held.Load() == 0 || !j.armed.CompareAndSwap(false, true) { // else a key came before that, and did not arm
			return
		}
	}
	m.schedule(wait)
}

// someMark returns the mark of a table with keys; a stem has none.
func (m *Map[P]) someMark() int64 {
	t := m.top.dir.Load().at(0).Load()
	for t.under != nil {
		t = t.under.dir.Load().at(0).Load()
	}
	return t.mark.Load()
}

// ahead returns how far a is ahead of b, whatever they are.
func ahead(a, b int64) uint64 {
	if a <= b {
		return 0
	}
	return uint64(a) - uint64(b)
}

// idleBound is an instant before which no key is idle. Whatever makes a key, or makes it idle earlier, lowers it; a lap
// over all keys raises it. There are two, so that a lap can find the next while the last is in force.
type idleBound struct {
	bounds [2]atomic.Int64
	active atomic.Uint32
}

func (b *idleBound) load() int64 { return b.bounds[b.active.Load()].Load() }

// lower notes that a key is idle at an instant. The key's word comes first: a lap that doesn't see it has begun before,
// and is lowered here.
func (b *idleBound) lower(idleAt int64) {
	for i := range b.bounds {
		for {
			old := b.bounds[i].Load()
			if old <= idleAt || b.bounds[i].CompareAndSwap(old, idleAt) {
				break
			}
		}
	}
}

// begin starts a lap, and end puts what it has found in force.
func (b *idleBound) begin() { b.bounds[1-b.active.Load()].Store(math.MaxInt64) }
func (b *idleBound) end()   { b.active.Store(1 - b.active.Load()) }
