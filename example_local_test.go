package ratelimit_test

import (
	"fmt"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/limittest"
)

func ExampleDecision() {
	var clock limittest.ManualClock
	limiter, _ := ratelimit.New(ratelimit.PerSecond(2).Burst(4), ratelimit.Config{Clock: &clock})
	limiter.Take("client-1", 3)
	d := limiter.Take("client-1", 2)
	fmt.Println("allowed:", d.Allowed)
	fmt.Println("left:", d.Remaining, "of", d.Limit)
	fmt.Println("both there in:", d.RetryAfter)
	fmt.Println("full in:", d.ResetAfter)
	fmt.Println("five at once:", limiter.Take("client-1", 5).RetryAfter == ratelimit.Never)
	// Output:
	// allowed: false
	// left: 1 of 4
	// both there in: 500ms
	// full in: 1.5s
	// five at once: true
}

func ExampleLocal_refundAt() {
	var clock limittest.ManualClock
	limiter, _ := ratelimit.New(ratelimit.PerMinute(5).Burst(5), ratelimit.Config{Clock: &clock})
	d := limiter.Take("client-1", 3)
	fmt.Println(d.Remaining)
	limiter.RefundAt("client-1", 3, d.At) // the request failed by our fault
	fmt.Println(limiter.Peek("client-1", 0).Remaining)
	// Output:
	// 2
	// 5
}

func ExampleLocal_tryAcquireMany() {
	var clock limittest.ManualClock
	limiter, _ := ratelimit.New(ratelimit.PerSecond(1).Burst(1), ratelimit.Config{Clock: &clock})
	keys := []string{"a", "b", "a"}
	allowed := make([]bool, len(keys))
	limiter.TryAcquireMany(keys, allowed)
	fmt.Println(allowed)
	// Output: [true true false]
}

func ExampleConfig() {
	var clock limittest.ManualClock
	limiter, err := ratelimit.New(ratelimit.PerSecond(1).Burst(5), ratelimit.Config{Clock: &clock, MaxKeys: 2, Overflow: ratelimit.DenyNewKeys})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(limiter.TryAcquire("a"), limiter.TryAcquire("b"), limiter.TryAcquire("c"))
	s := limiter.Stats()
	fmt.Println(s.Keys, "keys,", s.DeniedNew, "denied")
	// Output:
	// true true false
	// 2 keys, 1 denied
}

func ExampleRule_Validate() {
	rule := ratelimit.Rule{Algorithm: ratelimit.FixedWindow, Capacity: 10, Refill: ratelimit.PerSecond(3)}
	fmt.Println(rule.Validate())
	// Output:
	// ratelimit: invalid rule: window: Refill: 3 per 1s: the window in which it comes to Capacity 10 must be a whole number of ns
}

func ExampleFloatRate() {
	for _, perSecond := range []float64{100 / 60.0, 10 / 13.0} {
		r, err := ratelimit.FloatRate(perSecond)
		fmt.Println(r, err)
	}
	// Output:
	// 100/minute <nil>
	// 10/13s <nil>
}

func ExampleAlgorithm() {
	var a ratelimit.Algorithm
	err := a.UnmarshalText([]byte("SLIDING_WINDOW_LOG"))
	fmt.Println(a, err)
	// Output: SLIDING_WINDOW_LOG <nil>
}
