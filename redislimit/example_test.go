package redislimit_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/redislimit"
)

// A server that isn't there yet is no error: until it is, decisions are the outage policy's.
func ExampleDial() {
	ctx := context.Background()
	store, err := redislimit.Dial(ctx, "redis://127.0.0.1:1", redislimit.Config{
		Servers: 4, // share the limits
		OnError: redislimit.Local,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	limiter, err := store.Limiter("api", ratelimit.PerMinute(100).Burst(20), redislimit.Strict)
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		d, err := limiter.TakeContext(ctx, "203.0.113.7", 1)
		fmt.Println(d.Allowed, err != nil)
	}
	// Output:
	// true true
	// false true
}

// The range over Redis is smaller than in one process; what doesn't fit is refused beforehand, and named.
func ExampleStore_Limiter() {
	store, _ := redislimit.New(nowhere{}, redislimit.Config{Servers: 1})
	defer store.Close()
	_, err := store.Limiter("api", ratelimit.PerHour(1_000_003).Burst(10_000_000), redislimit.Strict)
	fmt.Println(errors.Is(err, ratelimit.ErrInvalidRule))
	fmt.Println(err)
	// Output:
	// true
	// ratelimit: invalid rule: Capacity: 10000000 with Refill 1000003/hour: a full bucket has 3600000000 units a token, and must have fewer than 2^53 in all over Redis
}

func ExampleConfig() {
	_, err := redislimit.New(nowhere{}, redislimit.Config{Prefix: "{rl}"})
	fmt.Println(errors.Is(err, ratelimit.ErrInvalidConfig), err)
	// Output: true ratelimit: invalid config: Prefix: "{rl}": must not contain braces
}

// nowhere is a Server without a Redis.
type nowhere struct{}

func (nowhere) Eval(context.Context, *redislimit.Script, []string, []string) ([]int64, error) {
	return nil, errors.New("nowhere")
}
