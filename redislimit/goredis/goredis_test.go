package goredis_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"slices"
	"strconv"
	"sync/atomic"
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

// losing is a way to a server on which the answers to scripts are lost, and the connections with them, while lost says so.
type losing struct {
	net.Listener
	lost  atomic.Bool
	calls atomic.Int64 // scripts that went through
}

func lose(t *testing.T, to string) *losing {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	way := &losing{Listener: l}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				client.Close()
				return
			}
			go way.carry(client, server)
		}
	}()
	return way
}

func (l *losing) carry(client, server net.Conn) {
	defer client.Close()
	defer server.Close()
	var script atomic.Bool
	go func() {
		defer client.Close()
		defer server.Close()
		answer := make([]byte, 1<<16)
		for {
			n, err := server.Read(answer)
			if err != nil || script.Load() && l.lost.Load() {
				return
			}
			if _, err := client.Write(answer[:n]); err != nil {
				return
			}
		}
	}()
	request := make([]byte, 1<<16)
	for {
		n, err := client.Read(request)
		if err != nil {
			return
		}
		if script.Store(bytes.Contains(request[:n], []byte("evalsha"))); script.Load() {
			l.calls.Add(1)
		}
		if _, err := io.Copy(server, bytes.NewReader(request[:n])); err != nil {
			return
		}
	}
}

// scripter is a client that can do nothing else.
type scripter struct{ redis.Scripter }

// A call whose answer is lost was counted, maybe: it isn't made again, by clients with go-redis' own options, which say
// so, and of a Cluster too.
func TestCallsAreMadeOnce(t *testing.T) {
	server := redistest.Start(t)
	way := lose(t, server.Addr)
	addr := way.Addr().String()
	single := redis.NewClient(&redis.Options{Addr: addr})
	defer single.Close()
	cluster := redis.NewClusterClient(&redis.ClusterOptions{ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
		return []redis.ClusterSlot{{Start: 0, End: 16383, Nodes: []redis.ClusterNode{{Addr: addr}}}}, nil
	}})
	defer cluster.Close()
	plain := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
	defer plain.Close()
	for i, client := range []redis.Scripter{single, cluster, scripter{plain}} {
		store, err := redislimit.New(goredis.Server(client), redislimit.Config{Servers: 1, Budget: time.Minute, OnError: redislimit.Closed})
		require.NoError(t, err)
		defer store.Close()
		limiter, err := store.Limiter("api"+strconv.Itoa(i), ratelimit.PerDay(1).Burst(100), redislimit.Strict)
		require.NoError(t, err)
		require.True(t, limiter.Take("client", 1).Allowed)
		way.lost.Store(true)
		way.calls.Store(0)
		_, err = limiter.TakeContext(context.Background(), "client", 10)
		assert.Error(t, err)
		assert.EqualValues(t, 1, way.calls.Load(), "%T", client)
		way.lost.Store(false)
		d, err := limiter.TakeContext(context.Background(), "client", 1)
		require.NoError(t, err)
		assert.EqualValues(t, 88, d.Remaining, "%T", client)
	}
}

func TestNoClientIsRefused(t *testing.T) {
	for _, none := range []redis.Scripter{nil, (*redis.Client)(nil), (*redis.ClusterClient)(nil)} {
		_, err := redislimit.New(goredis.Server(none), redislimit.Config{})
		assert.ErrorIs(t, err, ratelimit.ErrInvalidConfig)
	}
}

// A Cluster that is moving a client's slot is asked rule by rule.
func TestSlotsMove(t *testing.T) {
	cluster := redistest.StartCluster(t, 3)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{cluster.Nodes[0].Addr}})
	defer client.Close()
	store, err := redislimit.New(goredis.Server(client), redislimit.Config{Servers: 1, Budget: time.Minute, OnError: redislimit.Closed})
	require.NoError(t, err)
	defer store.Close()
	var claims []ratelimit.Claim
	for i := range 2 {
		limiter, err := store.Limiter("rule"+strconv.Itoa(i), ratelimit.PerDay(1).Burst(10), redislimit.Strict)
		require.NoError(t, err)
		claims = append(claims, ratelimit.Claim{Limiter: limiter, Key: "client", N: 1})
	}
	others := slices.Clone(claims)
	others[0].Key, others[1].Key = "another", "a third"
	d, _ := ratelimit.TakeAll(others)
	assert.True(t, d.Allowed, "clients of different nodes")
	for _, node := range cluster.Nodes {
		node.Command(t, "FLUSHALL")
	}
	require.True(t, claims[0].Limiter.TryAcquire("client"))
	var slot atomic.Int64
	require.NoError(t, client.ForEachMaster(context.Background(), func(ctx context.Context, node *redis.Client) error {
		keys, err := node.Keys(ctx, "rl:{*").Result()
		for _, key := range keys {
			slot.Store(node.ClusterKeySlot(ctx, key).Val())
		}
		return err
	}))
	moving := int(slot.Load())
	cluster.BeginMove(t, moving, (cluster.Node(moving)+1)%3)
	for range 2 {
		d, _ := ratelimit.TakeAll(claims)
		assert.True(t, d.Allowed)
	}
	assert.EqualValues(t, 7, claims[0].Limiter.Peek("client", 0).Remaining)
	assert.EqualValues(t, 8, claims[1].Limiter.Peek("client", 0).Remaining)
}
