package window

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// reload changes the capacity to and fro, many times within one window, while a client
// takes all it can get. It gets what the largest of them admits, and not once for each (I6).
func reload[P any, K kernel[P]](t *testing.T, compile func(capacity, tokens, per int64) (P, error)) {
	random := rand.New(rand.NewPCG(2, 2))
	for range 200 {
		granted, largest, now := int64(0), int64(0), int64(0)
		word := uint64(0)
		var p P
		for range 50 {
			capacity := 1 + random.Int64N(20)
			largest = max(largest, capacity)
			now += random.Int64N(10 * ms)
			to, err := compile(capacity, capacity, second)
			require.NoError(t, err)
			to = K(&to).Rebase(now)
			if word != 0 {
				word = K(&p).Convert(word, &to)
			}
			p = to
			for range random.IntN(30) {
				next, ok := K(&p).Take(word, now, 1)
				if !ok {
					require.GreaterOrEqual(t, granted, capacity, "refused though fewer were granted")
					break
				}
				word = next
				granted++
			}
		}
		require.LessOrEqual(t, granted, largest, "granted in one window (I1)")
	}
}

// What public reports expect of a limit that changes: what was used is used.
func TestReloadKeepsWhatWasUsed(t *testing.T) {
	t.Run("fixed window", func(t *testing.T) { reloadToAndFro[FixedParams](t, CompileFixed) })
	t.Run("sliding counter", func(t *testing.T) { reloadToAndFro[CounterParams](t, CompileCounter) })
}

func reloadToAndFro[P any, K kernel[P]](t *testing.T, compile func(capacity, tokens, per int64) (P, error)) {
	var p P
	word, now := uint64(0), int64(0)
	for _, s := range []struct{ capacity, take, left int64 }{
		{100, 1, 99}, {10, 1, 8}, {1, 0, 0}, {100, 0, 98}, {100, 98, 0}, {101, 0, 1}, {5, 0, 0},
	} {
		to, err := compile(s.capacity, s.capacity, minute)
		require.NoError(t, err)
		to = K(&to).Rebase(now)
		if word != 0 {
			word = K(&p).Convert(word, &to)
		}
		p = to
		if s.take > 0 {
			var ok bool
			word, ok = K(&p).Take(word, now, s.take)
			require.True(t, ok)
		}
		left, _, _ := K(&p).Outcome(word, now, 1)
		require.Equal(t, s.left, left, "of %d", s.capacity)
		_, ok := K(&p).Take(word, now, 1)
		require.Equal(t, s.left > 0, ok, "of %d", s.capacity)
		now += ms
	}
}

func TestFixedReload(t *testing.T)   { reload[FixedParams](t, CompileFixed) }
func TestCounterReload(t *testing.T) { reload[CounterParams](t, CompileCounter) }
