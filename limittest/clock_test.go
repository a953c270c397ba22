package limittest

import (
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestManualClockStandsUntilTold(t *testing.T) {
	var c ManualClock
	assert.Equal(t, int64(0), c.NanoTime(), "the zero value stands at 0")
	c.Advance(3 * time.Second)
	assert.Equal(t, int64(3e9), c.NanoTime())
	c.Set(7)
	assert.Equal(t, int64(7), c.NanoTime(), "Set may go back")
	c.Advance(-8)
	assert.Equal(t, int64(-1), c.NanoTime(), "so may Advance")
}

func TestManualClockSaturates(t *testing.T) {
	var c ManualClock
	c.Set(math.MaxInt64 - 1)
	c.Advance(time.Hour)
	assert.Equal(t, int64(math.MaxInt64), c.NanoTime())
	c.Set(math.MinInt64 + 1)
	c.Advance(-time.Hour)
	assert.Equal(t, int64(math.MinInt64), c.NanoTime())
}

func TestManualClockConcurrentAdvances(t *testing.T) {
	var c ManualClock
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				c.Advance(time.Nanosecond)
			}
		})
	}
	wg.Wait()
	assert.Equal(t, int64(8000), c.NanoTime(), "no advance is lost")
}
