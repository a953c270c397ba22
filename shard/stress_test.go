package shard

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// chaos does to a map what is not supposed to be noticed, until stop is set: sweeps, moves, splits, merges, keyed
// spaces, changes of the rule to itself and to another with the same capacity; directories doubled and halved.
func chaos(m *Map[tokens], r *rand.Rand, stop *atomic.Bool, now func() int64) {
	for !stop.Load() {
		switch r.IntN(7) {
		case 0:
			m.Sweep(now())
		case 1:
			p := m.rule.Load().params
			if r.IntN(2) == 0 {
				unit := int64(500)
				for p.unit >= 1000*unit {
					unit *= 1000
				}
				p.unit = unit + unit*r.Int64N(2)
			}
			m.SetParams(p, now())
		case 2:
			if m.top.dir.Load() != nil {
				search := search[tokens]{m: m, now: now(), budget: 50}
				search.run()
				m.held.Add(-int64(search.idle))
			}
		case 3:
			if t := anyTable(m, r); t != nil && t.next.Load() == nil {
				m.move(t, now())
			}
		case 4: // begun, and left to others
			if t := anyTable(m, r); t != nil && t.next.Load() == nil {
				m.settle(t)
				m.succeed(t, now(), load{}, r.IntN(4) == 0 && !t.space.keyed)
			}
		case 5:
			if t := anyTable(m, r); t != nil && t.next.Load() == nil {
				m.sweepTable(t, now())
			}
		case 6: // while splits show
			if t := anyTable(m, r); t != nil {
				if d := t.space.dir.Load(); d.depth < m.limits.depth {
					m.deepen(t.space, d)
				}
				m.flatten(t.space)
			}
		}
	}
}

// hasty is the tests' kernel with tables that last for 50 ms only.
type hasty struct{ bucket }

func (hasty) Horizon(r *tokens) int64 { return r.epoch + 5e7 }

func anyTable(m *Map[tokens], r *rand.Rand) *Table[tokens] {
	s := &m.top
	for {
		d := s.dir.Load()
		if d == nil {
			return nil
		}
		t := d.at(r.Uint64()).Load()
		if t.under == nil {
			return t
		}
		s = t.under
	}
}

func seeded(t testing.TB) *rand.Rand {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// At one instant, every key grants its capacity, exactly, whatever is done to the map meanwhile.
func TestStressAtOneInstant(t *testing.T) {
	eachHash(t, func(t *testing.T, c Config[tokens]) {
		const workers, keys, rounds = 6, 120, 4000
		m := New(c)
		var granted [keys]atomic.Int64
		var stop atomic.Bool
		var work, noise sync.WaitGroup
		require.Equal(t, Applied, take(m, "first", 1e6, 1)) // sets the floor: later calls may be late
		r := seeded(t)
		for range 2 {
			r := rand.New(rand.NewPCG(r.Uint64(), 0))
			noise.Go(func() { chaos(m, r, &stop, func() int64 { return 1e6 }) })
		}
		for range workers {
			r := rand.New(rand.NewPCG(r.Uint64(), 0))
			work.Go(func() {
				var mine [keys]int64 // tokens taken and not given back
				for range rounds {
					k := r.IntN(keys)
					key := fmt.Sprintf("%0*d", k%40+3, k)
					now := 1e6 - r.Int64N(2)*r.Int64N(1e6) // not later than the floor
					if n := 1 + r.Int64N(2); mine[k] > 0 && r.IntN(3) == 0 {
						n = min(n, mine[k])
						granted[k].Add(-n) // before, because another may take it at once
						if v := giveBack(m, key, now, n); v != Applied {
							t.Errorf("(I1) key %s, of which tokens are out, is not held: %d", key, v)
							return
						}
						mine[k] -= n
					} else if take(m, key, now, n) == Applied {
						granted[k].Add(n)
						mine[k] += n
					}
				}
			})
		}
		work.Wait()
		stop.Store(true)
		noise.Wait()
		validate(t, m)
		for k := range granted {
			key := fmt.Sprintf("%0*d", k%40+3, k)
			require.Equal(t, granted[k].Load(), taken(m, key, 1e6), "(I1) key %s", key)
			for take(m, key, 1e6, 1) == Applied {
				granted[k].Add(1)
			}
			require.Equal(t, int64(10), granted[k].Load(), "(I1) key %s", key)
		}
	})
}

// While time goes on, no key ever grants more than its capacity and what has flowed in.
func TestStressWhileTimeGoesOn(t *testing.T) {
	eachHash(t, func(t *testing.T, c Config[tokens]) { stressWhileTimeGoesOn(t, c, 1) })
}

// So it is where time goes on so fast that tables don't last.
func TestStressBeyondHorizons(t *testing.T) {
	eachHash(t, func(t *testing.T, c Config[tokens]) {
		c.Kernel = hasty{}
		stressWhileTimeGoesOn(t, c, 1e6) // 5 ms a call
	})
}

func stressWhileTimeGoesOn(t *testing.T, c Config[tokens], scale int64) {
	const workers, keys, rounds = 6, 100, 4000
	c.Params = tokens{capacity: 10, unit: 500 * scale} // the faster of the two that chaos sets
	m := New(c)
	var granted [keys]atomic.Int64
	var clock atomic.Int64
	var stop atomic.Bool
	var work, noise sync.WaitGroup
	r := seeded(t)
	for range 2 {
		r := rand.New(rand.NewPCG(r.Uint64(), 0))
		noise.Go(func() { chaos(m, r, &stop, clock.Load) })
	}
	for range workers {
		r := rand.New(rand.NewPCG(r.Uint64(), 0))
		work.Go(func() {
			for range rounds {
				k := r.IntN(keys)
				key := fmt.Sprintf("%0*d", k%40+3, k)
				now := clock.Add(r.Int64N(10 * scale))
				if r.IntN(4) == 0 {
					now = max(0, now-r.Int64N(5000*scale))
				}
				if n := 1 + r.Int64N(3); take(m, key, now, n) == Applied {
					granted[k].Add(n)
				}
			}
		})
	}
	work.Wait()
	stop.Store(true)
	noise.Wait()
	validate(t, m)
	refused := false
	for k := range granted {
		most := 10 + clock.Load()/(500*scale)
		require.LessOrEqual(t, granted[k].Load(), most, "(I1) key %d", k)
		refused = refused || granted[k].Load() > 10
	}
	require.True(t, refused, "no key was taken for more than its capacity: the test says nothing")
}

// MaxKeys holds at every instant, and whoever is refused was refused because of it.
func TestStressAtMaxKeys(t *testing.T) {
	eachHash(t, func(t *testing.T, c Config[tokens]) {
		for _, o := range []Overflow{EvictNearestFull, DenyNewKeys, AllowNewKeys} {
			const workers, most, rounds = 4, 50, 1000
			c.MaxKeys, c.Overflow = most, o
			m := New(c)
			var clock atomic.Int64
			var stop atomic.Bool
			var work, noise sync.WaitGroup
			r := seeded(t)
			noise.Go(func() {
				for !stop.Load() {
					if n := m.Len(); n > most {
						t.Errorf("%d keys held", n)
						return
					}
				}
			})
			r2 := rand.New(rand.NewPCG(r.Uint64(), 0))
			noise.Go(func() { chaos(m, r2, &stop, clock.Load) })
			var denied, untracked atomic.Uint64
			for range workers {
				r := rand.New(rand.NewPCG(r.Uint64(), 0))
				work.Go(func() {
					for range rounds {
						switch take(m, fmt.Sprint(r.IntN(1000)), clock.Add(r.Int64N(2)), 1+r.Int64N(3)) {
						case Denied:
							denied.Add(1)
						case Untracked:
							untracked.Add(1)
						}
					}
				})
			}
			work.Wait()
			stop.Store(true)
			noise.Wait()
			validate(t, m)
			s := m.Stats()
			require.Equal(t, denied.Load(), s.DeniedNew)
			require.Equal(t, untracked.Load(), s.AllowedUntracked)
			switch o {
			case DenyNewKeys:
				require.NotZero(t, denied.Load())
				require.Zero(t, untracked.Load())
			case AllowNewKeys:
				require.NotZero(t, untracked.Load())
				require.Zero(t, denied.Load())
			case EvictNearestFull:
				require.NotZero(t, s.Evicted)
				require.Zero(t, denied.Load())
			}
		}
	})
}
