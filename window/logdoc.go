// # Sliding log: state word
//
// A key's word is a handle: it says where the pointer to the key's ring is kept, and by a
// generation, which of the rings that ever were there it means. It is the same word from
// the key's first request to its eviction. The state is the ring, of 2^k entries of 8 bytes,
// one a request or call:
//
//	63       62    61                                    0
//	+--------+-----+------------------+------------------+
//	| SEALED | LAP | time             | total            |
//	+--------+-----+------------------+------------------+
//	                 units since the    tokens up to and with this entry,
//	                 ring's base        mod 2^b, b = bits of the largest capacity there was
//
//	head : the slot, other than 0, whose LAP differs from its predecessor's; 0 if there is none:
//	       the oldest entry, and the next one to be overwritten             derived, not stored
//	tail : the newest entry with time + window <= now                       derived, not stored
//	used : newest total - tail's total, mod 2^b
//	n requests are admitted if used + n <= capacity, by one CAS of the head
//
// A slot never written reads as an entry of no tokens that is out of every window. Where the
// head and the tail were last is kept as a hint, which may be as wrong as it likes.
//
// Everything but recording builds another ring and puts it behind the handle: growing when
// no entry can be overwritten, shrinking, a later base when time runs out, a refund, another
// rule. The old ring is sealed first, by a CAS of its head. From then on it never changes, so
// whoever meets it can build its successor, and one CAS of the handle's pointer decides whose
// stands. A take that has to do so records itself in the ring that it builds.
//
// # Sliding log: invariants
//
// L1 Exact. In (t - window, t], for every t, requests admitted less those refunded are at most
// the capacity, by the instants that they counted at; and a request is refused only if it
// would be one too many. Where times are in units of more than a ns (CompileLog), an entry
// counts up to two units longer, never shorter.
//
// L2 A late, older time is harmless: it counts at the newest entry's instant, so that from the
// oldest to the newest entry times never decrease.
//
// L3 A refusal and a look change nothing, and are loads only.
//
// L4 An entry is written at the head alone, and a slot never returns to an earlier value,
// because what is overwritten is out of the window, so that the new time is greater.
//
// L5 One entry that is out of the window stays. Its total is what used counts from.
//
// L6 A sealed ring never changes, and its successor says what it said but for one change, made
// once: a take, a refund, another rule.
//
// L7 Nothing is behind a word, or its own ring is: a generation never comes again. Where
// nothing is, the key is as if never seen, if the word is still its own; and nothing ever
// will be.
//
// L8 A key switches to another rule once, when its ring does. Calls that found the old rule
// go by the new one from then on. What is recorded is kept, also where it exceeds the new
// capacity; of a longer window, as far as it is still known.
//
// L9 Memory follows use. After a take, a ring of more than 16 slots has at most eight for each
// entry of the last two windows; of the last one, if it takes more than a KiB. An evicted key
// has none.
//
// # Sliding log: linearization points
//
//   - Try and Take, admitted: the CAS of the head (record), or of the handle's pointer (swap);
//     refused, and Peek: the load of the newest entry, which the second load of the head has
//     shown to be still the newest. Of a ring that was sealed: the seal, or the load of the
//     handle's pointer, whichever was later.
//   - Refund and Convert: the CAS of the handle's pointer; if there is nothing to do, as Peek.
//   - Retire: the CAS of the handle's pointer to nil; false: as Peek.
//   - LogGone: the load of the handle's pointer.
//   - New, Release: the CAS of the word by which a map takes it or lets it go. A call that
//     loaded the word before and records after it counts as before: it had begun by then.
//
// # Sliding log: progress
//
//   - Try, Take, Peek, Refund, Convert, IdleAt, Limited: lock-free. A loop goes round again only
//     if another call recorded, sealed or replaced; nobody waits for who has sealed.
//   - Retire that answers false: lock-free. Retire that answers true, New, Discard, Release:
//     blocking, for the few instructions that give out or take back a handle: a key that
//     comes or goes. Known keys don't meet that lock, not when their rings grow either.
//   - A take looks at a few slots, or if many entries have left the window at once, at
//     O(log entries). A replacement costs O(entries) and one allocation, which for growing is
//     O(1) a take. A refund always costs one.
//
// # Sliding log: why these atomics suffice
//
// A ring is filled by plain writes before the CAS (or at first the map's CAS of the word) that
// publishes it, and read after the load that found it. Then only its head changes. A call
// loads the head, then the newest entry, then whatever else, and last it CASes the head or
// loads it again. If the head is as it was, it has not been overwritten in between (L4); if
// moreover the newest entry, loaded after it, has the lap that precedes the head's, then nothing
// was recorded since that load, because the head would have been next. So all else that was
// loaded stood there together. The tempting order, the newest entry first, is wrong: between the
// two loads the ring may go round more than a lap, and an old newest entry then fits a new head.
//
// Until that last step nothing that was read is relied on: indices are masked, searches end.
// A pointer has no ABA, because the collector doesn't
// reuse a ring's memory while a call holds it.
//
// The mark of a table must be loaded after the word, and once more after LogGone, because an
// eviction raises the mark before it takes the ring away: a new ring must not begin at a time
// at which the old one's requests were in the window.
//
// # Sliding log: overflow and time
//
// Times are units since the ring's base, one window before the instant it was built at, and
// span two windows at the least; an instant beyond needs a ring with a later base. Bases are
// multiples of the unit, so that an instant stays in its unit. Instants later than MaxInt64
// less a window count as that one, and earlier than MinInt64 plus one likewise.
//
// used is at most 2^b - 1, because b is never less than the bits of any capacity under which
// something was recorded (Adopt). What a longer window adds is cut there, the oldest first.
package window
