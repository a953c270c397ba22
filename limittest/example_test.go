package limittest_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/limittest"
)

func ExampleManualClock() {
	clock := new(limittest.ManualClock)
	limiter, err := ratelimit.New(ratelimit.PerSecond(2).Burst(1), ratelimit.Config{Clock: clock})
	if err != nil {
		panic(err)
	}
	fmt.Println(limiter.TryAcquire("alice"), limiter.TryAcquire("alice"))
	wait := limiter.Take("alice", 1).RetryAfter
	fmt.Println("in", wait)
	clock.Advance(wait)
	fmt.Println(limiter.TryAcquire("alice"))
	// Output:
	// true false
	// in 500ms
	// true
}

// A test of one's own limiter is a line.
func ExampleTestLimiter() {
	_ = func(t *testing.T) { // TestMyLimiter
		limittest.TestLimiter(t, func(rule ratelimit.Rule, clock ratelimit.Clock) ratelimit.Limiter {
			limiter, err := ratelimit.New(rule, ratelimit.Config{Clock: clock})
			if err != nil {
				return nil // not supported: skipped
			}
			return limiter
		})
	}
}

// A limiter behind a network that counts in microseconds, and is slow to be told of many keys.
func ExampleSuite() {
	_ = func(t *testing.T, remote func(ratelimit.Rule, ratelimit.Clock) ratelimit.Limiter) {
		limittest.Suite{
			New:        remote,
			Resolution: time.Microsecond,
			Skip:       map[string]string{"key/isolation": "it takes a minute"},
		}.Run(t)
	}
}

func ExampleReadTimelines() {
	timelines, err := limittest.ReadTimelines(os.DirFS("../testdata/timelines"))
	if err != nil {
		panic(err)
	}
	for _, t := range timelines {
		if t.Name == "ten-each-thirteen-seconds" {
			fmt.Println(t.Source, t.Rule.Refill, "with capacity", t.Rule.Capacity)
			for _, step := range t.Steps[:3] {
				fmt.Println(time.Duration(step.At), step.Key, step.N, step.Want.Allowed, step.Want.RetryAfter)
			}
		}
	}
	// Output:
	// golang/go#34861 10/13s with capacity 1
	// 0s alice 1 true 0s
	// 1.299999999s alice 1 false 1ns
	// 1.3s alice 1 true 0s
}
