package window

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCounterTimelines(t *testing.T) {
	tests := []struct {
		name             string
		capacity, window int64
		steps            []step
	}{
		{"a burst at a window's end weighs on the next window", 5, minute, []step{
			{at: 59 * second, n: 5, allowed: true},
			{at: 60 * second, n: 5, retry: 60 * second},
			{at: 60 * second, n: 1, retry: 12 * second},
			{at: 72*second - 1, n: 1, retry: 1 * ns},
			{at: 72 * second, n: 1, allowed: true},
			{at: 90 * second, n: 1, allowed: true},
			{at: 120*second - 1, n: 3, remaining: 2, retry: 1 * ns},
			{at: 120 * second, n: 3, allowed: true},
		}},
		{"thirds of a window are rounded against the client", 3, 10 * second, []step{
			{at: 0, n: 3, allowed: true},
			{at: 5 * second, n: 1, retry: 8333333334},
			{at: 10 * second, n: 1, retry: 3333333334},
			{at: 15 * second, n: 1, allowed: true},
			{at: 20 * second, n: 1, allowed: true, remaining: 1},
			{at: 25 * second, n: 1, allowed: true},
			{at: 30 * second, n: 1, allowed: true},
			{at: 35 * second, n: 1, allowed: true},
		}},
		{"a count is gone two windows later", 4, second, []step{
			{at: 500 * ms, n: 4, allowed: true},
			{at: 2250 * ms, n: 3, allowed: true, remaining: 1},
			{at: 2250 * ms, n: 1, allowed: true},
			{at: 2500 * ms, n: 1, retry: 750 * ms},
			{at: 3250 * ms, n: 1, allowed: true},
			{at: 60750 * ms, n: 4, allowed: true},
			{at: 60750 * ms, n: 4, retry: 1250 * ms},
		}},
		{"what remains is rounded down", 100, 180 * second, []step{
			{at: 179 * second, n: 100, allowed: true},
			{at: 330 * second, n: 84, remaining: 83, retry: 1200 * ms},
			{at: 330 * second, n: 83, allowed: true},
			{at: 330 * second, n: 1, retry: 1200 * ms},
			{at: 331200 * ms, n: 1, allowed: true},
		}},
		{"before the clock's zero", 4, second, []step{
			{at: -1 * ns, n: 4, allowed: true},
			{at: 0, n: 1, retry: 250 * ms},
			{at: 250 * ms, n: 1, allowed: true},
		}},
		{"a window of one ns has no inside", 2, 1, []step{
			{at: 7, n: 2, allowed: true},
			{at: 7, n: 1, retry: 2},
			{at: 8, n: 1, retry: 1},
			{at: 9, n: 2, allowed: true},
		}},
		{"the largest counts, the longest window", MaxCounterCapacity, int64(MaxWindow), []step{
			{at: 0, n: MaxCounterCapacity, allowed: true},
			{at: 1, n: 1, retry: int64(MaxWindow) + 2939030531 - 1},
			{at: int64(MaxWindow) + 2939030531, n: 1, allowed: true},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := mustCounter(t, tt.capacity, tt.window).Rebase(tt.steps[0].at)
			play(t, &p, tt.steps)
		})
	}
}

// Late calls must not wipe the counts, however many windows they are late by: an
// index that wraps grants 20 of 10.
func TestCounterLateCallWipesNothing(t *testing.T) {
	const windows = 1 << 20
	p := mustCounter(t, 10, second)
	for _, late := range []int64{1, 2, 3, 255, 256, 1 << 16, windows} {
		var c Counter
		now := windows * second
		granted := 0
		for range 10 {
			for _, at := range []int64{now, now - late*second, now} {
				if c.Take(p, at, 1) {
					granted++
				}
			}
		}
		require.Equal(t, 10, granted, "late by %d windows", late)
	}
}

func TestCounterLateCallCountsAtTheNewerWindowsStart(t *testing.T) {
	p := mustCounter(t, 10, second)
	word, _ := p.Take(0, 6*second, 4)
	word, _ = p.Take(word, 7*second+500*ms, 4) // estimate 2 + 4 here, 4 + 4 at the start
	require.Equal(t, 7*second, p.CountsAt(word, 2*second))
	remaining, retryAfter, resetAfter := p.Outcome(word, 2*second, 3)
	require.Equal(t, []int64{2, 5*second + 250*ms, 7 * second}, []int64{remaining, retryAfter, resetAfter})
	_, ok := p.Take(word, 2*second, 3)
	require.False(t, ok)
	word, ok = p.Take(word, 2*second, 2)
	require.True(t, ok)
	word = p.Refund(word, 2, p.CountsAt(word, 2*second))
	remaining, _, _ = p.Outcome(word, 7*second+500*ms, 1)
	require.Equal(t, int64(4), remaining)
}

func TestCounterRefund(t *testing.T) {
	p := mustCounter(t, 10, second)
	word, _ := p.Take(0, 5*second, 4)
	word, _ = p.Take(word, 6*second, 5)
	left := func(p *CounterParams, word uint64) int64 {
		remaining, _, _ := p.Outcome(word, 6*second+500*ms, 1)
		return remaining
	}
	require.Equal(t, int64(3), left(p, word))
	require.Equal(t, int64(6), left(p, p.Refund(word, 3, 7*second-1)), "the current window")
	require.Equal(t, int64(4), left(p, p.Refund(word, 2, 5*second)), "the previous one")
	require.Equal(t, int64(3), left(p, p.Refund(word, 3, 5*second-1)), "an older one is past")
	require.Equal(t, int64(3), left(p, p.Refund(word, 3, 7*second)), "a newer one isn't stored")

	moved := p.Rebase(6 * second) // the previous window is number 0 from here on
	carried := p.Convert(word, &moved)
	require.Equal(t, int64(4), left(&moved, moved.Refund(carried, 2, 5*second)), "the previous one, before the epoch")
	require.Equal(t, int64(3), left(&moved, moved.Refund(carried, 3, 5*second-1)), "an older one, long before it")

	word = p.Refund(p.Refund(word, 99, 6*second), 99, 5*second)
	require.Equal(t, int64(10), left(p, word), "never above full")
	require.NotZero(t, word)
}

func TestCounterOutcome(t *testing.T) {
	p := mustCounter(t, 10, second)
	for _, word := range []uint64{0, 1} { // 1 is what a reset leaves
		for _, now := range []int64{0, 1, second - 1, second, 5 * second} {
			remaining, retryAfter, resetAfter := p.Outcome(word, now, 10)
			require.Equal(t, []int64{10, 0, 0}, []int64{remaining, retryAfter, resetAfter}, "word %d", word)
			_, ok := p.Take(word, now, 10)
			require.True(t, ok)
		}
	}
	require.LessOrEqual(t, p.IdleAt(1), p.epoch)
	word, _ := p.Take(1, 5*second+1, 4)
	_, retryAfter, resetAfter := p.Outcome(word, 5*second+1, 11)
	require.Equal(t, []int64{never, 2*second - 1}, []int64{retryAfter, resetAfter})
	_, _, resetAfter = p.Outcome(word, 6*second+1, 1)
	require.Equal(t, second-1, resetAfter)
	require.Equal(t, 7*second, p.IdleAt(word))
}

func TestCounterConvert(t *testing.T) {
	from := mustCounter(t, 10, minute)
	word, _ := from.Take(0, 30*second, 4)
	word, _ = from.Take(word, 90*second, 5) // estimate 2 + 5 at 90 s
	full, _ := from.Take(word, 90*second, 3)
	tests := []struct {
		name             string
		word             uint64
		floor            int64
		capacity, window int64
		remaining        int64
	}{
		{"a later epoch", word, 90 * second, 10, minute, 3},
		{"an epoch before the word's window", word, 10 * second, 10, minute, 1},
		{"current becomes previous", word, 150 * second, 10, minute, 7},
		{"both are past", word, 180 * second, 10, minute, 10},
		{"raised: the counts carry over", word, 90 * second, 30, minute, 23},
		{"raised: ten of thirty are used", full, 90 * second, 30, minute, 20},
		{"lowered below the estimate", word, 90 * second, 5, minute, 0},
		{"lowered, and above the estimate", word, 90 * second, 8, minute, 1},
		{"another window: the estimate is its current count", word, 90 * second, 10, int64(time.Hour), 3},
		{"another window, rounded against the client", word, 91 * second, 10, int64(time.Hour), 3},
		{"another window, raised", full, 90 * second, 20, second, 10},
		{"wide counts, a number that doesn't fit", word, -1e18, MaxCounterCapacity, ms, MaxCounterCapacity - 9},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			to := mustCounter(t, tt.capacity, tt.window).Rebase(tt.floor)
			got := from.Convert(tt.word, &to)
			require.Less(t, got, uint64(1)<<payloadBits)
			remaining, _, _ := to.Outcome(got, min(tt.floor, to.Horizon()), 1)
			require.Equal(t, tt.remaining, remaining)
		})
	}
	to := mustCounter(t, 30, second).Rebase(90 * second)
	empty := from.Refund(from.Refund(word, 5, 90*second), 4, 30*second)
	require.Zero(t, from.Convert(empty, &to), "a full key stays full")
}

// A word from a window whose number doesn't fit the new params stands for their last one.
func TestCounterConvertBeyondTheHorizon(t *testing.T) {
	from := mustCounter(t, 10, second)
	to := mustCounter(t, MaxCounterCapacity, second) // two bits for the number
	for window := range int64(20) {
		word, _ := from.Take(0, window*second, 4)
		got := from.Convert(word, to)
		at := min(window, 2) * second
		require.Equal(t, at, to.CountsAt(got, 0), "window %d", window)
		remaining, _, _ := to.Outcome(got, at, 1)
		require.Equal(t, to.Capacity()-4, remaining)
	}
}
