package window

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFixedTimelines(t *testing.T) {
	tests := []struct {
		name             string
		capacity, window int64
		steps            []step
	}{
		{"a refusal tells the time to the window's end", 2, 20 * second, []step{
			{at: 0, n: 2, allowed: true},
			{at: 1 * second, n: 1, retry: 19 * second},
			{at: 19 * second, n: 2, retry: 1 * second},
			{at: 20 * second, n: 2, allowed: true},
			{at: 39*second + 500*ms, n: 1, retry: 500 * ms},
		}},
		{"windows lie on the clock, not on the first request", 2, 10 * second, []step{
			{at: 9 * second, n: 2, allowed: true},
			{at: 9 * second, n: 1, retry: 1 * second},
			{at: 10 * second, n: 1, allowed: true, remaining: 1},
		}},
		{"before the clock's zero too", 2, 10 * second, []step{
			{at: -11 * second, n: 2, allowed: true},
			{at: -11 * second, n: 1, retry: 1 * second},
			{at: -10 * second, n: 2, allowed: true},
			{at: -1 * ns, n: 1, retry: 1 * ns},
			{at: 0, n: 1, allowed: true, remaining: 1},
		}},
		{"a refused request isn't counted", 10, minute, []step{
			{at: 0, n: 8, allowed: true, remaining: 2},
			{at: 1 * second, n: 5, remaining: 2, retry: 59 * second},
			{at: 2 * second, n: 1, allowed: true, remaining: 1},
			{at: 3 * second, n: 1, allowed: true, remaining: 0},
			{at: 4 * second, n: 1, retry: 56 * second},
		}},
		{"a count passes 2^32", 4294967300, 10 * second, []step{
			{at: 3 * second, n: 4294967295, allowed: true, remaining: 5},
			{at: 4 * second, n: 5, allowed: true},
			{at: 5 * second, n: 1, retry: 5 * second},
			{at: 10 * second, n: 1, allowed: true, remaining: 4294967299},
		}},
		{"a window of a hundred years", 5, int64(MaxWindow), []step{
			{at: 0, n: 5, allowed: true},
			{at: 1 * ms, n: 1, retry: int64(MaxWindow) - 1*ms},
			{at: int64(MaxWindow), n: 1, allowed: true, remaining: 4},
		}},
		{"a window of one ns", 1, 1, []step{
			{at: 5, n: 1, allowed: true},
			{at: 5, n: 1, retry: 1},
			{at: 6, n: 1, allowed: true},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := mustFixed(t, tt.capacity, tt.window).Rebase(tt.steps[0].at)
			play(t, &p, tt.steps)
		})
	}
}

// The reason to choose another algorithm when the limit must hold in any window:
// 200 of 100 a minute in two seconds.
func TestFixedDoubleBurst(t *testing.T) {
	p := mustFixed(t, 100, minute)
	var f Fixed
	granted := 0
	for now := 59 * second; now < 61*second; now += ms {
		if f.Take(p, now, 1) {
			granted++
		}
	}
	require.Equal(t, 200, granted)
}

// A call that was held up for many windows finds a newer window stored. Whatever it
// makes of that, it must not start an old window over: 20 of 10 is what an index
// that wraps gives.
func TestFixedLateCallWipesNothing(t *testing.T) {
	const windows = 1 << 20
	p := mustFixed(t, 10, second)
	for _, late := range []int64{1, 2, 255, 256, 1 << 16, windows} {
		var f Fixed
		now := windows * second
		granted := 0
		for range 10 {
			for _, at := range []int64{now, now - late*second, now} {
				if f.Take(p, at, 1) {
					granted++
				}
			}
		}
		require.Equal(t, 10, granted, "late by %d windows", late)
	}
}

func TestFixedLateCallCountsInTheNewerWindow(t *testing.T) {
	p := mustFixed(t, 10, second)
	word, ok := p.Take(0, 7*second+1, 4)
	require.True(t, ok)

	at := p.CountsAt(word, 2*second)
	require.Equal(t, 7*second, at)
	word, ok = p.Take(word, 2*second, 3)
	require.True(t, ok)
	remaining, retryAfter, resetAfter := p.Outcome(word, 2*second, 4)
	require.Equal(t, []int64{3, 6 * second, 6 * second}, []int64{remaining, retryAfter, resetAfter})

	word = p.Refund(word, 3, at)
	remaining, _, _ = p.Outcome(word, 7*second, 1)
	require.Equal(t, int64(6), remaining)
}

func TestFixedRefund(t *testing.T) {
	p := mustFixed(t, 10, second)
	word, _ := p.Take(0, 5*second, 4)
	left := func(word uint64) int64 {
		remaining, _, _ := p.Outcome(word, 5*second, 1)
		return remaining
	}
	require.Equal(t, int64(9), left(p.Refund(word, 3, 6*second-1)), "the same window")
	require.Equal(t, int64(6), left(p.Refund(word, 3, 5*second-1)), "an older window is past")
	require.Equal(t, int64(6), left(p.Refund(word, 3, 6*second)), "a newer one isn't this one")
	require.Equal(t, int64(6), left(p.Refund(word, 3, math.MinInt64)), "before the epoch")
	require.Equal(t, int64(6), left(p.Refund(word, 3, math.MaxInt64)), "beyond the horizon")
	word = p.Refund(word, 99, 5*second)
	require.Equal(t, int64(10), left(word), "never above full")
	require.NotZero(t, word, "a used word is never 0")
	require.Equal(t, 5*second, p.IdleAt(word), "nothing is counted: as if never seen, but for calls from before the window")
}

func TestFixedOutcome(t *testing.T) {
	p := mustFixed(t, 10, second)
	for _, word := range []uint64{0, 1} { // 1 is what a reset leaves
		remaining, retryAfter, resetAfter := p.Outcome(word, 5*second+1, 10)
		require.Equal(t, []int64{10, 0, 0}, []int64{remaining, retryAfter, resetAfter}, "word %d", word)
	}
	require.LessOrEqual(t, p.IdleAt(1), p.epoch)

	word, _ := p.Take(1, 5*second+1, 4)
	remaining, retryAfter, resetAfter := p.Outcome(word, 5*second+2, 7)
	require.Equal(t, []int64{6, second - 2, second - 2}, []int64{remaining, retryAfter, resetAfter})
	remaining, retryAfter, resetAfter = p.Outcome(word, 5*second+2, 11)
	require.Equal(t, []int64{6, never, second - 2}, []int64{remaining, retryAfter, resetAfter})
	remaining, retryAfter, resetAfter = p.Outcome(word, 6*second, 10)
	require.Equal(t, []int64{10, 0, 0}, []int64{remaining, retryAfter, resetAfter})
	require.Equal(t, 6*second, p.IdleAt(word))
}

func TestFixedConvert(t *testing.T) {
	from := mustFixed(t, 10, minute)
	word, _ := from.Take(0, 90*second, 4)
	full, _ := from.Take(0, 90*second, 10)
	tests := []struct {
		name             string
		word             uint64
		floor            int64
		capacity, window int64
		remaining        int64
	}{
		{"a later epoch", word, 100 * second, 10, minute, 6},
		{"an epoch before the word's window", word, 10 * second, 10, minute, 6},
		{"its window is past", word, 120 * second, 10, minute, 10},
		{"raised: the count carries over", word, 100 * second, 30, minute, 26},
		{"raised: ten of thirty are used", full, 100 * second, 30, minute, 20},
		{"raised by one", full, 100 * second, 11, minute, 1},
		{"lowered below the count", word, 100 * second, 3, minute, 0},
		{"lowered, and above the count", word, 100 * second, 5, minute, 1},
		{"another window", word, 100 * second, 10, int64(time.Hour), 6},
		{"another window, raised", full, 100 * second, 20, second, 10},
		{"a much wider count, a number that doesn't fit", word, -1e18, MaxFixedCapacity, ms, MaxFixedCapacity - 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			to := mustFixed(t, tt.capacity, tt.window).Rebase(tt.floor)
			got := from.Convert(tt.word, &to)
			require.Less(t, got, uint64(1)<<payloadBits)
			remaining, _, _ := to.Outcome(got, min(max(tt.floor, 90*second), to.Horizon()), 1)
			require.Equal(t, tt.remaining, remaining)
		})
	}
	to := mustFixed(t, 30, second).Rebase(100 * second)
	require.Zero(t, from.Convert(from.Refund(word, 4, 90*second), &to), "a full key stays full")
}
