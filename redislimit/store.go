package redislimit

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/casgate/ratelimit"
)

// Server runs scripts: the one thing that a Store needs of a Redis client. It must be safe for concurrent use, send to
// primaries only, give up when ctx does, and not retry.
type Server interface {
	// Eval runs the script by EVALSHA, or by EVAL where the server doesn't know it, and returns its reply, integers.
	Eval(ctx context.Context, script *Script, keys, args []string) ([]int64, error)
}

// ErrOpen is the error of a decision that didn't ask the server because it hadn't been answering.
var ErrOpen = errors.New("redislimit: the server is not being asked: it did not answer")

// Store is one Redis, single, Sentinel or Cluster, that limiters keep their state in.
type Store struct {
	server   Server
	config   Config
	script   *Script
	macs     sync.Pool // of keyed hashes
	breakers []*breaker
	fleet    *fleet
	debts    debts
	counters counters
	warned   atomic.Int64 // the instant of the last warning, ns

	disconnect func() // nil if the connection isn't the store's own

	mu       sync.Mutex
	limiters []*Limiter
}

// New returns a store on server. The error wraps ratelimit.ErrInvalidConfig and names the field, the value and the bound.
// Close it when no limiter uses it any more.
func New(server Server, c Config) (*Store, error) {
	if server == nil {
		return nil, fmt.Errorf("%w: Server: must not be nil", ratelimit.ErrInvalidConfig)
	}
	if err := c.complete(); err != nil {
		return nil, err
	}
	s := &Store{server: server, config: c, script: takeScript}
	s.macs.New = func() any { return hmac.New(sha256.New, s.config.Secret) }
	s.breakers = make([]*breaker, 1)
	if c.Cluster {
		s.breakers = make([]*breaker, slots/slotsPerBreaker)
	}
	for i := range s.breakers {
		s.breakers[i] = s.newBreaker()
	}
	s.debts.store = s
	s.warned.Store(math.MinInt64)
	s.fleet = newFleet(s)
	return s, nil
}

// Close gives leased tokens back and ends what runs in the background. Limiters go on answering, by the outage policy.
func (s *Store) Close() {
	s.mu.Lock()
	limiters := s.limiters
	s.mu.Unlock()
	for _, l := range limiters {
		if l.leases != nil {
			l.leases.close()
		}
	}
	for _, b := range s.breakers {
		b.close()
	}
	s.debts.close()
	s.fleet.close()
	if s.disconnect != nil {
		s.disconnect()
	}
}

// client is a client's key on its way to the server: hashed, so that credentials don't leave the process and no byte of
// a key can break the hash tag.
type client struct {
	tag     string // 32 hex digits; all rules of one client have it as their hash tag, hence are on one node of a Cluster
	hash    uint64
	breaker *breaker
}

func (s *Store) client(key string) client {
	mac := s.macs.Get().(hash.Hash)
	mac.Reset()
	mac.Write([]byte(key))
	var sum [sha256.Size]byte
	mac.Sum(sum[:0])
	s.macs.Put(mac)
	c := client{tag: hex.EncodeToString(sum[:16]), hash: binary.LittleEndian.Uint64(sum[:])}
	c.breaker = s.breakers[0]
	if len(s.breakers) > 1 {
		c.breaker = s.breakers[slotOf(c.tag)/slotsPerBreaker]
	}
	return c
}

// key is the server's key for a client under the rule of that name.
func (s *Store) key(c client, rule string) string {
	return s.config.Prefix + ":{" + c.tag + "}:" + rule
}

// eval runs the script on the keys of one or more rules, within the budget, if b lets it.
func (s *Store) eval(ctx context.Context, b *breaker, keys, args []string) ([]int64, error) {
	if b.open() {
		s.counters.open.Add(1)
		return nil, ErrOpen
	}
	reply, err := s.call(ctx, keys, args)
	switch {
	case err == nil:
		b.succeeded()
	case ctx.Err() != nil: // the caller gave up; that says nothing of the server
	default:
		if b.failed(keys[0]) {
			s.warn("the server does not answer; deciding without it until it does", err)
		} else {
			s.warn("a call failed", err)
		}
	}
	return reply, err
}

// call runs the script within the budget, whatever the breaker says.
func (s *Store) call(ctx context.Context, keys, args []string) ([]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.Budget)
	defer cancel()
	start := s.config.Clock.NanoTime()
	reply, err := s.server.Eval(ctx, s.script, keys, args)
	if err == nil && len(reply) != replyLen*len(keys) {
		err = fmt.Errorf("%w: %d integers for %d rules", errReply, len(reply), len(keys))
	}
	s.counters.called(err)
	if s.config.Observe != nil {
		s.config.Observe(time.Duration(s.config.Clock.NanoTime()-start), err)
	}
	return reply, err
}
