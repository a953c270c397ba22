package atomicbucket_test

import (
	"fmt"
	"time"

	"github.com/casgate/ratelimit/atomicbucket"
)

// A bucket of 3 tokens that gets 10 of them a second. Time is an argument.
func ExampleBucket() {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()
	rule, err := atomicbucket.Compile(3, 10, int64(time.Second))
	if err != nil {
		fmt.Println(err)
		return
	}
	rule = rule.Rebase(start)

	var b atomicbucket.Bucket // full
	for _, ms := range []int64{0, 0, 0, 0, 99, 100} {
		now := start + ms*1e6
		if b.Take(&rule, now, 1) {
			fmt.Printf("%3d ms: allowed\n", ms)
			continue
		}
		_, retryAfter, _ := b.Outcome(&rule, now, 1)
		fmt.Printf("%3d ms: refused, retry after %v\n", ms, time.Duration(retryAfter))
	}
	// Output:
	//   0 ms: allowed
	//   0 ms: allowed
	//   0 ms: allowed
	//   0 ms: refused, retry after 100ms
	//  99 ms: refused, retry after 1ms
	// 100 ms: allowed
}

// The words may live anywhere, for instance side by side: a Params is all that is needed to read them.
func ExampleParams() {
	rule, err := atomicbucket.Compile(100, 100, int64(time.Minute))
	if err != nil {
		fmt.Println(err)
		return
	}
	word, ok := rule.Take(0, 0, 30) // 0: never used
	fmt.Println(ok)

	now := int64(1300 * time.Millisecond)
	tokens, stamp := rule.Snapshot(word, now)
	fmt.Println(tokens, "tokens, the last one at", time.Duration(stamp))
	fmt.Println("full at", time.Duration(rule.IdleAt(word)))
	// Output:
	// true
	// 72 tokens, the last one at 1.2s
	// full at 18s
}

func ExampleCompile() {
	_, err := atomicbucket.Compile(0, 100, int64(time.Minute))
	fmt.Println(err)
	_, err = atomicbucket.Compile(1000, 1, 365*24*int64(time.Hour))
	fmt.Println(err)
	// Output:
	// atomicbucket: Capacity: 0 tokens, must be 1 to 10000000000000
	// atomicbucket: Refill: 1 per 8760h0m0s, must fill Capacity 1000 within a hundred years (876600h0m0s)
}
