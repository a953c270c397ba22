package ratelimit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/limittest"
)

// A window's number tells late calls that it has begun. It does so also when all that it counted was given back.
func TestALateCallStaysInTheWindowThatWasGivenBack(t *testing.T) {
	const window = 100 * time.Microsecond // so that the table's mark doesn't tell the instants apart
	const late, begun, now = int64(450_000), int64(600_000), int64(650_000)
	for _, algorithm := range []ratelimit.Algorithm{ratelimit.FixedWindow, ratelimit.SlidingWindowCounter, ratelimit.SlidingWindowLog} {
		for what, upkeep := range map[string]func(l ratelimit.Local){
			"sweep": func(l ratelimit.Local) { l.Sweep() },
			"rule": func(l ratelimit.Local) {
				rule := l.Rule()
				rule.Refill = ratelimit.Rate{Tokens: 2 * rule.Refill.Tokens, Per: 2 * rule.Refill.Per}
				require.NoError(t, l.SetRule(rule))
			},
		} {
			t.Run(fmt.Sprint(algorithm, "/", what), func(t *testing.T) {
				clock := new(limittest.ManualClock)
				l := limiter(t, ratelimit.Rule{Algorithm: algorithm, Capacity: 10, Refill: ratelimit.Rate{Tokens: 10, Per: window}}, clock)
				require.True(t, l.TakeAt("k", 10, late).Allowed)
				d := l.TakeAt("k", 1, now)
				require.True(t, d.Allowed)
				l.RefundAt("k", 1, d.At)
				clock.Set(late)
				upkeep(l)
				again := l.TakeAt("k", 10, late+1)
				require.False(t, again.Allowed && again.At < begun, "10 more at %d", again.At)
			})
		}
	}
}
