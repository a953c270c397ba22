package proof

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/limittest"
)

// change is a SetRule to the capacity n, as each key sees it.
const change = reset + 1

// account is a key of any algorithm while time stands still and its capacity changes.
type account struct{ capacity, used int64 }

// While time stands still and SetRule runs, a call falls under either rule, each key switches once, and what it has used
// is neither forgotten nor charged twice.
func TestHistoriesAcrossSetRuleAreLinearizable(t *testing.T) {
	for a := ratelimit.TokenBucket; a <= ratelimit.SlidingWindowCounter; a++ {
		model := porcupine.Model{
			Partition: byKey,
			Init:      func() any { return account{capacity: 8} },
			Step: func(state, in, out any) (bool, any) {
				s, i, o := state.(account), in.(input), out.(output)
				left := max(s.capacity-s.used, 0)
				switch i.kind {
				case take:
					if o.allowed {
						s.used += i.n
						return i.n <= left && o.remaining == left-i.n, s
					}
					return i.n > left && o.remaining == left, s
				case peek:
					return o.remaining == left, s
				case refund:
					s.used = max(s.used-i.n, 0)
				case reset:
					s.used = 0
				case change:
					if a == ratelimit.TokenBucket && s.used > 0 { // it keeps the tokens, not what is missing
						s.used = i.n - min(left, i.n)
					}
					s.capacity = i.n
				}
				return true, s
			},
		}
		t.Run(a.String(), func(t *testing.T) {
			for range rounds(t) {
				seed := rand.Uint64()
				for _, part := range byKey(playReloads(t, a, seed)) {
					if porcupine.CheckOperations(model, part) {
						continue
					}
					slices.SortFunc(part, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
					t.Errorf("seed %d: the history is not linearizable:", seed)
					for _, op := range part {
						t.Logf("%d-%d by %d: %s", op.Call, op.Return, op.ClientId, describe(op.Input, op.Output))
					}
				}
			}
		})
	}
}

func playReloads(t *testing.T, a ratelimit.Algorithm, seed uint64) []porcupine.Operation {
	var clock limittest.ManualClock
	clock.Set(1_700_000_000e9)
	rule := func(capacity int64) ratelimit.Rule {
		return ratelimit.Rule{Algorithm: a, Capacity: capacity, Refill: ratelimit.PerHour(capacity)}
	}
	l, err := ratelimit.New(rule(8), ratelimit.Config{Clock: &clock})
	if err != nil {
		t.Fatal(err)
	}
	var r recorder
	var wg sync.WaitGroup
	keys := []string{"key-0", "key-1", "key-2"}
	var changes []porcupine.Operation
	wg.Go(func() {
		random, capacity := rand.New(rand.NewPCG(seed, 1000)), int64(8)
		for range 12 {
			for range random.IntN(3) {
				l.Take(fmt.Sprintf("other-%d", random.IntN(2000)), 1)
			}
			next := 1 + random.Int64N(12)
			if next == capacity {
				continue
			}
			capacity = next
			call := r.moment.Add(1)
			if err := l.SetRule(rule(capacity)); err != nil {
				t.Error(err)
			}
			done := r.moment.Add(1)
			for _, key := range keys {
				changes = append(changes, porcupine.Operation{ClientId: 9, Input: input{key: key, kind: change, n: capacity}, Call: call, Output: output{}, Return: done})
			}
		}
	})
	for c := range 3 {
		random := rand.New(rand.NewPCG(seed, uint64(c)))
		wg.Go(func() {
			var taken input
			for range 25 {
				r.ask(l, c, random, keys[random.IntN(len(keys))], 1+random.Int64N(1+random.Int64N(12)), &taken)
			}
		})
	}
	wg.Wait()
	if d := l.Peek("nobody", 0); d.At != clock.NanoTime() || time.Duration(d.ResetAfter) != 0 {
		t.Errorf("seed %d: time went on: %+v", seed, d)
	}
	return append(r.ops, changes...)
}
