package shard

import (
	"math/bits"
	"unsafe"
)

// How large tables are, and in which order a key visits the slots of one.
const (
	maxSlots = 2048 // of a table, a wide one counting as two
	minSlots = 8
	spread   = 32      // up to so many slots lie 128 bytes apart, so that few hot keys share no cache lines
	maxArena = 1 << 19 // bytes of long keys, beyond which a table takes no more
	surfaced = 64      // keys, up to which what is left of a space moves up

	reach    = 32 // homes visited with growing steps; then one after the other
	patience = 64 // slots visited for an empty one, beyond which the keys may be hostile: 16 homes, of which one in seven is full
)

// limits are the sizes above where tests want smaller ones.
type limits struct {
	slots    int    // maxSlots
	depth    uint8  // most bits of one directory
	patience uint32 // slots
}

// ladder returns the least size from n up of 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, ...: quarters of a doubling.
func ladder(n int) int {
	n = max(n, minSlots)
	step := 1 << max(bits.Len(uint(n-1))-3, 1)
	return (n + step - 1) / step * step
}

// roomFor returns the size of a bank that is to be 0.45 full with n keys; 0 for none.
func roomFor(n int) int { return sizeFor(n, 20, 9) }

// leastFor returns that of one 0.6 full: so much there must be after a move, or the next one would come too soon.
func leastFor(n int) int { return sizeFor(n, 5, 3) }

func sizeFor(n, num, den int) int {
	if n == 0 {
		return 0
	}
	return ladder(n*num/den + 1)
}

// bank is an array of slots of one width, a place (32 bytes) or two. It is laid out in homes of four places, two cache
// lines that processors like to fetch together: four slots, two wide ones, or, while they are few, a single one.
type bank struct {
	first  *slot  // of an array without pointers
	places uint32 // its length
	step   uint32 // places from one slot to the next: 1, 2 or 4
}

const (
	placeBytes = 32
	homePlaces = 4
)

func newBank(width, slots int) bank {
	b := bank{step: 1 << width}
	if slots <= spread {
		b.step = homePlaces
	}
	if b.places = uint32(slots) * b.step; slots > 0 {
		b.first = &make([]slot, b.places)[0]
	}
	return b
}

func (b *bank) homes() uint32 { return b.places / homePlaces }
func (b *bank) size() int     { return int(b.places / b.step) }

// at returns the slot in a place, which must be one.
func (b *bank) at(place uint32) *slot {
	return (*slot)(unsafe.Add(unsafe.Pointer(b.first), uintptr(place)*placeBytes))
}

// slot returns the i-th of size slots.
func (b *bank) slot(i int) *slot { return b.at(uint32(i) * b.step) }

// home returns the place where the walk of a hash begins. It goes by the hash's low half, because the directory uses
// the high bits.
func (b *bank) home(hash uint64) uint32 {
	return uint32(uint64(uint32(hash))*uint64(b.places)>>32) &^ (b.step - 1)
}

// probe is a walk over a bank's slots: those of a home, first one, then the other in its line, then those of the other
// line; then the homes 1, 2, 3, ... further, for reach homes; then all of them in order. Growing steps keep the walks in
// a full bank short; equal ones bring every walk to every slot.
type probe struct {
	place uint32
	turn  uint32 // places of this home that are done
	homes uint32 // visited before
}

func (b *bank) start(hash uint64) probe { return probe{place: b.home(hash)} }

func (p *probe) advance(b *bank) {
	p.place ^= p.turn // where the home began
	if p.turn += b.step; p.turn < homePlaces {
		p.place ^= p.turn
		return
	}
	p.turn = 0
	p.homes++
	step := p.homes
	if step > min(reach, b.homes()) {
		step = 1
	}
	if p.place += step * homePlaces; p.place >= b.places {
		p.place -= b.places
	}
}

// over tells that every slot was visited.
func (p *probe) over(b *bank) bool { return p.homes >= reach+b.homes() || b.places == 0 }
