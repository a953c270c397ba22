package atomicbucket

import (
	"math"
	"math/big"
	"testing"
)

// twin is the textbook bucket in exact fractions: tokens, and the instant they were counted at. Slow, and obviously
// right. A late time finds what must have been there then; a refund is clamped when it is read.
type twin struct {
	capacity, rate *big.Rat // tokens; tokens a ns
	tokens         *big.Rat
	stamp          int64
}

func newTwin(capacity, tokens, per, now int64) *twin {
	return &twin{whole(capacity), big.NewRat(tokens, per), whole(capacity), now}
}

// level returns the tokens at now, above capacity if the bucket would have spilled, below 0 if it owes.
func (b *twin) level(now int64) *big.Rat {
	ns := whole(now)
	ns.Sub(ns, whole(b.stamp))
	return ns.Mul(ns, b.rate).Add(ns, b.tokens)
}

func (b *twin) at(now int64) *big.Rat {
	if have := b.level(now); have.Cmp(b.capacity) < 0 {
		return have
	}
	return b.capacity
}

func (b *twin) take(now, n int64) {
	b.tokens, b.stamp = new(big.Rat).Sub(b.at(now), whole(n)), now
}

func (b *twin) refund(n int64) { b.tokens = new(big.Rat).Add(b.tokens, whole(n)) }

// wait returns the ns until the level that was `have` has risen to want: a whole number, 0 if it has already.
func (b *twin) wait(have, want *big.Rat) *big.Int {
	need := new(big.Rat).Sub(want, have)
	if need.Sign() <= 0 {
		return new(big.Int)
	}
	return ceil(need.Quo(need, b.rate))
}

func whole(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

func floor(x *big.Rat) *big.Int { return new(big.Int).Div(x.Num(), x.Denom()) }

func ceil(x *big.Rat) *big.Int {
	y := floor(new(big.Rat).Neg(x))
	return y.Neg(y)
}

// pair is a word and its twin.
type pair struct {
	t    testing.TB
	p    Params
	word uint64
	twin *twin
}

// slack is how far, in tokens, the word may be ahead of its twin: nothing in exact units, less than one scaled unit.
func (x *pair) slack() *big.Rat {
	if x.p.den == 1 {
		return new(big.Rat)
	}
	return new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).SetUint64(x.p.unit))
}

// agree compares all that the word says at now with the twin.
func (x *pair) agree(now, n int64) {
	x.t.Helper()
	p, b := &x.p, x.twin
	remaining, retryAfter, resetAfter := p.Outcome(x.word, now, n)
	within := func(what string, got int64, least, most *big.Int) {
		if g := big.NewInt(got); g.Cmp(least) < 0 || g.Cmp(most) > 0 {
			x.t.Helper()
			x.t.Fatalf("(I1) at %d, n %d: %s = %d, the twin says %v to %v; word %d of %+v", now, n, what, got, least, most, x.word, *p)
		}
	}
	have, ahead := b.at(now), new(big.Rat).Add(b.level(now), x.slack())
	most := floor(ahead)
	if whole := new(big.Rat).SetInt(most); x.p.den > 1 && whole.Cmp(ahead) == 0 {
		most.Sub(most, big.NewInt(1)) // less than a unit, not a whole one
	}
	within("remaining", remaining, clip(floor(have), p.capacity), clip(most, p.capacity))
	within("resetAfter", resetAfter, b.wait(ahead, b.capacity), b.wait(b.level(now), b.capacity))
	if n > 0 {
		within("retryAfter", retryAfter, b.wait(ahead, whole(n)), b.wait(have, whole(n)))
	}
	x.precise("retryAfter", now, retryAfter, func(at int64) bool { _, ok := p.Take(x.word, at, n); return ok })
	x.precise("resetAfter", now, resetAfter, func(at int64) bool { _, _, reset := p.Outcome(x.word, at, 0); return reset == 0 })
	idle := p.IdleAt(x.word)
	x.precise("IdleAt", p.epoch, idle-p.epoch, func(at int64) bool { return p.V(at)-p.full >= x.word })
	tokens, stamp := p.Snapshot(x.word, now)
	within("Snapshot", tokens, big.NewInt(remaining), big.NewInt(remaining))
	x.precise("stamp", p.epoch, stamp-p.epoch, func(at int64) bool {
		left, _, _ := p.Outcome(x.word, at, 0)
		return left >= tokens && p.V(at) >= x.word
	})
}

// precise checks that something comes true exactly `after` ns after now.
func (x *pair) precise(what string, now, after int64, holds func(at int64) bool) {
	x.t.Helper()
	if after < 0 {
		x.t.Fatalf("%s: %d ns at %d of %+v", what, after, now, x.p)
	}
	if after > x.p.horizon-now || now+after == math.MaxInt64 { // the end of time is not precise
		return
	}
	if !holds(now+after) || after > 0 && holds(now+after-1) {
		x.t.Fatalf("%s: not exactly %d ns after %d; word %d of %+v", what, after, now, x.word, x.p)
	}
}

func clip(x *big.Int, capacity int64) *big.Int {
	if x.Sign() < 0 {
		return new(big.Int)
	}
	if most := big.NewInt(capacity); x.Cmp(most) > 0 {
		return most
	}
	return x
}

func (x *pair) take(now, n int64) {
	x.t.Helper()
	x.agree(now, n)
	if next, ok := x.p.Take(x.word, now, n); ok {
		if next == 0 || next > maxWord || next < x.word {
			x.t.Fatalf("(I3) word %d -> %d", x.word, next)
		}
		x.word = next
		x.twin.take(now, n)
	}
	x.agree(now, n)
}

func (x *pair) refund(now, n int64) {
	x.t.Helper()
	if x.word == 0 {
		return
	}
	x.word = x.p.Refund(x.word, n, now)
	x.twin.refund(min(n, x.p.capacity))
	x.agree(now, n)
}

// move takes the word to a later epoch under the same rule: nothing may change.
func (x *pair) move(floor int64) {
	x.t.Helper()
	p := x.p.Rebase(floor)
	x.word, x.p = x.p.Convert(x.word, &p), p
	x.agree(floor, 1)
}

// change takes the word to another rule.
func (x *pair) change(floor, capacity, tokens, per int64) {
	x.t.Helper()
	x.agree(floor, 1)
	p := compile(x.t, capacity, tokens, per)
	p = p.Rebase(floor)
	if p.sameRule(&x.p) {
		x.move(floor)
		return
	}
	_, _, resetAfter := x.p.Outcome(x.word, floor, 0)
	owes := x.p.until(x.word, floor)
	var kept *big.Rat
	if resetAfter > 0 && owes == 0 {
		kept = x.kept(floor, &p)
	}
	x.word, x.p = x.p.Convert(x.word, &p), p
	x.twin = newTwin(capacity, tokens, per, floor)
	switch {
	case resetAfter == 0: // full: stays full
	case owes > 0:
		x.twin.tokens, x.twin.stamp = whole(0), p.clamp(later(floor, owes))
	default:
		x.twin.tokens = kept
	}
	x.agree(floor, 1)
}

// kept returns the tokens that another rule keeps of what the word holds at floor: all, rounded down to the rule's units.
func (x *pair) kept(at int64, to *Params) *big.Rat {
	x.t.Helper()
	have, unit := x.twin.level(at), new(big.Rat).SetInt(new(big.Int).SetUint64(to.unit))
	if x.p.den != 1 { // the word may be ahead of the twin, and is what is converted
		said := new(big.Rat).SetFrac(new(big.Int).SetUint64(x.p.V(at)-x.word), new(big.Int).SetUint64(x.p.unit))
		if ahead := new(big.Rat).Sub(said, have); ahead.Cmp(x.slack()) > 0 {
			x.t.Fatalf("the word holds %v at %d, the twin %v", said, at, have)
		}
		have = said
	}
	units := new(big.Rat).SetInt(floor(new(big.Rat).Mul(have, unit)))
	return units.Quo(units, unit)
}
