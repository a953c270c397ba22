package main

import (
	"bytes"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit/cmd/internal/upstream"
	"github.com/casgate/ratelimit/limittest"
)

// need returns the path of a program of another package. Without it the test is skipped, but not in CI.
func need(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/" + program)
	}
	if err != nil && os.Getenv("RATELIMIT_SKIP") == "never" {
		t.Fatalf("%s is missing", program)
	}
	if err != nil {
		t.Skipf("%s is missing", program)
	}
	return path
}

// freePort returns a port that nobody listens on. Another process could take it before it is used; nothing else here
// asks for ports of this kind.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	return port
}

// recipe returns a configuration of another server, with the ports that it is tested on.
func recipe(t *testing.T, name, listen, check, app string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../deploy", name))
	require.NoError(t, err)
	for _, port := range [][2]string{{"listen 8000", "listen 127.0.0.1:" + listen}, {":8000 {", "http://127.0.0.1:" + listen + " {"},
		{"127.0.0.1:8081", strings.TrimPrefix(check, "http://")}, {"127.0.0.1:3000", strings.TrimPrefix(app, "http://")}} {
		text = bytes.ReplaceAll(text, []byte(port[0]), []byte(port[1]))
	}
	return string(text)
}

// launch runs another server until the test ends, and returns once it accepts.
func launch(t *testing.T, port string, command *exec.Cmd) {
	t.Helper()
	said := newBuffer()
	command.Stdout, command.Stderr = said, said
	require.NoError(t, command.Start())
	exited := make(chan struct{})
	go func() { _ = command.Wait(); close(exited) }()
	t.Cleanup(func() {
		_ = command.Process.Signal(os.Interrupt)
		<-exited
		if t.Failed() {
			t.Logf("%s", said.String())
		}
	})
	require.Eventually(t, func() bool {
		select {
		case <-exited:
			t.Errorf("it ends: %s", said.String())
			return true
		default:
		}
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}, waiting, poll)
	require.False(t, t.Failed())
}

const askRules = `
rules:
- {name: all, key: ip, limit: 5/minute, match: [/page, POST /login]}
- {name: login, key: ip, limit: 2/minute, match: POST /login, layer: login}
- {name: closed, mode: block, match: /closed, layer: closed}
`

// askedBy starts the application and the command, and then another server by its recipe, and returns its address.
func askedBy(t *testing.T, server string, launchIt func(listen, config string)) (url string) {
	app := httptest.NewServer(upstream.Echo())
	t.Cleanup(app.Close)
	rules := filepath.Join(t.TempDir(), "rules.yaml")
	require.NoError(t, os.WriteFile(rules, []byte(askRules), 0o600))
	check := start(t, &limittest.ManualClock{}, "check", "--config", rules)
	listen := freePort(t)
	launchIt(listen, recipe(t, server, listen, check.url, app.URL))
	return "http://127.0.0.1:" + listen
}

// exercise makes requests that meet each rule of askRules, and checks what the client gets; the fields when it passes,
// too, if the server passes them on.
func exercise(t *testing.T, url string, fields bool) {
	post := func(path string) *http.Response {
		response, err := http.Post(url+path, "text/plain", strings.NewReader("a body that the question leaves out"))
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		return response
	}
	response, body := get(t, url+"/page?q=1", "X-Forwarded-For", "192.0.2.1", "X-Forwarded-Uri", "/closed", "X-Original-Uri", "/closed",
		"X-Forwarded-Method", "POST", "X-Original-Method", "POST")
	require.Equal(t, 200, response.StatusCode, "what the client says of itself is not believed")
	require.Contains(t, body, "GET /page?q=1")
	if fields {
		require.Equal(t, `"all";r=4;t=12`, response.Header.Get("RateLimit"))
		require.Equal(t, `"all";q=5;w=60`, response.Header.Get("RateLimit-Policy"))
	}

	require.Equal(t, 200, post("/login").StatusCode)
	require.Equal(t, 200, post("/login").StatusCode)
	response = post("/login")
	require.Equal(t, 429, response.StatusCode)
	require.Equal(t, "30", response.Header.Get("Retry-After"))
	require.Contains(t, response.Header.Get("RateLimit"), `"login";r=0;t=30`)

	response, _ = get(t, url+"/closed")
	require.Equal(t, 403, response.StatusCode)

	response, body = get(t, url+"/free")
	require.Equal(t, 200, response.StatusCode)
	require.Contains(t, body, "GET /free")
	require.Empty(t, response.Header["Ratelimit"], "no rule applies")

	for range 2 {
		response, _ = get(t, url+"/page")
		require.Equal(t, 200, response.StatusCode, "refused requests were not charged")
	}
	response, _ = get(t, url+"/page", "X-Forwarded-For", "192.0.2.2")
	require.Equal(t, 429, response.StatusCode)
	require.Equal(t, "12", response.Header.Get("Retry-After"))
}

func TestNginxAsks(t *testing.T) {
	nginx := need(t, "nginx")
	url := askedBy(t, "nginx.conf", func(listen, config string) {
		dir := t.TempDir()
		main := "worker_processes 1; daemon off; error_log stderr; pid nginx.pid;\n" +
			"events {}\nhttp {\naccess_log off;\n"
		if os.Geteuid() == 0 {
			main = "user root;\n" + main
		}
		for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
			main += kind + "_temp_path " + filepath.Join(dir, kind) + ";\n"
		}
		conf := filepath.Join(dir, "nginx.conf")
		require.NoError(t, os.WriteFile(conf, []byte(main+config+"}\n"), 0o600))
		launch(t, listen, exec.Command(nginx, "-p", dir, "-c", conf, "-e", "stderr"))
	})
	exercise(t, url, true)
}

func TestCaddyAsks(t *testing.T) {
	caddy := need(t, "caddy")
	url := askedBy(t, "Caddyfile", func(listen, config string) {
		dir := t.TempDir()
		conf := filepath.Join(dir, "Caddyfile")
		require.NoError(t, os.WriteFile(conf, []byte("{\n\tadmin off\n}\n"+config), 0o600))
		command := exec.Command(caddy, "run", "--config", conf, "--adapter", "caddyfile")
		command.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
		launch(t, listen, command)
	})
	exercise(t, url, true)
}

// What check can't do is said, not left to be found out.
func TestCheckRefundsNothingAndSaysSo(t *testing.T) {
	p := start(t, nil, "check", "--config", write(t, "rules:\n- {name: login, key: ip, limit: 5/m, refund: [2xx]}\n- {name: all, key: ip, limit: 5/s, layer: all}\n"))
	line, ok := p.err.wait("level=WARN msg=\"nothing is refunded here.*")
	require.True(t, ok)
	require.Contains(t, line, "rules=[login]")
}
