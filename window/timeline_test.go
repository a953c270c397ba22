package window

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// kernel is what the params of both counting kernels offer through a pointer.
type kernel[P any] interface {
	*P
	Rebase(floor int64) P
	Horizon() int64
	Take(word uint64, now, n int64) (next uint64, ok bool)
	Outcome(word uint64, now, n int64) (remaining, retryAfter, resetAfter int64)
	CountsAt(word uint64, now int64) int64
	Refund(word uint64, n, at int64) uint64
	IdleAt(word uint64) int64
	Convert(word uint64, to *P) uint64
}

const (
	ns     = int64(1)
	ms     = int64(time.Millisecond)
	second = int64(time.Second)
	minute = int64(time.Minute)
	never  = int64(math.MaxInt64)
)

// A step of a time-line: at this instant n requests are allowed or not; so many remain
// after it, and a refusal may come again after retry.
type step struct {
	at, n     int64
	allowed   bool
	remaining int64
	retry     int64
}

// play runs the steps against one word, and every refusal again at its retryAfter
// and one ns before.
func play[P any, K kernel[P]](t *testing.T, p K, steps []step) (word uint64) {
	t.Helper()
	for i, s := range steps {
		what := fmt.Sprintf("step %d: %d at %v", i, s.n, time.Duration(s.at))
		next, ok := p.Take(word, s.at, s.n)
		require.Equal(t, s.allowed, ok, what)
		if ok {
			word = next
		}
		remaining, retry, _ := p.Outcome(word, s.at, s.n)
		require.Equal(t, s.remaining, remaining, "%s: remaining", what)
		if ok {
			continue
		}
		require.Equal(t, s.retry, retry, "%s: retryAfter", what)
		_, ok = p.Take(word, s.at+retry-1, s.n)
		require.False(t, ok, "%s: refused one ns before retryAfter", what)
		_, ok = p.Take(word, s.at+retry, s.n)
		require.True(t, ok, "%s: allowed at retryAfter", what)
	}
	return word
}

func mustFixed(t testing.TB, capacity, window int64) *FixedParams {
	t.Helper()
	p, err := CompileFixed(capacity, capacity, window)
	require.NoError(t, err)
	return &p
}

func mustCounter(t testing.TB, capacity, window int64) *CounterParams {
	t.Helper()
	p, err := CompileCounter(capacity, capacity, window)
	require.NoError(t, err)
	return &p
}
