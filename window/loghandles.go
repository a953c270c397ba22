package window

import (
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
	"unsafe"
)

// handles leads from words to rings. A word says where the ring's pointer is kept, since
// the garbage collector does not see through words; and since places are used again, which
// of their rings is meant.
//
//	63    62 61                          28 27                 9 8         0
//	+-------+------------------------------+--------------------+-----------+
//	|  map  | generation, from 1           | chunk              | place     |
//	+-------+------------------------------+--------------------+-----------+
//
// A generation never comes twice in a chunk: one that has used up its 2^34 is given up. So
// a word that nothing is behind stays so, however long a call has held it.
//
// To follow a word is wait-free. To take a place or free one locks mu for some
// instructions: that happens when a key comes or goes, never when it is known.
type handles struct {
	root  [1 << rootBits]atomic.Pointer[[1 << middleBits]atomic.Pointer[chunk]]
	bytes atomic.Int64 // of rings and chunks

	mu     sync.Mutex
	open   []*chunk  // those with a place to give
	vacant []vacancy // numbers without a chunk
	fresh  uint64    // the least number never used
}

const (
	placeBits  = 9
	middleBits = 10
	rootBits   = 9
	numberBits = rootBits + middleBits
	indexBits  = placeBits + numberBits

	places         = 1 << placeBits
	lastGeneration = 1<<(payloadBits-indexBits) - 1
)

// A chunk is 512 places.
type chunk struct {
	rings [places]atomic.Pointer[ring]

	// guarded by mu
	number     uint64
	generation uint64 // the last one given
	taken      [places / 64]uint64
	count      int // of places taken
	index      int // in open
}

const chunkBytes = int64(unsafe.Sizeof(chunk{}))

// A vacancy is a number whose chunk was empty and let go, and the last generation given there.
type vacancy struct{ number, generation uint64 }

// place returns where the ring of word is kept, nil if its chunk is gone.
func (h *handles) place(word uint64) *atomic.Pointer[ring] {
	middle := h.root[word>>(placeBits+middleBits)%(1<<rootBits)].Load()
	if middle == nil {
		return nil
	}
	c := middle[word>>placeBits%(1<<middleBits)].Load()
	if c == nil {
		return nil
	}
	return &c.rings[word%places]
}

// ring returns the ring that word leads to, nil if it leads nowhere any more.
func (h *handles) ring(word uint64) *ring {
	ringStep(nil)
	if p := h.place(word); p != nil {
		if r := p.Load(); r != nil && r.id == word {
			return r
		}
	}
	return nil
}

// publish puts r at the place that was allocated for it, if it isn't there.
func (h *handles) publish(r *ring) {
	if h.place(r.id).CompareAndSwap(nil, r) {
		h.bytes.Add(r.bytes())
	}
}

// swap puts next where r is. It fails if r isn't there any more.
func (h *handles) swap(r, next *ring) bool {
	ringStep(nil)
	p := h.place(r.id)
	if p == nil || !p.CompareAndSwap(r, next) {
		return false
	}
	h.bytes.Add(next.bytes() - r.bytes())
	return true
}

// release takes r away and frees its place. It fails if r isn't there any more.
func (h *handles) release(r *ring) bool {
	ringStep(nil)
	p := h.place(r.id)
	if p == nil || !p.CompareAndSwap(r, nil) {
		return false
	}
	h.bytes.Add(-r.bytes())
	h.free(r.id)
	return true
}

// alloc returns a word whose place is empty, 0 if there is none.
func (h *handles) alloc() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.open) == 0 && !h.growLocked() {
		return 0
	}
	c := h.open[len(h.open)-1]
	i := 0
	for c.taken[i] == math.MaxUint64 {
		i++
	}
	bit := bits.TrailingZeros64(^c.taken[i])
	c.taken[i] |= 1 << bit
	c.count++
	c.generation++
	if c.count == places || c.generation == lastGeneration {
		h.closeLocked(c)
	}
	return c.generation<<indexBits | c.number<<placeBits | uint64(i*64+bit)
}

// free gives the place of word back.
func (h *handles) free(word uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.chunk(word >> placeBits % (1 << numberBits)).Load()
	c.taken[word%places/64] &^= 1 << (word % 64)
	c.count--
	exhausted := c.generation == lastGeneration
	if c.count == places-1 && !exhausted {
		h.openLocked(c)
	}
	switch {
	case c.count > 0 || !exhausted && len(h.open) == 1:
		return
	case !exhausted:
		h.closeLocked(c)
		h.vacant = append(h.vacant, vacancy{c.number, c.generation})
	}
	h.chunk(c.number).Store(nil)
	h.bytes.Add(-chunkBytes)
}

// growLocked opens another chunk. It fails if all numbers are in use.
func (h *handles) growLocked() bool {
	c := new(chunk)
	if last := len(h.vacant) - 1; last >= 0 {
		c.number, c.generation = h.vacant[last].number, h.vacant[last].generation
		h.vacant = h.vacant[:last]
	} else if h.fresh < 1<<numberBits {
		c.number = h.fresh
		h.fresh++
	} else {
		return false
	}
	if root := &h.root[c.number>>middleBits]; root.Load() == nil {
		root.Store(new([1 << middleBits]atomic.Pointer[chunk]))
	}
	h.chunk(c.number).Store(c)
	h.bytes.Add(chunkBytes)
	h.openLocked(c)
	return true
}

func (h *handles) chunk(number uint64) *atomic.Pointer[chunk] {
	return &h.root[number>>middleBits].Load()[number%(1<<middleBits)]
}

func (h *handles) openLocked(c *chunk) {
	c.index = len(h.open)
	h.open = append(h.open, c)
}

func (h *handles) closeLocked(c *chunk) {
	last := len(h.open) - 1
	h.open[c.index] = h.open[last]
	h.open[c.index].index = c.index
	h.open[last] = nil
	h.open = h.open[:last]
}
