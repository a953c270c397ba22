package grpclimit_test

import (
	"context"
	"fmt"
	"net"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/grpclimit"
	"github.com/casgate/ratelimit/httplimit"
	"github.com/casgate/ratelimit/limittest"
)

// A server, and what its clients are told. Each API key may make two calls at once, and six a minute.
func Example() {
	filter, err := httplimit.New(httplimit.Config{
		Rules:    []httplimit.Rule{{Name: "calls", Limit: ratelimit.PerMinute(6).Burst(2), Key: httplimit.Header("x-api-key")}},
		Limiters: ratelimit.Config{Clock: new(limittest.ManualClock)}, // which stands still here
	})
	if err != nil {
		panic(err)
	}
	limiter, err := grpclimit.New(grpclimit.Config{Filter: filter})
	if err != nil {
		panic(err)
	}
	server := grpc.NewServer(grpc.ChainUnaryInterceptor(limiter.Unary), grpc.ChainStreamInterceptor(limiter.Stream))
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go server.Serve(listener)
	defer server.Stop()

	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	client := grpc_health_v1.NewHealthClient(conn)
	for _, key := range []string{"ann", "ann", "ann", "bob"} {
		var header metadata.MD
		ctx := metadata.AppendToOutgoingContext(context.Background(), "x-api-key", key)
		answer, err := client.Check(ctx, &grpc_health_v1.HealthCheckRequest{}, grpc.Header(&header))
		if err == nil {
			fmt.Println(key, answer.Status, header.Get("ratelimit"))
			continue
		}
		refusal := status.Convert(err)
		for _, detail := range refusal.Details() {
			fmt.Println(key, refusal.Code(), detail.(*errdetails.RetryInfo).RetryDelay.AsDuration())
		}
	}
	// Output:
	// ann SERVING ["calls";r=1;t=10]
	// ann SERVING ["calls";r=0;t=20]
	// ann ResourceExhausted 10s
	// bob SERVING ["calls";r=1;t=10]
}
