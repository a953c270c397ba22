package window

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// What CounterParams says that its estimate gets wrong, with its figures.

// A burst in the last instant of a window, and then every request that fits: 199 of 100 in
// less than a window.
func TestCounterAdmitsTooManyAfterALateBurst(t *testing.T) {
	p := mustCounter(t, 100, minute)
	var c Counter
	require.True(t, c.Take(p, minute-1, 100))
	granted := 100
	for now := minute; now < 2*minute-1; now += 100 * ms {
		if c.Take(p, now, 1) {
			granted++
		}
	}
	require.Equal(t, 199, granted)
}

// The same from above: whatever is asked, never more than 199 of 100 in a window's length,
// nor more than 100 in a window of the grid.
func TestCounterAdmitsAtMostTwiceLessOne(t *testing.T) {
	p := mustCounter(t, 100, minute)
	random := random{rand.New(rand.NewPCG(1, 1))}
	for range 200 {
		var c Counter
		var granted []int64 // instants
		inWindow := map[int64]int{}
		for now := int64(0); now < 6*minute; now += random.Int64N(pick(random, ms, second, 20*second)) + 1 {
			for range random.IntN(60) {
				if c.Take(p, now, 1) {
					granted = append(granted, now)
					inWindow[now/minute]++
				}
			}
		}
		for i := 0; i+199 < len(granted); i++ {
			require.GreaterOrEqual(t, granted[i+199]-granted[i], minute)
		}
		for window, n := range inWindow {
			require.LessOrEqual(t, n, 100, "window %d", window)
		}
	}
}

// A burst at a window's start weighs too much: the log would admit 100 again a minute later.
func TestCounterAdmitsTooFewAfterAnEarlyBurst(t *testing.T) {
	p := mustCounter(t, 100, minute)
	word, _ := p.Take(0, 0, 100)
	_, retryAfter, resetAfter := p.Outcome(word, minute, 1)
	require.Equal(t, minute/100, retryAfter)
	require.Equal(t, minute, resetAfter)
	_, retryAfter, _ = p.Outcome(word, minute, 100)
	require.Equal(t, minute, retryAfter)
}

func TestCounterForAClientThatAlwaysAsks(t *testing.T) {
	p := mustCounter(t, 100, minute)
	var c Counter
	for window, want := range []int{100, 99, 99, 99, 99} {
		granted := 0
		for now := int64(window) * minute; now < int64(window+1)*minute; now += 10 * ms {
			if c.Take(p, now, 1) {
				granted++
			}
		}
		require.Equal(t, want, granted, "window %d", window)
	}
}

// Traffic that is evenly spread is estimated to within one request.
func TestCounterIsRightForEvenTraffic(t *testing.T) {
	p := mustCounter(t, 1000, minute)
	for _, every := range []int64{minute / 900, 97 * ms, second, 7 * second, 59 * second} {
		word := uint64(0)
		var at []int64
		for now := every / 3; now < 5*minute; now += every {
			next, ok := p.Take(word, now, 1)
			require.True(t, ok)
			word, at = next, append(at, now)
			for len(at) > 0 && at[0] <= now-minute {
				at = at[1:]
			}
			remaining, _, _ := p.Outcome(word, now, 1)
			require.InDelta(t, 1000-len(at), remaining, 1, "one every %d ns, at %d", every, now)
		}
	}
}
