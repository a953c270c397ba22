package ratelimit_test

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
)

func TestSystemClockNeverGoesBackwards(t *testing.T) {
	clock := ratelimit.SystemClock()
	last := clock.NanoTime()
	for range 100_000 {
		now := clock.NanoTime()
		require.GreaterOrEqual(t, now, last)
		last = now
	}
}

func TestCoarseClockStepsByItsResolution(t *testing.T) {
	for given, want := range map[time.Duration]time.Duration{
		10 * time.Millisecond: 10 * time.Millisecond, 0: time.Millisecond, -time.Second: time.Millisecond,
		150 * time.Microsecond: 150 * time.Microsecond, 1: 100 * time.Microsecond, 99 * time.Microsecond: 100 * time.Microsecond,
	} {
		synctest.Test(t, func(t *testing.T) {
			clock := ratelimit.NewCoarseClock(given)
			start := clock.NanoTime()
			<-time.After(want - 1)
			synctest.Wait()
			assert.Equal(t, start, clock.NanoTime())
			<-time.After(1)
			synctest.Wait()
			assert.Equal(t, start+int64(want), clock.NanoTime())
			clock.Close()
			clock.Close()
			<-time.After(time.Hour)
			assert.Equal(t, start+int64(want), clock.NanoTime(), "it stands still after Close")
		})
	}
}

func TestCoarseClockIsNeverAhead(t *testing.T) {
	clock, exact := ratelimit.NewCoarseClock(time.Microsecond), ratelimit.SystemClock()
	defer clock.Close()
	steps := 0
	for last := clock.NanoTime(); steps < 100; {
		now := clock.NanoTime()
		require.LessOrEqual(t, now, exact.NanoTime())
		require.GreaterOrEqual(t, now, last)
		if now != last {
			steps++
		}
		last = now
	}
}

func TestCoarseClockEndsWhenDropped(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 10 {
		ratelimit.NewCoarseClock(time.Hour)
	}
	require.Greater(t, runtime.NumGoroutine(), before)
	for runtime.NumGoroutine() > before { // ends by the test's deadline if they stay
		runtime.GC()
		runtime.Gosched()
	}
}
