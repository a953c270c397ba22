package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit/limittest"
)

// 10,000 requests of 50 clients, in random order over many connections: each client gets what its rule gives.
func TestEachClientGetsExactlyWhatItsRuleGives(t *testing.T) {
	const clients, workers = 50, 8
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: workers}}
	defer client.CloseIdleConnections()
	for _, c := range []struct {
		name  string
		flags []string
		each  int64 // requests of a client
		first int64 // allowed while the clock stands
		later int64 // and in all, 6 s later
	}{
		{"token bucket", []string{"--limit", "100/minute", "--burst", "20"}, 200, 20, 30},
		{"fixed window", []string{"--limit", "30/minute", "--algorithm", "fixed_window"}, 80, 30, 30},
		{"sliding log", []string{"--limit", "30/5s", "--algorithm", "sliding_window_log"}, 80, 30, 60},
		{"sliding counter", []string{"--limit", "30/minute", "--algorithm", "sliding_window_counter"}, 80, 30, 30},
	} {
		if testing.Short() {
			c.each = 80
		}
		t.Run(c.name, func(t *testing.T) {
			clock := &limittest.ManualClock{}
			p := start(t, clock, append([]string{"proxy", "--trusted-proxy", "127.0.0.1"}, c.flags...)...)
			var allowed, refused [clients]atomic.Int64
			send := func(perClient int64) {
				order := rand.Perm(clients * int(perClient))
				var group sync.WaitGroup
				for w := range workers {
					group.Go(func() {
						for i := w; i < len(order); i += workers {
							n := order[i] % clients
							switch status := statusFrom(t, client, p.url, fmt.Sprintf("192.0.2.%d", n+1)); status {
							case http.StatusOK:
								allowed[n].Add(1)
							case http.StatusTooManyRequests:
								refused[n].Add(1)
							default:
								t.Errorf("status %d", status)
							}
						}
					})
				}
				group.Wait()
			}
			send(c.each / 2)
			for i := range clients {
				require.Equal(t, c.first, allowed[i].Load(), "client %d", i)
			}
			clock.Advance(6 * time.Second)
			send(c.each / 2)
			for i := range clients {
				require.Equal(t, c.later, allowed[i].Load(), "client %d", i)
				require.Equal(t, c.each-c.later, refused[i].Load(), "client %d", i)
			}
			require.Equal(t, exitDone, p.end())
		})
	}
}

// statusFrom returns the status of a request that a trusted proxy passes on for a client.
func statusFrom(t *testing.T, c *http.Client, url, client string) int {
	r, err := http.NewRequest("GET", url, nil)
	if err != nil {
		t.Error(err)
		return 0
	}
	r.Header.Set("X-Forwarded-For", client)
	response, err := c.Do(r)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

func TestStrangersForwardedForIsNotBelieved(t *testing.T) {
	p := start(t, &limittest.ManualClock{}, "proxy", "--limit", "1/minute")
	require.Equal(t, http.StatusOK, statusFrom(t, http.DefaultClient, p.url, "192.0.2.1"))
	require.Equal(t, http.StatusTooManyRequests, statusFrom(t, http.DefaultClient, p.url, "192.0.2.2"), "the same peer, whatever it says")
}

func TestProxyByHeaderElseByAddress(t *testing.T) {
	p := start(t, &limittest.ManualClock{}, "proxy", "--limit", "1/minute", "--key", "header:X-API-Key")
	for _, c := range []struct {
		key    string
		status int
	}{{"a", 200}, {"a", 429}, {"b", 200}, {"", 200}, {"", 429}} {
		var fields []string
		if c.key != "" {
			fields = []string{"X-API-Key", c.key}
		}
		response, _ := get(t, p.url, fields...)
		require.Equal(t, c.status, response.StatusCode, "key %q", c.key)
	}
}

func TestProxySaysWhereItIs(t *testing.T) {
	p := start(t, nil, "proxy", "--limit", "100/minute", "--burst", "20", "--key", "ip")
	require.Contains(t, p.out.String(), "limit      100/minute, 20 at once, by ip\n")
	response, body := get(t, p.url+"/some/path")
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Contains(t, body, "GET /some/path HTTP/1.1")
	require.Equal(t, `"default";q=20;w=12`, response.Header.Get("RateLimit-Policy"))
	for path, want := range map[string]string{"/healthz": "ok", "/readyz": "ready", "/metrics": "go_goroutines"} {
		response, body = get(t, p.admin+path)
		require.Equal(t, http.StatusOK, response.StatusCode)
		require.Contains(t, body, want)
	}
	require.Equal(t, exitDone, p.end())
	require.Contains(t, p.err.String(), "msg=stopped")
}

// The upstream has limits of its own, and sends an early hint, after which httputil.ReverseProxy forgets the header.
func TestUpstreamsOwnLimitsComeAfterOurs(t *testing.T) {
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("RateLimit", `"theirs";r=7;t=8`)
		w.Header().Set("X-RateLimit-Limit", "500")
	}))
	defer app.Close()
	p := start(t, &limittest.ManualClock{}, "proxy", "--limit", "5/s", "--upstream", app.URL)
	response, _ := get(t, p.url)
	require.Equal(t, []string{`"default";r=4;t=1`, `"theirs";r=7;t=8`}, response.Header["Ratelimit"])
	require.Equal(t, []string{"5"}, response.Header["X-Ratelimit-Limit"])
}

func TestBadFlagsGetOneLine(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	for _, c := range []struct {
		status int
		args   string
		want   string
	}{
		{2, "", "ratelimit: want one of "},
		{2, "proxi", `ratelimit: "proxi" is no command; want one of `},
		{2, "proxy", "ratelimit proxy: want --limit, such as --limit 100/minute, or --config FILE"},
		{2, "proxy here", `ratelimit proxy: "here": want no argument`},
		{2, "proxy --nope", "ratelimit proxy: unknown flag: --nope"},
		{2, "proxy --limit 5", `--limit: "5": want a number, then / or per, then a time`},
		{2, "proxy --limit 0/s", `--limit: "0/s": the number of tokens must be 1 to`},
		{2, "proxy --limit 5/s --burst x", `--burst: "x": want a whole number`},
		{2, "proxy --limit 5/s --burst 0", "--burst: 0: must be at least 1"},
		{2, "proxy --limit 5/s --burst 2 --algorithm fixed_window", "--burst: 2: a fixed_window has no burst"},
		{2, "proxy --limit 5/s --algorithm leaky", `--algorithm: "leaky": want token_bucket, fixed_window`},
		{2, "proxy --limit 5/s --key foo", `--key: "foo": want one of ip, header`},
		{2, "proxy --limit 5/s --upstream localhost", `--upstream: "localhost": want http://host:port`},
		{2, "proxy --limit 5/s --trusted-proxy 0.0.0.0/0", "--trusted-proxy: 0.0.0.0/0: whoever comes from there"},
		{2, "proxy --limit 5/s --listen 80x", `--listen: "80x": want host:port`},
		{2, "proxy --limit 5/s --admin 80x", `--admin: "80x": want host:port`},
		{2, "proxy --limit 5/s --tls-cert x", "--tls-cert and --tls-key: want both or none"},
		{2, "proxy --limit 5/s --grace soon", `--grace: "soon": want a time, such as 30s or 2m`},
		{2, "proxy --limit 5/s --log-level loud", `--log-level: "loud": want debug, info, warn or error`},
		{2, "proxy --limit 5/s --config x.yaml", "--limit: stands in the rule file, if there is one"},
		{3, "proxy --config /nowhere.yaml", "/nowhere.yaml: no such file or directory"},
		{1, "proxy --limit 5/s --listen " + taken.Addr().String(), "it is in use: stop the process that has it"},
		{1, "proxy --limit 5/s --listen 127.0.0.1:0 --admin :0", "nothing guards it: set a token"},
	} {
		t.Run(c.args, func(t *testing.T) {
			said := fails(t, c.status, strings.Fields(c.args)...)
			require.Contains(t, said, c.want)
			require.NotContains(t, said, "\n", "one line")
			require.Equal(t, c.status != exitInvalid, strings.HasPrefix(said, "ratelimit"), "mistakes in a file start with its name")
		})
	}
}

// The log tells which rule refuses, and not of those that weren't asked because it did.
func TestTheLogBlamesTheRuleThatRefuses(t *testing.T) {
	p := start(t, nil, "proxy", "--config", write(t, "rules:\n- {name: all, key: ip, limit: 9/s}\n- {name: closed, match: /old/, mode: block}\n"))
	response, _ := get(t, p.url+"/old/x")
	require.Equal(t, http.StatusForbidden, response.StatusCode)
	p.end()
	require.Contains(t, p.err.String(), "msg=refused rule=closed")
	require.NotContains(t, p.err.String(), "rule=all")
}
