//go:build unix

// Package redistest starts real redis-servers on loopback, for tests: single ones, clusters, and pairs with sentinels.
package redistest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Server is a running redis-server.
type Server struct {
	Addr string // host:port
	dir  string
	args []string
	cmd  *exec.Cmd
}

// Start runs a redis-server on a free port until the test ends, with nothing persisted. It skips the test if
// there is no redis-server, unless RATELIMIT_SKIP is "never".
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("RATELIMIT_SKIP") == "never" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	s := &Server{dir: t.TempDir(), args: args}
	var err error
	for range 5 { // somebody else can take the port before the server does
		s.Addr = freeAddr(t)
		if err = s.run(); err == nil {
			t.Cleanup(s.Kill)
			return s
		}
	}
	t.Fatal(err)
	return nil
}

// Run starts the server, which isn't running, on its port, and returns when it accepts connections.
func (s *Server) Run(t testing.TB) {
	t.Helper()
	if err := s.run(); err != nil {
		t.Fatal(err)
	}
}

func (s *Server) run() error {
	_, port, _ := net.SplitHostPort(s.Addr)
	args := append(slices.Clone(s.args), "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", s.dir)
	s.cmd = exec.Command("redis-server", args...)
	s.cmd.SysProcAttr = dieWithParent()
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(out)
	var said []string
	for lines.Scan() {
		said = append(said, lines.Text())
		if strings.Contains(lines.Text(), "eady to accept connections") || strings.Contains(lines.Text(), "+monitor master") {
			go func() { // so that the server never blocks on its log
				for lines.Scan() {
				}
			}()
			return nil
		}
	}
	_ = s.cmd.Wait()
	return fmt.Errorf("redis-server ended:\n%s", strings.Join(said, "\n"))
}

// Kill ends the server at once (SIGKILL); what it held is gone.
func (s *Server) Kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// Pause stops the server (SIGSTOP): connections stay open and nothing answers.
func (s *Server) Pause() { _ = s.cmd.Process.Signal(syscall.SIGSTOP) }

// Resume lets a paused server go on.
func (s *Server) Resume() { _ = s.cmd.Process.Signal(syscall.SIGCONT) }

// freeAddr returns an address whose port, and the one 10,000 above it, which a cluster's node listens on too, are free.
func freeAddr(t testing.TB) string {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		addr := l.Addr().(*net.TCPAddr)
		if bus, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", addr.Port+10_000)); err == nil {
			bus.Close()
			return addr.String()
		}
	}
	t.Fatal("no free port")
	return ""
}

// Command sends one command and returns the answer as it came, without its last line's end. It fails the test if that is an
// error.
func (s *Server) Command(t testing.TB, words ...string) string {
	t.Helper()
	answer, err := s.Try(words...)
	if err != nil {
		t.Fatalf("%s: %v: %v", s.Addr, words, err)
	}
	return answer
}

// Try is Command whose error is returned. Simple and bulk answers are understood.
func (s *Server) Try(words ...string) (string, error) {
	c, err := net.DialTimeout("tcp", s.Addr, time.Second)
	if err != nil {
		return "", err
	}
	defer c.Close()
	fmt.Fprintf(c, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(c, "$%d\r\n%s\r\n", len(w), w)
	}
	in := bufio.NewReader(c)
	head, err := in.ReadString('\n')
	if err != nil {
		return "", err
	}
	head = strings.TrimRight(head, "\r\n")
	switch {
	case head[0] == '-':
		return "", errors.New(head[1:])
	case head[0] == '$' && head != "$-1":
		n, _ := strconv.Atoi(head[1:])
		body := make([]byte, n)
		_, err := io.ReadFull(in, body)
		return string(body), err
	}
	return head[1:], nil
}

// CPU is the processor time that the server has used, by the kernel's count.
func (s *Server) CPU(t testing.TB) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')'):]))
	user, _ := strconv.Atoi(fields[12])
	system, _ := strconv.Atoi(fields[13])
	return time.Duration(user+system) * 10 * time.Millisecond
}
