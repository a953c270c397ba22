package atomicbucket

import (
	"math"
	"math/big"
	"strings"
	"testing"
)

func TestCompileRefusesWhatIsOutOfRange(t *testing.T) {
	for _, c := range []struct {
		capacity, tokens, per int64
		want                  []string
	}{
		{0, 1, second, []string{"Capacity: 0 ", "1 to 10000000000000"}},
		{-1, 1, second, []string{"Capacity: -1 ", "1 to 10000000000000"}},
		{MaxCapacity + 1, 1, 1, []string{"Capacity: 10000000000001 ", "1 to 10000000000000"}},
		{math.MaxInt64, math.MaxInt64, 1, []string{"Capacity: 9223372036854775807 "}},
		{1, 0, second, []string{"Refill: 0 ", "1 to 10000000000000"}},
		{1, math.MinInt64, second, []string{"Refill: -9223372036854775808 "}},
		{1, MaxCapacity + 1, year, []string{"Refill: 10000000000001 "}},
		{1, 1, 0, []string{"Refill: per 0s", "at least 1ns"}},
		{1, 1, -second, []string{"Refill: per -1s"}},
		{1, 10_001, 1, []string{"Refill: 10001 per 1ns", "10000000000000 per second"}},
		{1, 1, MaxTimeToFull + 1, []string{"Refill: 1 per 876600h0m0.000000001s", "Capacity 1 ", "hundred years"}},
		{1e9, 1, year, []string{"Refill: 1 per 8760h0m0s", "Capacity 1000000000 ", "(876600h0m0s)"}},
	} {
		_, err := Compile(c.capacity, c.tokens, c.per)
		if err == nil {
			t.Errorf("Compile(%d, %d, %d): no error", c.capacity, c.tokens, c.per)
			continue
		}
		for _, want := range append(c.want, "atomicbucket: ") {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("Compile(%d, %d, %d): %q doesn't say %q", c.capacity, c.tokens, c.per, err, want)
			}
		}
	}
}

func TestUnitsAreExactWheneverTheyFit(t *testing.T) {
	for _, s := range spread {
		if p := compile(t, s.capacity, s.tokens, s.per); (p.den > 1) != s.scaled {
			t.Errorf("%s: %d/%d units a ns", s.name, p.num, p.den)
		}
	}
}

// What doc.go says of the range, for the spread and for random rules at random epochs.
func TestBounds(t *testing.T) {
	r := random(t)
	holds := func(capacity, tokens, per, epoch int64) {
		p := compile(t, capacity, tokens, per)
		p = p.Rebase(epoch)
		ok := func(what string, good bool) {
			if !good {
				t.Errorf("(I8) Compile(%d, %d, %d) at epoch %d: %s: %+v", capacity, tokens, per, epoch, what, p)
			}
		}
		ok("V(epoch) = C + 1", p.V(epoch) == p.full+1)
		ok("V(Horizon) fits", p.V(p.Horizon()) <= maxWord)
		if p.Horizon() < math.MaxInt64 {
			ok("V(Horizon + 1) doesn't fit", p.V(p.Horizon()+1) > maxWord)
			ok("an hour at least", p.Horizon()-epoch >= MinHorizon)
		}
		ok("a unit a ns at least", p.num >= p.den)
		ok("128 units a token at least, when scaled", p.den == 1 || p.unit >= 128)
		if capacity <= 1e9 && p.num/p.den <= p.unit {
			ok("1,280,000 up to 1e9 and 1e9 a second", p.den == 1 || p.unit >= 1_280_000)
		}
		// The flow is the rate: num/den units a ns = unit * tokens/per.
		flow := new(big.Rat).SetFrac(new(big.Int).SetUint64(p.num), new(big.Int).SetUint64(p.den))
		rate := new(big.Rat).SetFrac64(tokens, per)
		ok("unit * rate flows", flow.Cmp(rate.Mul(rate, new(big.Rat).SetInt(new(big.Int).SetUint64(p.unit)))) == 0)
	}
	for _, s := range spread {
		for _, epoch := range []int64{0, 1, -1, 1_700_000_000e9 + 1, math.MinInt64, math.MinInt64 + 1, math.MaxInt64 - 1, math.MaxInt64} {
			holds(s.capacity, s.tokens, s.per, epoch)
		}
	}
	for range 20_000 {
		capacity, tokens, per := anyRule(r)
		holds(capacity, tokens, per, int64(r.Uint64()))
	}
}

// V is the floor of its definition, to the last unit, wherever it is asked: the fraction of 128 bits is wide enough.
func TestVIsTheExactFloor(t *testing.T) {
	r := random(t)
	floor := func(p *Params, now int64) *big.Int { // floor(now*num/den)
		x := new(big.Int).Mul(big.NewInt(now), new(big.Int).SetUint64(p.num))
		return x.Div(x, new(big.Int).SetUint64(p.den)) // Euclid, and den > 0: a floor
	}
	for range 20_000 {
		p := anyParams(t, r)
		now := p.epoch + r.Int64N(p.horizon-p.epoch+1)
		if r.IntN(4) == 0 {
			now = p.horizon
		}
		want := floor(&p, now)
		want.Sub(want, floor(&p, p.epoch)).Add(want, new(big.Int).SetUint64(p.full+1))
		if got := p.V(now); !want.IsUint64() || got != want.Uint64() {
			t.Fatalf("V(%d) = %d, want %v: %+v", now, got, want, p)
		}
	}
}
