package upstream

import (
	"bufio"
	"bytes"
	"encoding/pem"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func nobody(*http.Request) bool    { return false }
func everybody(*http.Request) bool { return true }

// front serves a router to targets, behind a middleware that sets a field of its own.
func front(t *testing.T, believed func(*http.Request) bool, targets ...Target) (url string, log *bytes.Buffer) {
	t.Helper()
	log = new(bytes.Buffer)
	router, err := NewRouter(targets, believed, slog.New(slog.NewTextHandler(log, nil)))
	require.NoError(t, err)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-RateLimit-Limit", "100")
		router.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { s.Close(); router.closeIdle() })
	return s.URL, log
}

func back(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func get(t *testing.T, url string, fields ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	require.NoError(t, err)
	for i := 0; i < len(fields); i += 2 {
		r.Header.Add(fields[i], fields[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response, string(body)
}

func TestUpstreamDown(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	url, log := front(t, nobody, Target{URL: "http://" + l.Addr().String()})
	require.NoError(t, l.Close())
	for range 3 {
		response, body := get(t, url)
		require.Equal(t, http.StatusBadGateway, response.StatusCode)
		require.Equal(t, "502: the upstream can't be reached\n", body)
		require.Equal(t, "100", response.Header.Get("X-RateLimit-Limit"), "the token was taken, and the client is told")
	}
	require.Contains(t, log.String(), "nothing listens there")
	require.LessOrEqual(t, strings.Count(log.String(), "\n"), 2, "an outage doesn't flood the log")
}

func TestUpstreamSlow(t *testing.T) {
	release := make(chan struct{})
	target := Target{Timeout: 20 * time.Millisecond, URL: back(t, func(http.ResponseWriter, *http.Request) { <-release })}
	defer close(release)
	url, log := front(t, nobody, target)
	response, _ := get(t, url)
	require.Equal(t, http.StatusGatewayTimeout, response.StatusCode)
	require.Contains(t, log.String(), "slow or stuck")
}

func TestStreamsPassAtOnce(t *testing.T) {
	next := make(chan struct{})
	url, _ := front(t, nobody, Target{URL: back(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range 3 {
			_, _ = io.WriteString(w, "data: tick\n\n")
			w.(http.Flusher).Flush()
			<-next
		}
	})})
	response, err := http.Get(url)
	require.NoError(t, err)
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for range 3 {
		require.True(t, lines.Scan())
		require.Equal(t, "data: tick", lines.Text())
		require.True(t, lines.Scan())
		next <- struct{}{} // the server goes on only after the client has read: nothing waits in a buffer
	}
	require.False(t, lines.Scan())
}

func TestUpgradePassesThrough(t *testing.T) {
	url, _ := front(t, nobody, Target{URL: back(t, func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(rw, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+r.Header.Get("Upgrade")+"\r\n\r\n")
		_ = rw.Flush()
		_, _ = io.Copy(conn, rw) // echoes until the client closes
	})})
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "GET /chat HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	require.NoError(t, err)
	r := bufio.NewReader(conn)
	response, err := http.ReadResponse(r, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusSwitchingProtocols, response.StatusCode)
	require.Equal(t, "100", response.Header.Get("X-RateLimit-Limit"))
	_, err = io.WriteString(conn, "hello\n")
	require.NoError(t, err)
	line, err := r.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "hello\n", line)
}

// A connection that speaks HTTP again after its first request would carry others past the limits.
func TestOnlyWebSocketsAreUpgrades(t *testing.T) {
	url, _ := front(t, nobody, Target{URL: back(t, Echo().ServeHTTP)})
	for _, upgrade := range []string{"h2c", "HTTP/2.0", "TLS/1.2", "websocket, h2c"} {
		response, body := get(t, url, "Connection", "Upgrade", "Upgrade", upgrade, "HTTP2-Settings", "AAMAAABkAAQAoAAAAAIAAAAA")
		require.Equal(t, http.StatusOK, response.StatusCode)
		require.NotContains(t, body, "Upgrade", upgrade)
		require.NotContains(t, body, "Http2-Settings", upgrade)
	}
	_, body := get(t, url, "Connection", "Upgrade", "Upgrade", "WebSocket")
	require.Contains(t, body, "Upgrade: WebSocket")
}

// A body that breaks off is its client's fault. A 502 would blame the upstream, and give the tokens back where a rule says
// so of 5xx.
func TestBodyThatBreaks(t *testing.T) {
	url, log := front(t, nobody, Target{URL: back(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })})
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nno length\r\n")
	require.NoError(t, err)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusBadRequest, response.StatusCode)
	require.Empty(t, log.String())

	response, err = http.Post(url, "text/plain", strings.NewReader("whole"))
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode)
}

func TestForwardedFields(t *testing.T) {
	target := Target{URL: back(t, Echo().ServeHTTP)}
	forged := []string{"X-Forwarded-For", "192.0.2.7", "X-Forwarded-Host", "a.example", "X-Real-IP", "192.0.2.7", "Forwarded", "for=192.0.2.7",
		"CF-Connecting-IP", "192.0.2.7", "True-Client-IP", "192.0.2.7", "X-Forwarded-Server", "a.example"}

	url, _ := front(t, nobody, target)
	_, body := get(t, url, forged...)
	require.Contains(t, body, "X-Forwarded-For: 127.0.0.1\n", "what a stranger says is dropped")
	require.NotContains(t, body, "192.0.2.7")
	require.NotContains(t, body, "a.example")
	require.Contains(t, body, "X-Forwarded-Proto: http\n")

	url, _ = front(t, everybody, target)
	_, body = get(t, url, forged...)
	require.Contains(t, body, "X-Forwarded-For: 192.0.2.7, 127.0.0.1\n", "what our own proxy says is kept")
	require.Contains(t, body, "X-Forwarded-Host: a.example\n")
	require.Contains(t, body, "Forwarded: for=192.0.2.7\n")
	require.Contains(t, body, "Cf-Connecting-Ip: 192.0.2.7\n")

	router, err := NewRouter([]Target{target}, everybody, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = "@" // a peer on a Unix socket
	r.Header.Set("X-Forwarded-For", "192.0.2.7")
	w := httptest.NewRecorder()
	router.ServeHTTP(w, r)
	require.Contains(t, w.Body.String(), "X-Forwarded-For: 192.0.2.7\n")
}

func TestWaysToAnUpstream(t *testing.T) {
	echo := httptest.NewTLSServer(Echo())
	t.Cleanup(echo.Close)
	dir := t.TempDir()
	ca := filepath.Join(dir, "ca.pem")
	require.NoError(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: echo.Certificate().Raw}), 0o600))

	socket := filepath.Join(dir, "app.sock")
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	overSocket := &httptest.Server{Listener: l, Config: &http.Server{Handler: Echo()}}
	overSocket.Start()
	t.Cleanup(overSocket.Close)

	h2c := httptest.NewUnstartedServer(Echo())
	h2c.Config.Protocols = new(http.Protocols)
	h2c.Config.Protocols.SetUnencryptedHTTP2(true)
	h2c.Start()
	t.Cleanup(h2c.Close)

	for _, way := range []struct {
		name   string
		target Target
		proto  string
	}{
		{"https", Target{URL: echo.URL, CA: ca}, "HTTP/1.1"},
		{"unix", Target{URL: "unix:" + socket}, "HTTP/1.1"},
		{"h2c", Target{URL: strings.Replace(h2c.URL, "http", "h2c", 1)}, "HTTP/2.0"},
		{"path", Target{URL: back(t, Echo().ServeHTTP) + "/base"}, "HTTP/1.1"},
	} {
		t.Run(way.name, func(t *testing.T) {
			url, _ := front(t, nobody, way.target)
			response, body := get(t, url+"/a%2Fb?q=1")
			require.Equal(t, http.StatusOK, response.StatusCode, body)
			want := "GET /a%2Fb?q=1 " + way.proto
			if way.name == "path" {
				want = "GET /base/a%2Fb?q=1 " + way.proto
			}
			require.Equal(t, want, strings.SplitN(body, "\n", 2)[0])
		})
	}
	t.Run("https by a stranger's certificate", func(t *testing.T) {
		url, log := front(t, nobody, Target{URL: echo.URL})
		response, _ := get(t, url)
		require.Equal(t, http.StatusBadGateway, response.StatusCode)
		require.Contains(t, log.String(), "certificate isn't accepted")
	})
}

func TestSwitchTurnsToOtherTargets(t *testing.T) {
	one, two := back(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "one") }),
		back(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "two") })
	s, err := NewSwitch([]Target{{URL: one}}, nobody, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	front := httptest.NewServer(s)
	defer front.Close()
	_, body := get(t, front.URL)
	require.Equal(t, "one", body)
	require.NoError(t, s.Set([]Target{{URL: two}}))
	_, body = get(t, front.URL)
	require.Equal(t, "two", body)
	require.Error(t, s.Set([]Target{{URL: "nonsense"}}))
	_, body = get(t, front.URL)
	require.Equal(t, "two", body, "what can't be used changes nothing")
}
