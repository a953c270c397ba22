package shard

import (
	"sync/atomic"
	"unsafe"
)

// arena holds the bytes of a table's long keys, in chunks without pointers. It only grows; moving the table leaves the
// dead keys behind. Its zero value is empty and holds no memory.
type arena struct {
	chunks atomic.Pointer[[]*chunk] // copied to append
}

type chunk struct {
	used  atomic.Uint64 // bytes handed out; may exceed len(bytes), then nothing more is
	bytes []byte
}

// A reference into an arena, never 0 because a key there is not empty (an empty key stands in its slot):
//
//	63       49 48        17 16       0
//	+----------+------------+----------+
//	|  chunk   |   offset   |  length  |
//	+----------+------------+----------+
const (
	lengthBits = 17
	offsetBits = 32

	maxKey   = 1 << 16 // bytes of a key, at most
	minChunk = 512
	maxChunk = 1 << 16
)

// put copies key in and returns where it is.
func (a *arena) put(key string) uint64 {
	n := uint64(len(key))
	for {
		list := a.chunks.Load()
		var chunks []*chunk
		if list != nil {
			chunks = *list
			last := len(chunks) - 1
			c := chunks[last]
			if end := c.used.Add(n); end <= uint64(len(c.bytes)) {
				copy(c.bytes[end-n:end], key)
				return uint64(last)<<(offsetBits+lengthBits) | (end-n)<<lengthBits | n
			}
		}
		a.append(list, max(int(n), a.size()/4))
	}
}

// append adds a chunk of about n bytes to list, unless somebody else has.
func (a *arena) append(list *[]*chunk, n int) {
	var chunks []*chunk
	if list != nil {
		chunks = *list
	}
	n = max(min(n, maxChunk), minChunk)
	longer := append(chunks[:len(chunks):len(chunks)], &chunk{bytes: make([]byte, n)})
	a.chunks.CompareAndSwap(list, &longer)
}

// get returns the key at ref. It points into the arena.
func (a *arena) get(ref uint64) string {
	c := (*a.chunks.Load())[ref>>(offsetBits+lengthBits)]
	n := ref & (1<<lengthBits - 1)
	offset := ref >> lengthBits & (1<<offsetBits - 1)
	b := c.bytes[offset : offset+n]
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// size returns the bytes of all chunks.
func (a *arena) size() (n int) {
	if list := a.chunks.Load(); list != nil {
		for _, c := range *list {
			n += len(c.bytes)
		}
	}
	return n
}
