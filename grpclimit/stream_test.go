package grpclimit_test

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/casgate/ratelimit/grpclimit"
	"github.com/casgate/ratelimit/httplimit"
)

func open(t *testing.T, conn *grpc.ClientConn) grpc.ClientStream {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	stream, err := conn.NewStream(ctx, &chatDesc, chat)
	require.NoError(t, err)
	return stream
}

// exchange sends one message and reads the answer.
func exchange(stream grpc.ClientStream) error {
	if err := stream.SendMsg(wrapperspb.String("hello")); err != nil && err != io.EOF { // EOF: the answer tells why
		return err
	}
	return stream.RecvMsg(new(wrapperspb.StringValue))
}

func TestAStreamIsLimitedAtItsStart(t *testing.T) {
	clock, limit := clockAndLimit(1)
	conn := serve(t, grpclimit.Config{Filter: newFilter(t, clock, httplimit.Rule{Limit: limit})}, &echo{echoAll})
	first := open(t, conn)
	for range 5 {
		require.NoError(t, exchange(first), "its messages are free")
	}
	second := open(t, conn)
	err := exchange(second)
	assert.Equal(t, codes.ResourceExhausted, status.Code(err))
	delay, _ := retryInfo(err)
	assert.Equal(t, time.Second, delay)
	assert.Equal(t, []string{"1000"}, second.Trailer().Get("grpc-retry-pushback-ms"))
	clock.Advance(time.Second)
	assert.NoError(t, exchange(open(t, conn)))
}

func TestMessagesOfAStreamAreLimited(t *testing.T) {
	clock, limit := clockAndLimit(3)
	_, streams := clockAndLimit(100)
	config := grpclimit.Config{
		Filter:   newFilter(t, clock, httplimit.Rule{Limit: streams}),
		Messages: newFilter(t, clock, httplimit.Rule{Name: "messages", Limit: limit}),
	}
	conn := serve(t, config, &echo{echoAll})
	stream := open(t, conn)
	for range 3 {
		require.NoError(t, exchange(stream))
	}
	err := exchange(stream)
	assert.Equal(t, codes.ResourceExhausted, status.Code(err))
	assert.Equal(t, "messages: limited", status.Convert(err).Message())
	assert.Equal(t, []string{"334"}, stream.Trailer().Get("grpc-retry-pushback-ms"))
	clock.Advance(time.Second / 3)
	assert.Equal(t, codes.ResourceExhausted, status.Code(exchange(open(t, conn))), "a third of a second is 1 ns short")
	clock.Advance(1)
	assert.NoError(t, exchange(open(t, conn)))
}

// A handler that takes a refusal for the stream's end, or reads on, doesn't hide it from the client.
func TestAHandlerCantSwallowARefusal(t *testing.T) {
	clock, limit := clockAndLimit(1)
	_, streams := clockAndLimit(100)
	reads := make(chan error, 3)
	careless := &echo{func(stream grpc.ServerStream) error {
		for range 3 {
			reads <- stream.RecvMsg(new(wrapperspb.StringValue))
		}
		return nil
	}}
	config := grpclimit.Config{
		Filter:   newFilter(t, clock, httplimit.Rule{Limit: streams}),
		Messages: newFilter(t, clock, httplimit.Rule{Limit: limit}),
	}
	stream := open(t, serve(t, config, careless))
	for range 3 {
		require.NoError(t, stream.SendMsg(wrapperspb.String("hello")))
	}
	assert.Equal(t, codes.ResourceExhausted, status.Code(stream.RecvMsg(new(wrapperspb.StringValue))))
	assert.NoError(t, <-reads)
	assert.Equal(t, codes.ResourceExhausted, status.Code(<-reads))
	assert.Equal(t, codes.ResourceExhausted, status.Code(<-reads), "no message is read after one that was refused")
}
