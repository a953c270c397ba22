package redislimit

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/redislimit/redistest"
)

// dialStore is a store from Dial, as users have it.
func dialStore(t testing.TB, url string, c Config) *Store {
	t.Helper()
	if c.Budget == 0 {
		c.Budget = 10e9
	}
	c.Servers = max(c.Servers, 1)
	s, err := Dial(t.Context(), url, c)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// onNodes sorts keys by the node that has them.
func onNodes(s *Store, c *redistest.Cluster, n int) [][]string {
	keys := make([][]string, len(c.Nodes))
	for i := range n {
		key := "client-" + strconv.Itoa(i)
		who := s.client(key)
		node := c.Node(slotOf(who.tag[:]))
		keys[node] = append(keys[node], key)
	}
	return keys
}

func TestCluster(t *testing.T) {
	cluster := redistest.StartCluster(t, 3)
	s := dialStore(t, "redis://"+cluster.Nodes[0].Addr, Config{OnError: Closed})
	require.True(t, s.config.Cluster, "recognized")
	var limiters []*Limiter
	for i := range 3 {
		l, err := s.Limiter("rule"+strconv.Itoa(i), ratelimit.PerHour(3).Burst(int64(3+i)), Strict)
		require.NoError(t, err)
		limiters = append(limiters, l)
	}
	keys := onNodes(s, cluster, 100)

	t.Run("decisions", func(t *testing.T) {
		for node := range keys {
			for _, key := range keys[node] {
				for i := range 5 {
					d, err := limiters[0].TakeContext(t.Context(), key, 1)
					require.NoError(t, err)
					assert.Equal(t, i < 3, d.Allowed)
				}
			}
			assert.Equal(t, strconv.Itoa(len(keys[node])), cluster.Nodes[node].Command(t, "DBSIZE"))
		}
	})
	t.Run("all rules of one client in one call", func(t *testing.T) {
		before := s.Stats().Calls
		d, _ := ratelimit.TakeAll([]ratelimit.Claim{{Limiter: limiters[1], Key: "k", N: 1}, {Limiter: limiters[2], Key: "k", N: 1}})
		assert.True(t, d.Allowed)
		assert.Equal(t, before+1, s.Stats().Calls)
	})
	t.Run("clients of several nodes", func(t *testing.T) {
		claims := []ratelimit.Claim{{Limiter: limiters[1], Key: keys[0][0], N: 3}, {Limiter: limiters[1], Key: keys[1][0], N: 3},
			{Limiter: limiters[1], Key: keys[2][0], N: 3}}
		d, _ := ratelimit.TakeAll(claims)
		require.True(t, d.Allowed)
		require.True(t, limiters[1].Take(keys[2][0], 1).Allowed) // the last one has none left
		for i := range claims {
			claims[i].N = 1
		}
		d, binding := ratelimit.TakeAll(claims)
		assert.False(t, d.Allowed)
		assert.Equal(t, 2, binding)
		for _, c := range claims[:2] {
			assert.EqualValues(t, 1, c.Limiter.Peek(c.Key, 0).Remaining, "what the first had taken is given back")
		}
	})
	t.Run("through a client", func(t *testing.T) { storeOfAClient(t, cluster) })
	t.Run("a slot moves with some of a client's rules", func(t *testing.T) { moveSome(t, s, cluster) })
	t.Run("a slot moves under load", func(t *testing.T) { moveUnderLoad(t, s, cluster) })
	assert.Zero(t, s.Stats().Failures, "CROSSSLOT and the like")
	t.Run("a node is lost", func(t *testing.T) { loseNode(t, cluster, keys) })
}

// While a slot moves, a node has some of a client's keys: those not moved yet, not those that don't exist. Each transaction is
// decided all the same, all or none.
func moveSome(t *testing.T, s *Store, cluster *redistest.Cluster) {
	const client = "with several rules"
	var claims []ratelimit.Claim
	for i := range 3 {
		l, err := s.Limiter("some"+strconv.Itoa(i), ratelimit.PerDay(1).Burst(int64(10-2*i)), Strict)
		require.NoError(t, err)
		claims = append(claims, ratelimit.Claim{Limiter: l, Key: client, N: 2})
	}
	first := claims[0].Limiter.(*Limiter)
	require.True(t, first.Take(client, 1).Allowed)
	who := s.client(client)
	slot := slotOf(who.tag[:])
	from := cluster.Node(slot)
	to := (from + 1) % len(cluster.Nodes)
	before := s.Stats()
	cluster.BeginMove(t, slot, to)
	assert.True(t, ratelimitAllows(claims), "the second and third don't exist yet")
	cluster.MoveKey(t, slot, to, first.serverKey(who))
	assert.True(t, ratelimitAllows(claims))
	require.True(t, claims[2].Limiter.Take(client, 2).Allowed)
	d, binding := ratelimit.TakeAll(claims)
	assert.False(t, d.Allowed)
	assert.Equal(t, 2, binding, "it has none left")
	for i, left := range []int64{5, 4, 0} {
		assert.Equal(t, left, claims[i].Decision.Remaining)
		assert.Equal(t, left, claims[i].Limiter.Peek(client, 0).Remaining)
	}
	cluster.EndMove(t, slot, to)
	after := s.Stats()
	assert.Equal(t, before.ErrorAllowed+before.ErrorDenied, after.ErrorAllowed+after.ErrorDenied)
	assert.Equal(t, before.Failures, after.Failures)
}

// A store on a client of a Cluster, whatever Config.Cluster says, asks each client's node.
func storeOfAClient(t *testing.T, cluster *redistest.Cluster) {
	s := newStore(t, dial(t, cluster.Nodes[0].Addr), Config{Servers: 1, OnError: Closed})
	l, err := s.Limiter("rule", ratelimit.PerDay(1).Burst(3), Strict)
	require.NoError(t, err)
	var claims []ratelimit.Claim
	for i := range 20 {
		claims = append(claims, ratelimit.Claim{Limiter: l, Key: strconv.Itoa(i), N: 2})
	}
	assert.True(t, ratelimitAllows(claims))
	assert.False(t, ratelimitAllows(claims))
	assert.Zero(t, s.Stats().Failures)
}

// Of a limit whose slot moves to another node while all ask for it, exactly the burst is admitted, and nobody is failed.
func moveUnderLoad(t *testing.T, s *Store, cluster *redistest.Cluster) {
	const burst = 3000
	l, err := s.Limiter("moving", ratelimit.PerHour(1).Burst(burst), Strict)
	require.NoError(t, err)
	who := s.client("moving client")
	slot := slotOf(who.tag[:])
	to := (cluster.Node(slot) + 1) % len(cluster.Nodes)
	var granted, failed atomic.Int64
	var wg sync.WaitGroup
	taking := func(n int) {
		for range 8 {
			wg.Go(func() {
				for range n / 8 {
					d, err := l.TakeContext(t.Context(), "moving client", 1)
					if err != nil {
						failed.Add(1)
					} else if d.Allowed {
						granted.Add(1)
					}
				}
			})
		}
	}
	taking(burst)
	redistest.Until(t, func() bool { return granted.Load() > burst/6 })
	cluster.BeginMove(t, slot, to)
	redistest.Until(t, func() bool { return granted.Load() > burst/3 })
	cluster.MoveKey(t, slot, to, l.serverKey(who))
	redistest.Until(t, func() bool { return granted.Load() > burst/2 })
	cluster.EndMove(t, slot, to)
	wg.Wait()
	assert.Zero(t, failed.Load())
	taking(400)
	wg.Wait()
	assert.EqualValues(t, burst, granted.Load()+failed.Load())
	assert.Contains(t, cluster.Nodes[to].Command(t, "CLUSTER", "COUNTKEYSINSLOT", strconv.Itoa(slot)), "1")
}

// While a node is gone, clients of the others are decided by them; its own, after five failures, without waiting. It
// comes back empty, and its clients have their limit anew, once.
func loseNode(t *testing.T, cluster *redistest.Cluster, keys [][]string) {
	s := dialStore(t, "redis://"+cluster.Nodes[0].Addr, Config{OnError: Closed, Prefix: "lost", Budget: 2 * time.Second})
	const burst = 4
	l, err := s.Limiter("rule", ratelimit.PerHour(1).Burst(burst), Strict)
	require.NoError(t, err)
	take := func(key string) (granted int) {
		for range 2 * burst {
			if l.TryAcquire(key) {
				granted++
			}
		}
		return granted
	}
	gone, lost := cluster.Nodes[1], keys[1][0]
	require.Equal(t, burst, take(lost))
	gone.Kill()
	who := s.client(lost)
	redistest.Until(t, func() bool { l.TryAcquire(lost); return who.breaker.open() })
	before := s.Stats()
	for range 1000 {
		_, err := l.TakeContext(t.Context(), lost, 1)
		require.ErrorIs(t, err, ErrOpen)
	}
	assert.EqualValues(t, 1000, s.Stats().NotAsked-before.NotAsked)
	for _, node := range []int{0, 2} {
		for _, key := range keys[node] {
			assert.Equal(t, burst, take(key), "a client of another node")
		}
	}
	gone.Run(t)
	redistest.Until(t, func() bool { return !s.Stats().BreakerOpen && gone.Command(t, "PING") == "PONG" })
	granted := 0
	redistest.Until(t, func() bool {
		d, err := l.TakeContext(t.Context(), lost, 1)
		if d.Allowed {
			granted++
		}
		return err == nil && !d.Allowed
	})
	assert.Equal(t, burst, granted)
}

func TestSentinelFailover(t *testing.T) {
	pair := redistest.StartPair(t)
	s := dialStore(t, fmt.Sprintf("redis://%s?master_set=pair", pair.Sentinel.Addr), Config{OnError: Closed, Budget: 2 * time.Second})
	l, err := s.Limiter("rule", ratelimit.PerHour(1).Burst(100), Strict)
	require.NoError(t, err)
	for range 60 {
		require.True(t, l.TryAcquire("k"))
	}
	redistest.Until(t, func() bool { return pair.Replica.Command(t, "DBSIZE") == "1" })
	assert.NotContains(t, pair.Replica.Command(t, "INFO", "commandstats"), "eval", "a replica is never asked")
	redistest.Until(t, func() bool { // in step
		return replicaHas(t, pair, l.serverKey(s.client("k")))
	})
	pair.Primary.Kill()
	granted, errs := 0, 0
	redistest.Until(t, func() bool {
		d, err := l.TakeContext(t.Context(), "k", 1)
		if err != nil {
			errs++
			assert.False(t, d.Allowed)
		} else if d.Allowed {
			granted++
		}
		return err == nil && !d.Allowed
	})
	assert.Equal(t, 40, granted, "what was taken before the failover still counts")
	assert.Positive(t, errs)
	assert.Contains(t, pair.Replica.Command(t, "INFO", "replication"), "role:master")
}

// replicaHas reports whether the replica's value of key is the primary's.
func replicaHas(t *testing.T, pair *redistest.Pair, key string) bool {
	return pair.Replica.Command(t, "GET", key) == pair.Primary.Command(t, "GET", key)
}
