package grpclimit

import (
	"math"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/httplimit"
)

// pushback is the trailer that tells a client's retry policy how long to wait, instead of its own backoff.
const pushback = "grpc-retry-pushback-ms"

// refusal is the answer to a call that doesn't pass.
type refusal struct {
	status  error
	trailer metadata.MD
}

// newRefusal returns the answer that v is; fields go into its trailer.
func newRefusal(v httplimit.Verdict, fields metadata.MD) *refusal {
	text := v.Reason.String()
	if v.Rule != "" {
		text = v.Rule + ": " + text
	}
	s := status.New(codeOf(v.Reason), text)
	switch v.Reason {
	case httplimit.Limited:
		fields.Set(pushback, strconv.FormatInt(milliseconds(v.Decision.RetryAfter), 10))
		if v.Decision.RetryAfter != ratelimit.Never {
			if detailed, err := s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(v.Decision.RetryAfter)}); err == nil {
				s = detailed
			}
		}
	case httplimit.Unavailable: // how long, nobody knows: the client's own backoff is best
	default:
		fields.Set(pushback, "-1")
	}
	return &refusal{s.Err(), fields}
}

func codeOf(r httplimit.Reason) codes.Code {
	switch r {
	case httplimit.Blocked:
		return codes.PermissionDenied
	case httplimit.KeyMissing, httplimit.KeyTooLong:
		return codes.InvalidArgument
	case httplimit.Unavailable:
		return codes.Unavailable
	}
	return codes.ResourceExhausted
}

// milliseconds returns d in milliseconds, rounded up so that a client isn't refused once more; -1, for "don't retry", if
// waiting doesn't help or takes longer (24 days) than all clients can read.
func milliseconds(d time.Duration) int64 {
	ms := int64(d / time.Millisecond)
	if d%time.Millisecond > 0 {
		ms++
	}
	if ms > math.MaxInt32 {
		return -1
	}
	return ms
}
