package redislimit

import (
	"context"
	"strconv"
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

// chaos is what can happen to a server while four stores ask it for one client's tokens.
type chaos struct {
	name    string
	args    []string // of the server
	happens func(t *testing.T, s *redistest.Server)
	ends    func(t *testing.T, s *redistest.Server) // nil: by itself
	forgets bool                                    // the server loses what it held, so the limit is there once more
}

var disasters = []chaos{
	{name: "kill and restart empty", forgets: true,
		happens: func(_ *testing.T, s *redistest.Server) { s.Kill() },
		ends:    func(t *testing.T, s *redistest.Server) { s.Run(t) }},
	{name: "stop and continue",
		happens: func(_ *testing.T, s *redistest.Server) { s.Pause() },
		ends:    func(_ *testing.T, s *redistest.Server) { s.Resume() }},
	{name: "slow", happens: func(t *testing.T, s *redistest.Server) {
		go func() { _, _ = s.Try("DEBUG", "SLEEP", "0.7") }()
	}, args: []string{"--enable-debug-command", "yes"}},
	{name: "script flush", happens: func(t *testing.T, s *redistest.Server) { s.Command(t, "SCRIPT", "FLUSH") }},
	{name: "connections killed", happens: func(t *testing.T, s *redistest.Server) { s.Command(t, "CLIENT", "KILL", "TYPE", "normal") }},
	{name: "flushed", happens: func(t *testing.T, s *redistest.Server) { s.Command(t, "FLUSHALL") }, forgets: true},
}

// Whatever happens to the server, by each policy and mode: no more than the documented bound is admitted, only as many calls
// wait as open the breakers and probe, and in the end all is as before. The rate is so low that nothing comes back.
func TestChaos(t *testing.T) {
	const stores, burst = 4, 480
	for _, c := range disasters {
		for _, policy := range []Policy{Closed, Local} {
			for _, mode := range []Mode{Strict, Lease} {
				t.Run(c.name+"/"+policy.String()+"/"+[...]string{"strict", "deny-cache", "lease"}[mode], func(t *testing.T) {
					t.Parallel()
					server := redistest.Start(t, c.args...)
					var limiters []*Limiter
					for range stores {
						s := newStore(t, dial(t, server.Addr), Config{Servers: stores, OnError: policy, Budget: 100 * time.Millisecond, Prefix: "chaos"})
						l, err := s.Limiter("rule", ratelimit.PerDay(1).Burst(burst), mode)
						require.NoError(t, err)
						limiters = append(limiters, l)
					}
					var granted atomic.Int64
					each := func(n int) {
						var wg sync.WaitGroup
						for _, l := range limiters {
							wg.Go(func() {
								for range n {
									if l.TryAcquire("k") {
										granted.Add(1)
									}
								}
							})
						}
						wg.Wait()
					}
					each(burst / stores / 2) // half of it
					c.happens(t, server)
					calls := callsOf(limiters)
					each(burst)
					if c.name == "stop and continue" {
						assert.LessOrEqual(t, callsOf(limiters)-calls, uint64(stores*(breakerFailures+10)), "calls that waited")
					}
					if c.ends != nil {
						c.ends(t, server)
					}
					redistest.Until(t, func() bool { return healthy(t, limiters) })
					each(2 * burst)
					// Half of the burst before; in an outage, each store's part of what was left; the leases; after it what the
					// server still has, or all of it anew. Rule.Split rounds down.
					most := int64(burst)
					if mode == Lease {
						most += stores * (burst / (LeaseShare * stores))
					}
					if policy == Local {
						most += burst / 2
					}
					if c.forgets {
						most += burst
					}
					assert.LessOrEqual(t, granted.Load(), most)
					assert.GreaterOrEqual(t, granted.Load(), int64(burst/2))
					for _, l := range limiters {
						_, err := l.TakeContext(t.Context(), "another", 1)
						assert.NoError(t, err)
					}
				})
			}
		}
	}
}

func callsOf(limiters []*Limiter) (calls uint64) {
	for _, l := range limiters {
		calls += l.store.Stats().Calls
	}
	return calls
}

// healthy reports whether each store asks the server, and is answered.
func healthy(t *testing.T, limiters []*Limiter) bool {
	for _, l := range limiters {
		if l.store.Stats().BreakerOpen || l.store.Ping(t.Context()) != nil {
			return false
		}
	}
	return true
}

// A server that is full and evicts keys forgets, and no more: a limit is there anew at most once for each eviction of its
// key; clients whose keys stay are refused as before, and decisions go on.
func TestEviction(t *testing.T) {
	server := redistest.Start(t, "--maxmemory", "2mb", "--maxmemory-policy", "allkeys-random")
	s := newStore(t, dial(t, server.Addr), Config{Servers: 1})
	l, err := s.Limiter("rule", ratelimit.PerDay(1).Burst(2), Strict)
	require.NoError(t, err)
	const clients = 10_000
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			for i := g; i < clients; i += 16 {
				granted := 0
				for range 3 {
					d, err := l.TakeContext(context.Background(), strconv.Itoa(i), 1)
					assert.NoError(t, err)
					if d.Allowed {
						granted++
					}
				}
				assert.GreaterOrEqual(t, granted, 2)
			}
		})
	}
	wg.Wait()
	assert.Contains(t, server.Command(t, "INFO", "stats"), "evicted_keys:")
	assert.NotContains(t, server.Command(t, "INFO", "stats"), "evicted_keys:0\r")
	assert.Zero(t, s.Stats().Failures)
}

// The server's clock is set: back, a key's time stands still until it has caught up, and nothing is lost or
// gained; forward, what comes back in that time does so at once, and no more than the limit.
func TestServersClockIsSet(t *testing.T) {
	server := dial(t, redistest.Start(t).Addr)
	for a := ratelimit.TokenBucket; a <= ratelimit.SlidingWindowCounter; a++ {
		t.Run(a.String(), func(t *testing.T) {
			var clock limittest.ManualClock
			clock.Set(int64(1000 * time.Hour))
			s := newStore(t, timedServer{server, &clock}, Config{Servers: 1})
			l, err := s.Limiter("rule", window(a, 60, time.Minute), Strict)
			require.NoError(t, err)
			drain := func() (n int) {
				for l.TryAcquire("k") {
					n++
				}
				return n
			}
			require.Equal(t, 60, drain())
			clock.Advance(-time.Hour)
			for range 4 {
				assert.Zero(t, drain())
				clock.Advance(14 * time.Minute)
			}
			clock.Advance(4 * time.Minute)
			assert.Zero(t, drain(), "where it was")
			clock.Advance(2 * time.Minute)
			assert.Equal(t, 60, drain())
			clock.Advance(24 * time.Hour)
			assert.Equal(t, 60, drain())
		})
	}
}
