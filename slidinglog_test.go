package ratelimit_test

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/limittest"
)

func logRule(capacity int64, window time.Duration) ratelimit.Rule {
	return ratelimit.Rule{Algorithm: ratelimit.SlidingWindowLog, Capacity: capacity, Refill: ratelimit.Rate{Tokens: capacity, Per: window}}
}

// A charge goes to a key's log, not to its word: it must not be lost while words move to other tables, logs to other
// rules, and idle keys away.
func TestLogKeepsChargesWhileItsMapMoves(t *testing.T) {
	const keys, capacity, goroutines = 500, 6, 4
	var clock limittest.ManualClock
	l := limiter(t, logRule(capacity, time.Minute), &clock)
	names := make([]string, keys)
	for i := range names {
		names[i] = fmt.Sprintf("client-%d", i)
	}
	granted := make([]atomic.Int64, keys)
	var takers, upkeep sync.WaitGroup
	changes := 0
	done := make(chan struct{})
	upkeep.Go(func() {
		for ; ; changes++ {
			select {
			case <-done:
				return
			default:
			}
			assert.NoError(t, l.SetRule(logRule(capacity-int64(changes%3), time.Minute)))
			l.Sweep()
			runtime.Gosched()
		}
	})
	for range goroutines {
		takers.Go(func() {
			for n := range 60 {
				for i, name := range names {
					d := l.Take(name, 1+int64(n%2))
					if d.Allowed {
						granted[i].Add(1 + int64(n%2))
					}
					if n%5 == 4 && d.Allowed {
						granted[i].Add(-1)
						l.RefundAt(name, 1, d.At)
					}
				}
			}
		})
	}
	takers.Wait()
	close(done)
	upkeep.Wait()
	t.Logf("%d changes of the rule", changes)
	require.Greater(t, changes, 2)
	require.NoError(t, l.SetRule(logRule(capacity, time.Minute)))
	for i, name := range names {
		left := l.Take(name, 0).Remaining
		require.Equal(t, capacity-left, granted[i].Load(), name)
	}
	require.Equal(t, keys, l.Len())
	clock.Advance(time.Minute)
	require.Equal(t, keys, l.Sweep())
	require.Zero(t, l.Len())
}

// A call that is late and finds its key evicted must not count at a time at which the key's requests were in the window.
func TestLogLateCallAfterEviction(t *testing.T) {
	var clock limittest.ManualClock
	l := limiter(t, logRule(2, time.Minute), &clock)
	require.True(t, l.Take("k", 2).Allowed)
	clock.Advance(time.Minute)
	require.Equal(t, 1, l.Sweep())
	d := l.TakeAt("k", 2, int64(30*time.Second))
	require.True(t, d.Allowed)
	require.Equal(t, int64(time.Minute), d.At)
	require.False(t, l.TakeAt("k", 1, int64(2*time.Minute)-1).Allowed)
	require.True(t, l.TakeAt("k", 1, int64(2*time.Minute)).Allowed)
}

// Where a window reaches beyond the last instant there is, a key may stay in it for ever. New keys get their room all the same.
func TestLogWindowBeyondTheLastInstant(t *testing.T) {
	l := limiter(t, logRule(90, 90*365*24*time.Hour), new(limittest.ManualClock))
	for i := range 50 {
		require.True(t, l.TakeAt(fmt.Sprint("old", i), 1, 5e18).Allowed)
	}
	for i := range 50 {
		require.True(t, l.TakeAt(fmt.Sprint("new", i), 1, 8e18).Allowed)
	}
	require.Equal(t, 100, l.Len())
}

func TestLogMemoryComesAndGoes(t *testing.T) {
	const keys = 10_000
	var clock limittest.ManualClock
	bucket := limiter(t, ratelimit.PerMinute(100).Burst(100), &clock)
	l := limiter(t, logRule(100_000, time.Minute), &clock)
	empty := l.Stats().Bytes
	for i := range keys {
		key := fmt.Sprintf("client-%d", i)
		bucket.Take(key, 1)
		for range 10 {
			l.Take(key, 1)
		}
	}
	more := l.Stats().Bytes - bucket.Stats().Bytes
	t.Logf("%d bytes a key more than a bucket", more/keys)
	require.Positive(t, more)
	require.LessOrEqual(t, more/keys, int64(200), "10 entries")
	clock.Advance(time.Minute)
	require.Equal(t, keys, l.Sweep())
	require.Less(t, l.Stats().Bytes, empty+64<<10)
}

func TestLogAllocatesNothingForKnownAndDeniedKeys(t *testing.T) {
	var clock limittest.ManualClock
	l, err := ratelimit.New(logRule(100, time.Minute), ratelimit.Config{Clock: &clock, MaxKeys: 1, Overflow: ratelimit.DenyNewKeys})
	require.NoError(t, err)
	for range 1000 {
		clock.Advance(time.Minute / 100)
		require.True(t, l.TryAcquire("k"))
	}
	assert.Zero(t, testing.AllocsPerRun(1000, func() {
		clock.Advance(time.Minute / 100)
		l.TryAcquire("k")
		l.Take("k", 50)
		l.Peek("k", 1)
	}))
	require.False(t, l.TryAcquire("another"))
	assert.Zero(t, testing.AllocsPerRun(1000, func() { l.TryAcquire("another") }))
}

// What Peek says, of keys known or not, is what Take then says.
func TestLogPeekForetellsTake(t *testing.T) {
	var clock limittest.ManualClock
	for _, rule := range []ratelimit.Rule{logRule(5, time.Minute), logRule(1<<30, 24*time.Hour)} {
		l := limiter(t, rule, &clock)
		for i, n := range []int64{2, 2, 0, -1, 2, rule.Capacity, rule.Capacity + 1, 1, 1} {
			clock.Advance(12345 * time.Microsecond)
			peeked := l.Peek("k", n)
			require.Equal(t, peeked, l.Take("k", n), "%d: %d of %v", i, n, rule)
		}
	}
}
