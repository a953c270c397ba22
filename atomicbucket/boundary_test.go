package atomicbucket

import (
	"math/big"
	"testing"
)

// Every token of an emptied bucket comes in the first ns at or after its instant and is refused one ns before.
//
// In scaled units, that is so for a bucket emptied at a multiple of den ns. One emptied elsewhere may get a token one
// ns early, while less than a unit is missing. That this does happen is pinned too: the allowance is needed.
func TestTokenBoundaries(t *testing.T) {
	r := random(t)
	early := 0
	for _, s := range spread {
		p := compile(t, s.capacity, s.tokens, s.per)
		unit := new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).SetUint64(p.unit))
		for round := range int64(40) {
			emptied := r.Int64N(1e18)
			if round%4 == 0 {
				emptied -= emptied % int64(p.den)
			}
			from := p.Rebase(emptied - r.Int64N(hour))
			word, ok := from.Take(0, emptied, s.capacity)
			if !ok {
				t.Fatalf("(I1) %s: a full bucket refuses its capacity at %d", s.name, emptied)
			}
			twin := newTwin(s.capacity, s.tokens, s.per, emptied)
			twin.take(emptied, s.capacity)
			for i := range int64(60) {
				k := i + 1 // one by one at first, then anywhere
				if k > min(40, s.capacity) {
					k = 1 + r.Int64N(s.capacity)
				}
				comes := emptied + twin.wait(new(big.Rat), whole(k)).Int64()
				for _, at := range []int64{comes - 2, comes - 1, comes, comes + 1} {
					if at < emptied {
						continue
					}
					to := from.Rebase(max(at-round%2, from.epoch)) // the epoch it is counted from doesn't matter
					_, ok := to.Take(from.Convert(word, &to), at, k)
					if ok == (at >= comes) {
						continue
					}
					missing := new(big.Rat).Sub(whole(k), twin.level(at))
					if !ok || emptied%int64(p.den) == 0 || at != comes-1 || missing.Cmp(unit) >= 0 {
						t.Fatalf("(I1) %s: emptied at %d, %d tokens are due at %d; at %d: %v", s.name, emptied, k, comes, at, ok)
					}
					early++
				}
			}
		}
	}
	if early == 0 {
		t.Error("no token came early in scaled units: doc.go claims less than is true")
	}
}
