// The clocks that a transaction reads, each once.

package ratelimit

// timed is a Reversible whose time can be given from outside.
type timed interface {
	Reversible
	timeline() Clock // nil if none of its parts takes a time
	peekAt(key string, n, now int64) Decision
	TakeAt(key string, n, now int64) Decision
}

// timed returns l and the time to give it, if it takes one.
func (t *transaction) timed(l Reversible) (timed, int64, bool) {
	local, ok := l.(timed)
	if !ok {
		return nil, 0, false
	}
	clock := local.timeline()
	if clock == nil {
		return nil, 0, false
	}
	if t.given {
		return local, t.times[0].now, true
	}
	if !canCompare(clock) {
		return local, clock.NanoTime(), true
	}
	for i := range t.times {
		seen := &t.times[i]
		if seen.clock == nil {
			seen.clock, seen.now = clock, clock.NanoTime()
		}
		if seen.clock == clock {
			return local, seen.now, true
		}
	}
	return local, clock.NanoTime(), true
}

// counted notes that l, called at now, counted at the instant at.
func (t *transaction) counted(l timed, at, now int64) {
	if !t.oneInstant || at <= now {
		return
	}
	t.moved = true
	if t.given {
		t.times[0].now = at
		return
	}
	if clock := l.timeline(); canCompare(clock) {
		for i := range t.times {
			if t.times[i].clock == clock {
				t.times[i].now = at
			}
		}
	}
}

// setTime makes now the time of clock, which is all claims' that take one; nil: no claim does.
func (t *transaction) setTime(clock Clock, now int64) {
	t.given, t.times[0].clock, t.times[0].now = clock != nil, clock, now
}

func isTimed(l Reversible) bool {
	_, ok := l.(timed)
	return ok
}
