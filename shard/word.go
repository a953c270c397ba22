package shard

// The word of a slot, as the map sees it: two flags and what the kernel made of the rest.
//
//	63       62        61                                                        0
//	+--------+---------+----------------------------------------------------------+
//	| FROZEN | EVICTED |  payload: the kernel's; 0 never used, 1 as if never seen |
//	+--------+---------+----------------------------------------------------------+
//
// A word that is not 0 and has no flag is live: its key is held.
const (
	frozen  = 1 << 63 // final: the slot's table is moving, and the payload belongs to the next one
	evicted = 1 << 62 // the key is not held; the payload is still right
	flags   = frozen | evicted

	full = 1 // the payload of a key that was reset
)

// Live tells whether word is that of a held key: neither 0 nor flagged.
func Live(word uint64) bool { return word-1 < evicted-1 }

// payload returns what the kernel reads in word.
func payload(word uint64) uint64 { return word &^ flags }
