package redislimit

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit"
	"github.com/casgate/ratelimit/redislimit/redistest"
)

const (
	processes  = 3
	processFor = 2 * time.Second
	// The environment of a helper process: the server's address, the mode, and the instant to end at.
	envAddr, envMode, envEnd = "REDISLIMIT_TEST_ADDR", "REDISLIMIT_TEST_MODE", "REDISLIMIT_TEST_END"
)

var processRules = map[Mode]ratelimit.Rule{
	Strict: ratelimit.PerSecond(100).Burst(100),
	Lease:  ratelimit.PerSecond(2400).Burst(2400), // L is 100
}

func TestMain(m *testing.M) {
	if addr := os.Getenv(envAddr); addr != "" {
		mode, _ := strconv.Atoi(os.Getenv(envMode))
		end, _ := strconv.ParseInt(os.Getenv(envEnd), 10, 64)
		helperProcess(addr, Mode(mode), end)
		return
	}
	os.Exit(m.Run())
}

// helperProcess takes as fast as it can until end, and prints an instant for each token: strict ones as the server counted
// them, leased ones by this machine's clock.
func helperProcess(addr string, mode Mode, end int64) {
	store, err := Dial(context.Background(), "redis://"+addr, Config{Servers: processes, OnError: Closed, Budget: time.Second})
	if err != nil {
		panic(err)
	}
	limiter, err := store.Limiter("rule", processRules[mode], mode)
	if err != nil {
		panic(err)
	}
	clock, out := ratelimit.SystemClock(), bufio.NewWriter(os.Stdout)
	for now := clock.NanoTime(); now < end; now = clock.NanoTime() {
		if d := limiter.Take("k", 1); d.Allowed {
			if mode == Strict {
				now = d.At
			}
			fmt.Fprintln(out, now)
		}
	}
	store.Close()
	fmt.Fprintln(out, clock.NanoTime())
	out.Flush()
}

// runProcesses returns the instants of all tokens of all processes, in order, and when the last process ended.
func runProcesses(t *testing.T, mode Mode) (instants []int64, ended int64) {
	server := redistest.Start(t)
	end := ratelimit.SystemClock().NanoTime() + int64(processFor)
	var outs [processes]bytes.Buffer
	var commands [processes]*exec.Cmd
	for i := range commands {
		c := exec.CommandContext(t.Context(), os.Args[0])
		c.Env = append(os.Environ(), envAddr+"="+server.Addr, envMode+"="+strconv.Itoa(int(mode)), envEnd+"="+strconv.FormatInt(end, 10))
		c.Stdout, c.Stderr = &outs[i], os.Stderr
		require.NoError(t, c.Start())
		commands[i] = c
	}
	for i, c := range commands {
		require.NoError(t, c.Wait())
		var last int64
		lines := bufio.NewScanner(&outs[i])
		for n := 0; lines.Scan(); n++ {
			if n > 0 {
				instants = append(instants, last)
			}
			last, _ = strconv.ParseInt(lines.Text(), 10, 64)
		}
		ended = max(ended, last)
	}
	slices.Sort(instants)
	return instants, ended
}

// Three processes share one limit: in every interval, on the server's clock, no more than the burst and the rate
// times its length; and no less than the rate.
func TestProcessesShareOneLimitStrictly(t *testing.T) {
	t.Parallel()
	instants, _ := runProcesses(t, Strict)
	rule := processRules[Strict]
	admits := func(ns int64) int64 { return rule.Capacity + ns*rule.Refill.Tokens/int64(rule.Refill.Per) }
	require.GreaterOrEqual(t, int64(len(instants)), rule.Capacity)
	for i, from := range instants {
		for j := i; j < len(instants); j++ {
			if most := admits(instants[j] - from); int64(j-i+1) > most {
				t.Fatalf("%d tokens in %v; at most %d", j-i+1, time.Duration(instants[j]-from), most)
			}
		}
	}
	t.Logf("%d tokens in %v", len(instants), time.Duration(instants[len(instants)-1]-instants[0]))
}

// The same with leases: no more than B + r*t + N*L.
func TestProcessesShareOneLimitByLeases(t *testing.T) {
	t.Parallel()
	instants, ended := runProcesses(t, Lease)
	rule := processRules[Lease]
	require.GreaterOrEqual(t, int64(len(instants)), rule.Capacity/2)
	leased := processes * (rule.Capacity / (LeaseShare * processes))
	for i, from := range instants { // read before the token was taken, so that the end is the processes'
		took := ended - from
		if most := rule.Capacity + took*rule.Refill.Tokens/int64(rule.Refill.Per) + leased; int64(len(instants)-i) > most {
			t.Fatalf("%d tokens in %v; at most %d", len(instants)-i, time.Duration(took), most)
		}
	}
	t.Logf("%d tokens in %v", len(instants), time.Duration(ended-instants[0]))
}
