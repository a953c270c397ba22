package redislimit

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit/redislimit/redistest"
)

// What somebody else wrote under a client's key counts as nothing: it fails no decision, so that it can't open the breaker for
// everybody; a look and a refund leave it alone, and a take replaces it.
func TestAnothersDataUnderAKey(t *testing.T) {
	addr := redistest.Start(t).Addr
	s, r := newStore(t, dial(t, addr), Config{Servers: 1, OnError: Closed}), rawOn(t, addr)
	for _, rule := range every(10, time.Hour) {
		for _, write := range []string{"SET % x", "SET % ", "SET % " + strings.Repeat("x", 48), "LPUSH % x", "SADD % x", "HSET % x y",
			"ZADD % 1 x", "XADD % * x y"} {
			name := fmt.Sprint(rule.Algorithm, len(write), write[:4])
			l, err := s.Limiter(name, rule, Strict)
			require.NoError(t, err)
			key, words := l.serverKey(s.client("k")), strings.Split(write, " ")
			words[1] = key
			r.do(words...)
			before := r.text("DUMP", key)
			assert.EqualValues(t, 10, l.Peek("k", 0).Remaining, name)
			l.RefundAt("k", 1, l.Peek("k", 0).At)
			assert.Equal(t, before, r.text("DUMP", key), name)
			for _, n := range []int64{4, 2} {
				d, err := l.TakeContext(t.Context(), "k", n)
				require.NoError(t, err, name)
				assert.True(t, d.Allowed, name)
			}
			assert.EqualValues(t, 4, l.Peek("k", 0).Remaining, name)
		}
	}
	assert.Zero(t, s.Stats().Failures)
}
