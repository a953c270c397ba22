package shard

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIdleKeysMakeRoomFirst(t *testing.T) {
	eachHash(t, func(t *testing.T, c Config[tokens]) {
		for _, o := range []Overflow{EvictNearestFull, DenyNewKeys, AllowNewKeys} {
			c.MaxKeys, c.Overflow = 100, o
			m := New(c)
			for i := range 100 {
				require.Equal(t, Applied, take(m, fmt.Sprint("key", i), 0, 1+int64(i%2))) // every second one is idle at 1000
			}
			for i := range 50 {
				require.Equal(t, Applied, take(m, fmt.Sprint("new", i), 1000, 10))
				require.LessOrEqual(t, m.Len(), 100)
			}
			s := m.Stats()
			require.Equal(t, []uint64{50, 0, 0, 0}, []uint64{s.Evicted, s.EvictedLimited, s.DeniedNew, s.AllowedUntracked})
			for i := range 100 {
				require.Equal(t, int64(i%2), taken(m, fmt.Sprint("key", i), 1000))
			}
			validate(t, m)
		}
	})
}

func TestNewKeysAtMaxKeys(t *testing.T) {
	for o, answer := range map[Overflow]Verdict{DenyNewKeys: Denied, AllowNewKeys: Untracked} {
		m := New(Config[tokens]{Kernel: bucket{}, Params: tokens{capacity: 10, unit: 1000}, MaxKeys: 3, Overflow: o})
		for _, key := range []string{"a", "b", "c"} {
			require.Equal(t, Applied, take(m, key, 0, 5))
		}
		require.Equal(t, answer, take(m, "d", 0, 1))
		require.Equal(t, Declined, take(m, "d", 0, 11), "what can't be isn't the Overflow's business")
		require.Equal(t, Applied, take(m, "b", 0, 1), "a known key is not touched by it")
		require.Equal(t, Absent, giveBack(m, "d", 0, 1))
		m.Reset(hashOf(m, "b"), "b")
		require.Equal(t, Applied, take(m, "d", 0, 5))
		require.Equal(t, answer, take(m, "b", 0, 1), "the key that was reset is new")
		require.Equal(t, answer, take(m, "b", 4999, 1), "nothing is idle yet")
		require.Equal(t, Applied, take(m, "b", 5000, 1))
	}
}

// A flood of new keys evicts itself, and not the clients that are being refused.
func TestFloodAtMaxKeysSparesTheLimited(t *testing.T) {
	eachHash(t, func(t *testing.T, c Config[tokens]) {
		if c.dull != 0 {
			t.Skip("which key is the newest is known by its hash")
		}
		for _, capacity := range []int64{1, 2, 10} {
			for _, held := range []int{100, 2000} {
				for _, limited := range []int{held / 2, held - 1} {
					c.MaxKeys, c.Params = held, tokens{capacity: capacity, unit: 1e9}
					m := New(c)
					for i := range limited {
						require.Equal(t, Applied, take(m, fmt.Sprint("limited", i), int64(i), capacity))
					}
					for i := range 3 * held {
						require.Equal(t, Applied, take(m, fmt.Sprint("new", i), int64(limited+i), 1))
						require.LessOrEqual(t, m.Len(), held)
					}
					for i := range limited {
						require.Equal(t, Declined, take(m, fmt.Sprint("limited", i), 1e6, 1), "capacity %d, %d of %d limited", capacity, limited, held)
					}
					s := m.Stats()
					if capacity > 1 {
						require.Zero(t, s.EvictedLimited)
					} else { // the new ones are at their limit too, and replace each other
						require.Equal(t, s.Evicted, s.EvictedLimited)
					}
					validate(t, m)
				}
			}
		}
	})
}

func TestEvictedLimitedIsCounted(t *testing.T) {
	m := New(Config[tokens]{Kernel: bucket{}, Params: tokens{capacity: 4, unit: 1000}, MaxKeys: 2})
	require.Equal(t, Applied, take(m, "empty", 0, 4))
	require.Equal(t, Applied, take(m, "half", 0, 2))
	require.Equal(t, Applied, take(m, "c", 0, 4)) // instead of half
	require.Zero(t, m.Stats().EvictedLimited)
	require.Equal(t, Applied, take(m, "d", 0, 4)) // instead of c, the younger
	require.Equal(t, uint64(1), m.Stats().EvictedLimited)
	require.Equal(t, Declined, take(m, "empty", 0, 1))
	require.Equal(t, 2, m.Len())
}

// Where it is known that no key is idle, a new key at MaxKeys is refused without a search.
func TestIdleBound(t *testing.T) {
	now := int64(0)
	m := New(Config[tokens]{Kernel: bucket{}, Params: tokens{capacity: 10, unit: 1000}, MaxKeys: 100, Overflow: DenyNewKeys, Now: func() int64 { return now }})
	bound := m.janitor.idle.load
	require.Equal(t, int64(math.MaxInt64), bound())
	for i := range 100 {
		require.Equal(t, Applied, take(m, fmt.Sprint(i), 0, 3+int64(i%5)))
	}
	require.Equal(t, int64(3000), bound())
	now = 2999
	m.top.cursor.Store(1 << 63)
	require.Equal(t, Denied, take(m, "new", now, 1))
	require.Equal(t, uint64(1<<63), m.top.cursor.Load(), "a search was made")
	now = 4000
	lap(m)
	require.Equal(t, int64(5000), bound())
	require.Equal(t, 60, m.Len())
	require.Equal(t, Applied, giveBack(m, "4", now, 6))
	require.Equal(t, int64(1000), bound())
	lap(m)
	require.Equal(t, int64(5000), bound())
	m.SetParams(tokens{capacity: 5, unit: 1000}, now)
	require.Less(t, bound(), now)
}

// lap is one of the janitor's.
func lap(m *Map[tokens]) {
	for m.tidy(); m.janitor.steps > 0; {
		m.tidy()
	}
}
