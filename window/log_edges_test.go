package window

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// What was given back leaves no entry, but its instant has been: a late call counts at it. So an older one must not free
// the log, and have the late call begin anew.
func TestLogRetiresNotBeforeWhatWasGivenBack(t *testing.T) {
	var l Log
	p, err := CompileLog(10, 10, 100)
	require.NoError(t, err)
	p = l.Adopt(p)
	word := l.New(&p, 1000, 10)
	o, v := l.Take(&p, word, 1200, 1)
	require.Equal(t, LogAllowed, v)
	require.Equal(t, LogAllowed, l.Refund(&p, word, 1, o.At))
	require.EqualValues(t, 1200, l.IdleAt(&p, word))
	require.False(t, l.Retire(&p, word, 1199))
	require.True(t, l.Retire(&p, word, 1200))
}

// Of a longer window there are fewer instants. What was recorded later than the last of them stays the newest there is.
func TestLogConvertBeyondTheHorizon(t *testing.T) {
	const now = math.MaxInt64 - 1<<57 // the last instant that a map counts at
	for _, capacity := range []int64{10, MaxLogCapacity} {
		var l Log
		short, err := CompileLog(capacity, capacity, second)
		require.NoError(t, err)
		short = l.Adopt(short)
		word := l.New(&short, now, 1)
		for range 2 {
			require.Equal(t, LogAllowed, l.Try(&short, word, now, 1))
		}
		long, err := CompileLog(capacity, capacity, MaxWindow)
		require.NoError(t, err)
		long = l.Adopt(long)
		long = l.Rebase(&long, now)
		require.Equal(t, word, l.Convert(word, &short, &long))
		require.GreaterOrEqual(t, l.IdleAt(&long, word), int64(now), "nothing that is in the window is idle")
		for left := capacity - 3; left > max(0, capacity-30); left-- {
			o, v := l.Take(&long, word, now, 1)
			require.Equal(t, LogAllowed, v)
			require.Equal(t, left-1, o.Remaining)
			require.Positive(t, o.ResetAfter)
			ring := l.ring(word)
			last := uint64(0)
			for i, head := uint32(0), ring.look(&long, now).head(); i <= ring.mask(); i++ {
				time := ring.time(ring.load((head + i) & ring.mask()))
				require.GreaterOrEqual(t, time, last, "times never decrease (L2)")
				last = time
			}
		}
	}
}
