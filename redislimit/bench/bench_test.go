// Package bench measures redislimit against redis_rate, on one redis-server in one run, in alternating rounds, so that
// what else the machine does meets both alike.
package bench

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/redislimit"
	"github.com/casgate/ratelimit/redislimit/redistest"
)

const callers = 64

var (
	keys  = names(10_000)
	clock = ratelimit.SystemClock()
	// Admits all, so that every decision writes, and no key is ever full; B is far above 400 N.
	rule    = ratelimit.PerDay(1_000_000).Burst(1_000_000)
	prefix  atomic.Int64
	careful = redislimit.Config{Servers: 1, Budget: time.Minute}
)

func names(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = "client-" + strconv.Itoa(i)
	}
	return all
}

// open returns a limiter of its own keys.
func open(b *testing.B, server *redistest.Server, c redislimit.Config, mode redislimit.Mode) (*redislimit.Limiter, *redislimit.Store) {
	b.Helper()
	c.Prefix = fmt.Sprint("bench", prefix.Add(1))
	store, err := redislimit.Dial(context.Background(), "redis://"+server.Addr, c)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(store.Close)
	limiter, err := store.Limiter("rule", rule, mode)
	if err != nil {
		b.Fatal(err)
	}
	return limiter, store
}

// decide has callers goroutines make n decisions each, and returns how long it took.
func decide(n int, one func(key string)) time.Duration {
	var wg sync.WaitGroup
	start := clock.NanoTime()
	for i := range callers {
		wg.Go(func() {
			for j := range n {
				one(keys[(i*n+j)*7919%len(keys)])
			}
		})
	}
	wg.Wait()
	return time.Duration(clock.NanoTime() - start)
}

// versus makes decisions in turn by both, and reports how many times as many the first makes in a second (the median of
// the rounds), and in a second of processor time, the server's included: on a machine that does other things, too, the
// first is a matter of chance.
func versus(b *testing.B, server *redistest.Server, rounds, n int, first, second func(key string)) {
	b.Helper()
	decide(n, first)
	decide(n, second)
	var ratios []float64
	var cpu [2]time.Duration
	for b.Loop() {
		for range rounds {
			start := busy(b, server)
			f := decide(n, first)
			between := busy(b, server)
			s := decide(n, second)
			cpu[0], cpu[1] = cpu[0]+between-start, cpu[1]+busy(b, server)-between
			ratios = append(ratios, float64(s)/float64(f))
		}
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "x-as-fast")
	b.ReportMetric(float64(cpu[1])/float64(cpu[0]), "x-as-fast-by-cpu")
	b.ReportMetric(cpu[0].Seconds()*1e6/float64(len(ratios)*n*callers), "first-cpu-us")
	b.ReportMetric(cpu[1].Seconds()*1e6/float64(len(ratios)*n*callers), "second-cpu-us")
	b.ReportMetric(0, "ns/op")
}

// busy is the processor time that this process and the server have used.
func busy(b *testing.B, server *redistest.Server) time.Duration {
	b.Helper()
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		b.Fatal(err)
	}
	return time.Duration(own.Utime.Nano()+own.Stime.Nano()) + server.CPU(b)
}

func BenchmarkStrictToRedisRate(b *testing.B) {
	server := redistest.Start(b)
	limiter, _ := open(b, server, careful, redislimit.Strict)
	client := redis.NewClient(&redis.Options{Addr: server.Addr, PoolSize: callers})
	defer client.Close()
	rival, limit := redis_rate.NewLimiter(client), redis_rate.PerSecond(1_000_000)
	versus(b, server, 15, 100, func(key string) { limiter.TryAcquire(key) }, func(key string) {
		if _, err := rival.Allow(context.Background(), key, limit); err != nil {
			b.Error(err)
		}
	})
}

// A million leased decisions over ten thousand hot keys, against strict ones.
func BenchmarkLeaseToStrict(b *testing.B) {
	server := redistest.Start(b)
	leased, store := open(b, server, careful, redislimit.Lease)
	strict, _ := open(b, server, careful, redislimit.Strict)
	for range 8 { // keys become hot
		decide(len(keys)/callers+1, func(key string) { leased.TryAcquire(key) })
	}
	for b.Loop() {
		before := store.Stats().Calls
		took := decide(1_000_000/callers, func(key string) { leased.TryAcquire(key) })
		calls := store.Stats().Calls - before
		slow := decide(300, func(key string) { strict.TryAcquire(key) })
		b.ReportMetric(slow.Seconds()/300*(1_000_000/callers)/took.Seconds(), "x-as-fast")
		b.ReportMetric(1_000_000/float64(max(calls, 1)), "decisions/call")
	}
	b.ReportMetric(0, "ns/op")
}

// Decisions while the server is stopped (SIGSTOP), against a limiter in this process.
func BenchmarkStoppedToLocal(b *testing.B) {
	server := redistest.Start(b)
	limiter, store := open(b, server, redislimit.Config{Servers: 1, Budget: 5 * time.Millisecond}, redislimit.Strict)
	local, err := ratelimit.New(rule, ratelimit.Config{})
	if err != nil {
		b.Fatal(err)
	}
	for _, key := range keys {
		limiter.TryAcquire(key)
		local.TryAcquire(key)
	}
	server.Pause()
	defer server.Resume()
	var slowest time.Duration
	for !store.Stats().BreakerOpen {
		start := clock.NanoTime()
		limiter.TryAcquire("k")
		slowest = max(slowest, time.Duration(clock.NanoTime()-start))
	}
	versus(b, server, 31, 1000, func(key string) { limiter.TryAcquire(key) }, func(key string) { local.TryAcquire(key) })
	b.ReportMetric(slowest.Seconds()*1e3, "ms-before-open")
}
