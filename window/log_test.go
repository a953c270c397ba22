package window

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLogTimelines(t *testing.T) {
	tests := []struct {
		name             string
		capacity, window int64
		steps            []step
	}{
		{"each request counts until its own end", 3, minute, []step{
			{at: 0, n: 1, allowed: true, remaining: 2},
			{at: 2 * second, n: 1, allowed: true, remaining: 1},
			{at: 4 * second, n: 1, allowed: true},
			{at: 6 * second, n: 1, retry: 54 * second},
			{at: minute - 1, n: 1, retry: 1},
			{at: minute, n: 1, allowed: true},
			{at: minute, n: 1, retry: 2 * second},
			{at: minute + 2*second, n: 1, allowed: true},
		}},
		{"several at once wait for several", 10, minute, []step{
			{at: 0, n: 6, allowed: true, remaining: 4},
			{at: 1 * second, n: 3, allowed: true, remaining: 1},
			{at: 2 * second, n: 2, remaining: 1, retry: 58 * second},
			{at: 2 * second, n: 1, allowed: true},
			{at: 3 * second, n: 8, retry: 58 * second},
			{at: 3 * second, n: 10, retry: 59 * second},
			{at: minute, n: 6, allowed: true},
			{at: minute + second, n: 3, allowed: true},
		}},
		{"across the clock's multiples", 5, minute, []step{
			{at: 59 * second, n: 5, allowed: true},
			{at: minute, n: 5, retry: 59 * second},
			{at: 119*second - 1, n: 1, retry: 1},
			{at: 119 * second, n: 5, allowed: true},
		}},
		{"at one instant each counts", 3, second, []step{
			{at: -5, n: 1, allowed: true, remaining: 2},
			{at: -5, n: 1, allowed: true, remaining: 1},
			{at: -5, n: 1, allowed: true},
			{at: -5, n: 1, retry: second},
		}},
		{"a late call counts at the newest instant", 2, 10 * second, []step{
			{at: 5 * second, n: 1, allowed: true, remaining: 1},
			{at: 2 * second, n: 1, allowed: true},
			{at: 14 * second, n: 1, retry: second},
			{at: 1 * second, n: 1, retry: 10 * second},
			{at: 15 * second, n: 2, allowed: true},
		}},
		{"a window of one ns", 2, 1, []step{
			{at: 7, n: 2, allowed: true},
			{at: 7, n: 1, retry: 1},
			{at: 8, n: 2, allowed: true},
		}},
		{"long idle", 2, second, []step{
			{at: 0, n: 2, allowed: true},
			{at: 1 << 61, n: 2, allowed: true},
			{at: 1<<61 + 1, n: 1, retry: second - 1},
		}},
		{"the earliest instants, the latest", 2, second, []step{
			{at: math.MinInt64 + 2*second, n: 1, allowed: true, remaining: 1},
			{at: math.MinInt64 + 2*second, n: 1, allowed: true},
			{at: math.MinInt64 + 3*second - 1, n: 1, retry: 1},
			{at: math.MaxInt64 - 3*second, n: 2, allowed: true},
			{at: math.MaxInt64 - 3*second, n: 1, retry: second},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k := newLogKey(t, tt.capacity, tt.window)
			for i, s := range tt.steps {
				o, ok := k.take(s.at, s.n)
				require.Equal(t, s.allowed, ok, "step %d", i)
				require.Equal(t, s.remaining, o.Remaining, "step %d: remaining", i)
				require.Equal(t, s.retry, o.RetryAfter, "step %d: retryAfter", i)
				if !ok {
					_, verdict := k.Peek(&k.p, k.word.Load(), o.At+s.retry-1, s.n)
					require.Equal(t, LogRefused, verdict, "step %d: refused one ns before", i)
					_, verdict = k.Peek(&k.p, k.word.Load(), o.At+s.retry, s.n)
					require.Equal(t, LogAllowed, verdict, "step %d: allowed then", i)
				}
			}
		})
	}
}

// Instants beyond what a ring can tell count as the last one that it can.
func TestLogClampsTime(t *testing.T) {
	for _, window := range []int64{1, minute, MaxWindow} {
		for _, at := range []int64{math.MinInt64, math.MaxInt64} {
			k := newLogKey(t, 2, window)
			for range 2 {
				o, ok := k.take(at, 1)
				require.True(t, ok)
				require.Positive(t, o.ResetAfter)
				require.LessOrEqual(t, o.ResetAfter, window+16)
			}
			o, ok := k.take(at, 1)
			require.False(t, ok)
			require.Positive(t, o.RetryAfter)
			require.LessOrEqual(t, o.RetryAfter, window+16)
		}
	}
}

func TestLogRefund(t *testing.T) {
	k := newLogKey(t, 10, second)
	k.take(100, 4)
	k.take(200, 3)
	k.take(200, 2)
	word := k.word.Load()
	left := func(n, at int64) int64 {
		require.Equal(t, LogAllowed, k.Refund(&k.p, word, n, at))
		o, _ := k.Peek(&k.p, word, 300, 0)
		return o.Remaining
	}
	require.EqualValues(t, 1, left(5, 150), "nothing was then")
	require.EqualValues(t, 1, left(5, 201))
	require.EqualValues(t, 1, left(5, math.MinInt64))
	require.EqualValues(t, 1, left(5, math.MaxInt64))
	require.EqualValues(t, 2, left(1, 100))
	require.EqualValues(t, 5, left(3, 200), "two entries of one instant")
	require.EqualValues(t, 7, left(99, 200), "no more than were then")
	require.EqualValues(t, 7, left(1, 200))
	o, _ := k.Peek(&k.p, word, 300, 0)
	require.Equal(t, second-200, o.ResetAfter, "the entry of instant 100 is the newest")
	require.EqualValues(t, 10, left(3, 100))
	require.Equal(t, LogGone, k.Refund(&k.p, 12345<<indexBits, 1, 0), "an unknown key stays unknown")
}

func TestLogConvert(t *testing.T) {
	tests := []struct {
		name             string
		capacity, window int64 // it was 10 in 10 s: 4 at 1 s, 3 at 5 s
		at               int64
		remaining        int64
		retry            int64 // for one more than remain
	}{
		{"the same", 10, 10, 6, 3, 5},
		{"raised", 20, 10, 6, 13, 5},
		{"lowered", 8, 10, 6, 1, 5},
		{"lowered below what is used", 5, 10, 6, 0, 5},
		{"lowered below the newest entry", 1, 10, 6, 0, 9},
		{"a longer window", 10, 100, 6, 3, 95},
		{"a longer one brings nothing back", 10, 100, 13, 7, 92},
		{"a shorter window", 10, 3, 6, 7, 2},
		{"all are out of it", 10, 1, 6, 10, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k := newLogKey(t, 10, 10*second)
			k.take(second, 4)
			k.take(5*second, 3)
			word := k.word.Load()
			if tt.at > 10 {
				k.take(tt.at*second-1, 1)
				require.Equal(t, LogAllowed, k.Refund(&k.p, word, 1, tt.at*second-1)) // another ring: what is out is forgotten
			}
			to, err := CompileLog(tt.capacity, tt.capacity, tt.window*second)
			require.NoError(t, err)
			to = k.Adopt(to)
			to = k.Rebase(&to, tt.at*second)
			k.Convert(word, &k.p, &to)
			o, _ := k.Peek(&to, word, tt.at*second, 0)
			require.Equal(t, []int64{tt.capacity, tt.remaining}, []int64{o.Limit, o.Remaining})
			if tt.remaining < tt.capacity {
				o, _ = k.Peek(&to, word, tt.at*second, tt.remaining+1)
				require.Equal(t, tt.retry*second, o.RetryAfter)
			}
		})
	}
}

// What is in the window outlasts a limit that was lower for a time.
func TestLogLoweredAndRaised(t *testing.T) {
	k := newLogKey(t, 100, second)
	k.take(0, 60)
	word, from := k.word.Load(), k.p
	for _, capacity := range []int64{1, 5, 100} {
		to, err := CompileLog(capacity, capacity, second)
		require.NoError(t, err)
		to = k.Adopt(to)
		k.Convert(word, &from, &to)
		from = to
	}
	o, _ := k.Peek(&from, word, 0, 0)
	require.EqualValues(t, 40, o.Remaining)
}

// Where ns don't fit an entry, a request counts up to two units too long, and no ns too short.
func TestLogUnits(t *testing.T) {
	exact, err := CompileLog(100_000, 100_000, 4*60*minute)
	require.NoError(t, err)
	require.Zero(t, exact.unit)
	const capacity, window = MaxLogCapacity, 24 * 60 * minute
	k := newLogKey(t, capacity, window)
	unit := int64(1) << k.p.unit
	require.EqualValues(t, 1<<17, unit)
	for _, at := range []int64{-1, 0, 1, unit - 1, unit, 12345678901} {
		k.take(at, capacity)
		o, ok := k.take(at, 1)
		require.False(t, ok)
		require.GreaterOrEqual(t, o.RetryAfter, window)
		require.LessOrEqual(t, o.RetryAfter, window+2*unit)
		k.Reset()
	}
}

func (k *logKey) Reset() {
	k.Release(nil, k.word.Swap(0))
}
