package shard

import "unsafe"

// A key of up to inlineMax bytes whose words below are not zero stands in the slot itself:
//
//	ctrl   63    56 55                                          0
//	      +--------+---------------------------------------------+
//	      | len+1  |  the last 7 bytes (all, if the key is shorter)  |
//	      +--------+---------------------------------------------+
//	w0     bytes 0 to 7, from 8 bytes up         (both little-endian; the tail in ctrl may
//	w1     bytes 8 to 15, from 16 bytes up        repeat bytes of theirs)
//
// Any other key stands in the table's arena:
//
//	ctrl  +--------+---------------------------------------------+
//	      |  0x80  |  tag: the hash's low 56 bits                |
//	      +--------+---------------------------------------------+
//	w0     where in the arena (see arena.go)
//
// ctrl says which of the other words are needed, and none of those is ever zero: zero is "not decided yet".
const (
	inlineMax = 23

	kindShift = 56
	tail      = 1<<kindShift - 1

	empty  = uint64(0)
	long   = uint64(0x80) << kindShift
	sealed = uint64(0xff) << kindShift // no key, and none any more
)

// pack returns the words of a key that stands in its slot; false if the key must go to the arena.
func pack(key string) (ctrl, w0, w1 uint64, ok bool) {
	n := len(key)
	switch {
	case n > inlineMax:
		return 0, 0, 0, false
	case n >= 16:
		w0, w1 = load64(key, 0), load64(key, 8)
		return uint64(n+1)<<kindShift | load64(key, n-8)>>8, w0, w1, w0 != 0 && w1 != 0
	case n >= 8:
		w0 = load64(key, 0)
		return uint64(n+1)<<kindShift | load64(key, n-8)>>8, w0, 0, w0 != 0
	}
	for i := n - 1; i >= 0; i-- {
		ctrl = ctrl<<8 | uint64(key[i])
	}
	return uint64(n+1)<<kindShift | ctrl, 0, 0, true
}

// unpack writes the key of the words into buf and returns its length.
func unpack(buf *[24]byte, ctrl, w0, w1 uint64) int {
	n := int(ctrl>>kindShift) - 1
	if n < 8 {
		put64(buf, 0, ctrl)
		return n
	}
	// The tail first: the byte before it is put right by the words.
	put64(buf, n-8, ctrl<<8)
	put64(buf, 0, w0)
	if n >= 16 {
		put64(buf, 8, w1)
	}
	return n
}

func load64(s string, i int) uint64 {
	b := unsafe.Slice(unsafe.StringData(s), len(s))[i : i+8 : len(s)]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

func put64(buf *[24]byte, i int, v uint64) {
	b := buf[i : i+8]
	b[0], b[1], b[2], b[3] = byte(v), byte(v>>8), byte(v>>16), byte(v>>24)
	b[4], b[5], b[6], b[7] = byte(v>>32), byte(v>>40), byte(v>>48), byte(v>>56)
}
