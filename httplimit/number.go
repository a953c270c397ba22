package httplimit

import (
	"math"
	"math/bits"
	"strconv"
	"time"
)

// maxInteger is the largest integer that a structured field can hold: 15 digits (RFC 9651 3.3.1).
const maxInteger = 999_999_999_999_999

// appendInt appends n, cut to what a structured field can hold.
func appendInt(dst []byte, n int64) []byte {
	return strconv.AppendInt(dst, min(max(n, 0), maxInteger), 10)
}

// seconds returns d in whole seconds, rounded up; d is not negative.
func seconds(d time.Duration) int64 {
	s := int64(d / time.Second)
	if d%time.Second > 0 {
		s++
	}
	return s
}

// mulDiv returns a*b/c rounded down, for positive numbers; at most MaxInt64.
func mulDiv(a, b, c int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi >= uint64(c) {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, uint64(c))
	return int64(min(q, math.MaxInt64))
}
