package redislimit

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/limittest"
	"github.com/casgate/ratelimit/redislimit/redistest"
)

func contextDone() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx, cancel
}

// Several servers lease of one key, in frozen server time: all together admit exactly the burst, leases included, and
// far fewer calls than decisions.
func TestLeasesNeverAdmitMoreThanTheBurst(t *testing.T) {
	const servers, burst = 3, 12_000
	server := dial(t, redistest.Start(t).Addr)
	var clock limittest.ManualClock
	var granted, calls atomic.Int64
	var stores []*Store
	var wg sync.WaitGroup
	prefix := fmt.Sprintf("lease%d", storeNumber.Add(1))
	for range servers {
		s, err := New(timedServer{server, &clock}, Config{Prefix: prefix, Servers: servers, Budget: 10e9, OnError: Closed})
		require.NoError(t, err)
		stores = append(stores, s)
		l, err := s.Limiter("rule", ratelimit.PerHour(1).Burst(burst), Lease)
		require.NoError(t, err)
		assert.EqualValues(t, burst/(8*servers), l.leases.size())
		for range 4 {
			wg.Go(func() {
				for range 2 * burst / servers / 4 {
					if l.TryAcquire("k") {
						granted.Add(1)
					}
				}
			})
		}
	}
	wg.Wait()
	for _, s := range stores {
		redistest.Until(t, func() bool { return allIdle(s) })
		s.Close() // gives back what is left
		stats := s.Stats()
		calls.Add(int64(stats.Calls))
		assert.Positive(t, stats.LeasedTaken)
	}
	last := newStore(t, timedServer{server, &clock}, Config{Servers: 1, Prefix: prefix})
	l, err := last.Limiter("rule", ratelimit.PerHour(1).Burst(burst), Strict)
	require.NoError(t, err)
	assert.EqualValues(t, burst, granted.Load()+l.Peek("k", 0).Remaining, "every token was spent, or given back")
	t.Logf("%d decisions, %d granted, %d calls", 2*burst, granted.Load(), calls.Load())
}

// allIdle reports whether no call for a lease is under way.
func allIdle(s *Store) bool {
	for _, l := range s.limiters {
		if l.leases.calls.Load() > 0 {
			return false
		}
	}
	return true
}

func TestSmallLimitsAreNotLeased(t *testing.T) {
	s := newStore(t, dial(t, redistest.Start(t).Addr), Config{Servers: 2})
	l, err := s.Limiter("rule", ratelimit.PerHour(1).Burst(31), Lease) // L = 31/16 = 1
	require.NoError(t, err)
	for range 31 {
		require.True(t, l.TryAcquire("k"))
	}
	calls := s.Stats().Calls
	for range 100 {
		require.False(t, l.TryAcquire("k"))
	}
	assert.Equal(t, calls+1, s.Stats().Calls, "the first refusal asks; the others repeat it")
	assert.EqualValues(t, 99, s.Stats().DeniedHere)
	assert.Zero(t, s.Stats().LeasedTaken)
}

func TestLeasedDecisionsAllocateNothing(t *testing.T) {
	s := newStore(t, dial(t, redistest.Start(t).Addr), Config{Servers: 1})
	l, err := s.Limiter("rule", ratelimit.PerSecond(1000).Burst(1e9), Lease)
	require.NoError(t, err)
	for range 100 {
		l.TryAcquire("k")
	}
	redistest.Until(t, func() bool { held, ok := l.leases.keys.Load("k"); return ok && held.left.Load() > 1e6 })
	assert.Zero(t, testing.AllocsPerRun(1000, func() { l.TryAcquire("k") }))
}
