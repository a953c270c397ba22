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
	armed   atomic.Bool
	soonest atomic.Int64 // no key is idle before this instant, save by a refund

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
	skew       = int64(time.Minute)   // by which callers' times may differ from the clock's
)

// arm starts the janitor, if it isn't running, because of a key created at now that is idle at idleAt.
func (m *Map[P]) arm(now, idleAt int64) {
	j := &m.janitor
	j.expect(idleAt)
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
	if j.first < m.born-skew || j.first > now+skew {
		// Callers bring times of their own, of a simulation say. The clock knows nothing of them; a mark does.
		now = m.top.dir.Load().at(0).Load().mark.Load()
	}
	if j.steps == 0 {
		if j.quiet++; now < j.soonest.Load() && m.held.Load() > 0 && j.quiet < mostQuiet {
			m.schedule(tick)
			return
		}
		j.soonest.Store(math.MaxInt64) // before the lap, because keys created during it lower it again
	}
	more := true
	for i := 0; i < stepTables && more; i++ {
		j.path, more = m.visit(&m.top, j.path, func(t *Table[P]) bool {
			j.expect(m.sweepTable(t, now))
			return false
		})
	}
	j.steps++
	if more {
		m.schedule(pause)
		return
	}
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

// expect notes that a key is idle at an instant.
func (j *janitor) expect(idleAt int64) {
	for {
		old := j.soonest.Load()
		if old <= idleAt || j.soonest.CompareAndSwap(old, idleAt) {
			return
		}
	}
}
