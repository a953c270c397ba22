package window

import (
	"math/bits"
	"sync/atomic"
	"unsafe"
)

// A ring is one client's log: 2^k entries, overwritten in a circle. The package comment draws
// an entry. The slots follow the struct in one allocation, that holds no pointer.
type ring struct {
	id    uint64 // the handle that leads here
	base  int64  // the instant of time 0, ns, a multiple of the unit
	hint  atomic.Uint64
	era   uint32 // of the rule it is under
	unit, // times are in 2^unit ns
	round, // 1 if unit > 0: times are rounded up
	width, // of totals, in bits
	log2 uint8 // of the number of slots
}

const (
	sealed = 1 << 63
	lap    = 1 << 62
	entry  = lap - 1 // time and total

	ringHeader = 4 // words
	minSlots   = 4
)

var _ [8 * ringHeader]byte = [unsafe.Sizeof(ring{})]byte{}

// newRing returns an empty ring with at least two slots more than entries: one that
// stays out of the window and tells what was recorded before, and one to write to.
func newRing(id uint64, entries uint32) *ring {
	log2 := max(bits.Len32(minSlots-1), bits.Len32(entries+1))
	words := make([]uint64, ringHeader+1<<log2)
	r := (*ring)(unsafe.Pointer(unsafe.SliceData(words)))
	r.id, r.log2 = id, uint8(log2)
	return r
}

// begin puts a ring that nobody else has seen under a rule, at a base.
func (r *ring) begin(p *LogParams, base int64) {
	r.base = base
	r.era, r.unit, r.round, r.width = p.era, p.unit, p.round, p.width
}

func (r *ring) mask() uint32 { return 1<<(r.log2&31) - 1 }

func (r *ring) bytes() int64 { return int64(ringHeader+1<<r.log2) * 8 }

// slot returns slot i, which is at most mask. One allocation a ring instead of two, and
// none that the garbage collector must look into, is what the pointer arithmetic buys.
func (r *ring) slot(i uint32) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Add(unsafe.Pointer(r), (ringHeader+uintptr(i))*8))
}

func (r *ring) load(i uint32) uint64 {
	ringStep(r.slot(i))
	return r.slot(i).Load()
}

func (r *ring) cas(i uint32, old, next uint64) bool {
	ringStep(r.slot(i))
	return r.slot(i).CompareAndSwap(old, next)
}

// put writes a slot of a ring that nobody else has seen.
func (r *ring) put(i uint32, word uint64) { *(*uint64)(unsafe.Pointer(r.slot(i))) = word }

// time returns the time of an entry.
func (r *ring) time(word uint64) uint64 { return word & entry >> (r.width & 63) }

// latest returns the latest instant that an entry may stand for.
func (r *ring) latest(word uint64) int64 {
	return r.base + int64(r.time(word)<<r.unit) - int64(r.round)
}
