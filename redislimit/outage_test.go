package redislimit

import (
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/limittest"
	"github.com/casgate/ratelimit/redislimit/redistest"
)

// broken opens the store's breakers by deciding until they are.
func broken(t *testing.T, s *Store, l *Limiter) {
	t.Helper()
	for range breakerFailures {
		l.Take("somebody else", 0)
	}
	require.True(t, s.Stats().BreakerOpen)
}

func TestPoliciesWhenTheServerIsKilled(t *testing.T) {
	for _, c := range []struct {
		policy  Policy
		allowed int // of 20 requests of a new client, limit 12 among 4 servers
	}{{Open, 20}, {Closed, 0}, {Local, 1}} {
		t.Run(c.policy.String(), func(t *testing.T) {
			server := redistest.Start(t)
			var clock limittest.ManualClock
			s := newStore(t, dial(t, server.Addr), Config{OnError: c.policy, Servers: 4, Clock: &clock})
			l, err := s.Limiter("rule", ratelimit.PerMinute(12).Burst(12), Strict)
			require.NoError(t, err)
			require.True(t, l.TryAcquire("early"))
			server.Kill()
			broken(t, s, l)
			allowed := 0
			for range 20 {
				d, err := l.TakeContext(t.Context(), "k", 1)
				require.ErrorIs(t, err, ErrOpen)
				if d.Allowed {
					allowed++
				} else {
					assert.Positive(t, d.RetryAfter)
				}
			}
			assert.Equal(t, c.allowed, allowed)
			l.RefundAt("k", 1, 0) // no decision
			stats := s.Stats()
			assert.EqualValues(t, 20, stats.NotAsked)
			assert.EqualValues(t, 20+breakerFailures, stats.ErrorAllowed+stats.ErrorDenied, "each decision is counted")
		})
	}
}

// An outage gives nobody a full share: a client starts with its part of what was last known of it.
func TestLocalShareIsSeeded(t *testing.T) {
	server := redistest.Start(t)
	var clock limittest.ManualClock
	s := newStore(t, dial(t, server.Addr), Config{Servers: 4, Clock: &clock})
	l, err := s.Limiter("rule", ratelimit.PerMinute(60).Burst(40), Strict)
	require.NoError(t, err)
	l.Take("drained", 40)
	l.Take("half", 20)
	server.Kill()
	broken(t, s, l)
	take := func(key string) (n int) {
		for l.TryAcquire(key) {
			n++
		}
		return n
	}
	assert.Equal(t, 0, take("drained"), "it had nothing left")
	assert.Equal(t, 5, take("half"), "its quarter of twenty")
	assert.Equal(t, 1, take("unknown"))
	clock.Advance(8 * time.Second)
	assert.Equal(t, 2, take("drained"), "a quarter of the rate for eight seconds")
	assert.Equal(t, 3, take("another"), "one, and what has come back since the outage began")
	clock.Advance(time.Hour)
	assert.Equal(t, 10, take("drained"), "the full share, a quarter of the burst")
	assert.Equal(t, 10, take("a fourth"), "whoever came now would have it, too")
}

// What was allowed in an outage is taken from the server when it is back, before anybody is told of the server's count.
func TestRecoveryReconciles(t *testing.T) {
	server := redistest.Start(t)
	s := newStore(t, dial(t, server.Addr), Config{Servers: 1, Budget: time.Second})
	l, err := s.Limiter("rule", ratelimit.PerHour(1).Burst(10), Strict)
	require.NoError(t, err)
	require.True(t, l.TryAcquire("k"))
	server.Kill()
	broken(t, s, l)
	allowed := 0
	for range 20 {
		if l.TryAcquire("k") {
			allowed++
		}
	}
	assert.Equal(t, 9, allowed, "all that was left, with one server")
	server.Run(t) // empty: it has forgotten what was taken before
	redistest.Until(t, func() bool { return !s.Stats().BreakerOpen })
	d, err := l.TakeContext(t.Context(), "k", 0)
	require.NoError(t, err)
	assert.EqualValues(t, 1, d.Remaining, "nine of ten were taken in the outage")
}

// A server that is stopped (SIGSTOP) keeps its connections and never answers.
func TestStoppedServerCostsTheBudgetAFewTimes(t *testing.T) {
	server := redistest.Start(t)
	var calls atomic.Int64
	s := newStore(t, dial(t, server.Addr), Config{Servers: 1, Budget: 20 * time.Millisecond,
		Observe: func(time.Duration, error) { calls.Add(1) }})
	l, err := s.Limiter("rule", ratelimit.PerSecond(1).Burst(1000), Strict)
	require.NoError(t, err)
	require.True(t, l.TryAcquire("k"))
	server.Pause()
	defer server.Resume()
	calls.Store(0)
	for range 500 {
		l.TryAcquire("k")
	}
	assert.LessOrEqual(t, calls.Load(), int64(breakerFailures)+8, "only the first decisions, and probes, wait")
	server.Resume()
	redistest.Until(t, func() bool { return !s.Stats().BreakerOpen })
	_, err = l.TakeContext(t.Context(), "k", 1)
	assert.NoError(t, err)
}

func TestScriptFlushAndRestartAreNotOutages(t *testing.T) {
	server := redistest.Start(t)
	one := dial(t, server.Addr)
	s := newStore(t, one, Config{Servers: 1})
	l, err := s.Limiter("rule", ratelimit.PerHour(1).Burst(10), Strict)
	require.NoError(t, err)
	require.True(t, l.TryAcquire("k"))
	server.Command(t, "SCRIPT", "FLUSH")
	d, err := l.TakeContext(t.Context(), "k", 1)
	require.NoError(t, err)
	assert.EqualValues(t, 8, d.Remaining)
}

func TestWarningsAreAtMostOneASecond(t *testing.T) {
	server := redistest.Start(t)
	var clock limittest.ManualClock
	clock.Set(1)
	var said strings.Builder
	s := newStore(t, dial(t, server.Addr), Config{Servers: 1, Clock: &clock, Log: slog.New(slog.NewTextHandler(&said, nil))})
	l, err := s.Limiter("rule", ratelimit.PerHour(1).Burst(10), Strict)
	require.NoError(t, err)
	server.Kill()
	for range 100 {
		l.TryAcquire("k")
	}
	assert.Equal(t, 1, strings.Count(said.String(), "level=WARN"), said.String())
	assert.Contains(t, said.String(), "policy=local")
}

func TestCallersOwnDeadlineIsNotTheServersFault(t *testing.T) {
	server := redistest.Start(t)
	s := newStore(t, dial(t, server.Addr), Config{Servers: 1})
	l, err := s.Limiter("rule", ratelimit.PerHour(1).Burst(10), Strict)
	require.NoError(t, err)
	ctx, cancel := contextDone()
	defer cancel()
	for range 3 * breakerFailures {
		_, err := l.TakeContext(ctx, "k", 1)
		require.Error(t, err)
	}
	assert.False(t, s.Stats().BreakerOpen)
	assert.Zero(t, s.Stats().Failures+s.Stats().Timeouts)
}

// A node that is back settles and forgets what was decided without it, not what is decided without others.
func TestOutagesOfSlotsAreApart(t *testing.T) {
	var clock limittest.ManualClock
	s := newStore(t, &scripted{}, Config{Servers: 1, Cluster: true, Clock: &clock})
	l, err := s.Limiter("rule", ratelimit.PerHour(10).Burst(10), Strict)
	require.NoError(t, err)
	one, other := "k", "k"
	for i := 0; s.client(one).breaker == s.client(other).breaker; i++ {
		other = strconv.Itoa(i)
	}
	for _, key := range []string{one, other} {
		s.known.heard(l.outage.hash(key), 10, 0)
		for range 7 {
			require.True(t, l.TryAcquire(key))
		}
	}
	s.forget(s.client(one).breaker)
	assert.EqualValues(t, 10, l.Peek(one, 0).Remaining)
	assert.EqualValues(t, 3, l.Peek(other, 0).Remaining)
	assert.EqualValues(t, 2, openBreakers(s))
}

func openBreakers(s *Store) (n int) {
	for _, b := range s.breakers {
		if b.open() {
			n++
		}
	}
	return n
}
