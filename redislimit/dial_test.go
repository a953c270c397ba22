package redislimit

import (
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/redislimit/redistest"
)

// An application starts in an outage; when the server is there, its decisions are.
func TestDialBeforeTheServerIsThere(t *testing.T) {
	server := redistest.Start(t)
	server.Kill()
	s := dialStore(t, "redis://"+server.Addr, Config{OnError: Closed, Budget: time.Second})
	l, err := s.Limiter("rule", ratelimit.PerHour(1).Burst(3), Strict)
	require.NoError(t, err)
	assert.Error(t, s.Ping(t.Context()))
	_, err = l.TakeContext(t.Context(), "k", 1)
	assert.Error(t, err)
	server.Run(t)
	redistest.Until(t, func() bool { d, err := l.TakeContext(t.Context(), "k", 1); return err == nil && d.Allowed })
	assert.NoError(t, s.Ping(t.Context()))
}

func TestDialRefusesWhatIsWrong(t *testing.T) {
	server := redistest.Start(t, "--requirepass", "s3cret")
	for url, want := range map[string]string{
		"redis://" + server.Addr:                "NOAUTH",
		"redis://:wrong@" + server.Addr:         "WRONGPASS",
		"http://" + server.Addr:                 "URL",
		"redis:" + server.Addr:                  "://",
		"redis://" + server.Addr + "/nodb":      "",
		"redis://:s3cret@" + server.Addr:        "fine",
		"redis://:s3cret@" + server.Addr + "/1": "fine",
	} {
		s, err := Dial(t.Context(), url, Config{Servers: 1})
		if want == "fine" {
			require.NoError(t, err, url)
			assert.NoError(t, s.Ping(t.Context()))
			s.Close()
			continue
		}
		assert.ErrorContains(t, err, want, url)
	}
	_, err := New(nil, Config{})
	assert.ErrorIs(t, err, ratelimit.ErrInvalidConfig)
	_, err = New((*scripted)(nil), Config{})
	assert.ErrorIs(t, err, ratelimit.ErrInvalidConfig)
	_, err = New(Rueidis(nil), Config{})
	assert.ErrorIs(t, err, ratelimit.ErrInvalidConfig)
	for _, c := range []Config{{Prefix: "a{b"}, {Budget: -1}, {OnError: 3}, {Servers: -1}, {Servers: MaxServers + 1}, {LocalKeys: -1},
		{Clock: (*ratelimit.CoarseClock)(nil)}} {
		_, err := New(&scripted{}, c)
		assert.ErrorIs(t, err, ratelimit.ErrInvalidConfig, "%+v", c)
	}
}

// A server that takes connections and says nothing costs each decision its budget, and no more, until the breaker opens.
func TestBudgetHoldsWhileConnecting(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	s, err := Dial(t.Context(), "redis://"+silent.Addr().String(), Config{Servers: 1, OnError: Closed})
	require.NoError(t, err)
	defer s.Close()
	l, err := s.Limiter("rule", ratelimit.PerHour(1).Burst(3), Strict)
	require.NoError(t, err)
	for range 1000 {
		l.TryAcquire("k")
	}
	stats := s.Stats()
	assert.True(t, stats.BreakerOpen)
	assert.LessOrEqual(t, stats.Calls, uint64(breakerFailures+10), "the rest didn't wait")
	assert.GreaterOrEqual(t, stats.NotAsked, uint64(900))
}

// Nothing runs on after Close, whatever was under way; it can be called again; and limiters go on answering.
func TestCloseEndsEverything(t *testing.T) {
	server := redistest.Start(t)
	ours := func() (n int) {
		buffer := make([]byte, 1<<20)
		for _, one := range strings.Split(string(buffer[:runtime.Stack(buffer, true)]), "\n\n") {
			if strings.Contains(one, "redislimit.(*") && !strings.Contains(one, "TestCloseEndsEverything") {
				n++
			}
		}
		return n
	}
	redistest.Until(t, func() bool { return ours() == 0 }) // other tests' ends
	for _, paused := range []bool{false, true} {
		t.Run(fmt.Sprint("paused: ", paused), func(t *testing.T) {
			s := dialStore(t, "redis://"+server.Addr, Config{Budget: 20 * time.Millisecond, Servers: 0, Prefix: fmt.Sprint("close", paused)})
			l, err := s.Limiter("rule", ratelimit.PerHour(1).Burst(1000), Lease)
			require.NoError(t, err)
			for range 50 {
				l.TryAcquire("k")
			}
			if paused {
				server.Pause()
				defer server.Resume()
				for range 20 {
					l.TryAcquire("another")
				}
			}
			s.Close()
			s.Close()
			require.NoError(t, l.Close())
			l.TryAcquire("k")
			redistest.Until(t, func() bool { return ours() == 0 })
			stats := s.Stats()
			if !paused {
				assert.Equal(t, uint64(0), stats.Timeouts)
				again := newStore(t, dial(t, server.Addr), Config{Servers: 1, Prefix: "closefalse"})
				l, err := again.Limiter("rule", ratelimit.PerHour(1).Burst(1000), Strict)
				require.NoError(t, err)
				assert.EqualValues(t, 950, l.Peek("k", 0).Remaining, "leases were given back")
			}
		})
	}
}
