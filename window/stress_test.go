package window

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// cell is a kernel in its eight bytes.
type cell interface {
	take(now, n int64) bool
	refund(n, at int64)
	remaining(now int64) int64
}

type fixedCell struct {
	Fixed
	p *FixedParams
}

func (c *fixedCell) take(now, n int64) bool { return c.Take(c.p, now, n) }
func (c *fixedCell) refund(n, at int64)     { c.Refund(c.p, n, at) }
func (c *fixedCell) remaining(now int64) int64 {
	remaining, _, _ := c.Outcome(c.p, now, 1)
	return remaining
}

type counterCell struct {
	Counter
	p *CounterParams
}

func (c *counterCell) take(now, n int64) bool { return c.Take(c.p, now, n) }
func (c *counterCell) refund(n, at int64)     { c.Refund(c.p, n, at) }
func (c *counterCell) remaining(now int64) int64 {
	remaining, _, _ := c.Outcome(c.p, now, 1)
	return remaining
}

// stress runs f on both cells until other goroutines were seen in between, 5 times at
// the least; f returns how often they were.
func stress(t *testing.T, capacity int64, f func(t *testing.T, c cell, now int64) (contended int64)) {
	play := func(c cell) func(*testing.T) {
		return func(t *testing.T) {
			contended := int64(0)
			for round := int64(0); round < 5 || contended == 0 && round < 1000; round++ {
				contended += f(t, c, 100*round*second) // all that the last round counted is gone
			}
			t.Logf("%d contended calls", contended)
			require.Positive(t, contended, "no contention was seen")
		}
	}
	t.Run("fixed", play(&fixedCell{p: mustFixed(t, capacity, second)}))
	t.Run("counter", play(&counterCell{p: mustCounter(t, capacity, second)}))
}

// together runs f in eight goroutines, which start together, and waits for them.
func together(f func(g int)) {
	var ready, all sync.WaitGroup
	ready.Add(8)
	for g := range 8 {
		all.Go(func() {
			ready.Done()
			ready.Wait()
			f(g)
		})
	}
	all.Wait()
}

// pause lets others in now and then, whatever the number of cores.
func pause(i int) {
	if i%100 == 0 {
		runtime.Gosched()
	}
}

// All take until they are refused, half of them with times of the round before now and
// then. They are granted the capacity, exactly (I1, I2).
func TestStressTake(t *testing.T) {
	const capacity = 50_000
	stress(t, capacity, func(t *testing.T, c cell, now int64) int64 {
		var granted, contended atomic.Int64
		together(func(g int) {
			for i := range 3 * capacity {
				at := now
				if now > 0 && g%2 == 0 && i%2 == 0 {
					at -= 100 * second
				}
				before := c.remaining(now)
				switch {
				case c.take(at, 1):
					granted.Add(1)
					if before-c.remaining(now) > 1 {
						contended.Add(1)
					}
				case at == now:
					return
				}
			}
		})
		require.Equal(t, int64(capacity), granted.Load())
		require.Zero(t, c.remaining(now))
		return contended.Load()
	})
}

// All give back what they took. Those who hold a request are never more than the capacity,
// and in the end nothing is counted.
func TestStressRefund(t *testing.T) {
	const capacity = 5
	stress(t, capacity, func(t *testing.T, c cell, now int64) int64 {
		var holders, most, contended atomic.Int64
		together(func(int) {
			for i := range 10_000 {
				if !c.take(now, 1) {
					contended.Add(1) // the others hold all
					continue
				}
				if held := holders.Add(1); held > most.Load() {
					most.Store(held)
				}
				pause(i)
				holders.Add(-1)
				c.refund(1, now)
			}
		})
		require.LessOrEqual(t, most.Load(), int64(capacity))
		require.Equal(t, int64(capacity), c.remaining(now))
		return contended.Load()
	})
}

// All push the time on and are late themselves now and then. Over all windows, requests
// are at most capacity each (I1).
func TestStressMovingTime(t *testing.T) {
	const capacity, windows = 500, 20
	stress(t, capacity, func(t *testing.T, c cell, start int64) int64 {
		var granted, contended, clock atomic.Int64
		together(func(g int) {
			for i := int64(0); ; i++ {
				now := clock.Add(second / 2000)
				if now >= windows*second {
					return
				}
				late := i % 4 / 3 * int64(g) * second / 4
				before := c.remaining(start + now)
				pause(int(i))
				if c.take(start+max(0, now-late), 1) {
					granted.Add(1)
					if before-c.remaining(start+now) > 1 {
						contended.Add(1)
					}
				}
			}
		})
		require.LessOrEqual(t, granted.Load(), int64(capacity*windows))
		require.Greater(t, granted.Load(), int64(capacity*windows/2), "not much was granted")
		return contended.Load()
	})
}
