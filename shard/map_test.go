package shard

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/cespare/xxhash/v2"
	"github.com/stretchr/testify/require"
)

// The hashes the suite runs under: the real one, one of four bits, two of them leading ones, and none at all.
var hashes = map[string]uint64{"xxhash": 0, "4bit": ^uint64(3<<62 | 3<<30), "constant": ^uint64(0)}

// eachHash runs a test under every hash, each with tables as they are and with small ones, so that few keys make many.
func eachHash(t *testing.T, test func(t *testing.T, c Config[tokens])) {
	for name, dull := range hashes {
		for size, l := range map[string]limits{"large": {}, "small": {slots: 48, depth: 3, patience: 4}} {
			t.Run(name+"/"+size, func(t *testing.T) {
				test(t, Config[tokens]{Kernel: bucket{}, Params: tokens{capacity: 10, unit: 1000}, dull: dull, limits: l})
			})
		}
	}
}

func hashOf(m *Map[tokens], key string) uint64 { return xxhash.Sum64String(key) &^ m.dull }

func unsafeString(b []byte) string { return unsafe.String(&b[0], len(b)) }

// take takes n tokens as an adapter does.
func take(m *Map[tokens], key string, now, n int64) Verdict {
	hash := hashOf(m, key)
	if w, t := m.Find(hash, key); w != nil {
		for old := w.Load(); Live(old); old = w.Load() {
			at, ok := t.At(now)
			if !ok {
				break
			}
			next, ok := t.Params.take(old, at, n)
			if !ok {
				return Declined
			}
			if w.CompareAndSwap(old, next) {
				return Applied
			}
		}
	}
	return m.Update(hash, key, now, Create, func(r *tokens, word uint64, at int64) (uint64, bool) { return r.take(word, at, n) })
}

// taken returns how many tokens the key lacks at now.
func taken(m *Map[tokens], key string, now int64) (n int64) {
	m.Update(hashOf(m, key), key, now, HeldOnly, func(r *tokens, word uint64, at int64) (uint64, bool) {
		n = max(0, (int64(word)-(r.v(at)-r.capacity*r.unit)+r.unit-1)/r.unit)
		return 0, false
	})
	return n
}

// giveBack returns n tokens to a key held.
func giveBack(m *Map[tokens], key string, now, n int64) Verdict {
	return m.Update(hashOf(m, key), key, now, HeldOnly, func(r *tokens, word uint64, at int64) (uint64, bool) {
		return uint64(max(1, int64(word)-n*r.unit)), true
	})
}

func TestOneKey(t *testing.T) {
	eachHash(t, func(t *testing.T, c Config[tokens]) {
		m := New(c)
		require.Zero(t, taken(m, "k", 0))
		require.Equal(t, Absent, giveBack(m, "k", 0, 1))
		require.Equal(t, Declined, take(m, "k", 5, 11))
		require.Zero(t, m.Len())
		require.Equal(t, Applied, take(m, "k", 5, 10))
		require.Equal(t, Declined, take(m, "k", 5, 1))
		require.Equal(t, Declined, take(m, "k", 1004, 1))
		require.Equal(t, Applied, take(m, "k", 1005, 1))
		require.Equal(t, Applied, giveBack(m, "k", 1005, 3))
		require.Equal(t, int64(7), taken(m, "k", 1005))
		require.Equal(t, 1, m.Len())
		require.Zero(t, m.Sweep(1005+6999))
		require.Equal(t, 1, m.Sweep(1005+7000))
		require.Zero(t, m.Len())
		require.Equal(t, Absent, giveBack(m, "k", 1005+7000, 3))
		validate(t, m)
		s := m.Stats()
		s.Bytes = 0
		require.Equal(t, Stats{Created: 1, Evicted: 1}, s)
	})
}

func TestReset(t *testing.T) {
	eachHash(t, func(t *testing.T, c Config[tokens]) {
		m := New(c)
		m.Reset(hashOf(m, "k"), "k")
		for range 3 {
			require.Equal(t, Applied, take(m, "k", 0, 10))
			require.Equal(t, Declined, take(m, "k", 0, 1))
			m.Reset(hashOf(m, "k"), "k")
			require.Zero(t, m.Len())
			require.Zero(t, taken(m, "k", 0))
			m.Reset(hashOf(m, "k"), "k")
		}
		require.Equal(t, Applied, take(m, "k", 0, 3))
		require.Equal(t, Applied, giveBack(m, "k", 0, 3))
		require.Equal(t, 1, m.Len())
		m.Reset(hashOf(m, "k"), "k")
		require.Zero(t, m.Len(), "a key that is full is held no less")
		require.Equal(t, uint64(4), m.Stats().Created)
		require.Zero(t, m.Stats().Evicted)
		validate(t, m)
	})
}

// Many keys come, grow the map to many tables, become idle and leave nothing behind but one small table.
func TestFloodComesAndGoes(t *testing.T) {
	eachHash(t, func(t *testing.T, c Config[tokens]) {
		m := New(c)
		const n = 5000
		for round := range int64(3) {
			now := round * 1e6
			for i := range n {
				require.Equal(t, Applied, take(m, fmt.Sprint("key", i), now, 1+int64(i%10)))
			}
			require.Equal(t, n, m.Len())
			for i := range n {
				require.Equal(t, 1+int64(i%10), taken(m, fmt.Sprint("key", i), now))
			}
			require.Len(t, validate(t, m), n)
			// Those that lack five tokens or fewer are idle then.
			require.Equal(t, n/2, m.Sweep(now+5000))
			require.Len(t, validate(t, m), n/2)
			for i := range n {
				require.Equal(t, max(0, 1+int64(i%10)-5), taken(m, fmt.Sprint("key", i), now+5000))
			}
			require.Equal(t, n/2, m.Sweep(now+10000))
			require.Empty(t, validate(t, m))
			require.Less(t, m.Stats().Bytes, int64(3000))
		}
	})
}

func TestStaysSmall(t *testing.T) {
	m := New(Config[tokens]{Kernel: bucket{}, Params: tokens{capacity: 10, unit: 1000}})
	require.Less(t, unsafe.Sizeof(*m), uintptr(700))
	require.Zero(t, m.Stats().Bytes)
	require.Zero(t, m.Sweep(0))
	m.SetParams(tokens{capacity: 1, unit: 1}, 0)
	require.Equal(t, Applied, take(m, "k", -5, 1))
	require.Equal(t, Declined, take(m, "k", -5, 1))
	require.Less(t, m.Stats().Bytes, int64(2048))
}
