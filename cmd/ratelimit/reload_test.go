package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit/limittest"
)

// replace replaces a file in one step, as deployments do.
func replace(t *testing.T, path, text string) {
	t.Helper()
	next := path + ".next"
	require.NoError(t, os.WriteFile(next, []byte(text), 0o600))
	require.NoError(t, os.Rename(next, path))
}

// hangup sends the process of the test a SIGHUP, and with it the command that runs in it.
func hangup(t *testing.T) {
	t.Helper()
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
}

type reloads struct {
	Reloads struct {
		Version  uint64
		Failures uint64
		Error    string
	}
}

func (p *process) reloads(t *testing.T) (got reloads) {
	t.Helper()
	_, body := get(t, p.admin+"/status.json")
	require.NoError(t, json.Unmarshal([]byte(body), &got))
	return got
}

func (p *process) untilReloaded(t *testing.T, ok func(reloads) bool) {
	t.Helper()
	require.Eventually(t, func() bool { return ok(p.reloads(t)) }, waiting, poll)
}

// A thousand reloads that change the limits, under load: no request fails, and no client gets anything from a reload.
func TestReloadsUnderLoad(t *testing.T) {
	const clients, most = 4, 20
	changes := 1000
	if testing.Short() {
		changes = 50
	}
	rule := func(i int) string {
		return fmt.Sprintf("proxies: {trusted: loopback}\nrules:\n- {name: default, key: ip, limit: %d/minute, burst: %d}\n", 60+i%7*10, most-i%5*4)
	}
	path := write(t, rule(0))
	clock := &limittest.ManualClock{}
	p := start(t, clock, "proxy", "--config", path)
	var allowed [clients]atomic.Int64
	var group sync.WaitGroup
	stop := make(chan struct{})
	var exhausted sync.WaitGroup
	exhausted.Add(clients)
	for n := range clients {
		group.Go(func() {
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			refused := sync.OnceFunc(exhausted.Done)
			defer refused()
			for {
				select {
				case <-stop:
					return
				default:
				}
				switch status := statusFrom(t, client, p.url, fmt.Sprintf("192.0.2.%d", n+1)); status {
				case http.StatusOK:
					allowed[n].Add(1)
				case http.StatusTooManyRequests:
					refused()
				default:
					t.Errorf("status %d", status)
					return
				}
			}
		})
	}
	exhausted.Wait()
	for i := 1; i <= changes; i++ {
		replace(t, path, rule(i))
		hangup(t)
		p.untilReloaded(t, func(r reloads) bool { return r.Reloads.Version == uint64(i+1) })
	}
	for n := range clients {
		require.Equal(t, int64(most), allowed[n].Load(), "client %d: the clock stood still", n)
	}
	clock.Advance(10 * time.Second)
	replace(t, path, rule(0))
	hangup(t)
	p.untilReloaded(t, func(r reloads) bool { return r.Reloads.Version > uint64(changes) })
	close(stop)
	group.Wait()
	for n := range clients {
		require.LessOrEqual(t, allowed[n].Load(), int64(most+20), "client %d", n) // at most 120 a minute
	}
	require.Zero(t, p.reloads(t).Reloads.Failures)
	require.Equal(t, exitDone, p.end())
}

func TestBrokenFileKeepsTheRulesAndSaysSo(t *testing.T) {
	path := write(t, "rules:\n- {name: default, key: ip, limit: 1/minute}\n")
	p := start(t, &limittest.ManualClock{}, "proxy", "--config", path)
	response, _ := get(t, p.url)
	require.Equal(t, http.StatusOK, response.StatusCode)
	for i, broken := range []string{"rules: [", "rules:\n- {name: default, key: ip, limit: 1/minut}\n", ""} {
		replace(t, path, broken)
		hangup(t)
		p.untilReloaded(t, func(r reloads) bool { return r.Reloads.Failures == uint64(i+1) })
		response, _ = get(t, p.url)
		require.Equal(t, http.StatusTooManyRequests, response.StatusCode, "the old rules stand, and what was used")
	}
	require.Contains(t, p.reloads(t).Reloads.Error, "line 1: the file is empty")
	require.Contains(t, p.err.String(), `line 2: rules[0].limit: \"1/minut\": the time must be a unit`)

	replace(t, path, "rules:\n- {name: default, key: ip, limit: 2/minute, burst: 2}\n")
	p.untilReloaded(t, func(r reloads) bool { return r.Reloads.Version == 2 }) // without a signal: it is seen to have changed
	require.Empty(t, p.reloads(t).Reloads.Error)
	response, _ = get(t, p.url)
	require.Equal(t, http.StatusTooManyRequests, response.StatusCode, "who is refused gains nothing by a higher limit")
}

// What stands on the command line stands over each version of the file.
func TestFlagsStayOverAReloadedFile(t *testing.T) {
	other := start(t, nil, "proxy", "--limit", "1000/s")
	file := "rules:\n- {name: default, key: ip, limit: %d/minute}\nserver: {upstreams: [{url: http://127.0.0.1:1}]}\n"
	path := write(t, fmt.Sprintf(file, 10))
	p := start(t, &limittest.ManualClock{}, "proxy", "--config", path, "--upstream", other.url+"/other", "--trusted-proxy", "loopback")
	for version := uint64(1); version <= 2; version++ {
		p.untilReloaded(t, func(r reloads) bool { return r.Reloads.Version == version })
		_, body := get(t, p.url, "X-Forwarded-For", "192.0.2.1")
		require.Contains(t, body, "GET /other/")
		require.Contains(t, body, "X-Forwarded-For: 192.0.2.1, 127.0.0.1", "its proxy is still trusted")
		replace(t, path, fmt.Sprintf(file, 20))
		hangup(t)
	}
}

func TestUpstreamsChangeWithTheFile(t *testing.T) {
	app := func(name string) string {
		l := start(t, nil, "proxy", "--limit", "1000/s")
		return l.url + "/" + name
	}
	file := func(upstreams string) string {
		return "rules:\n- {name: default, key: ip, limit: 1000/s}\nserver:\n  upstreams:\n" + upstreams
	}
	path := write(t, file("  - url: "+app("one")+"\n"))
	p := start(t, nil, "proxy", "--config", path)
	_, body := get(t, p.url)
	require.Contains(t, body, "GET /one/")

	replace(t, path, file("  - url: "+app("two")+"\n  - {path: /v1, url: "+app("three")+"}\n"))
	hangup(t)
	_, ok := p.err.wait("upstreams in force")
	require.True(t, ok)
	_, body = get(t, p.url)
	require.Contains(t, body, "GET /two/")
	_, body = get(t, p.url+"/v1/x")
	require.Contains(t, body, "GET /three/v1/x")

	replace(t, path, file("  - url: http://127.0.0.1:1\n  grace: 5s\n"))
	hangup(t)
	_, ok = p.err.wait("restart to put it into force")
	require.True(t, ok)
}
