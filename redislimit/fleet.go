package redislimit

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"sync/atomic"
	"time"
)

const (
	heartbeatEvery = time.Second
	// heartbeats is for how many of them a server counts that isn't heard of any more, and a count that has fallen is
	// not yet believed: a server that has lost its memory counts fewer at first.
	heartbeats = 5
	// AssumedServers is how many servers a fleet is taken to have, at least, until it is known, and in the first five
	// seconds: too many refuses too much in an outage at the start, too few would allow too much.
	AssumedServers = 10
)

// heartbeatScript notes that a server lives and counts those that do. KEYS: the fleet's. ARGV: the server's id, and for
// how many seconds one lives that isn't heard of. The set goes with the last one.
var heartbeatScript = newScript(`local t = redis.call('TIME')
redis.call('ZADD', KEYS[1], t[1], ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', t[1] - ARGV[2])
redis.call('EXPIRE', KEYS[1], 2 * ARGV[2])
return {redis.call('ZCARD', KEYS[1])}`)

// fleet knows how many servers share the store's limits: from Config.Servers, or from heartbeats through the server,
// learnt while it can be reached and kept when it can't.
type fleet struct {
	store  *Store
	id     string
	count  atomic.Int64
	recent [heartbeats]int64 // counts, the last one first; only run uses it
	done   chan struct{}
	ended  chan struct{}
}

func newFleet(s *Store) *fleet {
	f := &fleet{store: s, done: make(chan struct{}), ended: make(chan struct{})}
	if s.config.Servers > 0 {
		f.count.Store(int64(s.config.Servers))
		close(f.ended)
		return f
	}
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	f.id = hex.EncodeToString(id[:])
	for i := range f.recent {
		f.recent[i] = AssumedServers
	}
	f.count.Store(AssumedServers)
	go f.run()
	return f
}

// size is the number of servers, at least 1.
func (f *fleet) size() int { return int(f.count.Load()) }

func (f *fleet) run() {
	defer close(f.ended)
	ticker := time.NewTicker(heartbeatEvery)
	defer ticker.Stop()
	for {
		f.beat()
		select {
		case <-f.done:
			return
		case <-ticker.C:
		}
	}
}

// beat says that this server lives, and counts all that do; the largest of the last counts is believed.
func (f *fleet) beat() {
	ctx, cancel := context.WithTimeout(context.Background(), heartbeatEvery)
	defer cancel()
	reply, err := f.store.server.Eval(ctx, heartbeatScript, []string{f.store.config.Prefix + ":{fleet}"}, []string{f.id, "5"})
	if err != nil || len(reply) != 1 || reply[0] <= 0 {
		return
	}
	copy(f.recent[1:], f.recent[:])
	f.recent[0] = min(reply[0], MaxServers)
	most := int64(1)
	for _, n := range f.recent {
		most = max(most, n)
	}
	f.count.Store(most)
}

func (f *fleet) close() {
	select {
	case <-f.ended:
	default:
		close(f.done)
		<-f.ended
	}
}
