package grpclimit

import (
	"context"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
)

// newRequest returns the HTTP request that a call is, as the filter wants to see it.
func newRequest(ctx context.Context, method string) *http.Request {
	r := &http.Request{
		Method:     http.MethodPost,
		URL:        &url.URL{Path: method},
		Pattern:    method,
		Proto:      "HTTP/2.0",
		ProtoMajor: 2,
	}
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		r.RemoteAddr = p.Addr.String()
	}
	fields, _ := metadata.FromIncomingContext(ctx)
	r.Header = make(http.Header, len(fields))
	for name, values := range fields {
		switch {
		case name == ":authority" && len(values) > 0:
			r.Host = values[0]
		case !strings.HasPrefix(name, ":"):
			r.Header[textproto.CanonicalMIMEHeaderKey(name)] = values
		}
	}
	return r.WithContext(ctx)
}

type messageKey struct{}

func withMessage(ctx context.Context, message any) context.Context {
	return context.WithValue(ctx, messageKey{}, message)
}

// Message returns the message that is being decided on: the request of a unary call, or one of a stream for
// Config.Messages. Nil at the start of a stream. It is for a rule's Cost and Key functions, which find ctx in their
// request:
//
//	Cost: func(r *http.Request) int64 {
//		search, _ := grpclimit.Message(r.Context()).(*pb.SearchRequest)
//		return 1 + int64(search.GetPageSize())/100
//	}
func Message(ctx context.Context) any { return ctx.Value(messageKey{}) }
