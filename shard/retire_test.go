package shard

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// ledger is a kernel whose state lies behind the word, which is a handle: how much a key has taken of its capacity. It
// is idle when that is nothing. Everything must be charged to a state that is the key's, and each state released once.
type ledger struct {
	t        *testing.T
	mu       sync.RWMutex
	states   []*state
	released atomic.Int64
}

type state struct {
	taken    atomic.Int64 // -1: retired
	released atomic.Int64
}

type account struct{ capacity, epoch int64 }

func (l *ledger) open(taken int64) uint64 {
	s := new(state)
	s.taken.Store(taken)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.states = append(l.states, s)
	return uint64(len(l.states) + 1) // 1 is nobody's
}

func (l *ledger) at(word uint64) *state {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.states[word-2]
}

// charge adds n to what was taken; false if the capacity doesn't allow it. A retired state can't be charged.
func (s *state) charge(n, capacity int64) (ok, retired bool) {
	for {
		old := s.taken.Load()
		switch {
		case old < 0:
			return false, true
		case old+n > capacity:
			return false, false
		case s.taken.CompareAndSwap(old, old+n):
			return true, false
		}
	}
}

func (l *ledger) Rebase(p *account, floor int64) account { return account{p.capacity, floor} }
func (l *ledger) Horizon(*account) int64                 { return math.MaxInt64 }

func (l *ledger) IdleAt(_ *account, word uint64) int64 {
	if l.at(word).taken.Load() <= 0 {
		return math.MinInt64
	}
	return math.MaxInt64
}

func (l *ledger) Limited(*account, uint64, int64) bool      { return false }
func (l *ledger) Convert(word uint64, _, _ *account) uint64 { return word }
func (l *ledger) Retire(_ *account, word uint64, _ int64) (retired bool) {
	s := l.at(word)
	return s.taken.CompareAndSwap(0, -1) || s.taken.Load() < 0
}

func (l *ledger) Release(_ *account, word uint64) {
	if n := l.at(word).released.Add(1); n != 1 {
		l.t.Errorf("state %d is released %d times", word, n)
	}
	l.released.Add(1)
}

// take charges n to the key's state, or to a new one.
func (l *ledger) take(m *Map[account], key string, n int64) bool {
	hash := hashOfAny(m, key)
	for {
		if w, _ := m.Find(hash, key); w != nil {
			if word := w.Load(); Live(word) {
				if ok, retired := l.at(word).charge(n, 10); !retired {
					return ok
				}
			}
		}
		var held, fresh uint64
		v := m.Update(hash, key, 0, Create, func(_ *account, word uint64, _ int64) (uint64, bool) {
			if held = 0; word > full && l.at(word).taken.Load() >= 0 {
				held = word
				return 0, false
			}
			if fresh == 0 {
				fresh = l.open(n)
			}
			return fresh, true
		})
		if fresh != 0 && v != Applied {
			l.Release(nil, fresh)
		}
		if v == Applied {
			return true
		}
		if ok, retired := l.at(held).charge(n, 10); !retired {
			return ok
		}
	}
}

func hashOfAny[P any](m *Map[P], key string) uint64 { return m.plainHash([]byte(key)) }

func TestStatesBehindWords(t *testing.T) {
	const workers, keys, rounds = 6, 60, 4000
	l := &ledger{t: t}
	m := New(Config[account]{Kernel: l, limits: limits{slots: 48, depth: 3, patience: 4}})
	var outstanding [keys]atomic.Int64
	var stop atomic.Bool
	var work, noise sync.WaitGroup
	r := seeded(t)
	for range 2 {
		r := rand.New(rand.NewPCG(r.Uint64(), 0))
		noise.Go(func() {
			for !stop.Load() {
				switch r.IntN(3) {
				case 0:
					m.Sweep(0)
				case 1:
					m.SetParams(account{}, 0)
				case 2:
					m.walk(&m.top, func(tb *Table[account]) bool {
						if r.IntN(4) == 0 {
							m.settle(tb)
							m.succeed(tb, 0, load{}, false)
						}
						return false
					})
				}
			}
		})
	}
	for range workers {
		r := rand.New(rand.NewPCG(r.Uint64(), 0))
		work.Go(func() {
			var mine [keys]int64
			for range rounds {
				k := r.IntN(keys)
				key := fmt.Sprint("key", k)
				if mine[k] > 0 && r.IntN(2) == 0 {
					// What was taken is in the key's state, wherever its word has gone meanwhile.
					outstanding[k].Add(-mine[k])
					v := m.Update(hashOfAny(m, key), key, 0, HeldOnly, func(_ *account, word uint64, _ int64) (uint64, bool) {
						l.at(word).taken.Add(-mine[k])
						mine[k] = 0
						return 0, false
					})
					if v != Declined || mine[k] != 0 {
						t.Errorf("key %s isn't held: %d", key, v)
						return
					}
				} else if l.take(m, key, 1) {
					mine[k]++
					outstanding[k].Add(1)
				}
			}
		})
	}
	work.Wait()
	stop.Store(true)
	noise.Wait()
	for k := range outstanding {
		key := fmt.Sprint("key", k)
		m.Update(hashOfAny(m, key), key, 0, HeldOnly, func(_ *account, word uint64, _ int64) (uint64, bool) {
			if word > full && l.at(word).taken.Load() >= 0 {
				require.Equal(t, outstanding[k].Load(), l.at(word).taken.Load(), key)
			} else {
				require.Zero(t, outstanding[k].Load(), key)
			}
			return 0, false
		})
		m.Reset(hashOfAny(m, key), key)
	}
	require.Zero(t, m.Len())
	m.Sweep(0)
	m.walk(&m.top, func(tb *Table[account]) bool { m.move(tb, 0); return false })
	require.Equal(t, int64(len(l.states)), l.released.Load(), "every state is released in the end")
}

// givenBack is a ledger in which all is given back, and the state retired, just before its word is carried.
type givenBack struct {
	*ledger
	armed bool
}

func (l *givenBack) Convert(word uint64, from, to *account) uint64 {
	if l.armed {
		l.armed = false
		l.at(word).taken.Add(-1)
		require.True(l.t, l.Retire(from, word, 0))
	}
	return l.ledger.Convert(word, from, to)
}

// A state that was retired, but carried alive, because its evictor was too late, is released by the step that puts
// another in its place.
func TestRetiredStateThatIsCarried(t *testing.T) {
	l := &givenBack{ledger: &ledger{t: t}}
	m := New(Config[account]{Kernel: l})
	require.True(t, l.take(m, "k", 1))
	l.armed = true
	m.SetParams(account{}, 0)
	require.False(t, l.armed)
	require.Equal(t, 1, m.Len())
	require.True(t, l.take(m, "k", 1))
	require.Equal(t, 1, m.Len())
	require.Equal(t, int64(1), l.released.Load())
	m.Reset(hashOfAny(m, "k"), "k")
	require.Zero(t, m.Len())
	require.Equal(t, int64(len(l.states)), l.released.Load(), "every state is released in the end")
}

// converter gives every word another payload in each move.
type converter struct {
	bucket
	released []uint64
}

func (c *converter) Convert(word uint64, _, _ *tokens) uint64 { return word + 1<<20 }
func (c *converter) Retire(*tokens, uint64, int64) bool       { return true }
func (c *converter) Release(_ *tokens, word uint64)           { c.released = append(c.released, word) }
func (c *converter) last() uint64                             { return c.released[len(c.released)-1] }

func TestWhatIsReleased(t *testing.T) {
	k := &converter{}
	m := New(Config[tokens]{Kernel: k, Params: tokens{capacity: 10, unit: 1 << 30}})
	word := func() uint64 {
		w, _ := m.Find(hashOf(m, "k"), "k")
		return w.Load()
	}
	require.Equal(t, Applied, take(m, "k", 0, 5))
	first := word()
	m.SetParams(m.rule.Load().params, 0)
	require.Equal(t, first+1<<20, word())
	require.Equal(t, []uint64{first}, k.released, "carried under another payload")
	second := word()
	m.Reset(hashOf(m, "k"), "k")
	require.Equal(t, second, k.last(), "reset")
	require.Equal(t, Applied, take(m, "k", 0, 5))
	require.Len(t, k.released, 2, "an empty state is nobody's")
	third := word()
	require.Equal(t, 1, m.Sweep(1<<40))
	require.Equal(t, third, k.last(), "dropped by the move of a table")
	require.Len(t, k.released, 3)
	for i := range 3 { // few enough for the table to stay
		require.Equal(t, Applied, take(m, fmt.Sprint(i), 1<<40, 5))
	}
	require.Equal(t, Applied, take(m, "k", 1<<40, 1))
	idle := word()
	tb := m.top.dir.Load().at(hashOf(m, "k")).Load()
	w, _ := m.Find(hashOf(m, "k"), "k")
	at, _ := tb.At(1<<40 + 1<<30)
	id := identify("k", hashOf(m, "k"))
	s, _ := tb.seek(&id, look)
	require.Same(t, w, &s.word)
	require.True(t, m.evictIdle(tb, s, w.Load(), at))
	m.held.Add(-1)
	require.Len(t, k.released, 3, "evicted where it is, it can be revived")
	require.Equal(t, Applied, take(m, "k", at, 1))
	require.NotEqual(t, idle, word())
	require.Equal(t, idle, k.last(), "revived under another payload")
	require.Len(t, validate(t, m), 4)
}
