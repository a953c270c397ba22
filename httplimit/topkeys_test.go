package httplimit

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Against a count of everything: no key is told too low, none too high by more than its slack, and whoever has more than
// its share is there.
func TestTopKeysAgainstCountingAll(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	const k, n = 10, 20_000
	for _, stripes := range []int{1, 4} {
		top := newTopKeys(stripes, k)
		exact := map[string]uint64{}
		for range n {
			// A few often, many seldom.
			key := fmt.Sprint("key-", int(random.ExpFloat64()*random.ExpFloat64()*20))
			exact[key]++
			top.add(random.IntN(stripes), []byte(key))
		}
		listed := map[string]bool{}
		before := uint64(n)
		for _, e := range top.list() {
			key := string(e.key)
			listed[key] = true
			if stripes == 1 {
				assert.GreaterOrEqual(t, e.count, exact[key], key)
			}
			assert.LessOrEqual(t, e.count-e.slack, exact[key], key)
			assert.LessOrEqual(t, e.count, before, "in order")
			before = e.count
		}
		assert.LessOrEqual(t, len(listed), k*stripes)
		for key, count := range exact {
			assert.True(t, count <= n/k+n/100 || listed[key], "%s: %d of %d", key, count, n)
		}
	}
}

func TestTopKeysKeepLittle(t *testing.T) {
	top := newTopKeys(1, 4)
	long := make([]byte, 60<<10)
	for range 3 {
		top.add(0, long)
	}
	top.add(0, append(long[:len(long)-1], 1)) // differs at the end alone
	top.add(0, nil)
	got := top.list()
	assert.Len(t, got, 2, "the whole key counts")
	assert.EqualValues(t, 3, got[0].count)
	assert.Len(t, got[0].key, maxTopKey)
	assert.True(t, got[0].cut)
}
