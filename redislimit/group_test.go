package redislimit

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/limittest"
	"github.com/casgate/ratelimit/redislimit/redistest"
)

// Transactions spend leases too, put them back when another claim refuses, and repeat refusals without asking.
func TestTransactionsUseLeasesAndRememberedRefusals(t *testing.T) {
	server := &counting{Server: dial(t, redistest.Start(t).Addr)}
	s := newStore(t, server, still())
	large, err := s.Limiter("large", ratelimit.PerHour(1).Burst(8000), Lease)
	require.NoError(t, err)
	small, err := s.Limiter("small", ratelimit.PerHour(1).Burst(5), DenyCache)
	require.NoError(t, err)
	for range leaseAfter {
		require.True(t, large.TryAcquire("k"))
	}
	redistest.Until(t, func() bool { held, ok := large.leases.keys.Load("k"); return ok && held.left.Load() == 1000 })
	held, _ := large.leases.keys.Load("k")

	claims := func(n int64) []ratelimit.Claim {
		return []ratelimit.Claim{{Limiter: large, Key: "k", N: 1}, {Limiter: small, Key: "k", N: n}}
	}
	server.calls.Store(0)
	d, binding := ratelimit.TakeAll(claims(3))
	assert.True(t, d.Allowed)
	assert.Equal(t, 1, binding)
	assert.EqualValues(t, 999, held.left.Load(), "spent from the lease")
	d, _ = ratelimit.TakeAll(claims(3))
	assert.False(t, d.Allowed)
	assert.EqualValues(t, 999, held.left.Load(), "put back")
	assert.EqualValues(t, 2, server.calls.Load())
	d, binding = ratelimit.TakeAll(claims(4))
	assert.False(t, d.Allowed, "more than what was refused")
	assert.Equal(t, 1, binding)
	assert.EqualValues(t, 2, server.calls.Load(), "nobody was asked")
	assert.True(t, ratelimitAllows(claims(2)), "less than what was refused is asked for")
	single := []ratelimit.Claim{{Limiter: large, Key: "k", N: 1}}
	server.calls.Store(0)
	assert.True(t, ratelimitAllows(single))
	assert.Zero(t, server.calls.Load(), "a transaction of one rule costs what Take costs")
	d, _ = ratelimit.TakeAll(claims(6))
	assert.Equal(t, ratelimit.Never, d.RetryAfter)
}

func ratelimitAllows(claims []ratelimit.Claim) bool {
	d, _ := ratelimit.TakeAll(claims)
	return d.Allowed
}

// partly is a server of which the part behind one breaker is gone.
type partly struct {
	Server
	gone func(tag string) bool
}

func (p *partly) Eval(ctx context.Context, script *Script, keys, args []string) ([]int64, error) {
	if _, tag, _ := strings.Cut(keys[0], "{"); p.gone != nil && p.gone(tag[:2*tagBytes]) {
		return nil, errors.New("gone")
	}
	return p.Server.Eval(ctx, script, keys, args)
}

// Where one client's node is gone and another's refuses, nothing of the first one's share is taken, or owed.
func TestTransactionsWithANodeThatIsGone(t *testing.T) {
	server := &partly{Server: dial(t, redistest.Start(t).Addr)}
	s := newStore(t, server, Config{Servers: 1, Cluster: true, Clock: new(limittest.ManualClock)})
	l, err := s.Limiter("rule", ratelimit.PerHour(1).Burst(10), Strict)
	require.NoError(t, err)
	lost, other := "k", "k"
	for i := 0; s.client(lost).breaker == s.client(other).breaker; i++ {
		other = strconv.Itoa(i)
	}
	require.True(t, l.Take(lost, 1).Allowed)
	require.True(t, l.Take(other, 10).Allowed)
	gone := s.client(lost).breaker
	server.gone = func(tag string) bool { return s.breakers[slotOf([]byte(tag))/slotsPerBreaker] == gone }
	for range 2 * breakerFailures {
		claims := []ratelimit.Claim{{Limiter: l, Key: lost, N: 2}, {Limiter: l, Key: other, N: 1}}
		d, binding := ratelimit.TakeAll(claims)
		require.False(t, d.Allowed)
		assert.Equal(t, 1, binding)
		assert.EqualValues(t, 9, claims[0].Decision.Remaining)
	}
	require.True(t, gone.open())
	assert.EqualValues(t, 9, l.Peek(lost, 0).Remaining)
	owed, ok := l.outage.shares[gone.index].Load().keys.Load(lost)
	require.True(t, ok)
	assert.Zero(t, owed.Load())
}

// In an outage transactions are all or none, too, and what is undone isn't owed.
func TestTransactionsInAnOutage(t *testing.T) {
	server := redistest.Start(t)
	s := newStore(t, dial(t, server.Addr), Config{Servers: 1})
	a, err := s.Limiter("a", ratelimit.PerHour(1).Burst(10), Strict)
	require.NoError(t, err)
	b, err := s.Limiter("b", ratelimit.PerHour(1).Burst(10), Strict)
	require.NoError(t, err)
	require.True(t, a.Take("k", 1).Allowed)
	require.True(t, b.Take("k", 8).Allowed)
	server.Kill()
	broken(t, s, a)
	claims := []ratelimit.Claim{{Limiter: a, Key: "k", N: 2}, {Limiter: b, Key: "k", N: 2}}
	assert.True(t, ratelimitAllows(claims))
	for _, c := range claims {
		assert.ErrorIs(t, c.Err, ErrOpen)
	}
	assert.False(t, ratelimitAllows(claims), "b has none left")
	assert.ErrorIs(t, claims[1].Err, ErrOpen)
	assert.EqualValues(t, 7, a.Peek("k", 0).Remaining)
	server.Run(t)
	redistest.Until(t, func() bool { return !s.Stats().BreakerOpen })
	for _, l := range []*Limiter{a, b} {
		d, err := l.TakeContext(t.Context(), "k", 0)
		require.NoError(t, err)
		assert.EqualValues(t, 8, d.Remaining, "two were taken in the outage; the server has forgotten the rest")
	}
}
