package window

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// reload changes the capacity to and fro, many times within one window, while a client
// takes all it can get. It gets the largest capacity at most (I6), and nothing more once it
// is being refused.
func reload[P any, K kernel[P]](t *testing.T, compile func(capacity, tokens, per int64) (P, error)) {
	random := rand.New(rand.NewPCG(2, 2))
	for range 200 {
		granted, largest, now := int64(0), int64(0), int64(0)
		word := uint64(0)
		var p P
		refused := false
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
				require.False(t, ok && refused, "a client that was refused gained from a reload (I6)")
				if !ok {
					refused = true
					break
				}
				word = next
				granted++
			}
		}
		require.LessOrEqual(t, granted, largest, "granted in one window (I1)")
	}
}

func TestFixedReload(t *testing.T)   { reload[FixedParams](t, CompileFixed) }
func TestCounterReload(t *testing.T) { reload[CounterParams](t, CompileCounter) }
