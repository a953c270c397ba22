package window

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// A known key costs no allocation, whether its requests come evenly, in bursts that are a
// window apart, seldom, or are refused; a refund costs one.
func TestLogAllocations(t *testing.T) {
	k := newLogKey(t, 100, minute)
	now := int64(0)
	k.take(now, 1)
	word := k.word.Load()
	for range 1000 { // let the ring grow
		now += minute / 100
		k.Try(&k.p, word, now, 1)
	}
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		now += minute / 100
		k.Try(&k.p, word, now, 1)
		k.Take(&k.p, word, now, 1) // refused
		k.Peek(&k.p, word, now, 7)
		k.Refund(&k.p, word, 1, now-1) // nothing was then
	}))
	require.Equal(t, 1.0, testing.AllocsPerRun(100, func() {
		now += minute / 100
		k.Try(&k.p, word, now, 1)
		k.Refund(&k.p, word, 1, now)
	}))
	require.Zero(t, testing.AllocsPerRun(100, func() {
		now += minute
		for range 100 {
			k.Try(&k.p, word, now, 1)
		}
	}))
	now += 10 * minute
	k.Try(&k.p, word, now, 1)
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		now += 2 * minute
		k.Try(&k.p, word, now, 1)
	}))
}

// Memory follows use, in both directions.
func TestLogMemory(t *testing.T) {
	k := newLogKey(t, 100_000, minute)
	k.take(0, 1)
	word := k.word.Load()
	bytes := func() int64 { return k.ring(word).bytes() }
	grow := func(entries int, now int64) {
		for range entries {
			require.Equal(t, LogAllowed, k.Try(&k.p, word, now, 1))
		}
	}
	grow(2, 0)
	require.EqualValues(t, 64, bytes(), "3 entries")
	grow(7, 0)
	require.EqualValues(t, 160, bytes(), "10 entries")
	grow(50_000, minute/2)
	require.Less(t, bytes(), int64(16*50_010+1000))
	grow(3, 2*minute)
	require.EqualValues(t, 64, bytes(), "3 entries, after a burst that is over")

	grow(97, 2*minute)
	require.EqualValues(t, 1056, bytes())
	grow(100, 3*minute)
	require.EqualValues(t, 1056, bytes(), "a burst each window keeps its ring")
	grow(1, 5*minute)
	require.EqualValues(t, 64, bytes(), "after two windows without")

	grow(1000, 5*minute)
	require.Equal(t, LogAllowed, k.Refund(&k.p, word, 999, 5*minute))
	require.EqualValues(t, 64, bytes(), "2 entries, after a refund")
	require.True(t, k.Retire(&k.p, word, 6*minute))
	require.Equal(t, chunkBytes, k.Bytes())
}

// What Bytes tells is what the heap takes, and 10 entries take less than 200 bytes.
func TestLogHeap(t *testing.T) {
	const keys = 20_000
	var m runtime.MemStats
	heap := func() int64 {
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	words := make([]uint64, keys)
	before := heap()
	k := newLogKey(t, 100, minute)
	for i := range words {
		words[i] = k.New(&k.p, 0, 1)
		for range 9 {
			k.Try(&k.p, words[i], 0, 1)
		}
	}
	used := heap() - before
	t.Logf("%d bytes a key", used/keys)
	require.Less(t, used/keys, int64(200))
	require.InDelta(t, float64(used), float64(k.Bytes()), float64(used)/20)
	for _, word := range words {
		k.Release(nil, word)
	}
	require.Equal(t, chunkBytes, k.Bytes(), "all but a chunk comes back")
	require.Less(t, heap()-before, int64(64<<10))
	runtime.KeepAlive(k)
	runtime.KeepAlive(words)
}
