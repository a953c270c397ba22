package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit/cmd/internal/service"
	"github.com/casgate/ratelimit/cmd/internal/upstream"
)

// childEnv makes the test binary the command itself ("run"), or a proxy without any limits ("bare"), so that tests can
// have it as a process of its own.
const childEnv = "RATELIMIT_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childEnv) {
	case "run":
		os.Exit(run(context.Background(), nil, os.Args[1:], os.Stdout, os.Stderr))
	case "bare":
		if err := bare(os.Args[1]); err != nil {
			os.Exit(exitFailed)
		}
		os.Exit(exitDone)
	}
	os.Exit(m.Run())
}

// bare is the proxy, but for the limits.
func bare(target string) error {
	log := slog.New(slog.DiscardHandler)
	router, err := upstream.NewSwitch([]upstream.Target{{URL: target}}, func(*http.Request) bool { return false }, log)
	if err != nil {
		return err
	}
	s := &service.Service{Listen: []string{"127.0.0.1:0"}, Handler: router, Out: os.Stdout, Log: log}
	return s.Run(context.Background())
}

// child is the command as a process.
type child struct {
	cmd      *exec.Cmd
	out, err *buffer
	url      string
	admin    string
	exited   func() error // waits for it
}

// prepare returns a child that isn't started yet.
func prepare(kind string, args ...string) *child {
	c := &child{cmd: exec.Command(os.Args[0], args...), out: newBuffer(), err: newBuffer()}
	c.cmd.Env = append(os.Environ(), childEnv+"="+kind)
	c.cmd.Stdout, c.cmd.Stderr = c.out, c.err
	return c
}

// start starts it, and returns when it listens; it is killed when the test ends, if it still lives then.
func (c *child) start(t testing.TB) {
	t.Helper()
	require.NoError(t, c.cmd.Start())
	c.exited = sync.OnceValue(func() error {
		err := c.cmd.Wait()
		c.out.end()
		return err
	})
	go func() { _ = c.exited() }()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		_ = c.exited()
	})
	var ok bool
	if c.url, ok = c.out.wait(`listening +(\S+)`); !ok {
		t.Fatalf("it ends: %s%s", c.out, c.err)
	}
}

// spawn starts the command as a process, on ports of its own.
func spawn(t testing.TB, args ...string) *child {
	t.Helper()
	c := prepare("run", append(args, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0")...)
	c.start(t)
	c.admin, _ = c.out.wait(`admin +(\S+)`)
	return c
}

// terminate asks it to end as systemd and Kubernetes do, and returns its exit status.
func (c *child) terminate(t testing.TB) int {
	t.Helper()
	require.NoError(t, c.cmd.Process.Signal(syscall.SIGTERM))
	_ = c.exited()
	return c.cmd.ProcessState.ExitCode()
}

// drain reads a body to its end and closes it.
func drain(body io.ReadCloser) error {
	_, err := io.Copy(io.Discard, body)
	return errors.Join(err, body.Close())
}

// How long tests wait for other processes, and how often they look.
const (
	waiting = time.Minute
	poll    = 2 * time.Millisecond
)
