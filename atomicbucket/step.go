package atomicbucket

import "math/bits"

// V returns the virtual instant of now: C + 1 at the epoch, and one more for every unit that has flowed since.
//
//	V(now) = C + 1 + floor(now*num/den) - floor(epoch*num/den)
//
// The floor is exact: the fraction is too large by less than 2^-128, now - origin is below 2^64, so the product is too
// large by less than 2^-64, and it is short of the next integer by 1/den at least.
func (p *Params) V(now int64) uint64 {
	t := uint64(now) - p.origin
	hi, lo := bits.Mul64(t, p.frac1)
	low, _ := bits.Mul64(t, p.frac0)
	_, carry := bits.Add64(lo, low, 0)
	return p.base + t*p.whole + hi + carry
}

// Take is the step: n tokens from word at now. It returns the next word and true, or false if the tokens aren't there.
// 0 < n <= capacity and epoch <= now <= Horizon are the caller's duty.
func (p *Params) Take(word uint64, now, n int64) (next uint64, ok bool) {
	v := p.V(now)
	next = max(word, v-p.full) + uint64(n)*p.unit
	return next, next <= v
}

// CountsAt returns the instant that a call at now counts at: now, for a late call finds what was there at its own time.
func (p *Params) CountsAt(_ uint64, now int64) int64 { return now }

// Refund returns the word after n tokens, at most a bucketful, were given back to a word that isn't 0. What exceeds a
// full bucket is lost. When they were taken doesn't matter to a bucket.
func (p *Params) Refund(word uint64, n, _ int64) uint64 {
	units := uint64(max(0, min(n, p.capacity))) * p.unit
	return max(word, units+1) - units
}
