package ratelimit

import "context"

// Limiter is the strategy: it decides, for one key at a time, whether a request may go ahead now. It never waits and
// never returns an error. Every Limiter of this module is safe for concurrent use.
type Limiter interface {
	// TryAcquire takes one token for key and reports whether it was there: Take(key, 1).Allowed.
	TryAcquire(key string) bool
	// Take takes n tokens, all or none. n = 0 takes nothing and tells what remains; n < 0 or n > Limit is refused with
	// Never. A refusal changes nothing, and neither it nor n = 0 creates a key.
	Take(key string, n int64) Decision
}

// ContextLimiter is what a remote limiter also offers: a decision that can fail, and gives up when ctx does.
type ContextLimiter interface {
	// TakeContext is Take within ctx. With an error, the Decision is the answer of the outage policy.
	TakeContext(ctx context.Context, key string, n int64) (Decision, error)
}

// Reversible is a Limiter whose charges can be looked at beforehand and given back: what TakeAll needs.
type Reversible interface {
	Limiter
	// Peek returns what Take would say. It takes nothing and creates nothing.
	Peek(key string, n int64) Decision
	// RefundAt gives back n tokens that were taken at the instant at, a Decision's At: never above full, never into
	// another window (once that window is past, it does nothing). An unknown key stays unknown; n <= 0 does nothing.
	RefundAt(key string, n, at int64)
}

// Local is what every in-process limiter offers.
type Local interface {
	Reversible
	// TryAcquireAt is TryAcquire at the instant now, in ns on the limiter's clock. It is believed: a clock that differs
	// from the limiter's own is the caller's fault. A time older than what was seen counts as late and does no harm.
	TryAcquireAt(key string, now int64) bool
	// TakeAt is Take at the instant now.
	TakeAt(key string, n, now int64) Decision
	// TakeBytes is Take for a key in a buffer. The buffer is not retained, and may be reused at once.
	TakeBytes(key []byte, n int64) Decision
	// TryAcquireMany takes one token for each key, in order, at one instant, and writes whether it was there to allowed.
	// The answers are those of single calls; it is faster from a few keys up. It panics unless the lengths agree.
	TryAcquireMany(keys []string, allowed []bool)
	// Refund is RefundAt now.
	Refund(key string, n int64)
	// Reset makes key as if never seen.
	Reset(key string)
	// SetRule changes the limits of all keys, and keeps what each has used. r must have the same algorithm (otherwise
	// ErrAlgorithm, and nothing has changed) and be valid (ErrInvalidRule). While it runs, a call falls under either
	// rule, and each key switches once. A key that is full is full under the new rule. A bucket keeps its tokens, at most
	// the new capacity, so that a client that is being refused gains nothing. A window keeps its count: with 10 of 10
	// used, 1 is left of 11, and none of 5.
	SetRule(r Rule) error
	// Rule returns the rule in force.
	Rule() Rule
	// Len returns the number of keys held.
	Len() int
	// Sweep evicts every idle key now, and returns how many were evicted meanwhile, by other calls too.
	Sweep() int
	// Stats returns counts since the start.
	Stats() Stats
}

// Stats is what a Local limiter counts about its keys. Allowed and refused requests are not among them: counting a
// refusal would be a write, and a refusal writes nothing.
type Stats struct {
	Keys             int    // held now
	Bytes            int64  // of memory that holds them
	Created          uint64 // keys first seen, or seen anew after eviction
	Evicted          uint64 // keys dropped, idle ones and others
	EvictedLimited   uint64 // of these, keys that had no token left: each may get up to its capacity anew
	DeniedNew        uint64 // requests of new keys refused at MaxKeys (DenyNewKeys)
	AllowedUntracked uint64 // requests of new keys allowed unseen at MaxKeys (AllowNewKeys)
}
