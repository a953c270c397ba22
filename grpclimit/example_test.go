package grpclimit_test

import (
	"fmt"

	"google.golang.org/grpc"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/grpclimit"
	"github.com/casgate/ratelimit/httplimit"
)

// 100 calls a minute for each API key, and 20 messages a second in streams; of more than a million keys at once, the one
// nearest to its full quota is forgotten.
func ExampleNew() {
	filter := func(name string, rate ratelimit.Rate) *httplimit.Filter {
		f, err := httplimit.New(httplimit.Config{
			Rules: []httplimit.Rule{{
				Name:  name,
				Limit: rate.Burst(20),
				Key:   httplimit.First(httplimit.Header("x-api-key"), httplimit.IP()),
			}},
			Limiters: ratelimit.Config{MaxKeys: 1 << 20},
		})
		if err != nil {
			panic(err)
		}
		return f
	}
	limiter, err := grpclimit.New(grpclimit.Config{
		Filter:   filter("calls", ratelimit.PerMinute(100)),
		Messages: filter("messages", ratelimit.PerSecond(20)),
	})
	if err != nil {
		panic(err)
	}
	server := grpc.NewServer(
		grpc.ChainUnaryInterceptor(limiter.Unary),
		grpc.ChainStreamInterceptor(limiter.Stream),
	)
	fmt.Println(len(server.GetServiceInfo()))
	// Output: 0
}
