package redislimit

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

const (
	knownStripes   = 64
	knownPerStripe = 1024
)

// known remembers what the server last said of keys: of 65,536 of them, in 2 MB, made when the first is heard of. A
// key may displace another; then less is known. The limiters of a store share it.
type known struct {
	seed    maphash.Seed
	made    sync.Once
	stripes atomic.Pointer[[knownStripes]knownStripe]
}

type knownStripe struct {
	sync.Mutex
	keys [knownPerStripe]knownKey
}

type knownKey struct {
	hash      uint64
	remaining int64 // tokens
	at        int64 // ns on the local clock
	heard     bool
}

// hash returns what a limiter's key is known by; salt is the limiter's.
func (k *known) hash(key string, salt uint64) uint64 { return maphash.String(k.seed, key) ^ salt }

// heard notes that the key with hash h had remaining tokens at the instant at.
func (k *known) heard(h uint64, remaining, at int64) {
	k.made.Do(func() { k.stripes.Store(new([knownStripes]knownStripe)) })
	stripe, place := &k.stripes.Load()[h%knownStripes], h/knownStripes%knownPerStripe
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
	stripe, place := &stripes[h%knownStripes], h/knownStripes%knownPerStripe
	stripe.Lock()
	defer stripe.Unlock()
	found := stripe.keys[place]
	return found.remaining, found.at, found.heard && found.hash == h
}
