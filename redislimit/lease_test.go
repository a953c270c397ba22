package redislimit

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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
		assert.EqualValues(t, burst/(8*servers), l.leases.size(l.rule.Load()))
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

// still is for one server whose own clock stands still, so that calls of any length are of one moment of heat.
func still() Config { return Config{Servers: 1, Clock: new(limittest.ManualClock)} }

// leased returns a limiter of 8,000 tokens with a lease of 1,000 for the key k, for which it has taken four.
func leased(t *testing.T, s *Store, a ratelimit.Algorithm) (*Limiter, *lease) {
	t.Helper()
	l, err := s.Limiter("rule "+a.String(), window(a, 8000, 24*time.Hour), Lease)
	require.NoError(t, err)
	for range leaseAfter {
		require.True(t, l.TryAcquire("k"))
	}
	held, ok := l.leases.keys.Load("k")
	require.True(t, ok)
	full(t, l, held, 1000)
	return l, held
}

// full waits until a lease is.
func full(t *testing.T, l *Limiter, held *lease, size int64) {
	t.Helper()
	redistest.Until(t, func() bool { return held.left.Load() == size && l.leases.calls.Load() == 0 })
}

// Tokens leased under a rule are not spent under another, which may be smaller, and are given back.
func TestLeasesOfAnotherRule(t *testing.T) {
	s := newStore(t, dial(t, redistest.Start(t).Addr), still())
	for a := ratelimit.TokenBucket; a <= ratelimit.SlidingWindowCounter; a++ {
		l, held := leased(t, s, a)
		require.NoError(t, l.SetRule(l.Rule()))
		require.True(t, l.TryAcquire("k"))
		require.EqualValues(t, 999, held.left.Load(), "the rule is as it was")
		require.NoError(t, l.SetRule(window(a, 80, 24*time.Hour)))
		granted := int64(0)
		for range 500 {
			d := l.Take("k", 1)
			require.EqualValues(t, 80, d.Limit)
			if d.Allowed {
				granted++
			}
		}
		assert.LessOrEqual(t, granted, int64(80+80/LeaseShare), a)
		require.NoError(t, l.SetRule(window(a, 8000, 24*time.Hour)))
		l.TryAcquire("k")
		redistest.Until(t, func() bool { return l.Peek("k", 0).Remaining >= left(a, 0, 8000-5-granted-1) })
		require.NoError(t, l.Close())
	}
}

// When the fleet has grown, what a lease has above its part is given back, though it is in use.
func TestLeasesShrinkAsTheFleetGrows(t *testing.T) {
	s := newStore(t, dial(t, redistest.Start(t).Addr), still())
	l, held := leased(t, s, ratelimit.TokenBucket)
	s.fleet.count.Store(10)
	l.leases.giveBackIdle(false)
	assert.EqualValues(t, 100, held.left.Load())
	assert.EqualValues(t, 900, s.Stats().LeasedBack)
	assert.EqualValues(t, 8000-4-100, l.Peek("k", 0).Remaining)
	require.True(t, l.TryAcquire("k"))
	assert.EqualValues(t, 99, held.left.Load(), "in use")
}

// What is left of a lease goes back to where it was taken from, by every algorithm, whether it was taken at once or not.
func TestLeasesAreGivenBackWhole(t *testing.T) {
	s := newStore(t, dial(t, redistest.Start(t).Addr), still())
	for a := ratelimit.TokenBucket; a <= ratelimit.SlidingWindowCounter; a++ {
		l, held := leased(t, s, a)
		for range 40 { // more often than batches are told apart
			require.True(t, l.Take("k", 101).Allowed)
			full(t, l, held, 899)
			held.low.Store(1000) // so that the next one refills
			require.True(t, l.Take("k", 1).Allowed)
			full(t, l, held, 1000)
		}
		require.NoError(t, l.Close())
		assert.EqualValues(t, 8000-4-40*102, l.Peek("k", 0).Remaining, a)
	}
}

// Of a lease that goes on through a window's edge, the part that was taken before it isn't given back to the next window.
func TestLeasesAreGivenBackToTheirWindow(t *testing.T) {
	var clock limittest.ManualClock
	s := newStore(t, timedServer{dial(t, redistest.Start(t).Addr), &clock}, still())
	for _, a := range []ratelimit.Algorithm{ratelimit.FixedWindow, ratelimit.SlidingWindowLog} {
		l, held := leased(t, s, a)
		clock.Advance(24 * time.Hour)
		require.True(t, l.Take("k", 600).Allowed)
		full(t, l, held, 1000)
		require.True(t, l.Take("k", 3000).Allowed, "of the server")
		require.NoError(t, l.Close())
		assert.EqualValues(t, 5000, l.Peek("k", 0).Remaining, "%v: of the 600 tokens leased in this window none was spent", a)
	}
}

// Tokens of a transaction that is refused go back into the lease they are from, or to the server when that has ended;
// an ended store leases no more.
func TestTransactionsPutBackAfterTheEnd(t *testing.T) {
	s := newStore(t, dial(t, redistest.Start(t).Addr), still())
	l, _ := leased(t, s, ratelimit.TokenBucket)
	d, from := l.leases.spend(l.rule.Load(), "k", 10)
	require.NotNil(t, from)
	s.Close()
	for range 2 * leaseAfter {
		require.True(t, l.TryAcquire("k"))
	}
	assert.Zero(t, l.leases.keys.Size())
	l.leases.unspend("k", from, 10, d)
	require.True(t, l.TryAcquire("k"))
	assert.EqualValues(t, 8000-3*leaseAfter-1, l.Peek("k", 0).Remaining)
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
