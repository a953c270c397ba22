package compare

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/puzpuzpuz/xsync/v4"
	"github.com/sethvargo/go-limiter"
	"github.com/sethvargo/go-limiter/memorystore"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"
	"golang.org/x/time/rate"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/atomicbucket"
	"github.com/casgate/ratelimit/bench"
)

// Rivals are what a Go programmer would take otherwise.
var Rivals = []bench.Contender{
	{Name: "xsync", New: newXsync},
	{Name: "x-time-rate", New: newXTimeRate, OwnClock: true},
	{Name: "throttled", New: newThrottled, OwnClock: true, MayFail: true},
	{Name: "go-limiter", New: newGoLimiter, OwnClock: true},
}

// xsyncLimiter is the rival to beat: this module's own bucket word in the best concurrent map there is. It evicts
// nothing, changes no rule and never moves on to a later epoch.
type xsyncLimiter struct {
	clock  ratelimit.Clock
	params atomicbucket.Params
	words  *xsync.Map[string, *atomic.Uint64]
}

func newXsync(r ratelimit.Rule, c ratelimit.Clock) bench.Limiter {
	params, err := atomicbucket.Compile(r.Capacity, r.Refill.Tokens, int64(r.Refill.Per))
	if err != nil {
		panic(err)
	}
	return &xsyncLimiter{clock: c, params: params.Rebase(c.NanoTime()), words: xsync.NewMap[string, *atomic.Uint64]()}
}

func (l *xsyncLimiter) TryAcquire(key string) bool { return l.TryAcquireAt(key, l.clock.NanoTime()) }

func (l *xsyncLimiter) TryAcquireAt(key string, now int64) bool {
	word, ok := l.words.Load(key)
	if !ok {
		word, _ = l.words.LoadOrStore(key, new(atomic.Uint64))
	}
	for {
		old := word.Load()
		next, ok := l.params.Take(old, now, 1)
		if !ok {
			return false
		}
		if word.CompareAndSwap(old, next) {
			return true
		}
	}
}

// xTimeRate is golang.org/x/time/rate, one a key in a sync.Map.
type xTimeRate struct {
	clock    ratelimit.Clock
	limit    rate.Limit
	burst    int
	limiters sync.Map // string -> *rate.Limiter
}

func newXTimeRate(r ratelimit.Rule, c ratelimit.Clock) bench.Limiter {
	return &xTimeRate{clock: c, limit: rate.Limit(r.Refill.PerSecond()), burst: int(r.Capacity)}
}

func (l *xTimeRate) of(key string) *rate.Limiter {
	if held, ok := l.limiters.Load(key); ok {
		return held.(*rate.Limiter)
	}
	held, _ := l.limiters.LoadOrStore(key, rate.NewLimiter(l.limit, l.burst))
	return held.(*rate.Limiter)
}

// TryAcquire reads the clock as its users do.
func (l *xTimeRate) TryAcquire(key string) bool { return l.of(key).Allow() }

func (l *xTimeRate) TryAcquireAt(key string, now int64) bool {
	return l.of(key).AllowN(time.Unix(0, now), 1)
}

// throttledLimiter is throttled's GCRA over its store in memory. It reads its own clock.
type throttledLimiter struct {
	limiter *throttled.GCRARateLimiterCtx
}

func newThrottled(r ratelimit.Rule, _ ratelimit.Clock) bench.Limiter {
	store, err := memstore.NewCtx(0) // unbounded: a map under an RWMutex
	if err != nil {
		panic(err)
	}
	limiter, err := throttled.NewGCRARateLimiterCtx(store, throttled.RateQuota{
		MaxRate:  throttled.PerDuration(int(r.Refill.Tokens), r.Refill.Per),
		MaxBurst: int(r.Capacity) - 1,
	})
	if err != nil {
		panic(err)
	}
	return throttledLimiter{limiter}
}

// TryAcquire is a refusal when the store gives up on a contended key: that is an error there.
func (l throttledLimiter) TryAcquire(key string) bool {
	limited, _, err := l.limiter.RateLimitCtx(context.Background(), key, 1)
	return err == nil && !limited
}

// goLimiter is sethvargo's store in memory: a fixed window that starts with a key's first request. It reads its own
// clock.
type goLimiter struct {
	store limiter.Store
}

func newGoLimiter(r ratelimit.Rule, _ ratelimit.Clock) bench.Limiter {
	store, err := memorystore.New(&memorystore.Config{
		Tokens:        uint64(r.Capacity),
		Interval:      r.Window(),
		SweepInterval: 24 * time.Hour,
		SweepMinTTL:   24 * time.Hour,
	})
	if err != nil {
		panic(err)
	}
	return goLimiter{store}
}

func (l goLimiter) TryAcquire(key string) bool {
	_, _, _, ok, err := l.store.Take(context.Background(), key)
	return err == nil && ok
}

// Close ends the goroutine that sweeps.
func (l goLimiter) Close() error { return l.store.Close(context.Background()) }
