package window_test

import (
	"fmt"
	"time"

	"github.com/casgate/ratelimit/window"
)

// 3 a minute in a sliding log: each request makes room a minute after it came, to the ns.
func ExampleLog() {
	rule, err := window.CompileLog(3, 3, int64(time.Minute))
	if err != nil {
		fmt.Println(err)
		return
	}
	var clients window.Log
	rule = clients.Adopt(rule)
	client := clients.New(&rule, 0, 1) // the first request, at 0 s

	at := func(now time.Duration, n int64) {
		o, verdict := clients.Take(&rule, client, int64(now), n)
		fmt.Println(verdict == window.LogAllowed, o.Remaining, time.Duration(o.RetryAfter))
	}
	at(20*time.Second, 2)
	at(50*time.Second, 1)
	at(60*time.Second, 1)
	at(60*time.Second, 1)
	clients.Release(&rule, client)
	at(60*time.Second, 1)
	// Output:
	// true 0 0s
	// false 0 10s
	// true 0 0s
	// false 0 20s
	// false 0 0s
}
