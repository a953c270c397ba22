package shard

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// hard returns keys that differ in little: in one bit at every place, for every length to 100 and around the largest;
// with zero bytes in any place, and nothing else.
func hard() []string {
	var keys []string
	for n := range 101 {
		base := bytes.Repeat([]byte("k"), n)
		keys = append(keys, string(base))
		for i := range n {
			b := bytes.Clone(base)
			b[i] ^= 1
			keys = append(keys, string(b))
			b[i] = 0
			keys = append(keys, string(b))
		}
		if n > 0 {
			keys = append(keys, strings.Repeat("\x00", n))
		}
		for i := 0; i+8 <= n; i++ {
			keys = append(keys, string(base[:i])+strings.Repeat("\x00", 8)+string(base[i+8:]))
		}
	}
	for n := maxKey - 1; n <= maxKey; n++ {
		keys = append(keys, strings.Repeat("k", n), strings.Repeat("k", n-1)+"l")
	}
	distinct := map[string]bool{}
	for _, k := range keys {
		distinct[k] = true
	}
	keys = keys[:0]
	for k := range distinct {
		keys = append(keys, k)
	}
	return keys
}

func TestWordsOfAKeyAreInvertible(t *testing.T) {
	type words struct {
		ctrl uint64
		w    [6]uint64
	}
	seen := map[words]string{}
	r := rand.New(rand.NewPCG(1, 2))
	keys := hard()
	for range 20000 {
		b := make([]byte, r.IntN(wideMax+2))
		for i := range b {
			b[i] = byte(r.IntN(3)) * 127
		}
		keys = append(keys, string(b))
	}
	for _, key := range keys {
		id := identify(key, 1<<60|7)
		zero := false
		for i := 0; i+8 <= len(key); i += 8 {
			zero = zero || key[i:i+8] == strings.Repeat("\x00", 8)
		}
		require.Equal(t, len(key) > wideMax || zero, id.long, "%q", key)
		if id.long {
			require.Equal(t, long|7|(1<<60&tail), id.ctrl)
			continue
		}
		require.NotEqual(t, empty, id.ctrl)
		require.NotEqual(t, sealed, id.ctrl)
		require.Zero(t, id.ctrl&long)
		require.Equal(t, len(key)/8, id.n)
		require.Equal(t, len(key) > smallMax, id.bank == wide)
		var line [2]slot
		for i, w := range id.words[:id.n] {
			line[0].key(i).Store(w)
		}
		require.Zero(t, line[0].word.Load())
		require.Zero(t, line[0].ctrl.Load())
		var buf keyBuf
		require.Equal(t, key, string(buf.unpack(id.ctrl, &line[0])))
		other, dup := seen[words{id.ctrl, id.words}]
		require.True(t, !dup || other == key, "%q and %q", key, other)
		seen[words{id.ctrl, id.words}] = key
	}
}

// No two keys share a word, whatever they look like and wherever they are moved.
func TestKeysAreToldApart(t *testing.T) {
	eachHash(t, func(t *testing.T, c Config[tokens]) {
		c.Params = tokens{capacity: 1 << 30, unit: 1}
		m := New(c)
		keys := hard()
		for i, key := range keys {
			require.Equal(t, Applied, take(m, key, 0, int64(i+1)))
		}
		check := func() {
			for i, key := range keys {
				require.Equal(t, int64(i+1), taken(m, key, 0), "%.50q", key)
			}
		}
		check()
		require.Len(t, validate(t, m), len(keys))
		m.walk(&m.top, func(tb *Table[tokens]) bool { m.move(tb, 0); return false })
		check()
		require.Len(t, validate(t, m), len(keys))
	})
}

func TestKeyIsCopied(t *testing.T) {
	m := New(Config[tokens]{Kernel: bucket{}, Params: tokens{capacity: 9, unit: 1}})
	for _, size := range []int{5, 12, 20, 40} {
		b := bytes.Repeat([]byte("a"), size)
		require.Equal(t, Applied, take(m, unsafeString(b), 0, 2))
		copy(b, "bbbbb")
		require.Equal(t, int64(2), taken(m, strings.Repeat("a", size), 0))
		require.Equal(t, int64(0), taken(m, string(b), 0))
	}
}

func TestKeysTooLong(t *testing.T) {
	m := New(Config[tokens]{Kernel: bucket{}, Params: tokens{capacity: 9, unit: 1}})
	key := strings.Repeat("k", maxKey+1)
	require.Equal(t, Denied, take(m, key, 0, 1))
	require.Zero(t, m.Len())
	require.Zero(t, m.Stats().Bytes)
	m.Reset(0, key)
}

func TestArenaGrowsInSteps(t *testing.T) {
	var a arena
	require.Zero(t, a.size())
	refs := map[uint64]string{}
	for i := range 5000 {
		key := fmt.Sprintf("%0*d", 24+i%100, i)
		refs[a.put(key)] = key
	}
	require.Len(t, refs, 5000)
	used := 0
	for ref, key := range refs {
		require.Equal(t, key, a.get(ref))
		used += len(key)
	}
	require.Less(t, a.size(), used*5/4+maxChunk)
	big := strings.Repeat("x", maxKey)
	require.Equal(t, big, a.get(a.put(big)))
}
