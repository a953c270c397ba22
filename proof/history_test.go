package proof

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/limittest"
)

// kind is what an operation of a history does to a key.
type kind uint8

const (
	take kind = iota
	peek
	refund
	reset
)

// input is one operation; output is what it answered.
type input struct {
	key  string
	kind kind
	n    int64
	at   int64 // refund: the instant of the take
}

type output struct {
	allowed   bool
	remaining int64
	at        int64
}

// recorder collects a history: operations with the moments of their call and return.
type recorder struct {
	moment atomic.Int64
	mu     sync.Mutex
	ops    []porcupine.Operation
}

func (r *recorder) do(client int, in input, f func() output) output {
	call := r.moment.Add(1)
	out := f()
	done := r.moment.Add(1)
	r.mu.Lock()
	r.ops = append(r.ops, porcupine.Operation{ClientId: client, Input: in, Call: call, Output: out, Return: done})
	r.mu.Unlock()
	return out
}

// ask does one random thing to l for a client, and remembers in taken what it may give back later.
func (r *recorder) ask(l ratelimit.Local, client int, random *rand.Rand, key string, n int64, taken *input) {
	in := input{key: key, n: n}
	switch p := random.IntN(20); {
	case p < 12:
	case p < 15:
		in.kind = peek
	case p < 19 && taken.n > 0:
		in, taken.n = input{taken.key, refund, taken.n, taken.at}, 0
	case p == 19:
		in.kind = reset
	}
	out := r.do(client, in, func() output { return apply(l, in) })
	if in.kind == take && out.allowed {
		*taken = input{key: in.key, n: in.n, at: out.at}
	}
}

// apply does in to l.
func apply(l ratelimit.Local, in input) output {
	var d ratelimit.Decision
	switch in.kind {
	case take:
		d = l.Take(in.key, in.n)
	case peek:
		d = l.Peek(in.key, 0)
	case refund:
		l.RefundAt(in.key, in.n, in.at)
	case reset:
		l.Reset(in.key)
	}
	return output{d.Allowed, d.Remaining, d.At}
}

// byKey cuts a history into those of its keys, which are independent of each other.
func byKey(history []porcupine.Operation) [][]porcupine.Operation {
	parts := map[string][]porcupine.Operation{}
	for _, op := range history {
		key := op.Input.(input).key
		parts[key] = append(parts[key], op)
	}
	var all [][]porcupine.Operation
	for _, part := range parts {
		all = append(all, part)
	}
	return all
}

func describe(in, out any) string {
	i, o := in.(input), out.(output)
	name := [...]string{"take", "peek", "refund", "reset", "change"}[i.kind]
	return fmt.Sprintf("%s(%s, %d) at %d: %v, %d left", name, i.key, i.n, o.at, o.allowed, o.remaining)
}

// play runs clients against l, with upkeep going on all the while, and returns the history.
func play(l ratelimit.Local, seed uint64, clients, steps int, upkeep ...func(*rand.Rand)) []porcupine.Operation {
	var r recorder
	var working, background sync.WaitGroup
	var over atomic.Bool
	for i, f := range upkeep {
		random := rand.New(rand.NewPCG(seed, uint64(1000+i)))
		background.Go(func() {
			for !over.Load() {
				f(random)
			}
		})
	}
	for c := range clients {
		random := rand.New(rand.NewPCG(seed, uint64(c)))
		working.Go(func() {
			var taken input
			for range steps {
				r.ask(l, c, random, fmt.Sprintf("key-%d", random.IntN(3)), 1+random.Int64N(3), &taken)
			}
		})
	}
	working.Wait()
	over.Store(true)
	background.Wait()
	return r.ops
}

// churn creates and drops other keys, so that tables grow, split, shrink and sweep.
func churn(l ratelimit.Local) func(*rand.Rand) {
	return func(random *rand.Rand) {
		for range 200 {
			l.Take(fmt.Sprintf("other-%d", random.IntN(20_000)), 1)
		}
		l.Sweep()
	}
}

// forget resets other keys: with time standing still nothing else makes them go.
func forget(l ratelimit.Local) func(*rand.Rand) {
	return func(random *rand.Rand) {
		for range 50 {
			l.Reset(fmt.Sprintf("other-%d", random.IntN(20_000)))
		}
	}
}

// reload changes the rate to and fro, which moves every table.
func reload(t *testing.T, l ratelimit.Local, rules ...ratelimit.Rule) func(*rand.Rand) {
	return func(random *rand.Rand) {
		if err := l.SetRule(rules[random.IntN(len(rules))]); err != nil {
			t.Error(err)
		}
	}
}

func rounds(t *testing.T) int {
	if testing.Short() {
		return 10
	}
	return 60
}

// While time stands still a key of any algorithm is a number: what is left of its capacity.
func TestHistoriesAtOneInstantAreLinearizable(t *testing.T) {
	const capacity = 8
	model := porcupine.Model{
		Partition: byKey,
		Init:      func() any { return int64(capacity) },
		Step: func(state, in, out any) (bool, any) {
			left, i, o := state.(int64), in.(input), out.(output)
			switch i.kind {
			case take:
				if o.allowed {
					left -= i.n
					return left >= 0 && o.remaining == left, left
				}
				return left < i.n && o.remaining == left, left
			case peek:
				return o.remaining == left, left
			case refund:
				return true, min(left+i.n, capacity)
			default:
				return true, int64(capacity)
			}
		},
		DescribeOperation: describe,
	}
	for a := ratelimit.TokenBucket; a <= ratelimit.SlidingWindowCounter; a++ {
		t.Run(a.String(), func(t *testing.T) {
			for range rounds(t) {
				seed := rand.Uint64()
				var clock limittest.ManualClock
				clock.Set(1_700_000_000e9)
				rule := ratelimit.Rule{Algorithm: a, Capacity: capacity, Refill: ratelimit.PerHour(capacity)}
				l, err := ratelimit.New(rule, ratelimit.Config{Clock: &clock})
				if err != nil {
					t.Fatal(err)
				}
				upkeep := []func(*rand.Rand){churn(l), forget(l)}
				if a == ratelimit.TokenBucket { // another rate alone; a window's rate is its length
					other := rule
					other.Refill = ratelimit.PerHour(2 * capacity)
					upkeep = append(upkeep, reload(t, l, rule, other))
				}
				history := play(l, seed, 4, 25, upkeep...)
				if !porcupine.CheckOperations(model, history) {
					t.Fatalf("seed %d: the history is not linearizable:\n%v", seed, history)
				}
			}
		})
	}
}

// While time goes on, and is read by each call for itself, a bucket is one number too: the instant at which it was empty. Each
// decision must be right at the instant that it says it counted at.
func TestHistoriesOfBucketsInTimeAreLinearizable(t *testing.T) {
	const token, capacity = int64(time.Millisecond), 5
	const full = capacity * token
	model := porcupine.Model{
		Partition: byKey,
		Init:      func() any { return int64(0) },
		Step: func(state, in, out any) (bool, any) {
			word, i, o := state.(int64), in.(input), out.(output)
			base := max(word, o.at-full)
			switch i.kind {
			case take:
				next := base + i.n*token
				if o.allowed {
					return next <= o.at && o.remaining == (o.at-next)/token, next
				}
				return next > o.at && o.remaining == max(o.at-base, 0)/token, word
			case peek:
				return o.remaining == max(o.at-base, 0)/token, word
			case refund:
				return true, word - i.n*token
			default:
				return true, int64(0)
			}
		},
		DescribeOperation: describe,
	}
	for range rounds(t) {
		seed := rand.Uint64()
		var clock limittest.ManualClock
		clock.Set(1_700_000_000e9)
		rule := ratelimit.PerSecond(1000).Burst(capacity)
		l, err := ratelimit.New(rule, ratelimit.Config{Clock: &clock})
		if err != nil {
			t.Fatal(err)
		}
		tick := func(random *rand.Rand) { clock.Advance(time.Duration(random.Int64N(int64(100 * time.Microsecond)))) }
		history := play(l, seed, 4, 25, tick, churn(l))
		if !porcupine.CheckOperations(model, history) {
			t.Fatalf("seed %d: the history is not linearizable:\n%v", seed, history)
		}
	}
}
