package redislimit

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/maphash"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/casgate/ratelimit"
)

// Server runs scripts: the one thing that a Store needs of a Redis client. It must be safe for concurrent use, send to
// primaries only, give up when ctx does, and not retry. If it also has a method Cluster() bool, that can say true instead of
// Config.Cluster, before the first call.
type Server interface {
	// Eval runs the script by EVALSHA, or by EVAL where the server doesn't know it, and returns its reply, integers. Where
	// a Cluster answers TRYAGAIN, the error wraps ErrMoving.
	Eval(ctx context.Context, script *Script, keys, args []string) ([]int64, error)
}

// ErrOpen is the error of a decision that didn't ask the server because it hadn't been answering.
var ErrOpen = errors.New("redislimit: the server is not being asked: it did not answer")

// ErrMoving is the error of a Server whose Cluster is moving a slot (TRYAGAIN): a call for several keys can't be answered
// until they are on one node. The Store asks for each key alone then.
var ErrMoving = errors.New("redislimit: the keys' slot is moving")

// Store is one Redis, single, Sentinel or Cluster, that limiters keep their state in.
type Store struct {
	server   Server
	config   Config
	lead     string    // what every key begins with
	hashers  sync.Pool // of *hasher
	breakers []*breaker
	fleet    *fleet
	known    known // what the server last said of keys, for outages
	counters counters
	warned   atomic.Int64 // the instant of the last warning, ns

	background background
	closing    sync.Once
	disconnect func() // nil if the connection isn't the store's own

	mu       sync.Mutex
	limiters []*Limiter // copied on change
	closed   bool
}

// New returns a store on server. The error wraps ratelimit.ErrInvalidConfig and names the field, the value and the bound.
// Close it when no limiter uses it any more.
func New(server Server, c Config) (*Store, error) {
	if isNil(server) {
		return nil, fmt.Errorf("%w: Server: must not be nil", ratelimit.ErrInvalidConfig)
	}
	if err := c.complete(); err != nil {
		return nil, err
	}
	if it, ok := server.(interface{ Cluster() bool }); ok && it.Cluster() {
		c.Cluster = true
	}
	s := &Store{server: server, config: c, lead: c.Prefix + ":{"}
	s.config.Secret = bytes.Clone(c.Secret)
	s.known.seed = maphash.MakeSeed()
	s.hashers.New = func() any { return &hasher{mac: hmac.New(sha256.New, s.config.Secret)} }
	s.breakers = make([]*breaker, 1)
	if c.Cluster {
		s.breakers = make([]*breaker, slots/slotsPerBreaker)
	}
	for i := range s.breakers {
		s.breakers[i] = &breaker{store: s, index: i}
	}
	s.warned.Store(math.MinInt64)
	s.fleet = newFleet(s)
	return s, nil
}

// Close ends what runs in the background, gives leased tokens back, and takes from the server what was allowed without
// it, if it answers. Limiters go on answering; on a store from Dial, by the outage policy.
func (s *Store) Close() {
	s.closing.Do(func() {
		s.background.close()
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
		for _, l := range s.all() {
			l.closed.Store(true)
			l.giveBackLeases()
		}
		for _, b := range s.breakers {
			if !b.open() && s.settle(b) != nil {
				break
			}
		}
		s.fleet.close()
		if s.disconnect != nil {
			s.disconnect()
		}
	})
}

// all returns the limiters.
func (s *Store) all() []*Limiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.limiters
}

// localKeys bounds the keys held for one breaker's part of an outage.
func (s *Store) localKeys() int { return max(s.config.LocalKeys/len(s.breakers), 1) }

// client is a client's key on its way to the server: hashed, so that credentials don't leave the process and no byte of
// a key can break the hash tag.
type client struct {
	tag     [2 * tagBytes]byte // hex; all rules of one client have it as their hash tag, hence are on one node of a Cluster
	breaker *breaker
}

const tagBytes = 16

type hasher struct {
	mac hash.Hash
	key []byte
	sum [sha256.Size]byte
}

func (s *Store) client(key string) client {
	h := s.hashers.Get().(*hasher)
	h.mac.Reset()
	h.key = append(h.key[:0], key...)
	h.mac.Write(h.key)
	h.mac.Sum(h.sum[:0])
	c := client{breaker: s.breakers[0]}
	hex.Encode(c.tag[:], h.sum[:tagBytes])
	s.hashers.Put(h)
	if len(s.breakers) > 1 {
		c.breaker = s.breakers[slotOf(c.tag[:])/slotsPerBreaker]
	}
	return c
}

// eval runs the script on the keys of one or more rules, within the budget, if b lets it.
func (s *Store) eval(ctx context.Context, b *breaker, script *Script, keys, args []string) ([]int64, error) {
	if b.open() {
		return nil, ErrOpen
	}
	reply, err := s.call(ctx, script, keys, args)
	switch {
	case err == nil, errors.Is(err, ErrMoving): // an answer
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
func (s *Store) call(caller context.Context, script *Script, keys, args []string) ([]int64, error) {
	ctx, cancel := context.WithTimeout(caller, s.config.Budget)
	defer cancel()
	start := s.config.Clock.NanoTime()
	reply, err := s.server.Eval(ctx, script, keys, args)
	if err == nil && len(reply) != replyLen*len(keys) {
		err = fmt.Errorf("%w: %d integers for %d rules", errReply, len(reply), len(keys))
	}
	s.counters.called(err, caller.Err() != nil)
	if s.config.Observe != nil {
		s.config.Observe(time.Duration(s.config.Clock.NanoTime()-start), err)
	}
	return reply, err
}
