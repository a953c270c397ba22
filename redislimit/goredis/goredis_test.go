package goredis_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/redislimit"
	"github.com/casgate/ratelimit/redislimit/goredis"
	"github.com/casgate/ratelimit/redislimit/redistest"
)

func TestDecidesThroughGoRedis(t *testing.T) {
	server := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr, MaxRetries: -1, ContextTimeoutEnabled: true})
	defer client.Close()
	store, err := redislimit.New(goredis.Server(client), redislimit.Config{Servers: 1, Budget: time.Second})
	require.NoError(t, err)
	defer store.Close()
	limiter, err := store.Limiter("api", ratelimit.PerHour(1).Burst(3), redislimit.Strict)
	require.NoError(t, err)
	for want := int64(2); want >= 0; want-- {
		d, err := limiter.TakeContext(context.Background(), "client", 1)
		require.NoError(t, err)
		assert.True(t, d.Allowed)
		assert.Equal(t, want, d.Remaining)
	}
	server.Command(t, "SCRIPT", "FLUSH")
	d, err := limiter.TakeContext(context.Background(), "client", 1)
	require.NoError(t, err)
	assert.False(t, d.Allowed)
	server.Kill()
	_, err = limiter.TakeContext(context.Background(), "client", 1)
	assert.Error(t, err)
}
