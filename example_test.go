package ratelimit_test

import (
	"fmt"
	"time"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/limittest"
)

func Example() {
	var clock limittest.ManualClock // real code leaves Config.Clock out
	limiter, err := ratelimit.New(ratelimit.PerMinute(100).Burst(2), ratelimit.Config{Clock: &clock})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		d := limiter.Take("client-1", 1)
		fmt.Println(d.Allowed, d.Remaining, d.RetryAfter)
	}
	clock.Advance(600 * time.Millisecond)
	fmt.Println(limiter.TryAcquire("client-1"))
	// Output:
	// true 1 0s
	// true 0 0s
	// false 0 600ms
	// true
}

func ExampleFactory() {
	var clock limittest.ManualClock
	factory := ratelimit.NewFactory(ratelimit.Config{Clock: &clock, MaxKeys: 1_000_000})
	plans := map[string]ratelimit.Rule{
		"free":    ratelimit.PerMinute(60).Burst(10),
		"premium": {Algorithm: ratelimit.SlidingWindowCounter, Capacity: 1000, Refill: ratelimit.PerMinute(1000)},
	}
	for _, plan := range []string{"free", "premium"} {
		limiter, err := factory.Create(plans[plan])
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(plan, limiter.Take("client-1", 1).Remaining)
	}
	_, err := factory.Create(ratelimit.PerMinute(60).Burst(0))
	fmt.Println(err)
	// Output:
	// free 9
	// premium 999
	// ratelimit: invalid rule: atomicbucket: Capacity: 0 tokens, must be 1 to 10000000000000
}

func ExampleTakeAll() {
	var clock limittest.ManualClock
	factory := ratelimit.NewFactory(ratelimit.Config{Clock: &clock})
	users, _ := factory.Create(ratelimit.PerSecond(10).Burst(10))
	addresses, _ := factory.Create(ratelimit.PerSecond(1).Burst(1))
	for range 2 {
		d, binding := ratelimit.TakeAll([]ratelimit.Claim{
			{Limiter: users, Key: "user-7", N: 1},
			{Limiter: addresses, Key: "192.0.2.1", N: 1},
		})
		fmt.Println(d.Allowed, binding, d.RetryAfter)
	}
	fmt.Println(users.Take("user-7", 0).Remaining, "left to the user: the refused request cost nothing")
	// Output:
	// true 1 0s
	// false 1 1s
	// 9 left to the user: the refused request cost nothing
}

func ExampleComposite() {
	var clock limittest.ManualClock
	factory := ratelimit.NewFactory(ratelimit.Config{Clock: &clock})
	second, _ := factory.Create(ratelimit.PerSecond(2).Burst(2))
	daily, _ := factory.Create(ratelimit.PerDay(1000).Burst(1000))
	both, err := ratelimit.NewComposite(second, daily)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(both.TryAcquire("client-1"), both.TryAcquire("client-1"), both.TryAcquire("client-1"))
	// Output: true true false
}

func ExampleLocal_setRule() {
	var clock limittest.ManualClock
	limiter, _ := ratelimit.New(ratelimit.PerSecond(1).Burst(10), ratelimit.Config{Clock: &clock})
	limiter.Take("busy", 10)
	if err := limiter.SetRule(ratelimit.PerSecond(1).Burst(20)); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(limiter.Take("busy", 0).Remaining, "who is being refused gains nothing")
	fmt.Println(limiter.Take("idle", 0).Remaining, "who is full is full")
	// Output:
	// 0 who is being refused gains nothing
	// 20 who is full is full
}

func ExampleRule_Split() {
	share, err := ratelimit.PerMinute(100).Burst(25).Split(5) // one of five servers that can't talk
	fmt.Println(share.Refill, share.Capacity, err)
	// Output: 20/minute 5 <nil>
}

func ExampleParseRate() {
	r, err := ratelimit.ParseRate("100 per minute")
	fmt.Println(r, err)
	_, err = ratelimit.ParseRate("100/fortnight")
	fmt.Println(err)
	// Output:
	// 100/minute <nil>
	// ratelimit: invalid rule: Refill: "100/fortnight": the time must be a unit (s, minute, hour, day), a number of them, or a duration, 1ns to 106751 days
}

func ExampleNewCoarseClock() {
	clock := ratelimit.NewCoarseClock(time.Millisecond)
	defer clock.Close()
	limiter, _ := ratelimit.New(ratelimit.PerSecond(100).Burst(100), ratelimit.Config{Clock: clock})
	fmt.Println(limiter.TryAcquire("client-1"))
	// Output: true
}
