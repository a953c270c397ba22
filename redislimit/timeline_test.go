package redislimit

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/limittest"
	"github.com/casgate/ratelimit/redislimit/redistest"
)

// finer are the time-lines with instants between microseconds: TestFinerTimelinesRounded runs them, TestTimelines can't.
var finer = map[string]bool{
	"eased-over-the-edge":              true,
	"one-in-each":                      true,
	"late-by-half-a-period":            true,
	"the-oldest-leaves-first":          true,
	"no-double-burst-at-the-edge":      true,
	"ten-thousand-tokens-a-nanosecond": true,
	"four-of-three":                    true,
	"ten-each-thirteen-seconds":        true,
	"sixty-a-second":                   true,
	"more-than-one-a-nanosecond":       true,
	"microseconds-since-1970":          true,
	"never-zero":                       true,
	"not-a-whole-period":               true,
}

// outOfRange are the time-lines whose rules can be counted in process but not over Redis.
var outOfRange = map[string]bool{}

func timelineLimiter(t testing.TB, server Server) func(ratelimit.Rule, ratelimit.Clock) (*Limiter, error) {
	return func(r ratelimit.Rule, clock ratelimit.Clock) (*Limiter, error) {
		return newStore(t, timedServer{server, clock}, Config{Servers: 1}).Limiter("rule", r, Strict)
	}
}

// Every time-line is accounted for: run as it is, or named above.
func TestTimelines(t *testing.T) {
	create := timelineLimiter(t, dial(t, redistest.Start(t).Addr))
	skip := map[string]string{}
	for name := range finer {
		skip[name] = "finer than a microsecond"
	}
	for name := range outOfRange {
		skip[name] = "out of range"
	}
	limittest.Suite{Resolution: time.Microsecond, Skip: skip, New: func(r ratelimit.Rule, clock ratelimit.Clock) ratelimit.Limiter {
		if l, err := create(r, clock); err == nil {
			return l
		}
		return nil
	}}.RunTimelines(t, os.DirFS("../testdata/timelines"))

	all, err := limittest.ReadTimelines(os.DirFS("../testdata/timelines"))
	require.NoError(t, err)
	for _, line := range all {
		_, err := create(line.Rule, new(limittest.ManualClock))
		assert.Equal(t, line.Invalid || outOfRange[line.Name], errors.Is(err, ratelimit.ErrInvalidRule), "%s: %v", line.Name, err)
		fine := false
		for _, s := range line.Steps {
			fine = fine || s.At%int64(time.Microsecond) != 0
		}
		assert.Equal(t, fine && !outOfRange[line.Name], finer[line.Name], line.Name)
	}
}

// With instants rounded down to microseconds, as the server has them, decisions are those in process at these instants,
// waits rounded up.
func TestFinerTimelinesRounded(t *testing.T) {
	create := timelineLimiter(t, dial(t, redistest.Start(t).Addr))
	all, err := limittest.ReadTimelines(os.DirFS("../testdata/timelines"))
	require.NoError(t, err)
	for _, line := range all {
		if !finer[line.Name] {
			continue
		}
		t.Run(line.Name, func(t *testing.T) {
			clock := new(limittest.ManualClock)
			remote, err := create(line.Rule, clock)
			require.NoError(t, err)
			local, err := ratelimit.New(line.Rule, ratelimit.Config{Clock: clock})
			require.NoError(t, err)
			for _, s := range line.Steps {
				clock.Set(max(clock.NanoTime(), floorMicros(s.At)*1000))
				want, got := local.Take(s.Key, s.N), remote.Take(s.Key, s.N)
				want.RetryAfter, want.ResetAfter = ceilMicros(want.RetryAfter), ceilMicros(want.ResetAfter)
				assert.Equal(t, want, got, "%s:%d: %d of %s at %v", line.File, s.Line, s.N, s.Key, time.Duration(s.At))
			}
		})
	}
}

func ceilMicros(d time.Duration) time.Duration {
	if d == ratelimit.Never {
		return d
	}
	return (d + time.Microsecond - 1).Truncate(time.Microsecond)
}
