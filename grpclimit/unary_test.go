package grpclimit_test

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/grpclimit"
	"github.com/casgate/ratelimit/httplimit"
	"github.com/casgate/ratelimit/limittest"
	"github.com/casgate/ratelimit/rules"
)

// retryInfo returns the delay in an error's details.
func retryInfo(err error) (time.Duration, bool) {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok {
			return info.GetRetryDelay().AsDuration(), true
		}
	}
	return 0, false
}

func TestARefusalTellsWhenToComeBack(t *testing.T) {
	clock := new(limittest.ManualClock)
	limit := ratelimit.Rate{Tokens: 1, Per: 1500*time.Microsecond + 1}.Burst(1)
	conn := serve(t, grpclimit.Config{Filter: newFilter(t, clock, httplimit.Rule{Name: "calls", Limit: limit})}, nil)

	var header, trailer metadata.MD
	require.NoError(t, call(t.Context(), conn, grpc.Header(&header)))
	assert.Equal(t, []string{`"calls";r=0;t=1`}, header.Get("ratelimit"))

	err := call(t.Context(), conn, grpc.Trailer(&trailer))
	assert.Equal(t, codes.ResourceExhausted, status.Code(err))
	assert.Equal(t, "calls: limited", status.Convert(err).Message())
	delay, ok := retryInfo(err)
	require.True(t, ok)
	assert.Equal(t, 1500*time.Microsecond+1, delay, "exact")
	assert.Equal(t, []string{"2"}, trailer.Get("grpc-retry-pushback-ms"), "rounded up")
	assert.Equal(t, []string{"1"}, trailer.Get("retry-after"))

	clock.Advance(delay - 1)
	assert.Equal(t, codes.ResourceExhausted, status.Code(call(t.Context(), conn)), "1 ns before")
	clock.Advance(1)
	assert.NoError(t, call(t.Context(), conn), "at the instant")
}

func TestNeverMeansDontRetry(t *testing.T) {
	clock, limit := clockAndLimit(1)
	tooMuch := httplimit.Rule{Limit: limit, Cost: func(*http.Request) int64 { return 2 }}
	conn := serve(t, grpclimit.Config{Filter: newFilter(t, clock, tooMuch)}, nil)
	var trailer metadata.MD
	err := call(t.Context(), conn, grpc.Trailer(&trailer))
	assert.Equal(t, codes.ResourceExhausted, status.Code(err))
	_, ok := retryInfo(err)
	assert.False(t, ok, "there is no time to tell")
	assert.Equal(t, []string{"-1"}, trailer.Get("grpc-retry-pushback-ms"))
}

func TestReasonsHaveCodes(t *testing.T) {
	clock, limit := clockAndLimit(1)
	for _, c := range []struct {
		name string
		rule httplimit.Rule
		code codes.Code
	}{
		{"blocked", httplimit.Rule{Mode: httplimit.Block}, codes.PermissionDenied},
		{"key missing", httplimit.Rule{Limit: limit, Key: httplimit.Header("x-api-key")}, codes.InvalidArgument},
		{"missing is skipped", httplimit.Rule{Limit: limit, Key: httplimit.Header("x-api-key"), Missing: httplimit.MissingSkip}, codes.OK},
		{"shadow", httplimit.Rule{Limit: limit, Mode: httplimit.Shadow, Cost: func(*http.Request) int64 { return 2 }}, codes.OK},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn := serve(t, grpclimit.Config{Filter: newFilter(t, clock, c.rule)}, nil)
			var trailer metadata.MD
			assert.Equal(t, c.code, status.Code(call(t.Context(), conn, grpc.Trailer(&trailer))))
			if c.code != codes.OK {
				assert.Equal(t, []string{"-1"}, trailer.Get("grpc-retry-pushback-ms"))
			}
		})
	}
}

// A client's own retry policy waits for what the trailer says, not for its backoff, which is an hour here; and it
// doesn't try again where the trailer says that waiting is vain.
func TestRetryPolicyHonoursThePushback(t *testing.T) {
	policy := grpc.WithDefaultServiceConfig(`{"methodConfig": [{"name": [{"service": "test.Echo"}], "retryPolicy": {
		"maxAttempts": 3, "initialBackoff": "3600s", "maxBackoff": "3600s", "backoffMultiplier": 1,
		"retryableStatusCodes": ["RESOURCE_EXHAUSTED"]}}]}`)
	clock := new(limittest.ManualClock)
	var refused atomic.Int64
	cost := int64(1)
	filter, err := httplimit.New(httplimit.Config{
		Rules: []httplimit.Rule{{
			Limit: ratelimit.Rate{Tokens: 1, Per: time.Millisecond}.Burst(1),
			Cost:  func(*http.Request) int64 { return atomic.LoadInt64(&cost) },
		}},
		Limiters: ratelimit.Config{Clock: clock},
		OnLimit: func(_ *http.Request, v httplimit.Verdict) {
			refused.Add(1)
			if v.Decision.RetryAfter != ratelimit.Never {
				clock.Advance(v.Decision.RetryAfter)
			}
		},
	})
	require.NoError(t, err)
	conn := serve(t, grpclimit.Config{Filter: filter}, nil, policy)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, call(ctx, conn))
	require.NoError(t, call(ctx, conn), "refused, and passed when tried again")
	assert.EqualValues(t, 1, refused.Load())

	atomic.StoreInt64(&cost, 2) // beyond the capacity
	assert.Equal(t, codes.ResourceExhausted, status.Code(call(ctx, conn)))
	assert.EqualValues(t, 2, refused.Load(), "tried once")
}

func TestExactlyTheLimitPassesAtOnce(t *testing.T) {
	const limit, callers, each = 100, 32, 20
	clock := new(limittest.ManualClock)
	conn := serve(t, grpclimit.Config{Filter: newFilter(t, clock, httplimit.Rule{Limit: ratelimit.PerHour(limit).Burst(limit)})}, nil)
	var passed, refused atomic.Int64
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range each {
				switch err := call(t.Context(), conn); status.Code(err) {
				case codes.OK:
					passed.Add(1)
				case codes.ResourceExhausted:
					refused.Add(1)
				default:
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	assert.EqualValues(t, limit, passed.Load())
	assert.EqualValues(t, callers*each-limit, refused.Load())
}

func TestKeysOfMetadataDontCollide(t *testing.T) {
	clock, limit := clockAndLimit(1)
	both := httplimit.All(httplimit.Header("x-tenant"), httplimit.Header("x-user"))
	conn := serve(t, grpclimit.Config{Filter: newFilter(t, clock, httplimit.Rule{Limit: limit, Key: both})}, nil)
	with := func(tenant, user string) error {
		return call(metadata.AppendToOutgoingContext(t.Context(), "X-Tenant", tenant, "X-User", user), conn)
	}
	for _, client := range [][2]string{{"a:b", "c"}, {"a", "b:c"}, {"a", "b"}, {"a,b", "c"}, {"a b", "c"}} {
		assert.NoError(t, with(client[0], client[1]), client)
		assert.Equal(t, codes.ResourceExhausted, status.Code(with(client[0], client[1])), client)
	}
}

// A rule file holds for calls as for requests: by path, header and forwarded address.
func TestCallsMeetTheRulesOfAStore(t *testing.T) {
	clock := new(limittest.ManualClock)
	store, err := rules.NewStore(rules.Spec{
		Proxies: rules.ProxiesSpec{Trusted: rules.List{"loopback"}},
		Rules: []rules.RuleSpec{
			{Name: "say", Match: rules.List{"POST " + say}, Key: rules.List{"ip+route"}, Limit: ratelimit.PerMinute(1), Missing: rules.MissingRefuse},
		},
	}, rules.Config{Limiters: ratelimit.Config{Clock: clock}})
	require.NoError(t, err)
	filter, err := httplimit.New(httplimit.Config{Store: store})
	require.NoError(t, err)
	conn := serve(t, grpclimit.Config{Filter: filter}, nil)
	from := func(addr string) codes.Code {
		return status.Code(call(metadata.AppendToOutgoingContext(t.Context(), "x-forwarded-for", addr), conn))
	}
	assert.Equal(t, codes.OK, from("192.0.2.1"))
	assert.Equal(t, codes.OK, from("192.0.2.2"), "another client behind the same proxy")
	assert.Equal(t, codes.ResourceExhausted, from("192.0.2.1"))
}

func TestCostOfAMessage(t *testing.T) {
	clock, limit := clockAndLimit(8)
	byLength := httplimit.Rule{Limit: limit, Cost: func(r *http.Request) int64 {
		message, _ := grpclimit.Message(r.Context()).(*wrapperspb.StringValue)
		return int64(len(message.GetValue()))
	}}
	conn := serve(t, grpclimit.Config{Filter: newFilter(t, clock, byLength)}, nil)
	assert.NoError(t, call(t.Context(), conn))
	err := call(t.Context(), conn)
	delay, _ := retryInfo(err)
	assert.Equal(t, 250*time.Millisecond, delay, "3 left of 8, 5 wanted, 8 a second")
}

func TestConfigIsChecked(t *testing.T) {
	_, err := grpclimit.New(grpclimit.Config{})
	assert.ErrorIs(t, err, ratelimit.ErrInvalidConfig)
	clock, limit := clockAndLimit(1)
	f := newFilter(t, clock, httplimit.Rule{Limit: limit})
	_, err = grpclimit.New(grpclimit.Config{Filter: f, Messages: f})
	assert.ErrorIs(t, err, ratelimit.ErrInvalidConfig)
}
