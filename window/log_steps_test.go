//go:build ringsteps

package window

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// A logWorld is one key as a map holds it, and its log: a chain of tables, of one word each.
type logWorld struct {
	Log
	table atomic.Pointer[logTable]
	mark  atomic.Int64

	rings []*ring // that were ever the key's
}

type logTable struct {
	rule LogParams
	word atomic.Uint64
	next atomic.Pointer[logTable]
}

const (
	wordGone   = 1 << 62 // the map's EVICTED
	wordFrozen = 1 << 63
)

// An logOp is a call, what it answered, and what the twin does: it answers, and is told what
// the call did answer.
type logOp struct {
	name   string
	run    func(w *logWorld) (answer any)
	twin   func(w *logTwin, got any) (answer any, next *logTwin)
	answer any
}

func cas(w *atomic.Uint64, old, next uint64) bool {
	ringStep(nil)
	return w.CompareAndSwap(old, next)
}

// locate returns the table that the key is in now, and its word there.
func (w *logWorld) locate() (*logTable, uint64) {
	ringStep(nil)
	t := w.table.Load()
	for {
		ringStep(nil)
		word := t.word.Load()
		ringStep(nil)
		next := t.next.Load()
		switch {
		case word >= wordFrozen:
			w.carry(t, next, word)
			t = next
		case next != nil && (word == 0 || word >= wordGone):
			cas(&t.word, word, word|wordFrozen)
		default:
			return t, word
		}
	}
}

func (w *logWorld) carry(t, next *logTable, word uint64) {
	if word &^= wordFrozen; word != 0 && word < wordGone {
		cas(&next.word, 0, w.Convert(word, &t.rule, &next.rule))
	}
}

// at is when a call counts that has loaded the word.
func (w *logWorld) at(at int64) int64 {
	ringStep(nil)
	return max(at, w.mark.Load())
}

// held calls f for a key that is held until it has an answer; false: the key isn't held, and
// this word is in its place.
func (w *logWorld) held(at int64, f func(p *LogParams, word uint64, at int64) LogVerdict) (*logTable, uint64, bool) {
	for dead := uint64(0); ; {
		t, word := w.locate()
		if word == 0 || word >= wordGone || word == dead {
			return t, word, false
		}
		switch f(&t.rule, word, w.at(at)) {
		case LogGone:
			dead = word
		case LogStale:
		default:
			return t, word, true
		}
	}
}

func takeOp(at, n int64) logOp {
	return logOp{
		name: fmt.Sprintf("take %d at %d", n, at),
		run: func(w *logWorld) any {
			for {
				var verdict LogVerdict
				t, word, held := w.held(at, func(p *LogParams, word uint64, at int64) LogVerdict {
					verdict = w.Try(p, word, at, n)
					return verdict
				})
				if held {
					return verdict == LogAllowed
				}
				if n > t.rule.capacity {
					return false
				}
				next := w.New(&t.rule, w.at(at), n)
				if cas(&t.word, word, next) {
					return true
				}
				w.Discard(next)
			}
		},
		twin: func(w *logTwin, _ any) (any, *logTwin) { return w.take(at, n), w },
	}
}

func peekOp(at, n int64) logOp {
	return logOp{
		name: fmt.Sprintf("peek %d at %d", n, at),
		run: func(w *logWorld) (answer any) {
			t, _, held := w.held(at, func(p *LogParams, word uint64, at int64) LogVerdict {
				o, verdict := w.Peek(p, word, at, n)
				answer = o
				return verdict
			})
			if !held {
				answer = t.rule.Fresh(w.at(at), n)
			}
			return answer
		},
		twin: func(w *logTwin, _ any) (any, *logTwin) { return w.outcome(at, n), w },
	}
}

func refundOp(n, at int64) logOp {
	return logOp{
		name: fmt.Sprintf("refund %d at %d", n, at),
		run: func(w *logWorld) any {
			w.held(at, func(p *LogParams, word uint64, _ int64) LogVerdict { return w.Refund(p, word, n, at) })
			return nil
		},
		twin: func(w *logTwin, _ any) (any, *logTwin) { w.refund(n, at); return nil, w },
	}
}

// evict lets the key go if it is idle, and tells whether it has raised the mark.
func (w *logWorld) evict(t *logTable, word uint64, at int64) bool {
	if word == 0 || word >= wordGone || w.IdleAt(&t.rule, word) > at {
		return false
	}
	ringStep(nil)
	w.mark.Store(max(w.mark.Load(), at))
	if w.Retire(&t.rule, word, at) {
		cas(&t.word, word, word|wordGone)
	}
	return true
}

func evictOp(at int64) logOp {
	return logOp{
		name: fmt.Sprintf("evict at %d", at),
		run: func(w *logWorld) any {
			t, word := w.locate()
			return w.evict(t, word, at)
		},
		twin: func(w *logTwin, marked any) (any, *logTwin) {
			if marked == true {
				w.seen = max(w.seen, at)
			}
			return marked, w
		},
	}
}

func resetOp() logOp {
	return logOp{
		name: "reset",
		run: func(w *logWorld) any {
			for {
				t, word := w.locate()
				if word == 0 || word >= wordGone {
					return nil
				}
				if cas(&t.word, word, wordGone|1) {
					w.Release(nil, word)
					return nil
				}
			}
		},
		twin: func(w *logTwin, _ any) (any, *logTwin) {
			fresh := newLogTwin(w.capacity, w.window, w.widest)
			fresh.seen = w.seen
			return nil, fresh
		},
	}
}

func ruleOp(floor, capacity, window int64) logOp {
	return logOp{
		name: fmt.Sprintf("%d per %d from %d", capacity, window, floor),
		run: func(w *logWorld) any {
			p, _ := CompileLog(capacity, capacity, window)
			p = w.Adopt(p)
			next := &logTable{rule: w.Rebase(&p, floor)}
			t := w.table.Load()
			ringStep(nil)
			w.mark.Store(max(w.mark.Load(), floor))
			ringStep(nil)
			t.next.Store(next)
			for word := uint64(0); word < wordFrozen; {
				ringStep(nil)
				word = t.word.Load()
				if !w.evict(t, word, floor) && word != 0 && word < wordGone {
					w.Convert(word, &t.rule, &next.rule) // before the freeze, as a map may
				}
				if word < wordFrozen && cas(&t.word, word, word|wordFrozen) {
					word |= wordFrozen
				}
				if word >= wordFrozen {
					w.carry(t, next, word)
				}
			}
			ringStep(nil)
			w.table.Store(next)
			return nil
		},
		twin: func(w *logTwin, _ any) (any, *logTwin) {
			w.seen = max(w.seen, floor)
			return nil, w.convert(floor, capacity, window, 99)
		},
	}
}

func TestLogSteps(t *testing.T) {
	one := func(at int64, times int) (setup []logOp) { return slices.Repeat([]logOp{takeOp(at, 1)}, times) }
	tests := []struct {
		name             string
		capacity, window int64
		setup, calls     []logOp
		most             int // interruptions
	}{
		{"the last token", 2, 10, one(0, 1), []logOp{takeOp(5, 1), takeOp(6, 1)}, always},
		{"the last token, three", 3, 10, one(0, 2), []logOp{takeOp(5, 1), takeOp(6, 1), takeOp(4, 1)}, always},
		{"cost 2", 3, 10, one(0, 1), []logOp{takeOp(5, 2), takeOp(5, 1)}, always},
		{"an entry leaves", 2, 10, one(0, 2), []logOp{takeOp(9, 1), takeOp(10, 1)}, always},
		{"entries leave for some", 2, 10, append(one(0, 1), one(1, 1)...), []logOp{takeOp(10, 1), takeOp(11, 2), takeOp(3, 1)}, always},
		{"an entry leaves for one, and is overwritten", 4, 10, append(one(0, 1), one(5, 2)...), []logOp{takeOp(9, 1), takeOp(10, 1)}, always},
		{"an entry is overwritten under a peek", 4, 10, append(one(0, 1), one(5, 2)...), []logOp{peekOp(9, 1), takeOp(10, 1), takeOp(9, 1)}, always},
		{"all leave", 3, 10, one(0, 3), []logOp{takeOp(12, 2), takeOp(10, 2), peekOp(11, 1)}, always},
		{"over the seam of a lap", 2, 10, append(append(one(0, 2), one(10, 2)...), one(20, 1)...), []logOp{takeOp(21, 1), takeOp(20, 1), peekOp(22, 1)}, always},
		{"the ring grows", 9, 10, one(0, 3), []logOp{takeOp(1, 1), takeOp(2, 1)}, always},
		{"the ring grows under three", 5, 10, one(0, 3), []logOp{takeOp(1, 1), takeOp(1, 1), takeOp(2, 2)}, 3},
		{"a refund and a take", 2, 10, append(one(0, 1), one(1, 1)...), []logOp{refundOp(1, 0), takeOp(2, 1)}, always},
		{"a refund and two takes", 2, 10, append(one(0, 1), one(1, 1)...), []logOp{refundOp(1, 1), takeOp(2, 1), takeOp(10, 1)}, 3},
		{"refunds of one instant", 3, 10, one(0, 3), []logOp{refundOp(1, 0), refundOp(1, 0)}, always},
		{"refunds and a peek", 3, 10, one(0, 3), []logOp{refundOp(1, 0), refundOp(2, 0), peekOp(1, 3)}, 2},
		{"an idle key goes", 2, 10, one(0, 1), []logOp{evictOp(10), takeOp(10, 2)}, always},
		{"an idle key goes, and a late call comes", 2, 10, one(0, 2), []logOp{evictOp(10), takeOp(9, 2), takeOp(12, 1)}, 2},
		{"a key is emptied, and goes", 2, 10, one(0, 1), []logOp{evictOp(3), refundOp(1, 0), takeOp(3, 2)}, 3},
		{"two evictions", 2, 10, one(0, 1), []logOp{evictOp(10), evictOp(11), takeOp(10, 2)}, 2},
		{"a reset", 2, 10, one(0, 2), []logOp{resetOp(), takeOp(1, 2), takeOp(1, 1)}, always},
		{"a reset while the ring grows", 5, 10, one(0, 3), []logOp{resetOp(), takeOp(1, 2), evictOp(1)}, 3},
		{"lowered", 4, 10, one(0, 2), []logOp{ruleOp(1, 2, 10), takeOp(1, 1)}, 4},
		{"lowered under two", 4, 10, one(0, 2), []logOp{ruleOp(1, 3, 10), takeOp(1, 1), takeOp(2, 1)}, 2},
		{"raised while refused", 2, 10, one(0, 2), []logOp{ruleOp(1, 4, 10), takeOp(2, 1), refundOp(1, 0)}, 2},
		{"a longer window, and growth", 4, 10, one(0, 3), []logOp{ruleOp(1, 5, 20), takeOp(2, 1), takeOp(3, 1)}, 2},
		{"a new rule for an idle key", 2, 10, one(0, 1), []logOp{ruleOp(10, 2, 5), evictOp(10), takeOp(10, 1)}, 2},
		{"a late call under a new rule for an idle key", 2, 10, one(3, 2), []logOp{ruleOp(13, 2, 10), takeOp(5, 2)}, always},
		{"a new key", 2, 10, nil, []logOp{takeOp(0, 1), takeOp(1, 1), takeOp(1, 1)}, always},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			states := explore(func() trial { return begin(t, tt.capacity, tt.window, tt.setup, tt.calls) }, tt.most)
			t.Logf("%d states", states)
		})
	}
}

func begin(t *testing.T, capacity, window int64, setup, calls []logOp) trial {
	p, err := CompileLog(capacity, capacity, window)
	require.NoError(t, err)
	w := &logWorld{}
	p = w.Adopt(p)
	w.table.Store(&logTable{rule: p})
	w.mark.Store(-100)
	twin := newLogTwin(capacity, window, 0)
	for _, o := range setup {
		require.Equal(t, true, o.run(w))
		o.twin(twin, true)
	}
	calls = slices.Clone(calls)
	var bodies []func()
	for i := range calls {
		bodies = append(bodies, func() { calls[i].answer = calls[i].run(w) })
	}
	return trial{bodies, w.slots, w.rest, w.final, func(s *schedule) {
		// what is left afterwards must agree as well
		last := []logOp{peekOp(5, 1), peekOp(15, 1)}
		for i := range last {
			last[i].answer = last[i].run(w)
		}
		if !linear(s, twin, calls, last) {
			message := "no order of the calls explains this:\n"
			for _, o := range append(calls, last...) {
				message += fmt.Sprintf("%s: %+v\n", o.name, o.answer)
			}
			t.Fatal(message)
		}
	}}
}

// linear tells whether some order of the calls, in which none comes before one that had
// returned when it started, makes the twin answer as they did.
func linear(s *schedule, twin *logTwin, calls, last []logOp) bool {
	var try func(twin *logTwin, done []bool, rest int) bool
	try = func(twin *logTwin, done []bool, rest int) bool {
		for i, o := range calls {
			if done[i] || slices.ContainsFunc(s.waiting[i].after, func(j int) bool { return !done[j] }) {
				continue
			}
			next := *twin
			next.admitted = slices.Clone(twin.admitted)
			answer, after := o.twin(&next, o.answer)
			done[i] = true
			if answer == o.answer && try(after, done, rest-1) {
				return true
			}
			done[i] = false
		}
		if rest > 0 {
			return false
		}
		for _, o := range last {
			if answer, _ := o.twin(twin, o.answer); answer != o.answer {
				return false
			}
		}
		return true
	}
	return try(twin, make([]bool, len(calls)), len(calls))
}

// slots hashes all slots of the key's rings, one after another.
func (w *logWorld) slots() (h uint64) {
	for _, r := range w.rings {
		h = mix(h, r.hint.Load())
		for i := range r.mask() + 1 {
			h = mix(h, r.slot(i).Load())
		}
	}
	return h
}

// rest hashes the rest of the memory.
func (w *logWorld) rest() (h uint64) {
	for t := w.table.Load(); t != nil; t = t.next.Load() {
		word := t.word.Load()
		if r := w.ring(word &^ (wordGone | wordFrozen)); r != nil && !slices.Contains(w.rings, r) {
			w.rings = append(w.rings, r)
		}
		h = mix(h, word)
	}
	h = mix(h, uint64(w.mark.Load()))
	return mix(h, uint64(w.newest.Load().era)<<32|uint64(len(w.rings)))
}

// final tells whether slot is one of a ring that is sealed.
func (w *logWorld) final(slot *atomic.Uint64) bool {
	for _, r := range w.rings {
		found, end := false, false
		for i := range r.mask() + 1 {
			found = found || r.slot(i) == slot
			end = end || r.slot(i).Load() >= sealed
		}
		if found {
			return end
		}
	}
	return false
}
