package redislimit

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/limittest"
	"github.com/casgate/ratelimit/redislimit/redistest"
)

func TestDenyCache(t *testing.T) {
	server := &counting{Server: dial(t, redistest.Start(t).Addr)}
	var clock limittest.ManualClock
	s := newStore(t, timedServer{server, &clock}, Config{Servers: 1, Clock: &clock})
	l, err := s.Limiter("rule", ratelimit.PerSecond(1).Burst(10), DenyCache)
	require.NoError(t, err)
	require.True(t, l.Take("k", 9).Allowed)
	asks := func(n int64, want bool) ratelimit.Decision {
		t.Helper()
		before := server.calls.Load()
		d := l.Take("k", n)
		assert.Equal(t, want, server.calls.Load() > before, "the server was asked")
		return d
	}
	assert.Equal(t, 2*time.Second, asks(3, true).RetryAfter)
	clock.Advance(500 * time.Millisecond)
	d := asks(3, false)
	assert.Equal(t, ratelimit.Decision{Limit: 10, Remaining: 1, RetryAfter: 1500 * time.Millisecond, ResetAfter: 8500 * time.Millisecond, At: int64(500 * time.Millisecond)}, d)
	assert.False(t, asks(5, false).Allowed, "more than what was refused")
	assert.False(t, asks(2, true).Allowed, "less may be there")
	assert.False(t, asks(2, false).Allowed)
	clock.Advance(1499999 * time.Microsecond)
	assert.True(t, asks(2, true).Allowed, "the wait for two is over")
	assert.False(t, asks(10, true).Allowed)
	l.RefundAt("k", 10, 0)
	assert.True(t, asks(10, true).Allowed, "what was given back is there at once")
	assert.False(t, asks(1, true).Allowed)
	require.NoError(t, l.SetRule(ratelimit.PerSecond(1000).Burst(10)))
	clock.Advance(asks(1, true).RetryAfter) // another rule, another wait
	assert.Equal(t, int64(2000999*time.Microsecond), clock.NanoTime())
	assert.True(t, asks(1, true).Allowed)
}

// However many clients are refused, memory is bounded, and one that is being refused now is remembered.
func TestDenialsAreBounded(t *testing.T) {
	d := newDenials()
	rule := &compiled{}
	for i := range 2 * denialStripes * denialPerStripe {
		key := strconv.Itoa(i)
		d.refused(rule, key, 1, int64(i), ratelimit.Decision{RetryAfter: time.Hour})
		_, ok := d.again(rule, key, 1, int64(i))
		require.True(t, ok)
	}
	held := 0
	for i := range d.stripes {
		held += len(d.stripes[i].keys)
	}
	assert.LessOrEqual(t, held, denialStripes*denialPerStripe)
}
