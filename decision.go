package ratelimit

import (
	"math"
	"math/bits"
	"time"
)

// Never is the RetryAfter of a request that can't ever pass: it costs more than the rule's capacity, less than
// nothing, or its key is longer than MaxKeyLen.
const Never time.Duration = math.MaxInt64

// MaxKeyLen is the longest key that is held, in bytes. A longer one is refused with Never and not stored.
const MaxKeyLen = 64 << 10

// Decision is the answer to one request, and all that a client may be told.
type Decision struct {
	// Allowed says that the request may go ahead; its tokens are taken.
	Allowed bool
	// Limit is the rule's capacity, in tokens.
	Limit int64
	// Remaining is the number of whole tokens left after this decision; 0 to Limit.
	Remaining int64
	// RetryAfter is 0 when allowed. When refused, it is exact: the same request is refused one nanosecond earlier and
	// allowed then, if nobody else takes in between. Never if it can't ever be. Of a new key that is refused because MaxKeys
	// are held it is only the time of one token (DenyNewKeys).
	RetryAfter time.Duration
	// ResetAfter is the time until the key is as if never seen. Token bucket: full. Fixed window: the window's end.
	// Sliding counter: both counts gone. Sliding log: the newest entry gone.
	ResetAfter time.Duration
	// At is the instant that the decision counted at, in ns on the limiter's clock: the call's own, or a newer one if
	// the call was late. RetryAfter and ResetAfter run from it.
	At int64
}

// lessFraction reports whether a/b < c/d, exactly.
func lessFraction(a, b, c, d uint64) bool {
	leftHi, leftLo := bits.Mul64(a, d)
	rightHi, rightLo := bits.Mul64(c, b)
	return leftHi < rightHi || leftHi == rightHi && leftLo < rightLo
}
