package redislimit

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/limittest"
	"github.com/casgate/ratelimit/redislimit/redistest"
)

func window(a ratelimit.Algorithm, n int64, per time.Duration) ratelimit.Rule {
	return ratelimit.Rule{Algorithm: a, Capacity: n, Refill: ratelimit.Rate{Tokens: n, Per: per}}
}

// What a client has used is kept when the rule changes, the tokens of a bucket, the counts of a window, and it is admitted
// by the new rule's RetryAfter.
func TestRuleChangesKeepWhatIsUsed(t *testing.T) {
	server := dial(t, redistest.Start(t).Addr)
	for a := ratelimit.TokenBucket; a <= ratelimit.SlidingWindowCounter; a++ {
		for _, c := range []struct {
			name     string
			from, to ratelimit.Rule
			used     int64
			left     int64 // at once
		}{
			{"raised, some left", window(a, 10, time.Minute), window(a, 100, time.Minute), 4, left(a, 6, 96)},
			{"raised, none left", window(a, 10, time.Minute), window(a, 100, time.Minute), 10, left(a, 0, 90)},
			{"lowered", window(a, 100, time.Minute), window(a, 10, time.Minute), 4, left(a, 10, 6)},
			{"lowered below what is used", window(a, 100, time.Minute), window(a, 10, time.Minute), 95, left(a, 5, 0)},
			{"shorter window, none left", window(a, 100, time.Hour), window(a, 100, time.Minute), 100, 0},
			{"shorter window, some left", window(a, 100, time.Hour), window(a, 100, time.Minute), 60, 40},
			{"longer window, none left", window(a, 100, time.Minute), window(a, 100, time.Hour), 100, 0},
			{"longer window and raised, none left", window(a, 10, time.Minute), window(a, 100, time.Hour), 10, left(a, 0, 90)},
		} {
			t.Run(fmt.Sprint(a, "/", c.name), func(t *testing.T) {
				var clock limittest.ManualClock
				clock.Set(int64(1000 * time.Hour))
				s := newStore(t, timedServer{server, &clock}, Config{Servers: 1})
				l, err := s.Limiter("rule", c.from, Strict)
				require.NoError(t, err)
				require.True(t, l.Take("k", c.used).Allowed)
				require.NoError(t, l.SetRule(c.to))
				require.Equal(t, c.to, l.Rule())
				assert.EqualValues(t, c.left, l.Peek("k", 0).Remaining)
				assert.EqualValues(t, c.to.Capacity, l.Peek("another", 0).Remaining, "who has used nothing has all")
				d := l.Take("k", c.left+1)
				require.False(t, d.Allowed)
				if d.RetryAfter == ratelimit.Never { // above the limit
					return
				}
				assert.LessOrEqual(t, d.RetryAfter, 2*c.to.Window())
				clock.Advance(d.RetryAfter - time.Microsecond)
				assert.False(t, l.Take("k", c.left+1).Allowed, "a moment before the RetryAfter of %v", d.RetryAfter)
				clock.Advance(time.Microsecond)
				assert.True(t, l.Take("k", c.left+1).Allowed, "after the RetryAfter of %v", d.RetryAfter)
			})
		}
	}
}

// left is what a bucket has left, which keeps tokens, or a window, which keeps counts.
func left(a ratelimit.Algorithm, bucket, windows int64) int64 {
	if a == ratelimit.TokenBucket {
		return bucket
	}
	return windows
}

// A state is converted once: refusals after that write nothing, and the old rule has no say any more.
func TestARuleChangeIsWrittenOnce(t *testing.T) {
	addr := redistest.Start(t).Addr
	s, r := newStore(t, dial(t, addr), Config{Servers: 1}), rawOn(t, addr)
	for a := ratelimit.TokenBucket; a <= ratelimit.SlidingWindowCounter; a++ {
		l, err := s.Limiter("rule "+a.String(), window(a, 10, 10*time.Hour), Strict)
		require.NoError(t, err)
		require.True(t, l.Take("k", 10).Allowed)
		require.NoError(t, l.SetRule(window(a, 5, 5*time.Hour)))
		require.False(t, l.TryAcquire("k"))
		key := r.keys("*:rule " + a.String())
		require.Len(t, key, 1)
		before := r.text("DUMP", key[0])
		require.False(t, l.TryAcquire("k"))
		assert.Equal(t, before, r.text("DUMP", key[0]), a)
	}
}

// Another algorithm under the same name starts anew, and doesn't meet the other's data.
func TestAnotherAlgorithmStartsAnew(t *testing.T) {
	s := newStore(t, dial(t, redistest.Start(t).Addr), Config{Servers: 1, OnError: Closed})
	for a := ratelimit.TokenBucket; a <= ratelimit.SlidingWindowCounter; a++ {
		l, err := s.Limiter("rule", window(a, 10, time.Hour), Strict)
		require.NoError(t, err)
		d, err := l.TakeContext(t.Context(), "k", 10)
		require.NoError(t, err)
		assert.True(t, d.Allowed, a)
		assert.ErrorIs(t, l.SetRule(window((a+1)%4, 10, time.Hour)), ratelimit.ErrAlgorithm)
	}
}

// A state is kept for as long as a longer window needs it, from the first request under it on, even if that is refused;
// later refusals write nothing.
func TestALongerWindowKeepsTheState(t *testing.T) {
	addr := redistest.Start(t).Addr
	s, r := newStore(t, dial(t, addr), Config{Servers: 1}), rawOn(t, addr)
	for a := ratelimit.TokenBucket; a <= ratelimit.SlidingWindowCounter; a++ {
		l, err := s.Limiter("rule "+a.String(), window(a, 10, time.Hour), Strict)
		require.NoError(t, err)
		require.True(t, l.Take("k", 10).Allowed)
		require.NoError(t, l.SetRule(window(a, 10, 1000*time.Hour)))
		d := l.Take("k", 1)
		require.False(t, d.Allowed)
		key := r.keys("*:rule " + a.String())
		require.Len(t, key, 1)
		expires := r.int("PEXPIRETIME", key[0])
		assert.GreaterOrEqual(t, (expires+1)*1e6, d.At+int64(d.ResetAfter), a)
		require.False(t, l.TryAcquire("k"))
		assert.Equal(t, expires, r.int("PEXPIRETIME", key[0]), a)
	}
}

// A limit that is lowered below what is used answers as in process: nothing is always to be had, and what is given back
// counts.
func TestBelowWhatIsUsed(t *testing.T) {
	server := dial(t, redistest.Start(t).Addr)
	for a := ratelimit.TokenBucket; a <= ratelimit.SlidingWindowCounter; a++ {
		var clock limittest.ManualClock
		clock.Set(int64(1000 * time.Hour))
		s := newStore(t, timedServer{server, &clock}, Config{Servers: 1})
		remote, err := s.Limiter("rule", window(a, 20, time.Minute), Strict)
		require.NoError(t, err)
		local, err := ratelimit.New(window(a, 20, time.Minute), ratelimit.Config{Clock: &clock})
		require.NoError(t, err)
		both := func(what string, do func(l ratelimit.Reversible) ratelimit.Decision) {
			t.Helper()
			want := do(local)
			want.RetryAfter, want.ResetAfter = ceilMicros(want.RetryAfter), ceilMicros(want.ResetAfter)
			assert.Equal(t, want, do(remote), "%v: %s", a, what)
		}
		at := clock.NanoTime()
		both("all", func(l ratelimit.Reversible) ratelimit.Decision { return l.Take("k", 20) })
		require.NoError(t, local.SetRule(window(a, 5, time.Minute)))
		require.NoError(t, remote.SetRule(window(a, 5, time.Minute)))
		both("a look at nothing", func(l ratelimit.Reversible) ratelimit.Decision { return l.Peek("k", 0) })
		both("nothing", func(l ratelimit.Reversible) ratelimit.Decision { return l.Take("k", 0) })
		both("one", func(l ratelimit.Reversible) ratelimit.Decision { return l.Take("k", 1) })
		for _, back := range []int64{2, 9, 8, 1} {
			both(fmt.Sprint("when given back ", back), func(l ratelimit.Reversible) ratelimit.Decision {
				l.RefundAt("k", back, at)
				return l.Peek("k", 1)
			})
		}
	}
}
