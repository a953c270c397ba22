package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
)

// BenchmarkProxy compares the proxy with one rule against the same proxy without limits, as processes of their own, in
// ten interleaved pairs of runs before one upstream: 8 connections, requests one behind the other on each. It reports
// the medians of the pairs' ratios. The processor is shared with the clients and the upstream, so that the ratio of the
// throughput is nearer to 1 than that of the processor time that a request costs the proxy, which is reported too.
//
//	go test -run '^$' -bench Proxy -benchtime 1x ./cmd/ratelimit
func BenchmarkProxy(b *testing.B) {
	const pairs, connections, requests = 10, 8, 20_000
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
	defer app.Close()
	bare := prepare("bare", app.URL)
	bare.start(b)
	limited := prepare("run", "proxy", "--limit", "1000/s", "--burst", "1000000000",
		"--listen", "127.0.0.1:0", "--admin", "off", "--upstream", app.URL)
	limited.start(b)

	measure := func(c *child) (perSecond, cpu float64) {
		before := c.cpu(b)
		took := load(b, c.url, connections, requests)
		return requests / took.Seconds(), (c.cpu(b) - before).Seconds() * 1e6 / requests
	}
	measure(bare) // warm
	measure(limited)
	for b.Loop() {
		var speed, cost, bareSpeed, bareCost []float64
		for i := range pairs {
			var s, c [2]float64
			for j := range 2 {
				which := (i + j) % 2 // the order alternates
				s[which], c[which] = measure([]*child{bare, limited}[which])
			}
			speed, cost = append(speed, s[1]/s[0]), append(cost, c[1]/c[0])
			bareSpeed, bareCost = append(bareSpeed, s[0]), append(bareCost, c[0])
		}
		b.Logf("%.3f %.3f", speed, cost)
		b.ReportMetric(median(speed), "throughput/bare")
		b.ReportMetric(median(cost), "cpu/bare")
		b.ReportMetric(median(bareSpeed), "bare-requests/s")
		b.ReportMetric(median(bareCost), "bare-cpu-µs/request")
	}
}

func median(x []float64) float64 {
	slices.Sort(x)
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// load sends n requests over some connections, and returns how long that takes.
func load(t testing.TB, url string, connections, n int) time.Duration {
	t.Helper()
	address := strings.TrimPrefix(url, "http://")
	clock := ratelimit.SystemClock()
	began := clock.NanoTime()
	var group sync.WaitGroup
	failed := make(chan error, connections)
	for range connections {
		group.Go(func() { failed <- requestsOn(address, n/connections) })
	}
	group.Wait()
	took := time.Duration(clock.NanoTime() - began)
	for range connections {
		require.NoError(t, <-failed)
	}
	return took
}

func requestsOn(address string, n int) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	r := bufio.NewReader(conn)
	for range n {
		if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			return err
		}
		response, err := http.ReadResponse(r, nil)
		if err != nil {
			return err
		}
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("status %d", response.StatusCode)
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			return err
		}
	}
	return nil
}

// cpu returns the processor time that the child has used, as Linux counts it: in ticks of 10 ms.
func (c *child) cpu(b *testing.B) time.Duration {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.cmd.Process.Pid))
	if err != nil {
		b.Skip(err)
	}
	_, after, _ := strings.Cut(string(text), ") ") // the name before it may hold anything
	fields := strings.Fields(after)
	var ticks int64
	for _, f := range fields[11:13] { // utime and stime, fields 14 and 15 of proc(5)
		n, err := strconv.ParseInt(f, 10, 64)
		require.NoError(b, err)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
