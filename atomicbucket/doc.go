// Package atomicbucket is a token bucket in one atomic uint64.
//
// It needs no clock, for now is an argument (int64 ns, on any time line), and no lock. Params is a rule, compiled and
// range-checked once. Its methods are pure functions of a word; the loop that loads, steps, compares and swaps belongs
// to whoever keeps the word: Bucket here, or a map of many. Read step.go first: the rest is explanation.
//
// # State word
//
// The two classic fields, tokens and the timestamp they were counted at, lie on one axis: virtual time. It is counted
// in units that divide a nanosecond and a token alike, so that nothing is ever rounded.
//
//	refill   a tokens in u ns, in lowest terms        100 per minute: 1 in 600,000,000
//	units    u a token; a of them flow in a ns        exact units
//	C      = capacity * u                             the units in a full bucket
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
// The payload is the virtual instant at which the bucket was, or would have been, empty. Bits 63 and 62 are the
// keeper's (a map marks frozen and evicted words with them) and clear in every word that is passed to this package.
// Word 0 means never used, which is full; no method but Convert, which begins a new life, returns it. Payload 1 is
// full at any instant, under any rule.
//
// Two bit fields would give up range or precision for every split of 64 bits. They also have one degree of freedom too
// many, for refilling uses only their difference, and that fits whole.
//
// Where exact units don't fit, as at 1000000001 a second, the units are scaled: as many a token as fit, a whole
// number, so that costs stay exact. Then num/den units flow in a ns, and
//
//	V(now) = C + 1 + floor(now*num/den) - floor(epoch*num/den)
//
// The floors are absolute, not relative to an epoch or to the last call: no remainder is lost from one call to the
// next, and a later epoch shifts every word by the same integer.
//
// # Invariants
//
// I1 Never too many. In any interval of length t, tokens granted minus tokens refunded are at most capacity + rate*t,
// whatever the interleaving and the order of now. Because: max(word, V(start)-C) grows by u at least for each token
// granted, shrinks by u at most for each refunded, starts at V(start)-C or above and never passes V(end).
//
// In scaled units the floors of V(start) and V(end) make that less than one unit more. A whole token may so come early,
// never more than one: by less than the time one unit takes, and that is below 1 ns. A token has at least 128 units,
// and at least 1,280,000 while capacity and refill stay within 1e9 and 1e9 a second. It happens only to a bucket that
// was last full at an instant between two units; counted from a multiple of den ns, every token is exact.
//
// That residual is the price of another promise: at one instant a full bucket grants exactly its capacity. Rounding
// up instead would break it, and more precision isn't to be had: in an hour, the bucket above passes through more
// states (3.6e21, each with a future of its own) than there are words.
//
// I2 Never drifts. A bucket kept busy for a year grants rate*t to within one token, across any number of epochs.
//
// I3 A late, older time is harmless: it neither refills nor takes back. The payload never decreases, save by Refund,
// Convert and Bucket.Reset. (What a late caller sees as missing is what came in since; a map can lift late times.)
//
// I4 A refusal is loads only, so a hot refused key stays shared in every core's cache.
//
// I5 The word is the whole state: under one Params, equal words have equal futures.
//
// I6 Absent means full: a word that is idle (IdleAt) may be replaced by 0 and nobody can tell.
//
// I7 A CAS that fails means that another call succeeded. There is no retry limit.
//
// I8 The range is checked once, in Compile. On the path nothing overflows, panics or allocates.
//
// # Linearization points
//
//   - Bucket.Take, granted: its successful CompareAndSwap. Refused: the Load whose word the step refused.
//   - Bucket.Take of 0, of less, or of more than the capacity: anywhere, it doesn't look at the word.
//   - Bucket.Outcome: its Load.
//   - Bucket.Refund: its successful CompareAndSwap, or the Load that found 0.
//   - Bucket.Reset: its Store.
//   - Bucket.Convert: none; it must be alone.
//
// # Progress
//
//   - Bucket.Take, Bucket.Refund: lock-free. A turn of the loop is repeated only if another call's CAS succeeded (I7).
//   - Bucket.Outcome, Bucket.Reset: wait-free.
//   - All of Params: pure functions, a bounded number of instructions.
//
// # Why these atomics suffice
//
// One word is all that is shared, and it publishes nothing but itself: a Load needs no other memory to be visible, and
// Params is immutable and reaches a goroutine by the caller's own means. Go's atomics are sequentially consistent, so
// the Loads and CASs of one word have one order, and a CAS that succeeds follows the Load it is based on with an equal
// word. That another word stood there in between (ABA) doesn't matter, because equal words have equal futures (I5).
//
// # Overflow and time
//
// With epoch <= now <= Horizon and 0 < n <= capacity, the caller's duty:
//
//	C + 1 <= V(now) < 2^62                   Horizon is the last instant for which this holds
//	1 <= V(now) - C                          so a word is never 0
//	next = max(word, V-C) + n*u < 2^63       word < 2^62, and n*u <= C < 2^62
//	a granted next <= V(now) < 2^62          so bits 63 and 62 stay clear
//
// A ns brings at least one unit: in exact units a >= 1; scaled ones are as many as fit, and 2^62 units over a hundred
// years and an hour are more than 1.4 a ns. Hence an epoch lasts at most 2^62 ns, 146 years, and Compile makes sure
// that it lasts an hour at least (MinHorizon). A now beyond is met by a later epoch: Rebase the rule, Convert the
// words; neither loses anything, so uptime has no end.
//
// Instants may be negative; the sum of an instant and a wait saturates at MaxInt64.
package atomicbucket
