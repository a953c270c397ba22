package shard

import "math/bits"

// How large tables are, and in which order a key visits the slots of one.
const (
	maxSlots = 4096 // of a table; what one move visits at most
	minSlots = 8
	spread   = 32      // up to so many slots lie 128 bytes apart, so that few hot keys share no cache lines
	maxArena = 1 << 19 // bytes of long keys, beyond which a table takes no more

	surfaced = 64 // keys, up to which what is left of a space moves up

	reach    = 32 // homes visited with growing steps; then one after the other
	patience = 96 // homes visited for an empty slot, beyond which the keys are taken for hostile
)

// limits are the sizes above where tests want smaller ones.
type limits struct {
	slots    int    // maxSlots
	depth    uint8  // most bits of one directory
	patience uint32 // homes
}

// ladder returns the least size from n up of 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, ...: quarters of a doubling.
func ladder(n int) int {
	n = max(n, minSlots)
	step := 1 << max(bits.Len(uint(n-1))-3, 1)
	return (n + step - 1) / step * step
}

// roomFor returns the size of a table that is to be 0.55 full with n keys.
func roomFor(n int) int { return ladder(n*20/11 + 1) }

// shape is how a table's slots are laid out: as homes of two slots that share a line, or of one slot each, in every
// fourth place.
type shape struct {
	homes uint32
	ways  uint32 // slots of a home
	shift uint32 // log2 of the places of a home
}

func shapeOf(slots int) shape {
	if slots <= spread {
		return shape{homes: uint32(slots), ways: 1, shift: 2}
	}
	return shape{homes: uint32(slots / 2), ways: 2, shift: 1}
}

func (s *shape) places() int { return int(s.homes) << s.shift }
func (s *shape) size() int   { return int(s.homes * s.ways) }

// home returns the first home of a hash: from its low half, because the directory uses the high bits.
func (s *shape) home(hash uint64) uint32 {
	return uint32(uint64(uint32(hash)) * uint64(s.homes) >> 32)
}

// probe is a walk over a table's slots: home, then 1, 2, 3, ... homes on, for reach homes, then all of them in order.
// Growing steps keep the walks of a full table short; equal ones bring every walk to every slot.
type probe struct {
	slot  uint32 // index at hand
	homes uint32 // visited before
	home  uint32
}

func (s *shape) start(hash uint64) probe {
	home := s.home(hash)
	return probe{slot: home << s.shift, home: home}
}

func (p *probe) advance(s *shape) {
	if s.ways == 2 && p.slot&1 == 0 {
		p.slot++
		return
	}
	p.homes++
	step := p.homes
	if step > min(reach, s.homes) {
		step = 1
	}
	p.home += step
	if p.home >= s.homes {
		p.home -= s.homes
	}
	p.slot = p.home << s.shift
}

// over tells that every slot was visited.
func (p *probe) over(s *shape) bool { return p.homes >= reach+s.homes }
