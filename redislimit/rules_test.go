package redislimit

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/redislimit/redistest"
	"github.com/casgate/ratelimit/rules"
)

func spec(store, limit string) rules.Spec {
	text := `{"store": "` + store + `", "rules": [
		{"name": "all", "layer": "all", "key": "global", "limit": "` + limit + `"},
		{"name": "here", "key": "global", "store": "local", "limit": "5/hour"}]}`
	s, _, err := rules.DecodeJSON([]byte(text))
	if err != nil {
		panic(err)
	}
	return s
}

// Two processes with one rule file share its limits; a reload keeps what is used; a dropped limiter is let go.
func TestRuleFilesWithAStore(t *testing.T) {
	address := "redis://" + redistest.Start(t).Addr
	var stores []*rules.Store
	var all []*Limiters
	for range 2 {
		l := NewLimiters(Config{Servers: 2, Budget: 10e9}, Strict, ratelimit.Config{})
		t.Cleanup(l.Close)
		s, err := rules.NewStore(spec(address, "10/hour"), rules.Config{NewLimiter: l.NewLimiter})
		require.NoError(t, err)
		stores, all = append(stores, s), append(all, l)
	}
	limiter := func(i, rule int) ratelimit.Reversible { return stores[i].Current().Limits()[rule].Limiter }
	assert.IsType(t, &Limiter{}, limiter(0, 0))
	assert.Implements(t, (*ratelimit.Local)(nil), limiter(0, 1))
	require.True(t, limiter(0, 0).Take("", 4).Allowed)
	assert.EqualValues(t, 6, limiter(1, 0).Peek("", 0).Remaining)

	require.NoError(t, stores[0].Update(spec(address, "20/hour")))
	assert.EqualValues(t, 6, limiter(0, 0).Peek("", 0).Remaining, "whole tokens are kept")
	assert.EqualValues(t, 20, limiter(0, 0).Peek("", 0).Limit)
	assert.Len(t, all[0].Stats(), 1, "one connection for one URL")

	require.NoError(t, stores[0].Update(spec("local", "20/hour")))
	for _, s := range all[0].stores {
		assert.Empty(t, s.all(), "the limiter was closed")
	}
	assert.Error(t, stores[1].Update(spec("redis:nonsense", "1/s")), "a URL that isn't one")
	assert.EqualValues(t, 6, limiter(1, 0).Peek("", 0).Remaining)
}

func TestStatsHidePasswords(t *testing.T) {
	l := NewLimiters(Config{Servers: 1}, Strict, ratelimit.Config{})
	defer l.Close()
	_, err := l.NewLimiter(rules.Build{Rule: "r", Store: "redis://user:s3cret@127.0.0.1:1", Limit: ratelimit.PerSecond(1).Burst(1)})
	require.NoError(t, err, "a server that can't be reached is an outage, not a mistake in the file")
	for address, stats := range l.Stats() {
		assert.NotContains(t, address, "s3cret")
		assert.Equal(t, 1, stats.Servers)
	}
	_, err = l.NewLimiter(rules.Build{Rule: "r", Store: "ftp://127.0.0.1", Limit: ratelimit.PerSecond(1).Burst(1)})
	assert.ErrorIs(t, err, ratelimit.ErrInvalidConfig)
}
