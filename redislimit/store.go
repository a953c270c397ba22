package redislimit

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"sync"

	"github.com/casgate/ratelimit"
)

// Server runs scripts: the one thing that a Store needs of a Redis client. It must be safe for concurrent use, send to
// primaries only, give up when ctx does, and not retry.
type Server interface {
	// Eval runs the script by EVALSHA, or by EVAL where the server doesn't know it, and returns its reply, integers.
	Eval(ctx context.Context, script *Script, keys, args []string) ([]int64, error)
}

// Store is one Redis, single, Sentinel or Cluster, that limiters keep their state in.
type Store struct {
	server Server
	config Config
	script *Script
	macs   sync.Pool // of keyed hashes
}

// New returns a store on server. The error wraps ratelimit.ErrInvalidConfig and names the field, the value and the bound.
func New(server Server, c Config) (*Store, error) {
	if server == nil {
		return nil, fmt.Errorf("%w: Server is nil", ratelimit.ErrInvalidConfig)
	}
	if err := c.complete(); err != nil {
		return nil, err
	}
	s := &Store{server: server, config: c, script: takeScript}
	secret := c.Secret
	s.macs.New = func() any { return hmac.New(sha256.New, secret) }
	return s, nil
}

// key is the server's key for a client's key under a rule. The client's part is hashed, so that credentials don't leave
// the process and no byte of a key can break the hash tag, which puts all rules of one client on one node of a Cluster.
func (s *Store) key(client, rule string) string {
	mac := s.macs.Get().(hash.Hash)
	mac.Reset()
	mac.Write([]byte(client))
	var sum [sha256.Size]byte
	mac.Sum(sum[:0])
	s.macs.Put(mac)
	buf := make([]byte, 0, len(s.config.Prefix)+len(rule)+36)
	buf = append(buf, s.config.Prefix...)
	buf = append(buf, ":{"...)
	buf = hex.AppendEncode(buf, sum[:16])
	buf = append(buf, "}:"...)
	buf = append(buf, rule...)
	return string(buf)
}
