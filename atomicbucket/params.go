package atomicbucket

import "math/bits"

// maxWord is the largest payload of a word: 62 bits.
const maxWord = 1<<62 - 1

// Params is a rule at an epoch: compiled, immutable, copied by value. Its zero value is no rule; Compile makes one.
type Params struct {
	// What a step reads: one cache line.
	origin       uint64 // ns: the last multiple of den at or before the epoch, mod 2^64
	base         uint64 // V(origin), mod 2^64
	whole        uint64 // num/den, the units that flow in a ns: the whole part
	frac1, frac0 uint64 // and the fraction, in 2^-64 and 2^-128, rounded up; 0 in exact units
	full         uint64 // C: units in a full bucket
	unit         uint64 // units a token
	capacity     int64  // tokens in a full bucket

	num, den uint64 // in lowest terms; den is 1 in exact units
	epoch    int64  // ns: the instant that words are counted from, the earliest that may be asked about
	horizon  int64  // ns: the latest
}

// Compile returns the rule of a bucket that holds capacity tokens and gets `tokens` tokens every `per` ns, at epoch 0.
// An error names the field that is out of range (Capacity or Refill), its value and the bound.
func Compile(capacity, tokens, per int64) (Params, error) {
	if err := check(capacity, tokens, per); err != nil {
		return Params{}, err
	}
	g := gcd(uint64(tokens), uint64(per))
	a, u := uint64(tokens)/g, uint64(per)/g
	p, ok := inUnits(u, capacity, a, u) // exact units
	for bit := uint64(1) << 61; bit > 0 && !ok; bit >>= 1 {
		if q, fits := inUnits(p.unit|bit, capacity, a, u); fits { // scaled units: as many a token as fit
			p = q
		}
	}
	p.whole = p.num / p.den
	var rem uint64
	p.frac1, rem = bits.Div64(p.num%p.den, 0, p.den)
	p.frac0, rem = bits.Div64(rem, 0, p.den)
	if rem > 0 {
		p.frac0++ // can't carry: rem/den <= 1 - 2^-63
	}
	return p.Rebase(0), nil
}

// inUnits returns the rule in `unit` units a token, and whether a word has room for the bucket and MinHorizon of flow.
func inUnits(unit uint64, capacity int64, a, u uint64) (p Params, ok bool) {
	g := gcd(unit, u)
	huge, num := bits.Mul64(a, unit/g)
	over, full := bits.Mul64(uint64(capacity), unit)
	if huge > 0 || over > 0 || full > maxWord-2 || !atMost(uint64(MinHorizon), num, u/g, maxWord-2-full) {
		return Params{}, false
	}
	return Params{capacity: capacity, unit: unit, full: full, num: num, den: u / g}, true
}

// Rebase returns the same rule at another epoch: the floor of the table that its words will live in.
func (p *Params) Rebase(floor int64) Params {
	r := *p
	phase := floor % int64(r.den)
	if phase < 0 {
		phase += int64(r.den)
	}
	r.epoch = floor
	r.origin = uint64(floor) - uint64(phase) // den divides it: no part of a unit is pending there
	r.base = 0
	r.base = r.full + 1 - r.V(floor) // so that V(floor) = C + 1
	r.horizon = later(floor, r.until(maxWord+1, floor)-1)
	return r
}

// Capacity returns the tokens in a full bucket.
func (p *Params) Capacity() int64 { return p.capacity }

// Horizon returns the last instant (ns) that words of this epoch can represent: MinHorizon after the epoch, or later.
func (p *Params) Horizon() int64 { return p.horizon }

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
