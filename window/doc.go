// Package window limits requests by windows of time. It needs no lock for a client that it
// knows, and no clock: now is an argument, int64 ns on any time line.
//
// FixedParams and CounterParams are rules, compiled and range-checked once; their methods are
// pure functions of a word. The loop that loads, steps, compares and swaps belongs to whoever
// keeps the word: Fixed and Counter here, or a map of many. The sliding log, whose state is as
// long as its window is busy, has sections of its own at the end.
//
// # State word
//
// Windows start at the multiples of their length on the clock. They are numbered from the
// epoch: the one that the epoch lies in is number 1.
//
//	fixed window, b = bits of the capacity, at least 30
//
//	63       62       61                                  b b-1                  0
//	+--------+--------+------------------------------------+---------------------+
//	| keeper | keeper | number of the window   (62-b bits) | count      (b bits) |
//	+--------+--------+------------------------------------+---------------------+
//
//	sliding-window counter, b = bits of the capacity, at least 20
//
//	63       62       61             2b 2b-1              b b-1                  0
//	+--------+--------+----------------+-------------------+---------------------+
//	| keeper | keeper | number (62-2b) | current  (b bits) | previous   (b bits) |
//	+--------+--------+----------------+-------------------+---------------------+
//
//	in word's window at now : (now - origin) - number*window < window      derived, not stored
//	fixed   : count + n <= capacity
//	counter : previous*(window - elapsed) <= (capacity - current - n)*window
//
// The number is that of the newest window in which a request was admitted; count and current
// are what that window admitted, previous what the one before did; all less what was refunded.
// Bits 63 and 62 belong to the keeper of the word (a map marks what is frozen or evicted there)
// and are clear in every word that comes in here or goes out. Word 0 means never used; only
// Convert returns it. Payload 1 is as if never seen, at any instant and under any rule, because
// number 0 is a window before the epoch's, and its previous one is older still.
//
// The fields follow from the capacity: the number gets what the counts leave.
//
//	capacity                  10,000     1<<20     1<<24     1<<30 - 1      1<<40
//	fixed: bits of the number     32        32        32            32         21
//	counter: the same             22        20        12             2          -
//
// # Invariants
//
// I1 Never too many. In each window, requests admitted less those refunded are at most the
// capacity, under any interleaving and any order of now; for the counter, moreover, the
// estimate is at most the capacity after each admission, at the instant that it counted at.
// What that means for spans that aren't windows, FixedParams and CounterParams say. Across
// changes of the rule: at most the largest capacity in force during the window, as long as its
// length stays.
//
// I2 A late, older time is harmless. A stored number above the call's is the newer one, and
// stands: the call counts there, at its start (CountsAt). In one epoch the number never
// decreases and never wraps, so a call that was held up for any number of windows can't start
// an old one over.
//
// I3 A refusal changes nothing, and is loads only: a hot refused key stays shared in every
// core's cache.
//
// I4 The word is the whole state: under one Params, equal words have equal futures.
//
// I5 Waits are exact. With nobody else taking, n requests are refused one ns before retryAfter
// and admitted at it; and from resetAfter, or IdleAt(word), on, 0 may stand for word and nobody
// can tell.
//
// I6 A change of the epoch changes no decision. A change of the rule keeps the counts, also
// those that exceed the new capacity: a client that used 2 of 100 has nothing left of 1, and 98
// of 100 when that is back; one that used 10 of 10 has 1 left of 11. A word without counts has
// all of the new capacity left. Only a count that a new rule has no bits for is cut, to 2^b - 1:
// one above a million (counter) or a billion (fixed window), and above the new capacity.
//
// I7 A CAS that fails means that another call succeeded. There is no limit on retries.
//
// I8 The range is checked once, when a rule is compiled. On the path, nothing overflows, panics
// or allocates, and no field runs into its neighbour.
//
// # Linearization points
//
//   - Fixed.Take and Counter.Take, admitted: the successful CompareAndSwap; refused: the Load of
//     the word that the step refused; of 0 requests, of fewer or of more than the capacity:
//     anywhere, for they don't look.
//   - Outcome: its Load.
//   - Refund: its successful CompareAndSwap, or the Load of a word that it leaves as it is.
//
// # Progress
//
//   - Take and Refund of Fixed and Counter: lock-free. The loop goes round again only if another
//     call's CAS succeeded (I7).
//   - Outcome of Fixed and Counter: wait-free.
//   - The methods of FixedParams and CounterParams: pure; a bounded number of instructions.
//
// # Why these atomics suffice
//
// One word is all that is shared, and it publishes nothing but itself: no read of other memory
// depends on it. Params are immutable, and reach a goroutine by the caller's own means. Go's
// atomics are sequentially consistent, so that all Loads and CASs of a word stand in one order,
// and a CAS that succeeds finds the word that its step was made from. If others stood there in
// between (ABA), no matter: equal words have equal futures (I4).
//
// # Overflow and time
//
// With epoch <= now <= Horizon and 0 < n <= capacity, which is the caller's duty, and u for
// now - origin, the ns since the start of window 0:
//
//	window <= u                             the epoch lies in window 1, so that no new word is 0
//	u < (last+1)*window                     for Horizon is the last instant of which that is true
//	last*window + 2*window < 2^64           so that ends, and ends of the next window, fit
//	count + n, current + n <= capacity < 2^b  if admitted, so that no field runs over; a count
//	                                        that a reload left above the capacity admits nothing
//
// u is unsigned, and a difference of two int64 instants mod 2^64, so that the whole range of
// int64 may lie between epoch and now. The counter's products have 128 bits; its divisions, in
// Outcome and Convert, have quotients below 2^62.
//
// An epoch lasts from its instant to the end of window number last: 2^bits - 1, or what fits
// 2^64 ns. That is two whole windows at the least. A later now needs a later epoch: Rebase the
// Params and Convert the words, exactly (I6). Large capacities of short windows do so often: a
// counter of 1<<24 a second each 68 minutes, and one of 1<<30 - 1 a second every two seconds.
//
// Instants may be negative, and windows before 0 start at multiples too. An instant plus a wait
// is at most MaxInt64.
package window
