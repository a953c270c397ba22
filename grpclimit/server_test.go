package grpclimit_test

import (
	"context"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/grpclimit"
	"github.com/casgate/ratelimit/httplimit"
	"github.com/casgate/ratelimit/limittest"
)

// The methods of the test server: Say answers with what it is told, Chat with each message it is told.
const (
	say  = "/test.Echo/Say"
	chat = "/test.Echo/Chat"
)

var chatDesc = grpc.StreamDesc{StreamName: "Chat", ServerStreams: true, ClientStreams: true}

// echo is the server's service; chat is its handler of Chat.
type echo struct{ chat func(grpc.ServerStream) error }

func serviceDesc() *grpc.ServiceDesc {
	unary := func(_ any, ctx context.Context, decode func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
		request := new(wrapperspb.StringValue)
		if err := decode(request); err != nil {
			return nil, err
		}
		answer := func(_ context.Context, request any) (any, error) { return request, nil }
		if intercept == nil {
			return answer(ctx, request)
		}
		return intercept(ctx, request, &grpc.UnaryServerInfo{FullMethod: say}, answer)
	}
	desc := chatDesc
	desc.Handler = func(server any, stream grpc.ServerStream) error { return server.(*echo).chat(stream) }
	return &grpc.ServiceDesc{
		ServiceName: "test.Echo",
		HandlerType: (*any)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: "Say", Handler: unary}},
		Streams:     []grpc.StreamDesc{desc},
	}
}

// echoAll answers each message with itself.
func echoAll(stream grpc.ServerStream) error {
	for {
		message := new(wrapperspb.StringValue)
		switch err := stream.RecvMsg(message); {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		if err := stream.SendMsg(message); err != nil {
			return err
		}
	}
}

// newFilter returns a filter of one rule, or of several, on a clock of its own.
func newFilter(t *testing.T, clock ratelimit.Clock, rules ...httplimit.Rule) *httplimit.Filter {
	t.Helper()
	f, err := httplimit.New(httplimit.Config{Rules: rules, Limiters: ratelimit.Config{Clock: clock}})
	require.NoError(t, err)
	return f
}

// serve runs a limited server on a loopback port and returns a client's connection to it.
func serve(t *testing.T, c grpclimit.Config, service *echo, options ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	limiter, err := grpclimit.New(c)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer(grpc.UnaryInterceptor(limiter.Unary), grpc.StreamInterceptor(limiter.Stream))
	server.RegisterService(serviceDesc(), service)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		require.NoError(t, <-ended)
	})
	options = append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))
	conn, err := grpc.NewClient(listener.Addr().String(), options...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// call makes one unary call.
func call(ctx context.Context, conn *grpc.ClientConn, options ...grpc.CallOption) error {
	return conn.Invoke(ctx, say, wrapperspb.String("hello"), new(wrapperspb.StringValue), options...)
}

// clockAndLimit returns a clock that the test turns, and a limit of n a second.
func clockAndLimit(n int64) (*limittest.ManualClock, ratelimit.Rule) {
	return new(limittest.ManualClock), ratelimit.PerSecond(n).Burst(n)
}
