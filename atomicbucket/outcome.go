package atomicbucket

import (
	"math"
	"math/bits"
)

// Outcome tells, for word at now: the whole tokens left; the ns until n tokens can be taken, 0 for now and Never for
// an n below 0 or above the capacity; the ns until the bucket is full, which is as if it had never been seen.
// All three are exact: one ns before retryAfter the n tokens are refused, at it they are there if nobody else came.
func (p *Params) Outcome(word uint64, now, n int64) (remaining, retryAfter, resetAfter int64) {
	v := p.V(now)
	if v > word {
		remaining = int64(min(v-word, p.full) / p.unit)
	}
	if word+p.full > v {
		resetAfter = p.wait(now, word+p.full-v)
	}
	if n < 0 || n > p.capacity {
		return remaining, Never, resetAfter
	}
	if next := word + uint64(n)*p.unit; n > 0 && next > v {
		retryAfter = p.wait(now, next-v)
	}
	return remaining, retryAfter, resetAfter
}

// Snapshot unpacks word for people into the two classic fields: the whole tokens at now, and the instant at which
// the last of them came in (the epoch, if that was before it).
func (p *Params) Snapshot(word uint64, now int64) (tokens, stamp int64) {
	tokens, _, _ = p.Outcome(word, now, 0)
	last := word + uint64(tokens)*p.unit
	if first := p.full + 1; last > first {
		return tokens, later(p.epoch, p.wait(p.epoch, last-first))
	}
	return tokens, p.epoch
}

// IdleAt returns the first instant from the epoch on at which word is as if it had never been used, at most MaxInt64.
func (p *Params) IdleAt(word uint64) int64 {
	return later(p.epoch, p.idleAfter(word))
}

// idleAfter is IdleAt as ns after the epoch.
func (p *Params) idleAfter(word uint64) int64 {
	if word <= 1 {
		return 0
	}
	return p.wait(p.epoch, word-1)
}

// wait returns the least number of ns, from now on, in which `units` units flow: 0 < units < 2^63. A ns brings at
// least one unit, so the result is below 2^63 too.
func (p *Params) wait(now int64, units uint64) int64 {
	hi, lo := bits.Mul64(units, p.den)
	var borrow, carry uint64
	if p.den > 1 { // part of the next unit has flowed already
		h, l := bits.Mul64(uint64(now)-p.origin, p.num)
		lo, borrow = bits.Sub64(lo, bits.Rem64(h, l, p.den), 0)
		hi -= borrow
	}
	lo, carry = bits.Add64(lo, p.num-1, 0)
	ns, _ := bits.Div64(hi+carry, lo, p.num)
	return int64(ns)
}

// later returns t + ns, at most MaxInt64.
func later(t, ns int64) int64 {
	if t > math.MaxInt64-ns {
		return math.MaxInt64
	}
	return t + ns
}
