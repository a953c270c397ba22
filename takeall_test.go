package ratelimit_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/limittest"
)

// countingClock counts its readings.
type countingClock struct {
	limittest.ManualClock
	reads int
}

func (c *countingClock) NanoTime() int64 {
	c.reads++
	return c.ManualClock.NanoTime()
}

// funcClock is a Clock that can't be compared.
type funcClock func() int64

func (f funcClock) NanoTime() int64 { return f() }

func limiter(t testing.TB, r ratelimit.Rule, c ratelimit.Clock) ratelimit.Local {
	t.Helper()
	l, err := ratelimit.New(r, ratelimit.Config{Clock: c})
	require.NoError(t, err)
	return l
}

func remaining(l ratelimit.Limiter, key string) int64 { return l.Take(key, 0).Remaining }

func TestTakeAllTakesAllOrNone(t *testing.T) {
	var clock limittest.ManualClock
	user := limiter(t, ratelimit.PerSecond(1).Burst(5), &clock)
	address := limiter(t, ratelimit.PerSecond(1).Burst(2), &clock)
	request := func() []ratelimit.Claim {
		return []ratelimit.Claim{{Limiter: user, Key: "u", N: 1}, {Limiter: address, Key: "a", N: 1}}
	}
	for want := int64(1); want >= 0; want-- {
		claims := request()
		d, binding := ratelimit.TakeAll(claims)
		assert.True(t, d.Allowed)
		assert.Equal(t, 1, binding, "the address has the smaller share left")
		assert.Equal(t, want, d.Remaining)
		assert.Equal(t, claims[1].Decision, d)
		assert.Equal(t, want+3, claims[0].Decision.Remaining)
	}
	claims := request()
	d, binding := ratelimit.TakeAll(claims)
	assert.False(t, d.Allowed)
	assert.Equal(t, 1, binding)
	assert.Equal(t, time.Second, d.RetryAfter)
	assert.True(t, claims[0].Decision.Allowed)
	assert.EqualValues(t, 3, claims[0].Decision.Remaining, "what the user has left, not what would be left")
	assert.EqualValues(t, 3, remaining(user, "u"), "the refused request cost the user nothing")
}

func TestTakeAllBinding(t *testing.T) {
	var clock limittest.ManualClock
	slow := limiter(t, ratelimit.PerMinute(1).Burst(1), &clock)
	fast := limiter(t, ratelimit.PerSecond(1).Burst(1), &clock)
	half := limiter(t, ratelimit.PerSecond(1).Burst(2), &clock)
	slow.Take("k", 1)
	fast.Take("k", 1)
	for _, c := range []struct {
		name    string
		claims  []ratelimit.Claim
		binding int
	}{
		{"none", nil, -1},
		{"the longest wait", []ratelimit.Claim{{Limiter: fast, Key: "k", N: 1}, {Limiter: slow, Key: "k", N: 1}}, 1},
		{"never is longest", []ratelimit.Claim{{Limiter: slow, Key: "k", N: 1}, {Limiter: fast, Key: "x", N: 2}}, 1},
		{"a refusal before any share", []ratelimit.Claim{{Limiter: half, Key: "x", N: 2}, {Limiter: fast, Key: "k", N: 1}}, 1},
		{"the least share", []ratelimit.Claim{{Limiter: half, Key: "p", N: 1}, {Limiter: half, Key: "q", N: 2}}, 1},
		{"equal shares: the first", []ratelimit.Claim{{Limiter: half, Key: "r", N: 1}, {Limiter: half, Key: "s", N: 1}}, 0},
		{"equal waits: the first", []ratelimit.Claim{{Limiter: slow, Key: "k", N: 1}, {Limiter: slow, Key: "k", N: 0}}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, binding := ratelimit.TakeAll(c.claims)
			assert.Equal(t, c.binding, binding)
			assert.Equal(t, binding < 0 || c.claims[binding].Decision.Allowed, d.Allowed)
		})
	}
}

func TestTakeAllSumsClaimsOnOneKey(t *testing.T) {
	var clock limittest.ManualClock
	l := limiter(t, ratelimit.PerSecond(1).Burst(3), &clock)
	take := func(n ...int64) ratelimit.Decision {
		claims := make([]ratelimit.Claim, len(n))
		for i := range n {
			claims[i] = ratelimit.Claim{Limiter: l, Key: "k", N: n[i]}
		}
		d, _ := ratelimit.TakeAll(claims)
		for _, c := range claims {
			assert.Equal(t, d, c.Decision, "each claim tells the decision on the sum")
		}
		return d
	}
	assert.Equal(t, ratelimit.Never, take(2, 2).RetryAfter, "4 of 3 can't ever be")
	assert.Equal(t, ratelimit.Never, take(math.MaxInt64, math.MaxInt64).RetryAfter, "a sum can't overflow")
	assert.Equal(t, ratelimit.Never, take(1, -1).RetryAfter, "a negative claim doesn't lower the sum")
	assert.Equal(t, ratelimit.Never, take(-1, 1, 1).RetryAfter)
	assert.EqualValues(t, 3, remaining(l, "k"))
	assert.EqualValues(t, 1, take(1, 1).Remaining)
	assert.Equal(t, time.Second, take(1, 1).RetryAfter, "one token is left, two are asked")
	assert.EqualValues(t, 1, remaining(l, "k"))
}

func TestTakeAllReadsEachClockOnce(t *testing.T) {
	var one, two countingClock
	a, b := limiter(t, ratelimit.PerSecond(1).Burst(9), &one), limiter(t, ratelimit.PerSecond(2).Burst(9), &one)
	c := limiter(t, ratelimit.PerSecond(1).Burst(9), &two)
	one.reads, two.reads = 0, 0
	ratelimit.TakeAll([]ratelimit.Claim{
		{Limiter: a, Key: "x", N: 1}, {Limiter: c, Key: "x", N: 1}, {Limiter: b, Key: "x", N: 1}, {Limiter: c, Key: "y", N: 1}, {Limiter: a, Key: "z", N: 1},
	})
	assert.Equal(t, 1, one.reads)
	assert.Equal(t, 1, two.reads)
}

func TestTakeAllWithAClockThatCannotBeCompared(t *testing.T) {
	now := int64(0)
	l := limiter(t, ratelimit.PerSecond(1).Burst(1), funcClock(func() int64 { return now }))
	d, _ := ratelimit.TakeAll([]ratelimit.Claim{{Limiter: l, Key: "a", N: 1}, {Limiter: l, Key: "b", N: 1}})
	assert.True(t, d.Allowed)
}

// lying is a limiter whose Peek always allows, as if another call always got in between.
type lying struct{ ratelimit.Reversible }

func (l lying) Peek(key string, n int64) ratelimit.Decision {
	d := l.Reversible.Peek(key, n)
	d.Allowed = true
	return d
}

func TestTakeAllGivesBackWhenItLosesARace(t *testing.T) {
	for _, algorithm := range []ratelimit.Algorithm{ratelimit.TokenBucket, ratelimit.FixedWindow, ratelimit.SlidingWindowCounter} {
		var clock limittest.ManualClock
		rule := ratelimit.Rule{Algorithm: algorithm, Capacity: 3, Refill: ratelimit.PerSecond(3)}
		a, b := limiter(t, rule, &clock), limiter(t, rule, &clock)
		b.Take("k", 3)
		a.Take("k", 1)
		d, binding := ratelimit.TakeAll([]ratelimit.Claim{{Limiter: lying{b}, Key: "k", N: 1}, {Limiter: a, Key: "k", N: 2}})
		assert.False(t, d.Allowed)
		assert.Equal(t, 0, binding)
		assert.EqualValues(t, 2, remaining(a, "k"), algorithm)
		assert.EqualValues(t, 0, remaining(b, "k"), algorithm)
	}
}

// logging is a limiter that logs its calls.
type logging struct {
	ratelimit.Reversible
	log *[]string
}

func (l logging) Peek(key string, n int64) ratelimit.Decision {
	*l.log = append(*l.log, "peek "+key)
	return l.Reversible.Peek(key, n)
}

func (l logging) Take(key string, n int64) ratelimit.Decision {
	*l.log = append(*l.log, "take "+key)
	return l.Reversible.Take(key, n)
}

// The limiter that is charged first isn't looked at before: what it refuses has charged nobody.
func TestTakeAllLooksBeforeItTakes(t *testing.T) {
	var clock limittest.ManualClock
	for _, c := range []struct {
		full string // of the keys a, b and c
		want []string
	}{
		{"abc", []string{"peek a", "peek b", "take c", "take b", "take a"}},
		{"ab", []string{"peek a", "peek b", "take c"}},
		{"bc", []string{"peek a", "peek b", "peek c"}},
		{"a", []string{"peek a", "peek b", "peek c"}},
	} {
		var log []string
		l := limiter(t, ratelimit.PerSecond(1).Burst(1), &clock)
		var claims []ratelimit.Claim
		for _, key := range []string{"a", "b", "c"} {
			if !strings.Contains(c.full, key) {
				l.Take(key, 1)
			}
			claims = append(claims, ratelimit.Claim{Limiter: logging{l, &log}, Key: key, N: 1})
		}
		d, binding := ratelimit.TakeAll(claims)
		assert.Equal(t, c.want, log, c.full)
		assert.Equal(t, len(c.full) == 3, d.Allowed, c.full)
		for i, key := range []string{"a", "b", "c"} {
			full := strings.Contains(c.full, key)
			assert.Equal(t, full, claims[i].Decision.Allowed, "%s: %s", c.full, key)
			if !d.Allowed {
				assert.Equal(t, full, remaining(l, key) == 1, "%s: %s", c.full, key)
				assert.Equal(t, full, claims[i].Decision.Remaining == 1, "%s: %s", c.full, key)
			}
		}
		assert.Equal(t, d, claims[binding].Decision, c.full)
	}
}

// refusing refuses everything and names no limit.
type refusing struct{ ratelimit.Reversible }

func (refusing) Peek(string, int64) ratelimit.Decision {
	return ratelimit.Decision{RetryAfter: ratelimit.Never}
}
func (refusing) Take(string, int64) ratelimit.Decision {
	return ratelimit.Decision{RetryAfter: ratelimit.Never}
}

func TestTakeAllHearsARefusalWithoutALimit(t *testing.T) {
	l := limiter(t, ratelimit.PerSecond(1).Burst(1), nil)
	for _, claims := range [][]ratelimit.Claim{
		{{Limiter: refusing{}, Key: "k", N: 1}},
		{{Limiter: l, Key: "k", N: 1}, {Limiter: refusing{}, Key: "k", N: 1}},
	} {
		d, binding := ratelimit.TakeAll(claims)
		assert.False(t, d.Allowed)
		assert.Equal(t, len(claims)-1, binding)
	}
}

// Two limits taken in opposite orders by many goroutines: no deadlock, and the sums are exact.
func TestTakeAllUnderContention(t *testing.T) {
	var clock limittest.ManualClock
	a, b := limiter(t, ratelimit.PerSecond(1).Burst(100), &clock), limiter(t, ratelimit.PerSecond(1).Burst(110), &clock)
	var granted atomic.Int64
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			for range 50 {
				claims := []ratelimit.Claim{{Limiter: a, Key: "k", N: 1}, {Limiter: b, Key: "k", N: 1}}
				if g%2 == 1 {
					claims[0], claims[1] = claims[1], claims[0]
				}
				if d, _ := ratelimit.TakeAll(claims); d.Allowed {
					granted.Add(1)
				}
			}
		})
	}
	wg.Wait()
	assert.EqualValues(t, 100, granted.Load()+remaining(a, "k"), "no partial charge remains")
	assert.EqualValues(t, 110, granted.Load()+remaining(b, "k"), "no partial charge remains")
	assert.LessOrEqual(t, granted.Load(), int64(100))
}

func TestTakeAllAllocatesNothing(t *testing.T) {
	a, b := limiter(t, ratelimit.PerSecond(1).Burst(1000), nil), limiter(t, ratelimit.PerSecond(1).Burst(1e6), nil)
	claims := []ratelimit.Claim{{Limiter: a, Key: "user", N: 1}, {Limiter: b, Key: "address", N: 1}}
	ratelimit.TakeAll(claims)
	assert.Zero(t, testing.AllocsPerRun(100, func() { ratelimit.TakeAll(claims) }))
	composite, err := ratelimit.NewComposite(a, b)
	require.NoError(t, err)
	composite.Take("key", 1)
	assert.Zero(t, testing.AllocsPerRun(100, func() { composite.Take("key", 1) }))
	claims[0].Limiter = composite
	assert.Zero(t, testing.AllocsPerRun(100, func() { ratelimit.TakeAll(claims) }))
}

// store is a remote store of limiters that counts the calls to it.
type store struct {
	calls  int
	refuse bool
	err    error
}

type stored struct {
	ratelimit.Reversible
	store *store
}

func (s stored) Store() any { return s.store }

func (s stored) TakeGroup(claims []ratelimit.Claim) bool {
	s.store.calls++
	for i := range claims {
		claims[i].Err = s.store.err
		if !s.store.refuse {
			claims[i].Decision = claims[i].Limiter.Take(claims[i].Key, claims[i].N)
			continue
		}
		claims[i].Decision = claims[i].Limiter.Peek(claims[i].Key, 0)
		if i == 0 {
			claims[i].Decision.Allowed = false
			claims[i].Decision.RetryAfter = time.Hour
		}
	}
	return !s.store.refuse
}

// A store that can't decide says so beside the answer of its outage policy, to whatever claim stands for it.
func TestTakeAllTellsWhyAStoreDidNotDecide(t *testing.T) {
	here := limiter(t, ratelimit.PerSecond(1).Burst(9), nil)
	far := limiter(t, ratelimit.PerSecond(1).Burst(9), nil)
	gone := errors.New("gone")
	for _, refuse := range []bool{false, true} {
		s := store{refuse: refuse, err: gone}
		composite, err := ratelimit.NewComposite(here, stored{far, &s})
		require.NoError(t, err)
		one := ratelimit.Claim{Limiter: stored{far, &s}, Key: "k", N: 1}
		claims := []ratelimit.Claim{one, {Limiter: here, Key: "k", N: 1}, one}
		ratelimit.TakeAll(claims)
		assert.Equal(t, []error{gone, nil, gone}, []error{claims[0].Err, claims[1].Err, claims[2].Err})
		far.Reset("k") // else the other one binds
		here.Reset("k")
		claims = []ratelimit.Claim{{Limiter: composite, Key: "k", N: 1}, {Limiter: here, Key: "k", N: 1}}
		ratelimit.TakeAll(claims)
		if refuse {
			assert.Equal(t, []error{gone, nil}, []error{claims[0].Err, claims[1].Err})
		}
		s.err, s.refuse = nil, false
		ratelimit.TakeAll(claims)
		assert.Equal(t, []error{nil, nil}, []error{claims[0].Err, claims[1].Err}, "what an earlier call has left is gone")
	}
}

func TestTakeAllAsksEachStoreOnceAndLast(t *testing.T) {
	var clock limittest.ManualClock
	here := limiter(t, ratelimit.PerSecond(1).Burst(9), &clock)
	far := limiter(t, ratelimit.PerSecond(1).Burst(9), &clock)
	var first, second store
	claims := func() []ratelimit.Claim {
		return []ratelimit.Claim{
			{Limiter: stored{far, &first}, Key: "a", N: 1}, {Limiter: here, Key: "k", N: 1},
			{Limiter: stored{far, &second}, Key: "b", N: 1}, {Limiter: stored{far, &first}, Key: "c", N: 1}, {Limiter: stored{far, &first}, Key: "a", N: 1},
		}
	}
	d, _ := ratelimit.TakeAll(claims())
	assert.True(t, d.Allowed)
	assert.Equal(t, []int{1, 1}, []int{first.calls, second.calls})
	assert.Equal(t, "8 7 8 8", fmt.Sprint(remaining(here, "k"), remaining(far, "a"), remaining(far, "b"), remaining(far, "c")))

	second.refuse = true
	refused := claims()
	d, binding := ratelimit.TakeAll(refused)
	assert.Equal(t, time.Hour, d.RetryAfter)
	assert.Equal(t, 2, binding)
	assert.Equal(t, "8 7 8 8", fmt.Sprint(remaining(here, "k"), remaining(far, "a"), remaining(far, "b"), remaining(far, "c")),
		"what the first store took is given back")
	assert.EqualValues(t, 8, refused[1].Decision.Remaining)
	assert.EqualValues(t, 7, refused[0].Decision.Remaining, "of a store that has given back what it took")

	both := []ratelimit.Claim{{Limiter: stored{far, &second}, Key: "b", N: 2}, {Limiter: stored{far, &second}, Key: "c", N: 2}}
	d, _ = ratelimit.TakeAll(both)
	assert.False(t, d.Allowed)
	assert.EqualValues(t, 8, both[1].Decision.Remaining, "as the store that refused has told it")
	second.calls--

	here.Take("k", 8)
	d, binding = ratelimit.TakeAll(claims())
	assert.False(t, d.Allowed)
	assert.Equal(t, 1, binding)
	assert.Equal(t, []int{2, 2}, []int{first.calls, second.calls}, "a local refusal asks no store")
}
