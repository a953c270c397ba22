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
	// AssumedServers is how many servers a fleet is taken to have until it is known: too many refuses too much in an
	// outage at the start, too few would allow too much.
	AssumedServers = 10
)

// heartbeatScript notes that a server lives and counts those that do. KEYS: the fleet's. ARGV: the server's id. A server
// that hasn't been heard of for five seconds doesn't count; the set goes with the last one.
var heartbeatScript = newScript(`local t = redis.call('TIME')
redis.call('ZADD', KEYS[1], t[1], ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', t[1] - 5)
redis.call('EXPIRE', KEYS[1], 10)
return {redis.call('ZCARD', KEYS[1])}`)

// fleet knows how many servers share the store's limits: from Config.Servers, or from heartbeats through the server,
// learnt while it can be reached and kept when it can't.
type fleet struct {
	store *Store
	id    string
	count atomic.Int64
	done  chan struct{}
	ended chan struct{}
}

func newFleet(s *Store) *fleet {
	f := &fleet{store: s, done: make(chan struct{}), ended: make(chan struct{})}
	if s.config.Servers > 0 {
		f.count.Store(int64(s.config.Servers))
		close(f.ended)
		return f
	}
	f.count.Store(AssumedServers)
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	f.id = hex.EncodeToString(id[:])
	f.beat()
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
		select {
		case <-f.done:
			return
		case <-ticker.C:
			f.beat()
		}
	}
}

func (f *fleet) beat() {
	ctx, cancel := context.WithTimeout(context.Background(), heartbeatEvery)
	defer cancel()
	reply, err := f.store.server.Eval(ctx, heartbeatScript, []string{f.store.config.Prefix + ":{fleet}"}, []string{f.id})
	if err == nil && len(reply) == 1 && reply[0] > 0 {
		f.count.Store(reply[0])
	}
}

func (f *fleet) close() {
	select {
	case <-f.ended:
	default:
		close(f.done)
		<-f.ended
	}
}
