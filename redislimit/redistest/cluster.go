//go:build unix

package redistest

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"
)

// slots is how many a cluster has.
const slots = 16384

// Cluster is a Redis Cluster of primaries without replicas.
type Cluster struct {
	Nodes []*Server // each has an equal range of slots, in order
	ids   []string
}

// StartCluster runs n nodes until the test ends, and returns when each of them knows all slots.
func StartCluster(t testing.TB, n int) *Cluster {
	t.Helper()
	c := &Cluster{}
	for i := range n {
		node := Start(t, "--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--cluster-require-full-coverage", "no")
		node.Command(t, "CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(i*slots/n), strconv.Itoa((i+1)*slots/n-1))
		node.Command(t, "CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1))
		c.Nodes = append(c.Nodes, node)
		c.ids = append(c.ids, node.Command(t, "CLUSTER", "MYID"))
	}
	for _, node := range c.Nodes[1:] {
		host, port, _ := net.SplitHostPort(node.Addr)
		c.Nodes[0].Command(t, "CLUSTER", "MEET", host, port)
	}
	for _, node := range c.Nodes {
		Until(t, func() bool {
			info := node.Command(t, "CLUSTER", "INFO")
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, fmt.Sprintf("cluster_slots_ok:%d", slots)) &&
				strings.Contains(info, fmt.Sprintf("cluster_known_nodes:%d", n))
		})
	}
	return c
}

// Node returns the number of the node that had the slot from the start.
func (c *Cluster) Node(slot int) int { return slot * len(c.Nodes) / slots }

// BeginMove marks a slot as on its way to another node: keys that the first one holds are asked for there, others at the second.
func (c *Cluster) BeginMove(t testing.TB, slot, to int) {
	t.Helper()
	from := c.Node(slot)
	c.Nodes[to].Command(t, "CLUSTER", "SETSLOT", strconv.Itoa(slot), "IMPORTING", c.ids[from])
	c.Nodes[from].Command(t, "CLUSTER", "SETSLOT", strconv.Itoa(slot), "MIGRATING", c.ids[to])
}

// MoveKey moves one key of a slot on its way.
func (c *Cluster) MoveKey(t testing.TB, slot, to int, key string) {
	t.Helper()
	host, port, _ := net.SplitHostPort(c.Nodes[to].Addr)
	c.Nodes[c.Node(slot)].Command(t, "MIGRATE", host, port, key, "0", "5000")
}

// EndMove gives the slot to the other node for good.
func (c *Cluster) EndMove(t testing.TB, slot, to int) {
	t.Helper()
	for _, node := range []*Server{c.Nodes[to], c.Nodes[c.Node(slot)]} {
		node.Command(t, "CLUSTER", "SETSLOT", strconv.Itoa(slot), "NODE", c.ids[to])
	}
}

// Until returns when ok says so. It looks every few milliseconds, and fails the test after half a minute.
func Until(t testing.TB, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range 6000 {
		if ok() {
			return
		}
		<-tick.C
	}
	t.Fatal("it has not come to pass in 30 s")
}
