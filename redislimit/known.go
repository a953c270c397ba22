package redislimit

import (
	"sync"
	"sync/atomic"
)

const (
	knownStripes = 64
	knownPerSet  = 256
)

// known remembers what the server last said of keys: of 16,384 of them, in 400 kB, made when the first is heard of. A
// key may displace another; then less is known.
type known struct {
	made    sync.Once
	stripes atomic.Pointer[[knownStripes]knownStripe]
}

type knownStripe struct {
	sync.Mutex
	keys [knownPerSet]knownKey
}

type knownKey struct {
	hash      uint64
	remaining int64 // tokens
	at        int64 // ns on the local clock
	heard     bool
}

// heard notes that the key with hash h had remaining tokens at the instant at.
func (k *known) heard(h uint64, remaining, at int64) {
	k.made.Do(func() { k.stripes.Store(new([knownStripes]knownStripe)) })
	stripe, place := &k.stripes.Load()[h%knownStripes], h/knownStripes%knownPerSet
	stripe.Lock()
	stripe.keys[place] = knownKey{h, remaining, at, true}
	stripe.Unlock()
}

// last returns what was last heard of the key with hash h.
func (k *known) last(h uint64) (remaining, at int64, ok bool) {
	stripes := k.stripes.Load()
	if stripes == nil {
		return 0, 0, false
	}
	stripe, place := &stripes[h%knownStripes], h/knownStripes%knownPerSet
	stripe.Lock()
	defer stripe.Unlock()
	found := stripe.keys[place]
	return found.remaining, found.at, found.heard && found.hash == h
}

// maxSpent bounds the keys of which a debt is kept through an outage.
const maxSpent = 1 << 16

// spent counts what was allowed without the server, by key, so that it can be taken from there afterwards.
type spent struct {
	mu     sync.Mutex
	tokens map[string]int64
	lost   int64 // tokens of keys beyond maxSpent
}

func (s *spent) add(key string, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tokens == nil {
		s.tokens = map[string]int64{}
	}
	if _, held := s.tokens[key]; !held && len(s.tokens) >= maxSpent {
		s.lost += n
		return
	}
	s.tokens[key] += n
}

// take empties s and returns what it held.
func (s *spent) take() map[string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	tokens := s.tokens
	s.tokens = nil
	return tokens
}
