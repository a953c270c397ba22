package shard

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/stretchr/testify/require"
)

// colliding returns n keys of 20 bytes with that xxhash. The function is invertible: of two lanes of 8 bytes the first is
// free, and the second is what brings the state to where it is wanted.
func colliding(n int, want uint64) []string {
	const p1, p2, p4, p5 = 11400714785074694791, 14029467366897019727, 9650029242287828579, 2870177450012600261
	inverse := func(p uint64) uint64 {
		x := p
		for range 6 {
			x *= 2 - p*x
		}
		return x
	}
	round := func(lane uint64) uint64 { return bits.RotateLeft64(lane*p2, 31) * p1 }
	keys := make([]string, n)
	for i := range keys {
		h := uint64(p5) + 20
		first := uint64(i) + 1
		h = bits.RotateLeft64(h^round(first), 27)*p1 + p4
		k := bits.RotateLeft64((want-p4)*inverse(p1), -27) ^ h
		second := bits.RotateLeft64(k*inverse(p1), -31) * inverse(p2)
		b := binary.LittleEndian.AppendUint64(nil, first)
		b = binary.LittleEndian.AppendUint64(b, second)
		keys[i] = string(append(b, "tail"...))
	}
	return keys
}

// groups returns n keys, of which so many at a time have one hash.
func groups(n, size int) (keys []string) {
	for i := uint64(1); len(keys) < n; i++ {
		keys = append(keys, colliding(size, i*0x9e3779b97f4a7c15)...)
	}
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	return keys[:n]
}

// Keys of one hash get tables of their own under a keyed hash, where walks are short and tables are small, and share them
// with no ordinary key.
func TestHostileKeys(t *testing.T) {
	m := New(Config[tokens]{Kernel: bucket{}, Params: tokens{capacity: 10, unit: 1000}})
	hostile := colliding(20_000, 0x0123456789abcdef)
	hash := xxhash.Sum64String(hostile[0])
	for i := range 5000 {
		require.Equal(t, Applied, take(m, fmt.Sprint("ordinary", i), 0, 2))
	}
	for i, key := range hostile {
		require.Equal(t, hash, xxhash.Sum64String(key))
		require.Equal(t, Applied, take(m, key, 0, 1+int64(i%10)))
	}
	for i, key := range hostile {
		require.Equal(t, 1+int64(i%10), taken(m, key, 0))
	}
	require.Len(t, validate(t, m), 25_000)
	stem := m.top.dir.Load().at(hash).Load()
	require.NotNil(t, stem.under)
	require.True(t, stem.under.keyed)
	keyed, longest := 0, uint32(0)
	m.walk(stem.under, func(tb *Table[tokens]) bool {
		require.LessOrEqual(t, tb.size(), maxSlots)
		b := &tb.banks[small]
		var buf keyBuf
		for i := range b.size() {
			s := b.slot(i)
			if s.ctrl.Load() == empty {
				continue
			}
			keyed++
			p := b.start(tb.space.keyedHash(tb.key(s, &buf)))
			for b.at(p.place) != s {
				p.advance(b)
			}
			longest = max(longest, p.homes)
		}
		return false
	})
	require.GreaterOrEqual(t, keyed, 20_000)
	require.Less(t, longest, uint32(32))

	// When they are gone, so are their tables.
	m.Sweep(1e6)
	require.Empty(t, validate(t, m))
	require.Nil(t, m.top.dir.Load().at(hash).Load().under)
	require.Less(t, m.Stats().Bytes, int64(2048))
}

// Nor do keys of few hashes make walks long, however many share one.
func TestHostileGroups(t *testing.T) {
	for _, size := range []int{8, 16, 30, 60, 100, 200, 256} {
		m := New(Config[tokens]{Kernel: bucket{}, Params: tokens{capacity: 10, unit: 1000}})
		keys, sum := groups(20_000, size), 0
		for _, key := range keys {
			require.Equal(t, Applied, take(m, key, 0, 1))
		}
		require.Len(t, validate(t, m), len(keys))
		for _, key := range keys {
			id := identify(key, xxhash.Sum64String(key))
			tb := m.enter(&id)
			s, r := tb.seek(&id, look)
			require.Equal(t, found, r)
			b := &tb.banks[small]
			for p := b.start(id.hash); b.at(p.place) != s; p.advance(b) {
				sum++
			}
		}
		require.Less(t, sum/len(keys), 12, "slots passed for a key, in groups of %d", size)
	}
}

// Ordinary keys are never taken for hostile.
func TestOrdinaryKeysStayTogether(t *testing.T) {
	n := 1_000_000
	if testing.Short() {
		n /= 10
	}
	m := New(Config[tokens]{Kernel: bucket{}, Params: tokens{capacity: 10, unit: 1000}})
	for i, key := range keysOf(n, 20) {
		require.Equal(t, Applied, take(m, key, 0, 1))
		if i&(i-1) == 0 || i == n-1 {
			d := m.top.dir.Load()
			for j := range d.entries {
				require.Nil(t, d.entries[j].Load().under)
			}
		}
	}
}

// Keys that agree in the hash's leading bits only can't be split apart by the directory either.
func TestHostileHalves(t *testing.T) {
	m := New(Config[tokens]{Kernel: bucket{}, Params: tokens{capacity: 10, unit: 1000}, dull: 1<<63 - 1<<32})
	for i := range 20_000 {
		require.Equal(t, Applied, take(m, fmt.Sprint("key", i), 0, 1))
	}
	require.Len(t, validate(t, m), 20_000)
	require.LessOrEqual(t, m.top.dir.Load().depth, uint8(2))
}

// A table that shows in half of its place, because a merge was joined by one half only, has keys of that half only. That
// does not make them hostile.
func TestHalfOfAMergeIsNotHostile(t *testing.T) {
	m := New(Config[tokens]{Kernel: bucket{}, Params: tokens{capacity: 10, unit: 1000}})
	for i := 0; m.top.dir.Load() == nil || m.top.dir.Load().depth < 2; i++ {
		require.Equal(t, Applied, take(m, fmt.Sprint("key", i), 0, 9))
	}
	a, b := pair(t, m)
	mergeHalf(t, m, a, b)
	for i := range 20_000 {
		require.Equal(t, Applied, take(m, fmt.Sprint("more", i), 0, 9))
	}
	d := m.top.dir.Load()
	for i := range d.entries {
		require.Nil(t, d.entries[i].Load().under)
	}
	validate(t, m)
}

func BenchmarkHostile(b *testing.B) {
	for _, kind := range []struct {
		name string
		keys []string
	}{
		{"ordinary", keysOf(20_000, 20)},
		{"hostile", colliding(20_000, 0x0123456789abcdef)},
		{"groups16", groups(20_000, 16)},
		{"groups60", groups(20_000, 60)},
		{"groups200", groups(20_000, 200)},
	} {
		name, keys := kind.name, kind.keys
		b.Run("keys="+name+"/op=create", func(b *testing.B) {
			var m *Map[tokens]
			i := len(keys)
			for b.Loop() {
				if i == len(keys) {
					m, i = roomy(), 0
				}
				take(m, keys[i], 0, 1)
				i++
			}
		})
		b.Run("keys="+name+"/op=hit", func(b *testing.B) {
			m := roomy()
			for _, k := range keys {
				take(m, k, 0, 1)
			}
			i := 0
			for b.Loop() {
				if i == len(keys) {
					i = 0
				}
				take(m, keys[i], 1<<19, 1)
				i++
			}
		})
	}
}
