package window

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLength(t *testing.T) {
	hour := int64(time.Hour)
	tests := []struct {
		name                  string
		capacity, tokens, per int64
		length                int64  // ns; 0: refused
		field, value, bound   string // what the error names
	}{
		{name: "100 per minute", capacity: 100, tokens: 100, per: minute, length: minute},
		{name: "a window of two minutes", capacity: 200, tokens: 100, per: minute, length: 2 * minute},
		{name: "half a minute", capacity: 50, tokens: 100, per: minute, length: minute / 2},
		{name: "1 ns", capacity: 1, tokens: 1, per: 1, length: 1},
		{name: "a year", capacity: 5, tokens: 5, per: 365 * 24 * hour, length: 365 * 24 * hour},
		{name: "a hundred years", capacity: 1, tokens: 1, per: MaxWindow, length: MaxWindow},
		{name: "a product of 93 bits", capacity: 1 << 31, tokens: 1 << 31, per: MaxWindow, length: MaxWindow},
		{name: "no capacity", capacity: 0, tokens: 1, per: 1, field: "Capacity", value: "0", bound: "1 to 2147483648"},
		{name: "below it", capacity: -5, tokens: 1, per: 1, field: "Capacity", value: "-5", bound: "1 to 2147483648"},
		{name: "too much", capacity: 1<<31 + 1, tokens: 1, per: 1, field: "Capacity", value: "2147483649", bound: "1 to 2147483648"},
		{name: "no tokens", capacity: 1, tokens: 0, per: 1, field: "Refill", value: "0 tokens", bound: "at least 1"},
		{name: "no time", capacity: 1, tokens: 1, per: 0, field: "Refill", value: "per 0", bound: "at least 1"},
		{name: "time going back", capacity: 1, tokens: 1, per: -1, field: "Refill", value: "per -1", bound: "at least 1"},
		{name: "a third of a second", capacity: 1, tokens: 3, per: second, field: "Refill", value: "3 per 1s", bound: "a whole number of ns"},
		{name: "half a ns", capacity: 1, tokens: 2, per: 1, field: "Refill", value: "2 per 1ns", bound: "at least 1ns"},
		{name: "1 ns more than a hundred years", capacity: 1, tokens: 1, per: MaxWindow + 1, field: "Refill", value: "1 per 876600h", bound: "at most 876600h0m0s"},
		{name: "2^93 ns", capacity: 1 << 31, tokens: 1, per: math.MaxInt64, field: "Refill", value: "1 per ", bound: "at most 876600h0m0s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			length, err := lengthOf(tt.capacity, tt.tokens, tt.per, 1<<31)
			require.Equal(t, tt.length, length)
			if tt.length > 0 {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, "window: "+tt.field+": ")
			require.ErrorContains(t, err, tt.value)
			require.ErrorContains(t, err, tt.bound)
		})
	}
}

func TestCapacityBounds(t *testing.T) {
	for _, capacity := range []int64{1, 1 << 24, MaxCounterCapacity, MaxFixedCapacity} {
		p, err := CompileFixed(capacity, capacity, second)
		require.NoError(t, err)
		require.GreaterOrEqual(t, p.Horizon(), 3*second-1)
	}
	for _, capacity := range []int64{1, 1 << 24, MaxCounterCapacity} {
		p, err := CompileCounter(capacity, capacity, second)
		require.NoError(t, err)
		require.GreaterOrEqual(t, p.Horizon(), 3*second-1)
	}
	_, err := CompileFixed(MaxFixedCapacity+1, 1, second)
	require.ErrorContains(t, err, "Capacity: 1099511627777 requests: must be 1 to 1099511627776")
	_, err = CompileCounter(MaxCounterCapacity+1, 1, second)
	require.ErrorContains(t, err, "Capacity: 1073741824 requests: must be 1 to 1073741823")
	_, err = CompileCounter(1, 3, second)
	require.ErrorContains(t, err, "Refill")
}

// Where the counts take most of the word, the windows' numbers must not run out before a map can move it on.
func TestAnEpochLasts(t *testing.T) {
	for _, c := range []struct {
		capacity, window int64
		fine             bool
	}{
		{MaxCounterCapacity, ms, true},
		{MaxCounterCapacity, ms - 1, false},
		{1 << 26, 1000, false},
		{1, 1, true},
	} {
		_, err := CompileCounter(c.capacity, c.capacity, c.window)
		require.Equal(t, c.fine, err == nil, "%d in %d ns: %v", c.capacity, c.window, err)
		if err != nil {
			require.ErrorContains(t, err, "window: Capacity: ")
		}
	}
	p, err := CompileFixed(MaxFixedCapacity, MaxFixedCapacity, 1)
	require.NoError(t, err)
	for _, epoch := range []int64{0, -1, second, second - 1} {
		p := p.Rebase(epoch)
		require.GreaterOrEqual(t, p.Horizon()-epoch, MinEpoch-1)
	}
}
