package rules_test

import (
	"math/big"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/rules"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const reloads = 1000

// randomLimits returns a rule of the same name, key and algorithm with other numbers, among rules that come and go.
func randomLimits(random *rand.Rand) (list []rules.RuleSpec, rate ratelimit.Rate) {
	rate = ratelimit.Rate{Tokens: 1 + random.Int64N(100), Per: []time.Duration{time.Second, 700 * time.Millisecond, 2 * time.Second}[random.IntN(3)]}
	rule := perIP("1/s")
	rule.Limit = rate
	if random.IntN(2) == 0 {
		rule = withBurst(rule, 1+random.Int64N(50))
	}
	list = []rules.RuleSpec{rule, matching(named("passing", "1000/s"), "/passing")}
	if random.IntN(2) == 0 {
		list = []rules.RuleSpec{matching(named("other", "5/s"), "/other/{x}"), rule}
	}
	return list, rate
}

func limitOf(set *rules.Set, name string) ratelimit.Rule {
	for _, l := range set.Limits() {
		if l.Rule.Name == name {
			return l.Limit
		}
	}
	return ratelimit.Rule{}
}

// A client that asks all the time, while its limits change a thousand times: an exact bucket beside it tells, token by
// token, what it may have got.
func TestReloadsGiveNothingToABusyClient(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	list, rate := randomLimits(random)
	w := newWorld(t, list...)
	granted, due, tokens := int64(0), int64(0), new(big.Rat)
	for w.take("client", 1).Allowed { // the first burst
		granted++
		due++
	}
	check := func(when string) {
		for w.take("client", 1).Allowed {
			granted++
		}
		whole := new(big.Int).Quo(tokens.Num(), tokens.Denom())
		tokens.Sub(tokens, new(big.Rat).SetInt(whole))
		due += whole.Int64()
		require.LessOrEqual(t, granted, due, when)
		require.LessOrEqual(t, due-granted, int64(1), "%s: a change loses less than a unit of a token", when)
	}
	for range reloads {
		for range 1 + random.IntN(5) {
			step := random.Int64N(int64(15 * time.Millisecond))
			w.clock.Advance(time.Duration(step))
			tokens.Add(tokens, new(big.Rat).Mul(big.NewRat(rate.Tokens, int64(rate.Per)), big.NewRat(step, 1)))
			if burst := big.NewRat(limitOf(w.store.Current(), "api").Capacity, 1); tokens.Cmp(burst) > 0 {
				tokens = burst
			}
			check("as time passes")
		}
		list, rate = randomLimits(random)
		w.update(list...)
		check("after a reload")
	}
	assert.Greater(t, granted, int64(100))
	assert.Greater(t, w.store.Stats().Version, uint64(reloads*9/10))
}

// The same with many callers at once, while time stands still: a client that has used up its limit gets nothing from a
// thousand reloads, whatever they interleave with; others get their burst once.
func TestReloadsUnderLoad(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 2))
	list, _ := randomLimits(random)
	w := newWorld(t, list...)
	for w.take("drained", 1).Allowed {
	}
	var granted, asked, afterReload, failed atomic.Int64
	var stop atomic.Bool
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			for version := uint64(0); !stop.Load(); {
				set := w.store.Current()
				d := decide(set, "", "GET", "/", "drained", 1)
				if d.Allowed {
					granted.Add(1)
				}
				if d.Limit < 1 || !d.Allowed && d.RetryAfter <= 0 { // not an answer of a rule
					failed.Add(1)
				}
				if set.Version() != version {
					version = set.Version()
					afterReload.Add(1)
				}
				if asked.Add(1)%32 == 0 { // let the others in, too
					runtime.Gosched()
				}
			}
		})
	}
	for range reloads {
		list, _ = randomLimits(random)
		w.update(list...)
		runtime.Gosched()
	}
	for asked.Load() < 1000 {
		runtime.Gosched()
	}
	stop.Store(true)
	callers.Wait()
	assert.Zero(t, granted.Load(), "a reload refilled the bucket")
	assert.Zero(t, failed.Load(), "requests failed")
	assert.Greater(t, afterReload.Load(), int64(10), "the reloads must have happened under load")
}

// With time moving, the sum over any number of callers stays within the largest burst and the largest rate.
func TestReloadsUnderLoadWhileTimePasses(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	for _, algorithm := range []rules.Algorithm{rules.TokenBucket, rules.FixedWindow, rules.SlidingWindowCounter, rules.SlidingWindowLog} {
		t.Run(algorithm.String(), func(t *testing.T) {
			limited := func(n int64) rules.RuleSpec {
				r := perIP("1/s")
				r.Limit, r.Algorithm = ratelimit.PerSecond(n), algorithm
				return r
			}
			const most = 40
			w := newWorld(t, limited(most))
			var granted atomic.Int64
			var stop atomic.Bool
			var callers sync.WaitGroup
			for range 4 {
				callers.Go(func() {
					for i := 1; !stop.Load(); i++ {
						if w.take("client", 1).Allowed {
							granted.Add(1)
						}
						if i%32 == 0 {
							runtime.Gosched()
						}
					}
				})
			}
			const steps = 300
			for range steps {
				w.update(limited(1 + random.Int64N(most)))
				w.clock.Advance(10 * time.Millisecond)
				runtime.Gosched()
			}
			stop.Store(true)
			callers.Wait()
			const windows = steps/100 + 1
			assert.LessOrEqual(t, granted.Load(), int64(most+most*windows))
		})
	}
}
