package proof

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/limittest"
)

// While time goes on, and is read by each call for itself, a log is a list of what was admitted and when. Each decision must
// be right at the instant that it says it counted at, and instants never go back; what is given back is gone from the
// list; and what is evicted was out of the window.
func TestHistoriesOfLogsInTimeAreLinearizable(t *testing.T) {
	const window, capacity = int64(time.Millisecond), 5
	type admitted struct{ at, n int64 }
	model := porcupine.Model{
		Partition: byKey,
		Init:      func() any { return []admitted(nil) },
		Equal:     func(a, b any) bool { return slices.Equal(a.([]admitted), b.([]admitted)) },
		Step: func(state, in, out any) (bool, any) {
			list, i, o := state.([]admitted), in.(input), out.(output)
			left := int64(capacity)
			for _, a := range list {
				if a.at > o.at-window {
					left -= a.n
				}
			}
			late := len(list) > 0 && o.at < list[len(list)-1].at
			switch i.kind {
			case take:
				if o.allowed {
					return !late && i.n <= left && o.remaining == left-i.n, append(slices.Clip(list), admitted{o.at, i.n})
				}
				return !late && i.n > left && o.remaining == left, list
			case peek:
				return !late && o.remaining == left, list
			case refund:
				next := slices.Clone(list)
				for n, j := i.n, len(next)-1; j >= 0; j-- {
					if next[j].at == i.at {
						back := min(n, next[j].n)
						next[j].n -= back
						n -= back
					}
				}
				return true, next
			default:
				return true, []admitted(nil)
			}
		},
		DescribeOperation: describe,
	}
	for range rounds(t) {
		seed := rand.Uint64()
		var clock limittest.ManualClock
		clock.Set(1_700_000_000e9)
		rule := ratelimit.Rule{Algorithm: ratelimit.SlidingWindowLog, Capacity: capacity, Refill: ratelimit.PerSecond(1000 * capacity)}
		l, err := ratelimit.New(rule, ratelimit.Config{Clock: &clock})
		if err != nil {
			t.Fatal(err)
		}
		tick := func(random *rand.Rand) { clock.Advance(time.Duration(random.Int64N(int64(50 * time.Microsecond)))) }
		history := play(l, seed, 4, 25, tick, churn(l))
		if !porcupine.CheckOperations(model, history) {
			t.Fatalf("seed %d: the history is not linearizable:\n%v", seed, history)
		}
	}
}
