package atomicbucket

import (
	"fmt"
	"math"
	"math/bits"
	"time"
)

// The range of a rule. Compile refuses what lies outside, so that nothing on the path can overflow.
const (
	MaxCapacity int64 = 1e15 // tokens: the largest capacity
	MaxTokens   int64 = 1e15 // tokens: the most that a refill may name, per whatever time
	MaxRate     int64 = 1e13 // tokens a second: the fastest refill

	// MaxTimeToFull is the longest time, in ns, that an empty bucket may take to fill: a hundred years.
	MaxTimeToFull int64 = 36525 * 24 * int64(time.Hour)

	// MinHorizon is the least time, in ns, that every rule can run on one epoch.
	MinHorizon int64 = int64(time.Hour)

	// Never is the retryAfter of a request that no waiting helps.
	Never int64 = math.MaxInt64
)

// maxWord is the largest payload: bits 63 and 62 of a word are its keeper's.
const maxWord = 1<<62 - 1

// Params is a rule at an epoch: compiled, immutable, copied by value. Its zero value is no rule; Compile makes one.
type Params struct {
	// What V and Take read: one cache line.
	origin       uint64 // ns: the last multiple of den at or before the epoch, mod 2^64
	base         uint64 // V(origin), mod 2^64
	whole        uint64 // units a ns, the whole part of num/den
	frac1, frac0 uint64 // and its fraction, in 2^-64 and 2^-128, rounded up; 0 in exact units
	full         uint64 // C: units in a full bucket
	unit         uint64 // units a token
	capacity     int64  // tokens in a full bucket

	num, den uint64 // num/den units flow in a ns; den is 1 in exact units
	epoch    int64  // ns: the instant from which words are counted, and the earliest that may be asked about
	horizon  int64  // ns: the latest
}

// Compile returns the rule of a bucket that holds capacity tokens and gets `tokens` of them every `per` ns, at epoch 0.
// The range is checked here and nowhere else: an error names the field (Capacity or Refill), its value and the bound.
func Compile(capacity, tokens, per int64) (Params, error) {
	if capacity < 1 || capacity > MaxCapacity {
		return Params{}, fmt.Errorf("atomicbucket: Capacity: %d tokens: must be 1 to %d", capacity, MaxCapacity)
	}
	if tokens < 1 || tokens > MaxTokens {
		return Params{}, fmt.Errorf("atomicbucket: Refill: %d tokens: must be 1 to %d", tokens, MaxTokens)
	}
	if per < 1 {
		return Params{}, fmt.Errorf("atomicbucket: Refill: per %d ns: must be at least 1", per)
	}
	g := gcd(uint64(tokens), uint64(per))
	a, u := uint64(tokens)/g, uint64(per)/g // a tokens in u ns
	if (a-1)/u >= uint64(MaxRate)/1e9 {
		return Params{}, fmt.Errorf("atomicbucket: Refill: %d per %v: must be at most %d a second", tokens, time.Duration(per), MaxRate)
	}
	if hi, lo := bits.Mul64(uint64(capacity), u); !atMost(hi, lo, a, uint64(MaxTimeToFull)) {
		return Params{}, fmt.Errorf("atomicbucket: Refill: %d per %v: fills Capacity %d in more than %v, a hundred years",
			tokens, time.Duration(per), capacity, time.Duration(MaxTimeToFull))
	}

	unit := u // exact units: u a token, a of them flow in a ns
	if !fits(uint64(capacity), a, u, u) {
		unit = 0 // scaled units: as many a token as fit
		for bit := uint64(1) << 61; bit > 0; bit >>= 1 {
			if fits(uint64(capacity), a, u, unit|bit) {
				unit |= bit
			}
		}
	}
	g = gcd(unit, u)
	p := Params{capacity: capacity, unit: unit, full: uint64(capacity) * unit, num: a * (unit / g), den: u / g}
	p.whole = p.num / p.den
	var rem uint64
	p.frac1, rem = bits.Div64(p.num%p.den, 0, p.den)
	p.frac0, rem = bits.Div64(rem, 0, p.den)
	if rem > 0 {
		p.frac0++
	}
	return p.Rebase(0), nil
}

// fits tells whether words in `unit` units a token leave room for the bucket and at least MinHorizon of flow, at
// a tokens in u ns. Once false, it is false for every larger unit below u.
func fits(capacity, a, u, unit uint64) bool {
	num, den := a, uint64(1)
	if unit != u {
		hi, lo := bits.Mul64(a, unit)
		if hi != 0 {
			return false // num is one word, so that a wait is one division
		}
		num, den = lo, u
	}
	hi, full := bits.Mul64(capacity, unit)
	if hi != 0 || full >= maxWord-1 {
		return false
	}
	hi, lo := bits.Mul64(uint64(MinHorizon), num)
	return atMost(hi, lo, den, maxWord-1-full)
}

// atMost tells whether hi:lo / den <= bound.
func atMost(hi, lo, den, bound uint64) bool {
	h, l := bits.Mul64(den, bound)
	return hi < h || hi == h && lo <= l
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Rebase returns the same rule with another epoch: the floor of the table that will hold its words.
func (p *Params) Rebase(floor int64) Params {
	r := *p
	r.epoch = floor
	phase := floor % int64(r.den)
	if phase < 0 {
		phase += int64(r.den)
	}
	r.origin = uint64(floor) - uint64(phase)
	r.base = 0
	r.base = r.full + 1 - r.V(floor) // now V(floor) = C + 1
	r.horizon = later(floor, r.wait(floor, maxWord-r.full)-1)
	return r
}

// Epoch returns the instant (ns) from which p's words are counted, the earliest that p can be asked about.
func (p *Params) Epoch() int64 { return p.epoch }

// Horizon returns the last instant (ns) that words of this epoch can represent: at least MinHorizon after the epoch.
func (p *Params) Horizon() int64 { return p.horizon }

// Capacity returns the tokens in a full bucket.
func (p *Params) Capacity() int64 { return p.capacity }
