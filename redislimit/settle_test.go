package redislimit

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/limittest"
	"github.com/casgate/ratelimit/redislimit/redistest"
)

// flaky fails as many calls as it is told to.
type flaky struct {
	Server
	fails atomic.Int64
}

func (f *flaky) Eval(ctx context.Context, script *Script, keys, args []string) ([]int64, error) {
	if f.fails.Add(-1) >= 0 {
		return nil, errors.New("flaky")
	}
	return f.Server.Eval(ctx, script, keys, args)
}

// Single failures open nothing; what they let through is taken from the server a little later, once.
func TestSingleFailuresAreSettled(t *testing.T) {
	server := &flaky{Server: dial(t, redistest.Start(t).Addr)}
	s := newStore(t, server, Config{Servers: 2})
	l, err := s.Limiter("rule", ratelimit.PerDay(1).Burst(100), Strict)
	require.NoError(t, err)
	require.True(t, l.Take("k", 20).Allowed)
	for range 3 {
		server.fails.Store(breakerFailures - 1)
		for range breakerFailures - 1 {
			d, err := l.TakeContext(t.Context(), "k", 2)
			require.Error(t, err)
			require.True(t, d.Allowed)
		}
		_, err := l.TakeContext(t.Context(), "k", 2)
		require.NoError(t, err)
	}
	assert.False(t, s.Stats().BreakerOpen)
	redistest.Until(t, func() bool { return l.Peek("k", 0).Remaining == 100-20-3*2*breakerFailures })
	redistest.Until(t, func() bool { return l.outage.shares[0].Load() == nil })
	assert.EqualValues(t, 100-20-3*2*breakerFailures, l.Peek("k", 0).Remaining)
}

// A closing store settles, too.
func TestCloseSettles(t *testing.T) {
	server := &flaky{Server: dial(t, redistest.Start(t).Addr)}
	s := newStore(t, server, Config{Servers: 1, Prefix: "closing"})
	l, err := s.Limiter("rule", ratelimit.PerDay(1).Burst(100), Strict)
	require.NoError(t, err)
	require.True(t, l.Take("k", 20).Allowed)
	server.fails.Store(1)
	require.True(t, l.Take("k", 30).Allowed)
	s.Close()
	assert.EqualValues(t, 50, l.Peek("k", 0).Remaining)
}

// Beyond LocalKeys keys are limited still, though what they take is not owed.
func TestLocalKeysAreBounded(t *testing.T) {
	var clock limittest.ManualClock
	s := newStore(t, &scripted{}, Config{Servers: 1, Clock: &clock, LocalKeys: 100})
	l, err := s.Limiter("rule", ratelimit.PerHour(10).Burst(10), Strict)
	require.NoError(t, err)
	for i := range 10_000 {
		granted := 0
		for range 3 {
			if l.TryAcquire(strconv.Itoa(i)) {
				granted++
			}
		}
		require.Equal(t, 1, granted, "an unknown client has one token")
	}
	share := l.outage.shares[0].Load()
	assert.Equal(t, 100, share.keys.Size())
	assert.LessOrEqual(t, share.Len(), 100)
}

// A wait for a refusal that nobody can work out is a second; more than a share holds isn't more than the rule does.
func TestRequestsLargerThanAShare(t *testing.T) {
	s := newStore(t, &scripted{}, Config{Servers: 4, Clock: new(limittest.ManualClock)})
	l, err := s.Limiter("rule", ratelimit.PerHour(10).Burst(10), Strict)
	require.NoError(t, err)
	d := l.Take("k", 5)
	assert.Equal(t, ratelimit.Decision{Limit: 10, RetryAfter: retryOutage}, d)
	assert.Equal(t, ratelimit.Never, l.Take("k", 11).RetryAfter)
}
