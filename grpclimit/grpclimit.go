package grpclimit

import (
	"context"
	"fmt"
	"net/http"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/httplimit"
)

// Config says who decides.
type Config struct {
	// Filter decides each call, unary or stream, before its handler runs. It may stand before HTTP handlers as well, which
	// then share its limits. Its Skip and OnLimit see the calls as requests; its Refuse is not asked.
	Filter *httplimit.Filter
	// Messages decides each message that a client sends in a stream, the first included. It is a filter of its own, since
	// messages and calls are counted apart. Nil: messages aren't limited.
	Messages *httplimit.Filter
}

// Limiter limits the calls of a grpc.Server. Make one with New. It is safe for concurrent use.
type Limiter struct{ config Config }

// New returns a Limiter for c. The error wraps ratelimit.ErrInvalidConfig.
func New(c Config) (*Limiter, error) {
	switch {
	case c.Filter == nil:
		return nil, fmt.Errorf("grpclimit: %w: Filter: nil: must be one that decides the calls", ratelimit.ErrInvalidConfig)
	case c.Filter == c.Messages:
		return nil, fmt.Errorf("grpclimit: %w: Messages: the same as Filter: a stream's start would count as a message", ratelimit.ErrInvalidConfig)
	}
	return &Limiter{c}, nil
}

// Unary is a grpc.UnaryServerInterceptor: it calls handler for the calls that pass, and for no others.
func (l *Limiter) Unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	fields, err := decide(l.config.Filter, withMessage(ctx, request), info.FullMethod)
	if err != nil {
		_ = grpc.SetTrailer(ctx, err.trailer) // fails only where no server is
		return nil, err.status
	}
	if len(fields) > 0 {
		if err := grpc.SetHeader(ctx, fields); err != nil {
			return nil, err
		}
	}
	return handler(ctx, request)
}

// Stream is a grpc.StreamServerInterceptor: it calls handler for the streams that pass, and for no others.
func (l *Limiter) Stream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	ctx := stream.Context()
	fields, err := decide(l.config.Filter, ctx, info.FullMethod)
	if err != nil {
		stream.SetTrailer(err.trailer)
		return err.status
	}
	if len(fields) > 0 {
		if err := stream.SetHeader(fields); err != nil {
			return err
		}
	}
	if l.config.Messages == nil {
		return handler(server, stream)
	}
	limited := &limitedStream{ServerStream: stream, filter: l.config.Messages, method: info.FullMethod}
	answer := handler(server, limited)
	if limited.refused != nil { // whatever the handler made of it: a client whose message was refused must not read OK
		return limited.refused
	}
	return answer
}

// limitedStream is a stream whose messages are limited.
type limitedStream struct {
	grpc.ServerStream
	filter  *httplimit.Filter
	method  string
	refused error // once a message is refused, no further one is read; written by RecvMsg, which isn't called concurrently
}

// RecvMsg reads a message, and returns the refusal instead of one that doesn't pass.
func (s *limitedStream) RecvMsg(message any) error {
	if s.refused != nil {
		return s.refused
	}
	if err := s.ServerStream.RecvMsg(message); err != nil {
		return err
	}
	if _, err := decide(s.filter, withMessage(s.Context(), message), s.method); err != nil {
		s.SetTrailer(err.trailer)
		s.refused = err.status
	}
	return s.refused
}

// decide asks filter about a call or a message. The fields are for the header of one that passes.
func decide(filter *httplimit.Filter, ctx context.Context, method string) (fields metadata.MD, r *refusal) {
	verdict := filter.Decide(newRequest(ctx, method))
	header := http.Header{}
	verdict.SetHeaders(header)
	fields = make(metadata.MD, len(header))
	for name, values := range header {
		fields.Append(name, values...) // in lower case, as HTTP/2 has it
	}
	if verdict.Allowed {
		return fields, nil
	}
	return nil, newRefusal(verdict, fields)
}
