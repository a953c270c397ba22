package window

import (
	"fmt"
	"math"
	"math/bits"
	"time"
)

// MaxWindow is the longest window in ns: a hundred years of 365.25 days.
const MaxWindow int64 = 36525 * 24 * int64(time.Hour)

// Never is the retryAfter of what no waiting helps.
const Never int64 = math.MaxInt64

// lengthOf returns the length of a rule's windows in ns: the time in which `tokens`
// per `per` ns come to capacity. All of the rule's range is checked here: an error
// names the field, its value and the bound.
func lengthOf(capacity, tokens, per, maxCapacity int64) (int64, error) {
	if capacity < 1 || capacity > maxCapacity {
		return 0, fmt.Errorf("window: Capacity: %d requests: must be 1 to %d", capacity, maxCapacity)
	}
	if tokens < 1 {
		return 0, fmt.Errorf("window: Refill: %d tokens: must be at least 1", tokens)
	}
	if per < 1 {
		return 0, fmt.Errorf("window: Refill: per %d ns: must be at least 1", per)
	}
	wrong := func(bound string) (int64, error) {
		return 0, fmt.Errorf("window: Refill: %d per %v: the window in which it comes to Capacity %d must be %s",
			tokens, time.Duration(per), capacity, bound)
	}
	hi, lo := bits.Mul64(uint64(capacity), uint64(per))
	if hi >= uint64(tokens) {
		return wrong(tooLong)
	}
	length, rest := bits.Div64(hi, lo, uint64(tokens))
	switch {
	case length > uint64(MaxWindow):
		return wrong(tooLong)
	case length == 0:
		return wrong("at least 1ns")
	case rest != 0:
		return wrong("a whole number of ns")
	}
	return int64(length), nil
}

var tooLong = fmt.Sprintf("at most %v, a hundred years", time.Duration(MaxWindow))
