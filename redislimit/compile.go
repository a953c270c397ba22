package redislimit

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/casgate/ratelimit"
)

// maxExact is the largest integer up to which the server's Lua, whose numbers are doubles, counts exactly.
const maxExact = 1<<53 - 1

// compiled is a rule in the script's numbers: whole microseconds, units, and products below maxExact.
type compiled struct {
	rule ratelimit.Rule
	kind string // the script's letter for the algorithm
	unit int64  // token bucket: units a token; windows: 1
	rate int64  // token bucket: units a microsecond
	span int64  // windows: microseconds

	numbers [5]int64 // of its argument; the first and the last are of a call
	one     string   // the argument for one token
}

// compile checks r against the range that the script counts exactly in, which is smaller than the in-process one.
func compile(r ratelimit.Rule) (c *compiled, err error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	last := int64(0)
	if r.Algorithm == ratelimit.TokenBucket {
		if c, err = compileBucket(r); err == nil {
			last = c.unit
		}
	} else {
		c, err = compileWindow(r)
	}
	if err != nil {
		return nil, err
	}
	c.numbers = [5]int64{0, r.Capacity * c.unit, max(c.rate, c.span), last, 0}
	c.one = c.pack(1, 0)
	return c, nil
}

func compileWindow(r ratelimit.Rule) (*compiled, error) {
	c := &compiled{rule: r, unit: 1}
	switch r.Algorithm {
	case ratelimit.FixedWindow:
		c.kind = "f"
	case ratelimit.SlidingWindowCounter:
		c.kind = "c"
	case ratelimit.SlidingWindowLog:
		c.kind = "l"
	default:
		return nil, fmt.Errorf("%w: Algorithm: %v has no script", ratelimit.ErrInvalidRule, r.Algorithm)
	}
	window := r.Window()
	if window%time.Microsecond != 0 {
		return nil, fmt.Errorf("%w: Refill: %v for Capacity %d makes a window of %v: must be whole microseconds over Redis",
			ratelimit.ErrInvalidRule, r.Refill, r.Capacity, window)
	}
	c.span = int64(window / time.Microsecond)
	if r.Algorithm == ratelimit.SlidingWindowCounter && !exact(r.Capacity+1, c.span) {
		return nil, fmt.Errorf("%w: Capacity: %d for a window of %v: capacity * microseconds must be below 2^53 over Redis",
			ratelimit.ErrInvalidRule, r.Capacity, window)
	}
	return c, nil
}

func compileBucket(r ratelimit.Rule) (*compiled, error) {
	if r.Refill.Tokens > math.MaxInt64/1000 {
		return nil, fmt.Errorf("%w: Refill: %v: must name at most %d tokens over Redis", ratelimit.ErrInvalidRule, r.Refill, int64(math.MaxInt64/1000))
	}
	tokens, per := r.Refill.Tokens*1000, int64(r.Refill.Per) // tokens each `per` microseconds
	g := gcd(tokens, per)
	c := &compiled{rule: r, kind: "b", unit: per / g, rate: tokens / g}
	if !exact(r.Capacity, c.unit) || c.rate > maxExact {
		return nil, fmt.Errorf("%w: Capacity: %d with Refill %v: a full bucket has %d units a token, and must have fewer than 2^53 in all over Redis",
			ratelimit.ErrInvalidRule, r.Capacity, r.Refill, c.unit)
	}
	return c, nil
}

// replyLen is how many integers the script replies for a rule.
const replyLen = 5

// arg is the script's argument for n tokens, counted at the instant at (microseconds) if that matters.
func (c *compiled) arg(n, at int64) string {
	if n == 1 && at == 0 {
		return c.one
	}
	return c.pack(n, at)
}

// pack is the letter of the algorithm and five numbers, little-endian doubles: one argument costs the client and the server
// less than six.
func (c *compiled) pack(n, at int64) string {
	numbers := c.numbers
	if c.kind == "b" {
		n = min(n, c.rule.Capacity+1) // as good as any more, and its product with the unit fits
	}
	numbers[0], numbers[4] = n*c.unit, at
	packed := append(make([]byte, 0, 1+8*len(numbers)), c.kind...)
	for _, v := range numbers {
		packed = binary.LittleEndian.AppendUint64(packed, math.Float64bits(float64(v)))
	}
	return string(packed)
}

// decide is the Decision on n tokens that five integers of the script's reply stand for.
func (c *compiled) decide(reply []int64, n int64) ratelimit.Decision {
	state := [3]int64(reply[2:5])
	d := ratelimit.Decision{Allowed: reply[0] == 1, Limit: c.rule.Capacity, At: reply[1] * 1000}
	var remaining, wait, reset int64 // the last two in microseconds
	switch c.kind {
	case "b":
		remaining, wait, reset = c.bucket(state[0], n)
	case "f":
		remaining, wait, reset = c.fixed(reply[1], state[0], state[1])
	case "c":
		remaining, wait, reset = c.counter(reply[1], state, n)
	case "l":
		remaining, wait, reset = c.log(reply[1], state)
	}
	d.Remaining = max(remaining, 0)
	d.ResetAfter = microseconds(reset)
	switch {
	case d.Allowed:
	case n > c.rule.Capacity:
		d.RetryAfter = ratelimit.Never
	default:
		d.RetryAfter = microseconds(wait)
	}
	return d
}

func (c *compiled) bucket(debt, n int64) (remaining, wait, reset int64) {
	full := c.rule.Capacity * c.unit
	return floorDiv(full-debt, c.unit), ceilDiv(debt+n*c.unit-full, c.rate), ceilDiv(debt, c.rate)
}

func (c *compiled) fixed(now, number, count int64) (remaining, wait, reset int64) {
	if count > 0 {
		reset = (number+1)*c.span - now
	}
	return c.rule.Capacity - count, (number+1)*c.span - now, reset
}

func (c *compiled) counter(now int64, state [3]int64, n int64) (remaining, wait, reset int64) {
	number, current, previous := state[0], state[1], state[2]
	toEnd := (number+1)*c.span - now
	remaining = c.rule.Capacity - current - ceilDiv(previous*toEnd, c.span)
	switch {
	case current > 0:
		reset = toEnd + c.span
	case previous > 0:
		reset = toEnd
	}
	// Within this window previous*rest/span must come down to room; past its end, current takes its place.
	if room := c.rule.Capacity - current - n; room >= 0 && previous > 0 {
		if rest := room * c.span / previous; rest > 0 {
			return remaining, max(toEnd-rest, 0), reset
		}
	}
	wait = toEnd
	if room := c.rule.Capacity - n; current > room {
		wait += c.span - room*c.span/current
	}
	return remaining, wait, reset
}

func (c *compiled) log(now int64, state [3]int64) (remaining, wait, reset int64) {
	used, newest, blocking := state[0], state[1], state[2]
	if used > 0 {
		reset = newest + c.span - now
	}
	return c.rule.Capacity - used, blocking + c.span - now, reset
}

// alike reports whether tokens taken at the instants a and b (ns) are given back alike: of a bucket, always, of a window, if
// it is the same one.
func (c *compiled) alike(a, b int64) bool {
	switch c.kind {
	case "b":
		return true
	case "l":
		return a == b
	}
	return floorMicros(a)/c.span == floorMicros(b)/c.span
}

// exact reports whether a*b is counted exactly.
func exact(a, b int64) bool {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	return hi == 0 && lo <= maxExact
}

func microseconds(us int64) time.Duration {
	if us > math.MaxInt64/int64(time.Microsecond) {
		return ratelimit.Never - 1
	}
	return time.Duration(us) * time.Microsecond
}

// floorDiv and ceilDiv take b > 0; what is not positive counts as 0.
func floorDiv(a, b int64) int64 { return max(a, 0) / b }
func ceilDiv(a, b int64) int64  { return (max(a, 0) + b - 1) / b }

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
