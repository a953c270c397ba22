package window

import "math"

// What a map asks of the kernel behind its words.

// Rebase returns the same rule for a table with that floor.
func (l *Log) Rebase(p *LogParams, floor int64) LogParams {
	q := *p
	q.floor = floor
	return q
}

// Horizon returns the last instant, in ns, that a table of this floor can tell. A ring has a
// base of its own, and instants that are too late even for that count as the last one.
func (l *Log) Horizon(*LogParams) int64 { return math.MaxInt64 }

// IdleAt returns the first instant at which the key is as if never seen. Of a key that is
// under a rule that p's table has missed it knows nothing, and says never.
func (l *Log) IdleAt(p *LogParams, word uint64) int64 {
	r, p, verdict := l.find(p, word)
	switch verdict {
	case LogGone:
		return math.MinInt64
	case LogStale:
		return math.MaxInt64
	}
	end := (r.time(r.look(p, math.MinInt64).last) + p.window) << p.unit
	if end > uint64(p.horizon)-uint64(r.base) {
		return math.MaxInt64 // no later instant is told apart, so Retire will never agree
	}
	return r.base + int64(end)
}

// Limited tells that one more request would be refused at the instant at.
func (l *Log) Limited(p *LogParams, word uint64, at int64) bool {
	_, verdict := l.Peek(p, word, at, 1)
	return verdict == LogRefused
}

// Convert puts the key under the rule `to`, and returns word. The entries that are known and
// in the new window count, also where they exceed the new capacity: then nothing more fits.
// Of several calls one changes it.
func (l *Log) Convert(word uint64, from, to *LogParams) uint64 {
	for from.era != to.era {
		r := l.ring(word)
		if !r.under(from) { // gone, or done
			break
		}
		l.replace(r, r.look(from, to.floor), to, to.floor, change{})
	}
	return word
}

// Retire frees what is behind word if that is as if never seen at the instant at; no call
// can charge it afterwards. It tells whether nothing is there now. What counts at a later
// instant, because there were entries that were given back, isn't as if never seen: a late
// call would find no log, and count in one of its own before that instant.
func (l *Log) Retire(p *LogParams, word uint64, at int64) bool {
	for {
		r, p, verdict := l.find(p, word)
		if r == nil {
			return verdict == LogGone
		}
		v := r.look(p, at)
		if r.room(p, v) < p.capacity || r.counted(p, v, at) > at {
			if r.true(v) {
				return false
			}
		} else if r.seal(v) && l.release(r) {
			return true
		}
	}
}

// Release frees what is behind word, whatever it says. A call that has looked the word up
// before may still end as if it had come first.
func (l *Log) Release(_ *LogParams, word uint64) {
	for {
		r := l.ring(word)
		if r == nil || l.release(r) {
			return
		}
	}
}
