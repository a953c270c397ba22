// Package shard maps string keys to one 64-bit word each, in place. It knows no limits: what a word means is its kernel's,
// which works on it by compare-and-swap; the map creates words, finds them, drops those that are as if never used, and
// gives memory back.
//
//	Map -> directory -> Table: params, epoch = floor, mark -> slot: word, key
//
// A table is small. Whatever changes about one, its size, its rule, its epoch, its hash, changes by moving its slots to another
// table, or to two; one table at a time, and no call moves more than one.
//
// # State word
//
//	63       62        61                                                        0
//	+--------+---------+----------------------------------------------------------+
//	| FROZEN | EVICTED |  payload: the kernel's; 0 never used, 1 as if never seen |
//	+--------+---------+----------------------------------------------------------+
//
//	word      becomes            by
//	0         live               create: reserve in Len first
//	live      live               the kernel's step: take, refund
//	live      EVICTED|same       eviction of an idle key; the mark is raised first
//	live      EVICTED|1          Reset, and eviction of a key that isn't idle
//	EVICTED|x live               revival by the same key: the step goes on from x
//	any       FROZEN|any         a move; final
//
// A slot is half a cache line: the word, a control word and two words of key (key.go draws them); keys of 24 to 55 bytes
// have a whole line, longer ones stand in the table's arena. A slot never changes its key.
//
// # Invariants
//
//   - I1: two keys never share a word: keys are compared whole.
//   - I2: a key has one live word at most, however many goroutines see it first.
//   - I3: a charge is never lost and a burst never given twice: what is dropped was idle at an instant that is not after
//     the floor of the table which the key comes to next, and no call counts before its table's floor.
//   - I4: Len is the number of live words and of places reserved for those about to be, never above MaxKeys.
//   - I5: a table's params, epoch and floor never change; a word is read under those of the table that holds it.
//   - I6: a word 0 never comes back to a slot that was used, and a dropped word is kept as EVICTED, because a call that is
//     late and has read an older mark must still find what the key had used.
//   - I7: a call of Update alone clears, moves and allocates a few thousand slots at most: those of one table, which are looked
//     through once before, of its two successors, and a copy of a directory. A call that loses to others adds the tables that
//     they moved into, and each pair of its own that came second. Find and Reset move single slots.
//
// # Linearization points
//
//   - Find, then the kernel's step: the CAS of the word; a refusal: the load of the word.
//   - Update: the CAS of the word from what step saw to what it said; Declined: the load of the word, or, of a key that is
//     absent, the load of the empty control word while the table has no next one.
//     Absent: the load of what HeldOnly's step was shown; in a map that has no table, the load of its nil directory, under
//     the rule loaded before. Denied and Untracked: the load of Len that finds no place.
//   - Reset: the CAS to EVICTED|1, or the load that finds no live word.
//   - Eviction: the CAS to EVICTED. A move changes no state: its freezes and carries are of one state, in either table.
//   - SetParams: for each key, the freeze of its word in the table of the old params; for one without a slot there, the seal
//     of the slot where a search for it ends; in a map that has no table, the CAS that plants the first.
//   - Len: the load. Sweep, Stats and the janitor's lap have no one instant: each slot's is its own.
//
// # Progress
//
//   - Find: wait-free, except in a space below, where a search may have to decide a word of a slot half written, or to seal
//     one: lock-free. Table.At: lock-free, as raising the mark is; wait-free within a millisecond of it. A known key's call is
//     lock-free: its CAS fails only because another call's succeeded, or because the slot was frozen, once for each move.
//   - Update: lock-free. A slot that somebody is writing a key into is finished or passed by whoever comes along; a table
//     that moves is followed, its one slot helped. Nobody waits for a goroutine that was descheduled.
//   - Sweep, SetParams: lock-free steps over all tables, one after the other.
//   - At MaxKeys a sweep or a creation counts the places that it makes free when it has been through its table or stretch of
//     slots. While it is descheduled they seem taken: DenyNewKeys then denies, and EvictNearestFull answers Untracked if it
//     finds no live key, though fewer than MaxKeys are live.
//
// # Why these atomics suffice
//
// Go's atomics are sequentially consistent, so all accesses below stand in one order. Key words are decided once, by CAS
// from 0, and ctrl says which of them count; a reader that finds them equal to its key's has found its key. The arena's
// bytes are written before the CAS that publishes where they are. A word is loaded before the mark, because a mark
// loaded earlier may be older than what the word was charged at. A table's next is loaded after the slot is found empty,
// because empty means absent only as long as nothing comes next. A word is carried by CAS from 0, never stored, because
// a helper that was descheduled must not undo a newer charge. ABA: equal words in one table have equal futures.
//
// # Overflow and time
//
// Instants are ns. One beyond Horizon counts as its table's last, and moves neither mark nor floor; one beyond the
// table's own horizon moves the table on to a later epoch. Len is 64 bits; a map holds as many keys as memory does.
package shard
