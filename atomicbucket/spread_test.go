package atomicbucket

import (
	"math/rand/v2"
	"testing"
	"time"
)

const (
	ms     = int64(time.Millisecond)
	second = int64(time.Second)
	minute = int64(time.Minute)
	hour   = int64(time.Hour)
	day    = 24 * hour
	year   = 365 * day
)

// spread holds rules from corner to corner of the range: capacity, tokens, per.
var spread = []struct {
	name                  string
	capacity, tokens, per int64
	scaled                bool
}{
	{"1 a second", 1, 1, second, false},
	{"100 a minute", 100, 100, minute, false},
	{"10 in 13 s", 1, 10, 13 * second, false},
	{"3 a ms", 3, 3, ms, false},
	{"65,535 a second", 5, 65_535, second, false},
	{"1e9 a second, capacity 1e9", 1e9, 1e9, second, false},
	{"3e9 a second", 1e6, 3e9, second, false},
	{"1e13 a second, capacity 1e13", 1e13, 1e13, second, false},
	{"1 in a hundred years", 1, 1, MaxTimeToFull, false},
	{"1 a year, capacity 100", 100, 1, year, false},
	{"1 ns to full", 1, 1, 1, false},
	{"1,000,000,001 a second", 1_000_000_001, 1_000_000_001, second, true},
	{"1,000,000,007 a second, capacity 10", 10, 1_000_000_007, second, true},
	{"7e8 in a hundred years", 7e8, 7e8 + 1, MaxTimeToFull - 1, true},
	{"999,999,937 a day", 1e9, 999_999_937, day, true},
	{"just below 1e13 a second, capacity 1e13", 1e13, 1e13 - 10_001, 1e9 - 1, true},
	{"1e13-1 in 1e15-1 ns, capacity 1", 1, 1e13 - 1, 1e15 - 1, true},
	{"two primes near 2^43 and 2^63", 1000, 8_796_093_022_151, 1<<63 - 25, true},
}

func compile(tb testing.TB, capacity, tokens, per int64) Params {
	tb.Helper()
	p, err := Compile(capacity, tokens, per)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// random returns a generator whose seed the test prints if it fails.
func random(tb testing.TB) *rand.Rand {
	seed := rand.Uint64()
	tb.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// magnitude returns a number from 1 to most, small ones as likely as large ones.
func magnitude(r *rand.Rand, most int64) int64 {
	m := r.Int64N(most) >> r.IntN(63)
	return max(1, m)
}

// anyRule returns a rule within range: one of the spread, or a random one.
func anyRule(r *rand.Rand) (capacity, tokens, per int64) {
	if r.IntN(2) == 0 {
		s := spread[r.IntN(len(spread))]
		return s.capacity, s.tokens, s.per
	}
	for {
		capacity, tokens, per = magnitude(r, MaxCapacity), magnitude(r, MaxCapacity), magnitude(r, 1<<63-1)
		if check(capacity, tokens, per) == nil {
			return capacity, tokens, per
		}
	}
}

// anyParams returns such a rule at a random epoch.
func anyParams(tb testing.TB, r *rand.Rand) Params {
	capacity, tokens, per := anyRule(r)
	p := compile(tb, capacity, tokens, per)
	return p.Rebase(int64(r.Uint64()))
}
