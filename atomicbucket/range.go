package atomicbucket

import (
	"fmt"
	"math/bits"
	"time"
)

// The range of a rule. Compile refuses what lies outside, so that nothing on the path can overflow.
const (
	MaxCapacity   int64 = 1e13                          // tokens: of the capacity, and of what a refill brings at a time
	MaxRate       int64 = 1e13                          // tokens a second
	MaxTimeToFull int64 = 36525 * 24 * int64(time.Hour) // ns from empty to full: a hundred years
	MinHorizon    int64 = int64(time.Hour)              // ns that every rule can run on one epoch
)

// check refuses a rule that is out of range. Its errors name the field, the value and the bound.
func check(capacity, tokens, per int64) error {
	every := time.Duration(per)
	switch {
	case capacity < 1 || capacity > MaxCapacity:
		return fmt.Errorf("atomicbucket: Capacity: %d tokens, must be 1 to %d", capacity, MaxCapacity)
	case tokens < 1 || tokens > MaxCapacity:
		return fmt.Errorf("atomicbucket: Refill: %d tokens, must be 1 to %d", tokens, MaxCapacity)
	case per < 1:
		return fmt.Errorf("atomicbucket: Refill: per %v, must be at least 1ns", every)
	case !atMost(uint64(tokens), uint64(time.Second), uint64(per), uint64(MaxRate)):
		return fmt.Errorf("atomicbucket: Refill: %d per %v, must be at most %d per second", tokens, every, MaxRate)
	case !atMost(uint64(capacity), uint64(per), uint64(tokens), uint64(MaxTimeToFull)):
		return fmt.Errorf("atomicbucket: Refill: %d per %v, must fill Capacity %d within a hundred years (%v)",
			tokens, every, capacity, time.Duration(MaxTimeToFull))
	}
	return nil
}

// atMost tells whether a*b <= c*d.
func atMost(a, b, c, d uint64) bool {
	h, l := bits.Mul64(a, b)
	hi, lo := bits.Mul64(c, d)
	return h < hi || h == hi && l <= lo
}
