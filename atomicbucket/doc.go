// Package atomicbucket is a token bucket in one atomic uint64.
//
// It needs no lock, and no clock: now is an argument, int64 ns on any time line. Params is a rule, compiled and
// range-checked once; its methods are pure functions of a word. The loop that loads, steps, compares and swaps belongs
// to whoever keeps the word: Bucket here, or a map of many. Read step.go first; the rest explains it.
//
// # State word
//
// The two classic fields, tokens and the timestamp they were counted at, lie on one axis: virtual time. Its units
// divide a nanosecond and a token alike, so that nothing is ever rounded.
//
//	refill   a tokens every u ns, in lowest terms     100 per minute: a = 1, u = 600,000,000
//	units    u of them a token, a of them a ns        (exact units)
//	C      = capacity * u                             a full bucket
//	V(now) = C + 1 + (now - epoch) * a                what has flowed since the epoch; above C, so that V - C > 0
//
//	63       62       61                                                          0
//	+--------+--------+-----------------------------------------------------------+
//	| keeper | keeper |  V(stamp) - tokens*u                            (62 bits) |
//	+--------+--------+-----------------------------------------------------------+
//
//	tokens at now = min(C, V(now) - word) / u         derived, not stored
//	take n at now : next = max(word, V(now)-C) + n*u  refuse if next > V(now), else CAS(word, next)
//
// The payload is the virtual instant at which the bucket was, or would have been, empty. Bits 63 and 62 belong to the
// keeper of the word (a map marks what is frozen or evicted there) and are clear in every word that comes in here or
// goes out. Word 0 means never used, which is full; only Convert returns it. Payload 1 is full too, at any instant
// and under any rule.
//
// Why not two bit fields? Every split of 64 bits gives up range or precision. And (tokens, stamp) has one degree of
// freedom too many: refilling uses only their difference, and that fits whole.
//
// Exact units are taken whenever a bucket and an hour of flow fit: for 65,535 tokens a second as for one in a hundred
// years. Where they don't, as for 1,000,000,001 a second, units are scaled: as many a token as fit, a whole number of
// them, so that costs stay exact. Then num/den units flow in a ns, and
//
//	V(now) = C + 1 + floor(now*num/den) - floor(epoch*num/den)
//
// The floors are absolute. No remainder is lost between two calls, and a later epoch shifts all words by one integer.
//
// # Invariants
//
// I1 Never too many. In any interval of length t, tokens granted minus tokens refunded are at most capacity + rate*t,
// whatever the interleaving and the order of now. Because max(word, V(start)-C) starts at V(start)-C or above, grows by
// u or more with each token granted, shrinks by u or less with each one refunded, and no grant takes it past V(end).
//
// In scaled units the two floors make it less than one unit more than that. So a token may come early: one at most, by
// less than the time of one unit, which is below 1 ns. A token has at least 128 units, and at least 1,280,000 up to a
// capacity of 1e9 and a rate of 1e9 a second. It happens only to a bucket that was last full at an instant between two
// units; counted from any multiple of den ns, every token is exact.
//
// That residual buys another promise: at any one instant, a full bucket grants exactly its capacity. Both can't be had
// in 62 bits: at 1,000,000,001 a second, a bucket of as many tokens passes through 3.6e21 states in an hour, each with
// a future of its own.
//
// I2 Never drifts. A bucket kept busy for a year grants rate*t to within one token, across any number of epochs.
//
// I3 A late, older time is harmless. It neither refills nor takes back: the payload never decreases, save by Refund,
// Convert and Bucket.Reset. It doesn't see what came in after it; a map can lift late times.
//
// I4 A refusal is loads only, so a hot refused key stays shared in every core's cache.
//
// I5 The word is the whole state: under one Params, equal words have equal futures.
//
// I6 Absent means full: from IdleAt(word) on, 0 may stand for word and nobody can tell.
//
// I7 A CAS that fails means that another call succeeded. There is no limit on retries.
//
// I8 The range is checked once, in Compile. On the path, nothing overflows, panics or allocates.
//
// # Linearization points
//
//   - Bucket.Take, granted: its successful CompareAndSwap; refused: the Load of the word that the step refused; of 0
//     tokens, of fewer or of more than the capacity: anywhere, for it doesn't look.
//   - Bucket.Outcome: its Load.
//   - Bucket.Refund: its successful CompareAndSwap, or the Load that finds 0.
//   - Bucket.Reset: its Store.
//   - Bucket.Convert: none; it must be alone.
//
// # Progress
//
//   - Bucket.Take, Bucket.Refund: lock-free. The loop goes round again only if another call's CAS succeeded (I7).
//   - Bucket.Outcome, Bucket.Reset, Bucket.Convert: wait-free.
//   - The methods of Params: pure; a bounded number of instructions.
//
// # Why these atomics suffice
//
// One word is all that is shared, and it publishes nothing but itself: no read of other memory depends on it. Params
// is immutable, and reaches a goroutine by the caller's own means. Go's atomics are sequentially consistent, so that
// all Loads and CASs of a word stand in one order, and a CAS that succeeds finds the word its step was made from. If
// others stood there in between (ABA), no matter: equal words have equal futures (I5).
//
// # Overflow and time
//
// With epoch <= now <= Horizon and 0 < n <= capacity, which is the caller's duty:
//
//	C < V(now) < 2^62                        for Horizon is the last instant of which that is true
//	max(word, V-C) >= 1                      so that next is never 0
//	next = max(word, V-C) + n*u < 2^63       because word < 2^62 and n*u <= C < 2^62
//	next <= V(now) < 2^62 if granted         so that bits 63 and 62 stay clear
//
// At least one unit flows in a ns. In exact units, a >= 1. Scaled, q units a token are as many as fit; so at r tokens a
// ns, q+1 of them fill 62 bits in the time to full and an hour: (q+1)*r > 1.46. That makes q*r > 1 for r < 0.46, and q
// is at least 128 for any other r. (Where it is num that q+1 would take past 64 bits, (q+1)*r > 2, and q is larger.)
//
// So an epoch lasts 2^62 ns, 146 years, at most. Compile makes sure that it lasts an hour at least, MinHorizon. A later
// now needs a later epoch: Rebase the Params and Convert the words. Nothing is lost by that, so uptime has no end.
//
// Instants may be negative. An instant plus a wait is at most MaxInt64.
package atomicbucket
