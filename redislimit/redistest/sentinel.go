//go:build unix

package redistest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Pair is a primary and a replica, with a sentinel that watches them under the name "pair".
type Pair struct {
	Primary, Replica, Sentinel *Server
}

// StartPair runs the three until the test ends, and returns when the replica is in step and the sentinel knows it.
func StartPair(t testing.TB) *Pair {
	t.Helper()
	p := &Pair{Primary: Start(t, "--repl-diskless-sync-delay", "0")}
	host, port, _ := net.SplitHostPort(p.Primary.Addr)
	p.Replica = Start(t, "--replicaof", host+" "+port)
	Until(t, func() bool {
		return strings.Contains(p.Replica.Command(t, "INFO", "replication"), "master_link_status:up")
	})
	file := filepath.Join(t.TempDir(), "sentinel.conf")
	text := fmt.Sprintf("sentinel monitor pair %s %s 1\nsentinel down-after-milliseconds pair 500\nsentinel failover-timeout pair 2000\n", host, port)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p.Sentinel = Start(t, file, "--sentinel")
	Until(t, func() bool {
		return strings.Contains(p.Sentinel.Command(t, "INFO", "sentinel"), "slaves=1")
	})
	return p
}
