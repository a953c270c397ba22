package shard

import "unsafe"

// A key stands in its slot as words, unless one of them would be zero or there would be too many. For a key of n bytes:
//
//	ctrl        63    56 55                                         0
//	           +--------+--------------------------------------------+
//	           |  n+1   |  the last 7 bytes; all, if n < 8           |
//	           +--------+--------------------------------------------+
//	word i      bytes 8i to 8i+7, for i < n/8, little-endian; the tail in ctrl may repeat some
//
// So ctrl says how many words are needed, and none of those is ever zero: zero is "not decided yet". Up to 23 bytes that
// is two words, which fit a slot of half a cache line; up to 55 bytes it is six, which fit one of a whole line.
//
// Any other key stands in the table's arena:
//
//	ctrl       +--------+--------------------------------------------+
//	           |  0x80  |  tag: the hash's low 56 bits               |
//	           +--------+--------------------------------------------+
//	word 0      where in the arena it is, see arena.go
const (
	smallMax = 23
	wideMax  = 55

	kindShift = 56
	tail      = 1<<kindShift - 1

	empty  = uint64(0)
	long   = uint64(0x80) << kindShift
	sealed = uint64(0xff) << kindShift // no key, and none any more
)

// The two banks of a table: of half lines and of whole ones.
const (
	small = iota
	wide
)

// ident is a key on its way through tables.
type ident struct {
	key   string
	plain uint64    // the hash the caller brought
	hash  uint64    // in the space at hand
	ctrl  uint64    // for a long key, with the tag of hash
	words [6]uint64 // the first n count; of a long key none
	n     int
	bank  int
	long  bool
}

func identify(key string, hash uint64) (id ident) {
	id.key, id.plain, id.hash = key, hash, hash
	n := len(key)
	if n <= wideMax {
		id.ctrl = uint64(n+1)<<kindShift | lastBytes(key)
		ok := true
		for id.n = 0; id.n < n/8; id.n++ {
			id.words[id.n] = load64(key, 8*id.n)
			ok = ok && id.words[id.n] != 0
		}
		if n > smallMax {
			id.bank = wide
		}
		if ok {
			return id
		}
	}
	id.ctrl, id.n, id.bank, id.long = long|hash&tail, 0, small, true
	return id
}

// lastBytes returns the last 7 bytes of key.
func lastBytes(key string) (v uint64) {
	if len(key) >= 8 {
		return load64(key, len(key)-8) >> 8
	}
	for i := len(key) - 1; i >= 0; i-- {
		v = v<<8 | uint64(key[i])
	}
	return v
}

// rehash takes hash for the key's, in another space.
func (id *ident) rehash(hash uint64) {
	id.hash = hash
	if id.long {
		id.ctrl = long | hash&tail
	}
}

// keyBuf has room for a key that stands in its slot.
type keyBuf [wideMax + 1]byte

// unpack writes the key of a slot whose words are decided into buf.
func (buf *keyBuf) unpack(ctrl uint64, s *slot) []byte {
	n := int(ctrl>>kindShift) - 1
	if n < 8 {
		put64(buf, 0, ctrl)
		return buf[:n]
	}
	put64(buf, n-8, ctrl<<8) // first, because its lowest byte is not the key's
	for i := range n / 8 {
		put64(buf, 8*i, s.key(i).Load())
	}
	return buf[:n]
}

func load64(s string, i int) uint64 {
	b := unsafe.Slice(unsafe.StringData(s), len(s))[i : i+8 : len(s)]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

func put64(buf *keyBuf, i int, v uint64) {
	b := buf[i : i+8]
	b[0], b[1], b[2], b[3] = byte(v), byte(v>>8), byte(v>>16), byte(v>>24)
	b[4], b[5], b[6], b[7] = byte(v>>32), byte(v>>40), byte(v>>48), byte(v>>56)
}
