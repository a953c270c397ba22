package window

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func handleOf(h *handles, id uint64) *ring {
	r := newRing(id, 0)
	h.publish(r)
	return r
}

// No word comes twice, a word leads to its own ring until that is released and nowhere
// afterwards, and chunks that are empty go.
func TestHandles(t *testing.T) {
	var h handles
	random := rand.New(rand.NewPCG(1, 2))
	ever := map[uint64]bool{}
	var held []*ring
	for range 30_000 {
		if random.IntN(5000) == 0 { // let most of them go
			for _, r := range held[len(held)/50:] {
				require.True(t, h.release(r))
			}
			held = held[:len(held)/50]
		}
		if i := random.IntN(len(held) + 1); random.IntN(4) == 0 && i < len(held) {
			r := held[i]
			held = slices.Delete(held, i, i+1)
			require.True(t, h.release(r))
			require.False(t, h.release(r), "it is gone")
			require.False(t, h.swap(r, r), "it is gone")
			require.Nil(t, h.ring(r.id))
			continue
		}
		id := h.alloc()
		require.Nil(t, h.ring(id))
		require.False(t, ever[id], "%#x comes again (L7)", id)
		require.Greater(t, id, uint64(1))
		require.Less(t, id, uint64(1)<<payloadBits)
		ever[id] = true
		held = append(held, handleOf(&h, id))
		if random.IntN(100) == 0 {
			for _, r := range held {
				require.Same(t, r, h.ring(r.id))
			}
		}
	}
	for _, r := range held {
		require.True(t, h.release(r))
	}
	require.Equal(t, chunkBytes, h.bytes.Load(), "one chunk is kept")
	for id := range ever {
		require.Nil(t, h.ring(id))
	}
}

// A chunk whose generations are used up is used no more.
func TestHandleGenerations(t *testing.T) {
	var h handles
	first := handleOf(&h, h.alloc())
	c := h.chunk(0).Load()
	c.generation = lastGeneration - 2
	second := handleOf(&h, h.alloc())
	last := handleOf(&h, h.alloc())
	require.Equal(t, uint64(lastGeneration), last.id>>indexBits)
	require.Less(t, last.id, uint64(1)<<payloadBits)
	third := handleOf(&h, h.alloc())
	require.EqualValues(t, 1, third.id>>placeBits&(1<<numberBits-1), "another chunk")
	for _, r := range []*ring{first, second, last} {
		require.Same(t, r, h.ring(r.id))
		require.True(t, h.release(r))
	}
	require.Nil(t, h.chunk(0).Load())
	require.Empty(t, h.vacant, "its number isn't used again")
	require.True(t, h.release(third))
}

// All numbers used: no word, and later one again.
func TestHandlesExhausted(t *testing.T) {
	var h handles
	h.fresh = 1<<numberBits - 1
	var held []*ring
	for range places {
		held = append(held, handleOf(&h, h.alloc()))
	}
	require.Zero(t, h.alloc())
	var l Log
	l.fresh = 1 << numberBits
	require.Zero(t, l.New(&LogParams{}, 0, 1))
	require.True(t, h.release(held[7]))
	require.EqualValues(t, 7, h.alloc()%places)
}

// A word that wasn't needed is the next one.
func TestLogDiscard(t *testing.T) {
	k := newLogKey(t, 10, minute)
	one, two := k.New(&k.p, 0, 1), k.New(&k.p, 0, 1)
	used := k.Bytes()
	k.Discard(0)
	k.Discard(one)
	k.Discard(two)
	require.Equal(t, used-64, k.Bytes(), "the second one is spare, the first is freed")
	later := k.New(&k.p, minute/2, 7)
	require.Equal(t, two, later)
	o, _ := k.Peek(&k.p, later, minute, 0)
	require.Equal(t, LogOutcome{Limit: 10, Remaining: 3, ResetAfter: minute / 2, At: minute}, o)
	require.Equal(t, used-64, k.Bytes())
}

func TestHandlesTogether(t *testing.T) {
	var h handles
	var mu sync.Mutex
	ever := map[uint64]bool{}
	together(func(int) {
		var held []*ring
		for i := range 3000 {
			r := handleOf(&h, h.alloc())
			mu.Lock()
			if ever[r.id] {
				t.Errorf("%#x comes again", r.id)
			}
			ever[r.id] = true
			mu.Unlock()
			if held = append(held, r); i%1000 == 999 {
				for _, r := range held {
					if h.ring(r.id) != r || !h.release(r) || h.ring(r.id) != nil {
						t.Errorf("%#x", r.id)
					}
				}
				held = nil
			}
		}
	})
	require.LessOrEqual(t, h.bytes.Load(), 2*chunkBytes)
}
