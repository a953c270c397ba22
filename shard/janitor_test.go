package shard

import (
	"fmt"
	"math"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"
)

// timed is a map whose clock goes on by the bubble's time.
func timed(c Config[tokens]) (m *Map[tokens], clock *atomic.Int64) {
	clock = new(atomic.Int64)
	clock.Store(1e18)
	c.Kernel, c.Now = bucket{}, clock.Load
	return New(c), clock
}

// pass lets seconds go by, in the bubble and on the clock.
func pass(clock *atomic.Int64, seconds int) {
	for range seconds {
		clock.Add(int64(time.Second))
		<-time.After(time.Second)
		synctest.Wait()
	}
}

// After a flood memory comes back with no call at all, and with nothing left running.
func TestMemoryComesBackByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, clock := timed(Config[tokens]{Params: tokens{capacity: 10, unit: int64(time.Second)}})
		keys := keysOf(200_000, 20)
		before := heap()
		for _, key := range keys {
			require.Equal(t, Applied, take(m, key, clock.Load(), 3))
		}
		require.Greater(t, heap()-before, int64(200_000*40))
		pass(clock, 2)
		require.Equal(t, len(keys), m.Len(), "nothing is idle yet")
		pass(clock, 10)
		require.Zero(t, m.Len())
		require.Less(t, m.Stats().Bytes, int64(2048))
		require.Less(t, heap()-before, int64(100_000))
		require.False(t, m.janitor.armed.Load())
		validate(t, m)
		// And again.
		require.Equal(t, Applied, take(m, "k", clock.Load(), 3))
		require.True(t, m.janitor.armed.Load())
		pass(clock, 10)
		require.Zero(t, m.Len())
		runtime.KeepAlive(keys)
	})
}

func heap() int64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// watched counts the words that a lap looks at.
type watched struct {
	bucket
	looks atomic.Int64
}

func (w *watched) IdleAt(r *tokens, word uint64) int64 {
	w.looks.Add(1)
	return w.bucket.IdleAt(r, word)
}

// The janitor looks no more often than it has to, and takes a lap in steps.
func TestJanitorIsUnhurried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kernel watched
		var work, clock atomic.Int64
		clock.Store(1e18)
		m := New(Config[tokens]{
			Params: tokens{capacity: 10, unit: int64(time.Hour)},
			Kernel: &kernel,
			Now:    clock.Load,
			work:   func(n int) { work.Add(int64(n)) },
		})
		for i := range 100_000 {
			require.Equal(t, Applied, take(m, fmt.Sprint("key", i), clock.Load(), 1))
		}
		require.Greater(t, len(m.top.dir.Load().entries), 3*stepTables)
		pass(&clock, 2) // a key that is created may be idle at once, for all the janitor knows
		kernel.looks.Store(0)
		work.Store(0)
		pass(&clock, 30)
		require.Zero(t, kernel.looks.Load(), "no key is idle, no lap is made")
		clock.Add(int64(time.Hour))
		for work.Load() == 0 {
			<-time.After(pause)
			synctest.Wait()
		}
		require.LessOrEqual(t, work.Load(), int64(stepTables*4*maxSlots), "a step")
		require.Greater(t, m.Len(), 1000)
		pass(&clock, 10)
		require.Zero(t, m.Len())
	})
}

// Callers may bring times of their own. The clock must not evict by its own then, nor move their time on.
func TestJanitorAndVirtualTime(t *testing.T) {
	for _, start := range []int64{0, 5e18} {
		synctest.Test(t, func(t *testing.T) {
			m, clock := timed(Config[tokens]{Params: tokens{capacity: 10, unit: int64(time.Second)}})
			require.Equal(t, Applied, take(m, "k", start, 10))
			require.Equal(t, Applied, take(m, "l", start, 1))
			pass(clock, 100)
			require.Equal(t, Declined, take(m, "k", start, 1))
			require.Equal(t, Applied, take(m, "k", start+int64(2*time.Second), 2))
			require.Equal(t, Declined, take(m, "k", start+int64(2*time.Second), 1))
			pass(clock, 100)
			require.Equal(t, 1, m.Len(), "the other one is idle by their time")
			validate(t, m)
		})
	}
}

// Their times are known also where all keys are in a space below.
func TestJanitorAndVirtualTimeBelow(t *testing.T) {
	const start = -5e18
	clock := func() int64 { return 1e18 }
	m := New(Config[tokens]{Kernel: bucket{}, Params: tokens{capacity: 10, unit: 1e9}, dull: math.MaxUint64, Now: clock})
	for i := range 300 {
		require.Equal(t, Applied, take(m, fmt.Sprint("key", i), start, 10))
	}
	require.NotNil(t, m.top.dir.Load().at(0).Load().under)
	lap(m)
	require.Equal(t, Declined, take(m, "key0", start, 1))
	validate(t, m)
}

func TestDroppedMapIsCollected(t *testing.T) {
	m, clock := timed(Config[tokens]{Params: tokens{capacity: 10, unit: int64(time.Hour)}})
	for i := range 1000 {
		take(m, fmt.Sprint("key", i), clock.Load(), 1)
	}
	require.True(t, m.janitor.armed.Load())
	require.NotContains(t, goroutines(), "shard.(*Map")
	w := weak.Make(m)
	m = nil
	for range 3 {
		runtime.GC()
	}
	require.Nil(t, w.Value())
}

// goroutines returns the stacks of all of them.
func goroutines() string {
	stacks := make([]byte, 1<<20)
	return string(stacks[:runtime.Stack(stacks, true)])
}

func TestAhead(t *testing.T) {
	require.Equal(t, uint64(3), ahead(5, 2))
	require.Zero(t, ahead(2, 5))
	require.Equal(t, uint64(math.MaxUint64), ahead(math.MaxInt64, math.MinInt64))
}
