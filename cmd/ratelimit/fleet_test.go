package main

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit/redislimit/redistest"
)

type stores struct {
	Stores []struct {
		Address string
		Answers bool
		Policy  string
		Errors  uint64
	}
}

func (p *process) stores(t *testing.T) (got stores) {
	t.Helper()
	_, body := get(t, p.admin+"/status.json")
	require.NoError(t, json.Unmarshal([]byte(body), &got))
	require.Len(t, got.Stores, 1)
	return got
}

// Two proxies over one Redis let through what one would; without it, each decides by its share, and says so.
func TestProxiesShareOneLimitOverRedis(t *testing.T) {
	need(t, "redis-server")
	redis := redistest.Start(t)
	file := write(t, "store: redis://"+redis.Addr+"\nrules:\n- {name: default, key: ip, limit: 10/day}\nserver: {redis: {servers: 2, budget: 10s}}\n")
	one, two := start(t, nil, "proxy", "--config", file), start(t, nil, "proxy", "--config", file, "--redis", "redis://"+redis.Addr)
	passed := 0
	for range 10 {
		for _, p := range []*process{one, two} {
			switch response, _ := get(t, p.url); response.StatusCode {
			case http.StatusOK:
				passed++
			case http.StatusTooManyRequests:
			default:
				t.Errorf("status %d", response.StatusCode)
			}
		}
	}
	require.Equal(t, 10, passed)
	require.True(t, one.stores(t).Stores[0].Answers)

	redis.Kill()
	require.Eventually(t, func() bool {
		response, _ := get(t, one.url)
		require.NotEqual(t, http.StatusOK, response.StatusCode, "what was used up stays so")
		return !one.stores(t).Stores[0].Answers
	}, waiting, poll)
	require.Equal(t, "local", one.stores(t).Stores[0].Policy)
	_, metrics := get(t, one.admin+"/metrics")
	require.Contains(t, metrics, "ratelimit_breaker_open 1")
	require.Contains(t, one.err.String(), "level=WARN")

	redis.Run(t)
	require.Eventually(t, func() bool { return one.stores(t).Stores[0].Answers }, waiting, poll)
	require.Equal(t, exitDone, one.end())
	require.Equal(t, exitDone, two.end())
}

func TestRedisFlagsAndFields(t *testing.T) {
	for args, want := range map[string]string{
		"redis://":       "--redis: want local, redis://",
		"http://x":       "--redis: want local, redis://",
		"redis://[::1/x": "--redis: want local, redis://",
	} {
		require.Contains(t, fails(t, exitUsage, "proxy", "--limit", "1/s", "--redis", args), want)
	}
	for field, want := range map[string]string{
		"mode: loose":           `:4: server.redis.mode: "loose": want strict, deny_cache or lease`,
		"on_error: panic":       `:4: server.redis.on_error: "panic": want local, open or closed`,
		"budget: -1s":           `:4: server.redis.budget: -1s: must not be negative`,
		"secret_file: /nowhere": `:4: server.redis.secret_file: open /nowhere: no such file or directory`,
		"prefix: '{a}'":         `:4: server.redis.prefix: "{a}": must not contain braces`,
		"servers: -1":           `:4: server.redis.servers: -1: must be 1 to`,
		"serves: 1":             `:4: server.redis.serves: "serves": there is no such field here`,
	} {
		path := write(t, "store: redis://127.0.0.1:1\nrules: [{name: a, key: ip, limit: 1/s}]\nserver:\n  redis: {"+field+"}\n")
		require.Contains(t, fails(t, exitInvalid, "validate", path), want)
	}
	path := write(t, "rules:\n- {name: a, key: ip, limit: 1/s,\n   store: ftp://x}\n")
	require.Contains(t, fails(t, exitInvalid, "validate", path), ":3: rules[0].store (a): want local, redis://")
}

// Rules are looked at without the server that they name.
func TestExplainNeedsNoRedis(t *testing.T) {
	path := write(t, "store: redis://127.0.0.1:1\nrules: [{name: a, key: ip, limit: 1/s}]\n")
	status, out, err := says("explain", path, "--request", "/")
	require.Equal(t, exitDone, status, err)
	require.Contains(t, out, "200: passed")
}
