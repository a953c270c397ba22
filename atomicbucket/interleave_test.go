package atomicbucket

import (
	"fmt"
	"testing"
)

// A keeper's flags, as a map uses them: an evicted word is revived by the next call, a frozen one is final, and lives
// on in the next table, converted.
const (
	frozen  = 1 << 63
	evicted = 1 << 62
	flags   = frozen | evicted
)

type kind uint8

const (
	take kind = iota
	refund
	evict
	freeze
)

// machine is one goroutine, taken apart into its loads and CASs.
type machine struct {
	kind       kind
	now, n     int64
	pc         pc
	table      int
	seen, next uint64
	granted    bool
}

// pc is the access that a machine makes next.
type pc uint8

const (
	find  pc = iota // load the directory
	load            // load the word
	swap            // CAS the word
	carry           // CAS the frozen word's conversion into the next table, from 0: it fails if another did it
	swing           // store the directory
	done
)

// world is one state of everything: four machines, a word in two tables of which the second has a later floor, and the
// directory that says which of them to look at first.
type world struct {
	ms        [4]machine
	word      [2]uint64
	directory int
}

func (w *world) cas(table int, old, next uint64) bool {
	if w.word[table] != old {
		return false
	}
	w.word[table] = next
	return true
}

// step lets a machine make one access, and whatever needs no shared memory after it.
func (w *world) step(i int, tables *[2]Params) {
	m := &w.ms[i]
	switch m.pc {
	case find:
		m.table, m.pc = w.directory, load
	case load:
		m.seen = w.word[m.table]
		m.pc = m.decide(&tables[m.table])
	case swap:
		switch {
		case !w.cas(m.table, m.seen, m.next):
			m.pc = load
		case m.kind == freeze:
			m.seen, m.pc = m.next, carry
		default:
			m.granted, m.pc = true, done
		}
	case carry:
		if next := tables[0].Convert(m.seen&^flags, &tables[1]); next != 0 {
			w.cas(1, 0, next|m.seen&evicted)
		}
		m.table, m.pc = 1, load
		if m.kind == freeze {
			m.pc = swing
		}
	case swing:
		w.directory, m.pc = 1, done
	}
}

// decide looks at the word that was loaded.
func (m *machine) decide(p *Params) pc {
	payload, ok := m.seen&^flags, true
	if m.seen&frozen != 0 {
		return carry
	}
	switch m.kind {
	case take:
		m.next, ok = p.Take(payload, max(m.now, p.epoch), m.n)
	case refund:
		m.next, ok = p.Refund(payload, m.n, m.now), payload != 0
	case evict:
		m.next, ok = m.seen|evicted, m.seen != 0 && m.seen&evicted == 0 && p.IdleAt(payload) <= m.now
	case freeze:
		m.next = m.seen | frozen
	}
	if !ok {
		return done
	}
	return swap
}

// outcome is what callers can tell: who was granted, and what is left at a later time.
func (w *world) outcome(tables *[2]Params, at int64) string {
	left, _, full := tables[w.directory].Outcome(w.word[w.directory]&^flags, at, 1)
	return fmt.Sprintf("first %v, second %v, %d left, full in %d", w.ms[0].granted, w.ms[1].granted, left, full)
}

// explore visits every world that comes of w by any order of steps (or of whole machines), and calls ended on those in
// which all are done.
func (w world) explore(tables *[2]Params, machines bool, seen map[world]bool, ended func(w *world)) {
	if seen[w] {
		return
	}
	seen[w] = true
	over := true
	for i := range w.ms {
		if w.ms[i].pc == done {
			continue
		}
		over = false
		next := w
		next.step(i, tables)
		for machines && next.ms[i].pc != done {
			next.step(i, tables)
		}
		next.explore(tables, machines, seen, ended)
	}
	if over {
		ended(&w)
	}
}

// Two calls, an eviction and a move, in every order of their loads and CASs. Whatever comes of it comes also of an
// order in which each runs alone (I5, I6, I7), and it is never more than the rule allows (I1).
func TestEveryInterleaving(t *testing.T) {
	calls := []machine{
		{kind: take, now: 0, n: 1},
		{kind: take, now: 1 * second, n: 2},
		{kind: take, now: 3 * second, n: 3},
		{kind: refund, now: 1 * second, n: 1},
	}
	worlds := 0
	for _, used := range []int64{0, 1, 3} {
		for _, floor := range []int64{0, 1 * second, 3 * second, 6 * second} {
			for i, first := range calls {
				for _, second := range calls[i:] {
					worlds += interleave(t, used, floor, first, second)
				}
			}
		}
	}
	t.Logf("%d worlds", worlds)
}

// interleave lets two calls run while a bucket, of which `used` tokens were taken at 0, is evicted and moved to a table
// with this floor. It returns the number of worlds seen.
func interleave(t *testing.T, used, floor int64, first, second machine) int {
	p := compile(t, 3, 1, 1e9)
	last := max(floor, first.now, second.now)
	tables := [2]Params{p, p.Rebase(floor)}
	w := world{ms: [4]machine{first, second, {kind: evict, now: floor}, {kind: freeze}}}
	if used > 0 {
		w.word[0], _ = p.Take(0, 0, used)
	}
	alone, seen := map[string]bool{}, map[world]bool{}
	w.explore(&tables, true, map[world]bool{}, func(w *world) { alone[w.outcome(&tables, last)] = true })
	w.explore(&tables, false, seen, func(w *world) {
		if got := w.outcome(&tables, last); !alone[got] {
			t.Fatalf("%d used, %+v, %+v, floor %d: %s; alone: %v", used, first, second, floor, got, alone)
		}
		if net := used + w.net(); net > p.capacity+last/1e9 {
			t.Fatalf("(I1) %d used, %+v, %+v, floor %d: %d tokens", used, first, second, floor, net)
		}
	})
	return len(seen)
}

// net returns the tokens granted less those given back.
func (w *world) net() (sum int64) {
	for _, m := range w.ms {
		switch {
		case m.kind == take && m.granted:
			sum += m.n
		case m.kind == refund && m.granted:
			sum -= m.n
		}
	}
	return sum
}
