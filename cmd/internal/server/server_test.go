package server

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// serve starts a server for h on a port of its own.
func serve(t *testing.T, c Config) (s *Server, address string) {
	t.Helper()
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s = New(c)
	l, err := Listen("127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.Stop(ctx)
		require.NoError(t, <-done)
	})
	return s, l.Addr().String()
}

// lines is a writer to a channel.
type lines chan string

func (l lines) Write(p []byte) (int, error) { l <- string(p); return len(p), nil }

// What net/http has to say of clients is for debugging. A panic is ours, and is told whatever the log's level.
func TestPanicsAreLogged(t *testing.T) {
	log := make(lines, 9)
	_, address := serve(t, Config{
		Log:     slog.New(slog.NewTextHandler(log, nil)),
		Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("at the handler's own fault") }),
	})
	_, err := http.Get("http://" + address)
	require.Error(t, err)
	line := <-log
	require.Contains(t, line, "level=ERROR")
	require.Contains(t, line, "at the handler's own fault")
}

// Clients that keep their connections, and are never told to close one after they have sent a request on it.
func TestStopUnderLoadCutsNoRequest(t *testing.T) {
	s, address := serve(t, Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "ok")
	})})
	const clients = 20
	var answered atomic.Int64
	var busy, ended sync.WaitGroup
	busy.Add(clients)
	cut := make(chan error, clients)
	for range clients {
		ended.Go(func() {
			warm := sync.OnceFunc(busy.Done)
			defer warm()
			for served := 0; ; {
				conn, err := net.Dial("tcp", address)
				if errors.Is(err, syscall.ECONNREFUSED) && served > 0 {
					return // the server has gone, and no request was sent
				}
				if err != nil {
					cut <- err
					return
				}
				n, err := exchange(conn, func() {
					answered.Add(1)
					if served++; served == 50 {
						warm()
					}
				})
				// A fresh connection that the listener took with it has carried no answered request.
				if err != nil && (n > 0 || !errors.Is(err, syscall.ECONNRESET)) {
					cut <- err
					return
				}
			}
		})
	}
	busy.Wait()
	require.NoError(t, s.Stop(t.Context()))
	ended.Wait()
	close(cut)
	require.NoError(t, <-cut)
	require.GreaterOrEqual(t, answered.Load(), int64(clients*50))
}

// exchange sends requests on conn until the server asks to close, and returns how many were answered.
func exchange(conn net.Conn, answered func()) (n int, err error) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	for ; ; n++ {
		if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			return n, err
		}
		response, err := http.ReadResponse(r, nil)
		if err != nil {
			return n, err
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			return n, err
		}
		answered()
		if response.Close {
			return n, nil
		}
	}
}

func TestStopWaitsForRequests(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	s, address := serve(t, Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-release
		_, _ = io.WriteString(w, "done")
	})})
	body := make(chan string, 1)
	go func() {
		response, err := http.Get("http://" + address)
		if err != nil {
			body <- err.Error()
			return
		}
		defer response.Body.Close()
		b, _ := io.ReadAll(response.Body)
		body <- string(b)
	}()
	<-entered
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(t.Context()) }()
	require.Eventually(t, func() bool { // the listener is closed while the request goes on
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	}, time.Minute, time.Millisecond)
	close(release)
	require.Equal(t, "done", <-body)
	require.NoError(t, <-stopped)
}

// hijack takes the connection over until the request's context ends or the client closes.
func hijack(t *testing.T, entered chan<- struct{}) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		stop := context.AfterFunc(r.Context(), func() { _ = conn.Close() })
		defer stop()
		close(entered)
		_, _ = io.Copy(io.Discard, conn)
	})
}

func upgrade(t *testing.T, address string) net.Conn {
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	require.NoError(t, err)
	return conn
}

func TestStopWaitsForUpgradedConnections(t *testing.T) {
	entered := make(chan struct{})
	s, address := serve(t, Config{Handler: hijack(t, entered)})
	conn := upgrade(t, address)
	<-entered
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(t.Context()) }()
	require.NoError(t, conn.Close())
	require.NoError(t, <-stopped)
}

func TestGraceEndsUpgradedConnections(t *testing.T) {
	entered := make(chan struct{})
	s, address := serve(t, Config{Grace: time.Millisecond, Handler: hijack(t, entered)})
	conn := upgrade(t, address)
	<-entered
	require.ErrorContains(t, s.Stop(t.Context()), "still under way")
	_, err := conn.Read(make([]byte, 1))
	require.Error(t, err, "the server has closed it")
}

func TestStopWaitsForSilentConnectionsToClose(t *testing.T) {
	s, address := serve(t, Config{Handler: http.NotFoundHandler()})
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(t.Context()) }()
	require.NoError(t, conn.Close())
	require.NoError(t, <-stopped)
	require.Zero(t, s.open.Load())
}

func TestDrainStillAccepts(t *testing.T) {
	s, address := serve(t, Config{Drain: time.Hour, Handler: http.NotFoundHandler()})
	ctx, hurry := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(ctx) }()
	require.Eventually(t, s.stopping.Load, time.Minute, time.Millisecond)
	response, err := http.Get("http://" + address)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.True(t, response.Close, "the client is told to close")
	hurry()
	<-stopped
}

func TestHTTP2ClientsAreSentAway(t *testing.T) {
	s, address := serve(t, Config{Drain: time.Hour, Handler: http.NotFoundHandler()})
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport}
	get := func() {
		response, err := client.Get("http://" + address)
		require.NoError(t, err)
		require.Equal(t, 2, response.ProtoMajor)
		require.NoError(t, response.Body.Close())
	}
	get()
	require.Equal(t, int64(1), s.open.Load())
	ctx, hurry := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(ctx) }()
	require.Eventually(t, s.stopping.Load, time.Minute, time.Millisecond)
	get()
	require.Eventually(t, func() bool { return s.open.Load() == 0 }, time.Minute, time.Millisecond, "the connection ends after its answer")
	hurry()
	<-stopped
}
