package atomicbucket

import (
	"math"
	"math/bits"
)

// Never is the wait for what no waiting brings: more tokens than the capacity, or fewer than 0.
const Never int64 = math.MaxInt64

// Outcome tells, of word at now: the whole tokens left; the ns until n tokens are there, 0 or Never included; the ns
// until the bucket is full, as if never used. All are exact: one ns before retryAfter the n tokens are refused, at it
// they are granted if nobody else came.
func (p *Params) Outcome(word uint64, now, n int64) (remaining, retryAfter, resetAfter int64) {
	v := p.V(now)
	if word < v {
		remaining = int64(min(v-word, p.full) / p.unit)
	}
	if full := word + p.full; full > v {
		resetAfter = p.wait(full-v, now)
	}
	if n < 0 || n > p.capacity {
		return remaining, Never, resetAfter
	}
	if n > remaining {
		retryAfter = p.wait(word+uint64(n)*p.unit-v, now)
	}
	return remaining, retryAfter, resetAfter
}

// Snapshot unpacks word into the two classic fields, for people: the whole tokens at now, and the instant (ns) at
// which the last of them came in, the epoch if that was earlier.
func (p *Params) Snapshot(word uint64, now int64) (tokens, stamp int64) {
	tokens, _, _ = p.Outcome(word, now, 0)
	return tokens, later(p.epoch, p.until(word+uint64(tokens)*p.unit, p.epoch))
}

// IdleAt returns the first instant, from the epoch on, at which word is as if never used; MaxInt64 if it is later.
func (p *Params) IdleAt(word uint64) int64 {
	return later(p.epoch, p.until(word+p.full, p.epoch))
}

// until returns the ns from now until V has come to target, 0 if it has already.
func (p *Params) until(target uint64, now int64) int64 {
	if v := p.V(now); target > v {
		return p.wait(target-v, now)
	}
	return 0
}

// wait returns the least number of ns, counted from now, in which units flow: 0 < units < 2^63. Each ns brings one at
// least, so that it is no more than units.
func (p *Params) wait(units uint64, now int64) int64 {
	if p.num == 1 {
		return int64(units) // a ns brings one unit: so it is for most rules
	}
	hi, lo := bits.Mul64(units, p.den)
	var borrow, carry uint64
	if p.den > 1 { // a part of the next unit has flowed already
		h, l := bits.Mul64(uint64(now)-p.origin, p.num)
		lo, borrow = bits.Sub64(lo, bits.Rem64(h, l, p.den), 0)
	}
	lo, carry = bits.Add64(lo, p.num-1, 0) // round up
	ns, _ := bits.Div64(hi-borrow+carry, lo, p.num)
	return int64(ns)
}

// later returns t + ns, at most MaxInt64.
func later(t, ns int64) int64 {
	if t > math.MaxInt64-ns {
		return math.MaxInt64
	}
	return t + ns
}
