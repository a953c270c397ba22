package atomicbucket

import "math/bits"

// V returns the virtual instant of now: C + 1 at the epoch, and from there on every unit that has flowed.
//
//	V(now) = C + 1 + floor(now*num/den) - floor(epoch*num/den)
//
// The product is taken with a fraction of 128 bits, rounded up; now - origin is below 2^64, hence the error below
// 2^-64, hence below 1/den, hence the floor is exact.
func (p *Params) V(now int64) uint64 {
	t := uint64(now) - p.origin
	hi, lo := bits.Mul64(t, p.frac1)
	low, _ := bits.Mul64(t, p.frac0)
	_, carry := bits.Add64(lo, low, 0)
	return p.base + t*p.whole + hi + carry
}

// Take is the step: from word, n tokens at now. It returns the next word and true, or false when the tokens aren't
// there. 0 < n <= capacity and epoch <= now <= Horizon are the caller's duty.
func (p *Params) Take(word uint64, now, n int64) (next uint64, ok bool) {
	v := p.V(now)
	next = max(word, v-p.full) + uint64(n)*p.unit
	return next, next <= v
}

// Refund gives back n tokens, at most a bucketful. Whatever exceeds a full bucket is lost, and the word is never 0
// again. The instant at which they were taken doesn't matter to a bucket.
func (p *Params) Refund(word uint64, n, _ int64) uint64 {
	if n <= 0 {
		return word
	}
	units := uint64(min(n, p.capacity)) * p.unit
	if word <= units {
		return 1
	}
	return word - units
}

// CountsAt returns the instant that a call at now counts at, which is now: a bucket's late call just sees the tokens
// of its own time.
func (p *Params) CountsAt(_ uint64, now int64) int64 { return now }
