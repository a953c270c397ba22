package shard

// Kernel is what the map asks of the rule behind its words. It is called off the hot path only, with payloads: words
// whose two top bits are clear and that are not 0. Payload 1 reads as "as if never seen". All methods are pure, and
// safe for concurrent use.
type Kernel[P any] interface {
	// Rebase returns the same rule, its epoch moved to the instant floor.
	Rebase(p *P, floor int64) P
	// Horizon returns the last instant that words of this epoch can represent: 2 ms after the epoch, or later.
	Horizon(p *P) int64
	// IdleAt returns the first instant at which word is as if never seen.
	IdleAt(p *P, word uint64) int64
	// Limited tells whether one token would be refused at the instant at.
	Limited(p *P, word uint64, at int64) bool
	// Convert returns word, counted under from, as a payload under to, whose epoch is not earlier.
	// 0: idle at to's epoch.
	Convert(word uint64, from, to *P) uint64
}

// Retirer is what a Kernel also implements if a word refers to state outside it. A map that finds the interface calls
// it around the end of a state's life.
type Retirer[P any] interface {
	// Retire is the last look before word is evicted as idle at the instant at. False: it isn't idle after all.
	// After true, no call can charge the state any more. It may be called again for the same word, and then agrees.
	// It must agree some time with IdleAt: a state that can't be retired has IdleAt math.MaxInt64.
	Retire(p *P, word uint64, at int64) bool
	// Release says that word is gone for good: no slot holds it, and no step will see it. Called once per state, also
	// where a state was retired, but a step has put another word in its place before it could be evicted.
	// A helper that was descheduled may still ask about it; the kernel then answers as for an idle word.
	Release(p *P, word uint64)
}

// Overflow says what becomes of a new key at MaxKeys when no key is idle.
type Overflow uint8

const (
	EvictNearestFull Overflow = iota // the fullest key of a sample makes room
	DenyNewKeys                      // Update answers Denied
	AllowNewKeys                     // Update answers Untracked
)

// Config describes a Map.
type Config[P any] struct {
	Kernel   Kernel[P]
	Params   P            // the rule, its epoch immaterial: each table has its own
	MaxKeys  int          // most keys held at any instant; 0: unbounded
	Overflow Overflow     // at MaxKeys
	Now      func() int64 // the clock (ns), read by the janitor alone; nil: no janitor

	// For tests.
	dull   uint64    // bits the hash lacks
	limits limits    // smaller ones
	work   func(int) // told of slots moved, cleared or allocated
}

// Mode says what Update does about a key that is not held.
type Mode uint8

const (
	Create   Mode = iota // hold it, if the step says so
	HeldOnly             // answer Absent
)

// Verdict is Update's answer.
type Verdict uint8

const (
	Applied   Verdict = iota // the step's word is in place
	Declined                 // the step said no; nothing was written or created
	Absent                   // HeldOnly, and the key is not held
	Denied                   // at MaxKeys, DenyNewKeys
	Untracked                // at MaxKeys, AllowNewKeys
)

// Stats counts what a map holds and has done.
type Stats struct {
	Keys             int    // keys held
	Bytes            int64  // memory of tables, keys included
	Created          uint64 // keys taken in
	Evicted          uint64 // keys let go, idle or not
	EvictedLimited   uint64 // of these, keys that would have been refused a token
	DeniedNew        uint64 // new keys answered Denied
	AllowedUntracked uint64 // new keys answered Untracked
}
