package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Clients post all the time, so that none of their requests is repeated by itself; the process is told to end.
func TestTermUnderLoadCutsNoRequest(t *testing.T) {
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	}))
	defer app.Close()
	c := spawn(t, "proxy", "--limit", "1000000/s", "--upstream", app.URL)
	const clients = 16
	var answered atomic.Int64
	var busy, ended sync.WaitGroup
	busy.Add(clients)
	cut := make(chan error, clients)
	for i := range clients {
		transport := &http.Transport{Protocols: new(http.Protocols)}
		transport.Protocols.SetHTTP1(i%2 == 0)
		transport.Protocols.SetUnencryptedHTTP2(i%2 == 1)
		defer transport.CloseIdleConnections()
		client := &http.Client{Transport: transport}
		ended.Go(func() {
			warm := sync.OnceFunc(busy.Done)
			defer warm()
			for n := 0; ; n++ {
				text := fmt.Sprintf("request %d of client %d", n, i)
				response, err := client.Post(c.url, "text/plain", io.NopCloser(strings.NewReader(text)))
				if gone(err) && n > 0 {
					return // nobody listens any more, and nothing was sent
				}
				if err != nil {
					cut <- err
					return
				}
				body, err := io.ReadAll(response.Body)
				_ = response.Body.Close()
				if err != nil || string(body) != text {
					cut <- fmt.Errorf("%q: %w", body, err)
					return
				}
				answered.Add(1)
				if n == 50 {
					warm()
				}
			}
		})
	}
	busy.Wait()
	require.Equal(t, exitDone, c.terminate(t), c.err)
	ended.Wait()
	close(cut)
	require.NoError(t, <-cut)
	require.Contains(t, c.err.String(), "msg=stopped\n", "within its grace")
	require.GreaterOrEqual(t, answered.Load(), int64(clients*50))
}

// gone reports whether a request failed because no connection could be made, or because one that was just made was
// dropped by the kernel before the process had accepted it.
func gone(err error) bool {
	var op *net.OpError
	return errors.Is(err, syscall.ECONNREFUSED) || errors.As(err, &op) && op.Op == "dial"
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	app := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(entered)
		<-release
	}))
	defer app.Close()
	defer close(release)
	c := spawn(t, "proxy", "--limit", "10/s", "--upstream", app.URL)
	go func() {
		if response, err := http.Get(c.url); err == nil {
			_ = drain(response.Body)
		}
	}()
	<-entered
	require.NoError(t, c.cmd.Process.Signal(os.Interrupt))
	_, ok := c.err.wait("msg=stopping")
	require.True(t, ok)
	require.Equal(t, -1, c.terminate(t), "killed by the signal")
}

// systemd opens the sockets, is told when the service is ready and when it stops, and keeps what connects between two
// processes.
func TestSystemd(t *testing.T) {
	shell := need(t, "sh")
	dir := t.TempDir()
	notify, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "notify"), Net: "unixgram"})
	require.NoError(t, err)
	defer notify.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	socket, err := listener.(*net.TCPListener).File()
	require.NoError(t, err)
	defer socket.Close()
	url := "http://" + listener.Addr().String()

	begin := func() *child {
		c := prepare("run")
		// LISTEN_PID must be the process's own, which only it knows.
		c.cmd = exec.Command(shell, "-c", `LISTEN_PID=$$ exec "$0" "$@"`, os.Args[0], "proxy", "--limit", "100/s", "--listen", "systemd:web", "--admin", "off")
		c.cmd.Env = append(os.Environ(), childEnv+"=run", "LISTEN_FDS=1", "LISTEN_FDNAMES=web", "NOTIFY_SOCKET="+notify.LocalAddr().String())
		c.cmd.ExtraFiles = []*os.File{socket}
		c.cmd.Stdout, c.cmd.Stderr = c.out, c.err
		c.start(t)
		return c
	}
	told := func() string {
		b := make([]byte, 1024)
		n, err := notify.Read(b)
		require.NoError(t, err)
		return string(b[:n])
	}
	first := begin()
	require.Contains(t, told(), "READY=1\nSTATUS=serving "+url)
	response, _ := get(t, url)
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Equal(t, exitDone, first.terminate(t))
	require.Equal(t, "STOPPING=1", told())

	conn, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err, "between the two, clients wait")
	defer conn.Close()
	_, err = io.WriteString(conn, "GET / HTTP/1.0\r\n\r\n")
	require.NoError(t, err)
	second := begin()
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Contains(t, string(answer), "200 OK")
	require.Equal(t, exitDone, second.terminate(t))
}

func TestProxyOnUnixSocket(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "proxy.sock")
	c := prepare("run", "proxy", "--limit", "1/minute", "--listen", "unix:"+socket, "--admin", "off", "--trusted-proxy", "unix")
	c.start(t)
	client := &http.Client{Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", socket) },
	}}
	defer client.CloseIdleConnections()
	for _, want := range []struct {
		from   string
		status int
	}{{"192.0.2.1", 200}, {"192.0.2.1", 429}, {"192.0.2.2", 200}} {
		require.Equal(t, want.status, statusFrom(t, client, "http://proxy/", want.from))
	}
	require.Equal(t, exitDone, c.terminate(t))
	_, err := os.Stat(socket)
	require.True(t, os.IsNotExist(err), "it takes its socket with it")
}

// Rules from stdin can't be read again: they are neither looked for as a file, nor lost when a reload is asked for.
func TestRulesFromStdin(t *testing.T) {
	c := prepare("run", "proxy", "--config", "-", "--listen", "127.0.0.1:0", "--admin", "off")
	c.cmd.Stdin = strings.NewReader("rules:\n- {name: a, key: ip, limit: 1/minute}\n")
	c.start(t)
	require.NoError(t, c.cmd.Process.Signal(syscall.SIGHUP))
	_, ok := c.err.wait("level=(WARN|ERROR).*")
	require.True(t, ok)
	require.Contains(t, c.err.String(), "came from stdin")
	require.Equal(t, exitDone, c.terminate(t))
	require.NotContains(t, c.err.String(), "no such file")
}

// Nobody on a socket has an address, which is said where nobody is trusted to tell one.
func TestUnixSocketWithoutTrust(t *testing.T) {
	for _, trusted := range []bool{false, true} {
		args := []string{"proxy", "--limit", "1/minute", "--listen", "unix:" + filepath.Join(t.TempDir(), "proxy.sock")}
		if trusted {
			args = append(args, "--trusted-proxy", "unix")
		}
		p := start(t, nil, args...)
		p.end()
		require.Equal(t, !trusted, strings.Contains(p.err.String(), "who connects to a unix socket has no address"))
	}
}

func TestDrainAndGraceFlags(t *testing.T) {
	c := spawn(t, "proxy", "--limit", "10/s", "--drain", "1ms", "--grace", "1s")
	require.Equal(t, exitDone, c.terminate(t))
	require.Contains(t, c.err.String(), "grace=1s")
}
