package window

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The bits that the keeper of a word marks, as a map does.
const (
	frozen  = 1 << 63 // moved to the next table; final
	evicted = 1 << 62 // judged idle; the payload is kept
)

type act uint8

const (
	none   act = iota
	take       // n at now
	refund     // n at now
	evict      // mark the word as evicted if it is idle at now
	move       // freeze the word, carry it to the next table
)

type phase uint8

const (
	loading phase = iota
	swapping
	carrying
	done
)

// A part is what an actor has to do: a call's, or the map's own work.
type part struct {
	act    act
	now, n int64
}

// An actor is how far a part has come. Each phase is one atomic operation on one word.
type actor struct {
	phase     phase
	table     uint8  // the one it is in
	old, next uint64 // of its CAS
}

// A world is all that changes. It is comparable, so that no world is explored twice.
type world struct {
	words  [2]uint64 // the key's word in the table and in the one that comes after it
	actors [5]actor
	truth  truth
}

// truth is what the calls that have taken effect so far, one by one, must have led to.
type truth struct {
	moved, held               bool
	newest, current, previous int64
}

// A stage is all that stays: two tables, and who plays.
type stage[P any, K kernel[P]] struct {
	t      *testing.T
	params [2]P
	rules  [2]twin
	floors [2]int64
	parts  [5]part

	seen            map[world]bool
	worlds, lostCAS int
}

// onTwin runs f on the twin that tells the truth of w, which f may change.
func (s *stage[P, K]) onTwin(w *world, f func(*twin)) {
	tw := s.rules[0]
	if w.truth.moved {
		tw = s.rules[1]
	}
	tw.admitted = map[int64]int64{}
	if w.truth.held {
		tw.newest = w.truth.newest
		tw.admitted[tw.newest], tw.admitted[tw.newest-1] = w.truth.current, w.truth.previous
	}
	f(&tw)
	if w.truth.held = len(tw.admitted) > 0; w.truth.held {
		w.truth.newest = tw.newest
		w.truth.current, w.truth.previous = tw.admitted[tw.newest], tw.admitted[tw.newest-1]
	}
}

// explore lets every actor go first, in every world that can come of this one.
func (s *stage[P, K]) explore(w world) {
	if s.seen[w] {
		return
	}
	s.seen[w] = true
	s.worlds++
	over := true
	for i, a := range w.actors {
		if s.parts[i].act != none && a.phase != done {
			over = false
			after := w
			s.step(&after, &after.actors[i], s.parts[i])
			s.explore(after)
		}
	}
	if over {
		s.check(w)
	}
}

// step does the one atomic operation that a comes to next in its part.
func (s *stage[P, K]) step(w *world, a *actor, as part) {
	word := &w.words[a.table]
	switch a.phase {
	case loading:
		a.old = *word
		s.loaded(w, a, as)
	case swapping:
		if *word != a.old {
			s.lostCAS++
			a.phase = loading
			return
		}
		*word = a.next
		s.swapped(w, a, as)
	case carrying: // the CAS of the next table's word from 0; what is carried is pure in the frozen word
		payload := w.words[0] &^ (frozen | evicted)
		if payload != 0 && w.words[1] == 0 {
			if c := K(&s.params[0]).Convert(payload, &s.params[1]); c != 0 {
				w.words[1] = c | w.words[0]&evicted
			}
		}
		a.table, a.phase = 1, loading
		if as.act == move || as.act == evict {
			a.phase = done
		}
	}
}

// loaded goes on from a.old: to the CAS, to the next table, or to the end.
func (s *stage[P, K]) loaded(w *world, a *actor, as part) {
	if a.old&frozen != 0 {
		a.phase = carrying
		return
	}
	p, payload, live := K(&s.params[a.table]), a.old&^evicted, a.old != 0 && a.old&evicted == 0
	now := max(as.now, s.floors[a.table])
	ok := false
	switch as.act {
	case take:
		if a.next, ok = p.Take(payload, now, as.n); !ok {
			s.onTwin(w, func(tw *twin) { require.False(s.t, tw.take(now, as.n), "refused %d at %d: %+v", as.n, now, *w) })
		}
	case refund:
		if live {
			a.next, ok = p.Refund(a.old, as.n, as.now), true
		}
	case evict:
		a.next, ok = a.old|evicted, live && p.IdleAt(a.old) <= now
	case move:
		a.next, ok = a.old|frozen, true
	}
	a.phase = swapping
	if !ok {
		a.phase = done
	}
}

// swapped is where a's CAS took effect.
func (s *stage[P, K]) swapped(w *world, a *actor, as part) {
	a.phase = done
	switch as.act {
	case take:
		now := max(as.now, s.floors[a.table])
		s.onTwin(w, func(tw *twin) { require.True(s.t, tw.take(now, as.n), "admitted %d at %d: %+v", as.n, now, *w) })
	case refund:
		s.onTwin(w, func(tw *twin) { tw.refund(as.n, as.now) })
	case move:
		a.phase = carrying
		s.onTwin(w, func(tw *twin) { tw.convert(s.floors[1], s.rules[1].capacity, s.rules[1].window) })
		w.truth.moved = true
	}
}

// check compares what is left when all is over with the truth, at many instants.
func (s *stage[P, K]) check(w world) {
	table := 0
	if w.words[0]&frozen != 0 {
		table = 1
	}
	p, payload := K(&s.params[table]), w.words[table]&^evicted
	require.Less(s.t, payload, uint64(1)<<payloadBits)
	s.onTwin(&w, func(tw *twin) {
		for now := s.floors[table]; now < 70; now += 3 {
			remaining, retryAfter, resetAfter := tw.outcome(now, 1)
			gotRemaining, gotRetry, gotReset := p.Outcome(payload, now, 1)
			require.Equal(s.t, []int64{remaining, retryAfter, resetAfter}, []int64{gotRemaining, gotRetry, gotReset}, "at %d: %+v", now, w)
		}
	})
}

// interleave explores every order of the atomic operations of every two calls, and every
// three, out of a menu, with and without the map's own work beside them.
func interleave[P any, K kernel[P]](t *testing.T, sliding bool, compile func(capacity, tokens, per int64) (P, error)) {
	const window = 10
	menu := []part{
		{act: take, now: 5, n: 1},
		{act: take, now: 9, n: 2},
		{act: take, now: 12, n: 1}, // the next window
		{act: take, now: 38, n: 2}, // two windows on: whoever comes later with an older now is late
		{act: refund, now: 5, n: 1},
		{act: refund, now: 12, n: 1},
	}
	upkeep := []struct {
		evict, move part
		capacity    int64 // of the next table's rule
		floor       int64
	}{
		{capacity: 3},
		{evict: part{act: evict, now: 30}, capacity: 3},
		{move: part{act: move}, capacity: 3, floor: 13},
		{move: part{act: move}, capacity: 5, floor: 7},
		{evict: part{act: evict, now: 30}, move: part{act: move}, capacity: 2, floor: 38},
	}
	worlds, lostCAS := 0, 0
	for _, u := range upkeep {
		s := stage[P, K]{t: t, floors: [2]int64{0, u.floor}}
		for i, capacity := range []int64{3, u.capacity} {
			p, err := compile(capacity, capacity, window)
			require.NoError(t, err)
			s.params[i] = K(&p).Rebase(s.floors[i])
			s.rules[i] = twin{sliding: sliding, capacity: capacity, window: window}
		}
		for i, first := range menu {
			for j, second := range menu[i:] {
				thirds := append([]part{{}}, menu[i+j:]...)
				if u.evict.act != none && u.move.act != none {
					thirds = thirds[:1] // four at a time are enough
				}
				for _, third := range thirds {
					s.parts = [5]part{first, second, third, u.evict, u.move}
					s.seen = map[world]bool{}
					s.explore(world{})
				}
			}
		}
		worlds, lostCAS = worlds+s.worlds, lostCAS+s.lostCAS
	}
	t.Logf("%d worlds, %d lost CASs", worlds, lostCAS)
	require.Positive(t, lostCAS)
}

func TestFixedInterleavings(t *testing.T) {
	interleave[FixedParams](t, false, CompileFixed)
}

func TestCounterInterleavings(t *testing.T) {
	interleave[CounterParams](t, true, CompileCounter)
}
