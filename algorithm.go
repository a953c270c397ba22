package ratelimit

import "fmt"

// Algorithm names how a rule is enforced. The zero value is TokenBucket, which is right for almost everything.
type Algorithm uint8

const (
	// TokenBucket admits bursts of up to the capacity, then evenly at the refill rate.
	TokenBucket Algorithm = iota
	// FixedWindow admits the capacity in each window of the clock; across an edge, twice that.
	FixedWindow
	// SlidingWindowLog admits exactly the capacity in any window; it keeps 8 bytes for each request held.
	SlidingWindowLog
	// SlidingWindowCounter admits about the capacity in any window, by weighing the last window's count.
	SlidingWindowCounter
)

var algorithmNames = [...]string{
	TokenBucket:          "TOKEN_BUCKET",
	FixedWindow:          "FIXED_WINDOW",
	SlidingWindowLog:     "SLIDING_WINDOW_LOG",
	SlidingWindowCounter: "SLIDING_WINDOW_COUNTER",
}

// String returns the name used in rule files, such as TOKEN_BUCKET; for an unknown value, Algorithm(n).
func (a Algorithm) String() string {
	if int(a) < len(algorithmNames) {
		return algorithmNames[a]
	}
	return fmt.Sprintf("Algorithm(%d)", uint8(a))
}

// MarshalText returns String's name. An unknown value is an error that wraps ErrInvalidRule.
func (a Algorithm) MarshalText() ([]byte, error) {
	if int(a) < len(algorithmNames) {
		return []byte(algorithmNames[a]), nil
	}
	return nil, a.unknown()
}

// UnmarshalText accepts the four names exactly as String writes them. Anything else is an error that wraps
// ErrInvalidRule, and leaves a as it was.
func (a *Algorithm) UnmarshalText(text []byte) error {
	for i, name := range algorithmNames {
		if string(text) == name {
			*a = Algorithm(i)
			return nil
		}
	}
	return fmt.Errorf("%w: Algorithm: %q is none of %v", ErrInvalidRule, text, algorithmNames)
}

func (a Algorithm) unknown() error {
	return fmt.Errorf("%w: Algorithm: %d is none of %v", ErrInvalidRule, uint8(a), algorithmNames)
}
