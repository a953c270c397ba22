package atomicbucket

import "math/bits"

// Convert returns the word that stands in `to` for word in p: the same rule or another, at the same epoch or a later
// one. It is 0 if the bucket is full at to's epoch: it may be dropped.
//
// A later epoch alone shifts the word by a whole number of units; nothing is rounded. Another rule keeps the tokens,
// as many as its capacity has room for, counted at its epoch; parts of a token too, rounded down to its units, so that a
// client gets on however often the rule changes. A bucket that owes even then, because it was charged later, is counted
// empty at the first instant at which it owes nothing more. So a client that is being refused gains nothing, and one that
// is full stays full.
func (p *Params) Convert(word uint64, to *Params) uint64 {
	if uint64(to.epoch-p.epoch) >= uint64(p.until(word+p.full, p.epoch)) {
		return 0
	}
	v := p.V(to.epoch) // below word + C, hence below 2^63
	if p.sameRule(to) {
		return word - (v - to.V(to.epoch))
	}
	if word > v {
		return to.V(to.clamp(later(to.epoch, p.until(word, to.epoch))))
	}
	hi, lo := bits.Mul64(v-word, to.unit)
	if hi >= p.unit {
		return 0 // beyond 64 bits, hence beyond C
	}
	units, _ := bits.Div64(hi, lo, p.unit)
	if units >= to.full {
		return 0
	}
	return to.V(to.epoch) - units
}

func (p *Params) sameRule(to *Params) bool {
	return p.capacity == to.capacity && p.unit == to.unit && p.num == to.num && p.den == to.den
}

// clamp returns the instant nearest to now that p's words can represent.
func (p *Params) clamp(now int64) int64 { return min(max(now, p.epoch), p.horizon) }
