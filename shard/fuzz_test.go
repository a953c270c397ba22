package shard

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// twin is the map's obvious version: for every key that isn't full, the instant at which it was, or will be, empty.
type twin struct {
	rule  tokens // its epoch is not used
	empty map[string]int64
}

func (w *twin) take(key string, at, n int64) bool {
	span := w.rule.capacity * w.rule.unit
	e, known := w.empty[key]
	if !known {
		e = at - span
	}
	if e = max(e, at-span) + n*w.rule.unit; e > at {
		return false
	}
	w.empty[key] = e
	return true
}

func (w *twin) taken(key string, at int64) int64 {
	e, known := w.empty[key]
	if !known {
		return 0
	}
	return max(0, (e-at+w.rule.capacity*w.rule.unit+w.rule.unit-1)/w.rule.unit)
}

func (w *twin) setRule(to tokens, now int64) {
	if to.capacity == w.rule.capacity && to.unit == w.rule.unit {
		return // not even a part of a token is lost
	}
	for key, e := range w.empty {
		at := max(now, e)
		n := (at - e) / w.rule.unit
		if n >= w.rule.capacity || n >= to.capacity {
			delete(w.empty, key)
		} else {
			w.empty[key] = at - n*to.unit
		}
	}
	w.rule = to
}

// play does to a map and its twin what data says, four bytes an operation, and compares.
func play(t *testing.T, c Config[tokens], data []byte) {
	const keys = 24
	m := New(c)
	w := twin{rule: c.Params, empty: map[string]int64{}}
	now := int64(0)
	if w.rule.capacity < 1 {
		t.Fatal("no rule")
	}
	for i := 0; i+4 <= len(data); i += 4 {
		op, k, n, dt := data[i]%16, int(data[i+1]%keys), int64(data[i+2]%12), int64(data[i+3])
		key := strings.Repeat("k", k*3/2) + fmt.Sprint(k)
		hash := hashOf(m, key)
		what := fmt.Sprintf("op %d (%d, %s, %d, %d) at %d", i/4, op, key, n, dt, now)
		switch op {
		case 0, 1, 2, 3, 4: // as an adapter does
			now += dt
			if n > 0 {
				if got, want := take(m, key, now, n) == Applied, w.take(key, now, n); got != want {
					t.Fatalf("%s: take %v, want %v", what, got, want)
				}
			}
		case 5, 6: // late, or so early that it comes before all
			when := now - dt*dt
			if op == 6 {
				when = math.MinInt64 / 4
			}
			at, want := int64(0), false
			v := m.Update(hash, key, when, Create, func(r *tokens, word uint64, a int64) (uint64, bool) {
				at = a
				return r.take(word, a, max(n, 1))
			})
			if want = w.take(key, at, max(n, 1)); (v == Applied) != want {
				t.Fatalf("%s: take at %d counted at %d, want %v", what, when, at, want)
			}
			if at < when || at > now {
				t.Fatalf("%s: %d counted at %d", what, when, at)
			}
		case 7: // far away, which spoils the key, but no other
			m.Update(hashOf(m, "far"), "far", math.MaxInt64-dt, Create, func(r *tokens, word uint64, at int64) (uint64, bool) {
				if at > Horizon {
					t.Fatalf("%s: counted at %d", what, at)
				}
				return r.take(word, at, 1)
			})
		case 8:
			if _, known := w.empty[key]; known && giveBack(m, key, now, n) == Applied {
				w.empty[key] -= n * w.rule.unit
			}
		case 9:
			m.Reset(hash, key)
			delete(w.empty, key)
		case 10:
			before := m.Len()
			if n := m.Sweep(now); before-n != m.Len() {
				t.Fatalf("%s: %d held, %d swept, %d left", what, before, n, m.Len())
			}
		case 11:
			to := tokens{capacity: 1 + n, unit: 1 + dt*10}
			m.SetParams(to, now)
			w.setRule(to, now)
		case 12:
			now += dt * dt
		case 13: // a year, or so many that the tables need a later epoch
			now += dt * 1 << 47
			if now > 1<<62 {
				return
			}
		case 14:
			if d := m.top.dir.Load(); d != nil {
				path := uint64(dt) << 56
				m.visit(&m.top, path, func(t *Table[tokens]) bool {
					m.settle(t)
					m.succeed(t, now, load{}, n == 0 && !t.space.keyed)
					if k%2 == 0 {
						m.finish(t)
					}
					return false
				})
			}
		case 15:
			for j := range n {
				extra := fmt.Sprint("extra", dt, j)
				take(m, extra, now, 1)
				w.take(extra, now, 1)
			}
		}
		if got, want := taken(m, key, now), w.taken(key, now); got != want {
			t.Fatalf("%s: %d taken, want %d", what, got, want)
		}
	}
	held := validate(t, m)
	for key := range w.empty {
		if got, want := taken(m, key, now), w.taken(key, now); got != want {
			t.Fatalf("at the end, %s: %d taken, want %d", key, got, want)
		}
		if w.taken(key, now) > 0 && !held[key] {
			t.Fatalf("at the end, %s is not held", key)
		}
	}
	m.Sweep(now)
	validate(t, m)
}

func FuzzOperations(f *testing.F) {
	f.Add(uint8(0), []byte("0000 1111 2222 3333 4444"))
	f.Fuzz(func(t *testing.T, how uint8, data []byte) {
		if len(data) > 4000 {
			return
		}
		c := Config[tokens]{Kernel: bucket{}, Params: tokens{capacity: 8, unit: 50}}
		c.dull = []uint64{0, ^uint64(3<<62 | 3<<30), ^uint64(0)}[how%3]
		if how&8 != 0 {
			c.limits = limits{slots: 48, depth: 2, patience: 3}
		}
		play(t, c, data)
	})
}

func TestRandomOperations(t *testing.T) {
	eachHash(t, func(t *testing.T, c Config[tokens]) {
		r := seeded(t)
		for range 60 {
			data := make([]byte, 4*(10+r.IntN(800)))
			for i := range data {
				data[i] = byte(r.Uint32())
			}
			play(t, c, data)
		}
	})
}
