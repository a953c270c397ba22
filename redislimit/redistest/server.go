// Package redistest starts real redis-servers on loopback, for tests.
package redistest

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
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
	s := &Server{Addr: freeAddr(t), dir: t.TempDir(), args: args}
	s.Run(t)
	t.Cleanup(s.Kill)
	return s
}

// Run starts the server, which isn't running, on its port, and returns when it accepts connections.
func (s *Server) Run(t testing.TB) {
	t.Helper()
	_, port, _ := net.SplitHostPort(s.Addr)
	args := append([]string{"--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", s.dir}, s.args...)
	s.cmd = exec.Command("redis-server", args...)
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	var said []string
	for lines.Scan() {
		said = append(said, lines.Text())
		if strings.Contains(lines.Text(), "eady to accept connections") {
			go func() { // so that the server never blocks on its log
				for lines.Scan() {
				}
			}()
			return
		}
	}
	t.Fatalf("redis-server ended:\n%s", strings.Join(said, "\n"))
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

func freeAddr(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return fmt.Sprint(l.Addr())
}

// Command sends one command and fails the test if the server answers with an error.
func (s *Server) Command(t testing.TB, words ...string) {
	t.Helper()
	c, err := net.Dial("tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(c, "$%d\r\n%s\r\n", len(w), w)
	}
	answer, err := bufio.NewReader(c).ReadString('\n')
	if err != nil || strings.HasPrefix(answer, "-") {
		t.Fatalf("%v: %q, %v", words, answer, err)
	}
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
