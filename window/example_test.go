package window_test

import (
	"fmt"
	"time"

	"github.com/casgate/ratelimit/window"
)

// 100 a minute in a fixed window: twice as many pass across its edge, within two seconds.
func ExampleFixed() {
	rule, err := window.CompileFixed(100, 100, int64(time.Minute))
	if err != nil {
		fmt.Println(err)
		return
	}
	var client window.Fixed
	fmt.Println(client.Take(&rule, int64(59*time.Second), 100))
	fmt.Println(client.Take(&rule, int64(59*time.Second), 1))
	fmt.Println(client.Take(&rule, int64(61*time.Second), 100))
	// Output:
	// true
	// false
	// true
}

// 100 a minute in a sliding-window counter: what passed in the last second of a window
// weighs on the next one.
func ExampleCounter() {
	rule, err := window.CompileCounter(100, 100, int64(time.Minute))
	if err != nil {
		fmt.Println(err)
		return
	}
	var client window.Counter
	fmt.Println(client.Take(&rule, int64(59*time.Second), 100))

	now := int64(61 * time.Second)
	remaining, retryAfter, resetAfter := client.Outcome(&rule, now, 100)
	fmt.Println(client.Take(&rule, now, 100), remaining, time.Duration(retryAfter), time.Duration(resetAfter))
	remaining, retryAfter, _ = client.Outcome(&rule, now, 1)
	fmt.Println(client.Take(&rule, now, 1), remaining, time.Duration(retryAfter))
	// Output:
	// true
	// false 1 59s 59s
	// true 1 0s
}

// The step is a function of a word, which may be kept anywhere.
func ExampleFixedParams() {
	rule, _ := window.CompileFixed(2, 2, int64(time.Second))
	var word uint64
	for range 3 {
		next, ok := rule.Take(word, 0, 1)
		if ok {
			word = next
		}
		_, retryAfter, _ := rule.Outcome(word, 0, 1)
		fmt.Println(ok, time.Duration(retryAfter))
	}
	// Output:
	// true 0s
	// true 1s
	// false 1s
}

// A rule that can't be kept exactly is refused, and the error says why.
func ExampleCounterParams() {
	_, err := window.CompileCounter(1, 3, int64(time.Second))
	fmt.Println(err)
	_, err = window.CompileCounter(1<<31, 1<<31, int64(time.Second))
	fmt.Println(err)
	// Output:
	// window: Refill: 3 per 1s: the window in which it comes to Capacity 1 must be a whole number of ns
	// window: Capacity: 2147483648 requests: must be 1 to 1073741823
}
