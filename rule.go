package ratelimit

import (
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/casgate/ratelimit/atomicbucket"
	"github.com/casgate/ratelimit/window"
)

// Rule says how much a key may take: which algorithm, how much at once, how much over time. It is a plain value; equal
// rules are ==.
type Rule struct {
	Algorithm Algorithm
	// Capacity is the bucket's size, in tokens: the largest burst. For windows, the requests per window. At least 1.
	Capacity int64
	// Refill is the rate at which tokens come back. For windows it sets the window's length, the time in which Refill
	// gives Capacity: Capacity * Per / Tokens, which must be a whole number of ns.
	Refill Rate
}

// Validate returns nil, or an error that wraps ErrInvalidRule and names the field, the value and the bound.
func (r Rule) Validate() error {
	if err := r.Refill.check(); err != nil {
		return err
	}
	var err error
	switch r.Algorithm {
	case TokenBucket:
		_, err = atomicbucket.Compile(r.Capacity, r.Refill.Tokens, int64(r.Refill.Per))
	case FixedWindow:
		_, err = window.CompileFixed(r.Capacity, r.Refill.Tokens, int64(r.Refill.Per))
	case SlidingWindowCounter:
		_, err = window.CompileCounter(r.Capacity, r.Refill.Tokens, int64(r.Refill.Per))
	case SlidingWindowLog:
		_, err = window.CompileLog(r.Capacity, r.Refill.Tokens, int64(r.Refill.Per))
	default:
		return r.Algorithm.unknown()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalidRule, err)
	}
	return nil
}

// Window returns the window's length; for a token bucket, the time in which an empty one fills up, rounded up to a ns.
// It is 0 for an invalid rule.
func (r Rule) Window() time.Duration {
	if r.Validate() != nil {
		return 0
	}
	quo, rem := mulDiv(r.Capacity, int64(r.Refill.Per), r.Refill.Tokens)
	if rem != 0 {
		quo++
	}
	return time.Duration(quo)
}

// timeOfOne returns the time in which one token comes back, rounded up to a ns.
func (r Rule) timeOfOne() time.Duration {
	return time.Duration((int64(r.Refill.Per)-1)/r.Refill.Tokens + 1)
}

// Split returns the rule for one of n servers that share this one and can't talk to each other. A token bucket's share
// has exactly rate/n, and the capacity divided by n, rounded down. A window's share keeps the window, so that all
// servers' windows still start together, and has the capacity divided by n, rounded down. The capacity is at least 1:
// with more servers than tokens, all of them together admit n at once where the rule says fewer. An n below 1, or a share outside the
// supported range, is an error that wraps ErrInvalidRule.
func (r Rule) Split(n int) (Rule, error) {
	if n < 1 {
		return Rule{}, fmt.Errorf("%w: Split: %d servers: must be at least 1", ErrInvalidRule, n)
	}
	if err := r.Validate(); err != nil {
		return Rule{}, err
	}
	share := r
	share.Capacity = max(r.Capacity/int64(n), 1)
	if r.Algorithm == TokenBucket {
		g := gcd(r.Refill.Tokens, int64(n))
		share.Refill.Tokens /= g
		if int64(r.Refill.Per) > math.MaxInt64/(int64(n)/g) {
			return Rule{}, fmt.Errorf("%w: Split: %v among %d servers: one token takes more than 292 years", ErrInvalidRule, r.Refill, n)
		}
		share.Refill.Per *= time.Duration(int64(n) / g)
	} else {
		window := int64(r.Window())
		g := gcd(share.Capacity, window)
		share.Refill = Rate{Tokens: share.Capacity / g, Per: time.Duration(window / g)}
	}
	if err := share.Validate(); err != nil {
		return Rule{}, err
	}
	return share, nil
}

// mulDiv returns a*b/c and the remainder, for positive numbers; a quotient beyond int64 is MaxInt64.
func mulDiv(a, b, c int64) (quo, rem int64) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi >= uint64(c) {
		return math.MaxInt64, 0
	}
	q, m := bits.Div64(hi, lo, uint64(c))
	if q > math.MaxInt64 {
		return math.MaxInt64, 0
	}
	return int64(q), int64(m)
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
