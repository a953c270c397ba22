package shard

import (
	"math"
	"sync"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/stretchr/testify/require"
)

// rule is a token bucket of capacity tokens, one per unit ns: a word is V(stamp)-tokens*unit, V(t) = full + t - epoch.
type rule struct{ capacity, unit, epoch int64 }

func (r *rule) v(now int64) int64 { return r.capacity*r.unit + 1 + now - r.epoch }

func (r *rule) take(word uint64, now, n int64) (uint64, bool) {
	v := r.v(now)
	next := max(int64(word), v-r.capacity*r.unit) + n*r.unit
	return uint64(next), next <= v
}

type bucket struct{}

func (bucket) Rebase(r *rule, floor int64) rule { return rule{r.capacity, r.unit, floor} }
func (bucket) Horizon(r *rule) int64 {
	if h := r.epoch + 1<<61; h > r.epoch {
		return h
	}
	return math.MaxInt64
}
func (bucket) IdleAt(r *rule, word uint64) int64 { return int64(word) - 1 + r.epoch }
func (bucket) Limited(r *rule, word uint64, at int64) bool {
	_, ok := r.take(word, at, 1)
	return !ok
}
func (bucket) Convert(word uint64, from, to *rule) uint64 {
	at := to.epoch
	tokens := min((from.v(at)-int64(word))/from.unit, to.capacity)
	if tokens == to.capacity {
		return 0
	}
	return uint64(to.v(at) - tokens*to.unit)
}

func take(m *Map[rule], key string, now, n int64) (Verdict, bool) {
	hash := xxhash.Sum64String(key)
	if w, t := m.Find(hash, key); w != nil {
		for old := w.Load(); Live(old); old = w.Load() {
			at, ok := t.At(now)
			if !ok {
				break
			}
			next, ok := t.Params.take(old, at, n)
			if !ok {
				return Declined, false
			}
			if w.CompareAndSwap(old, next) {
				return Applied, true
			}
		}
	}
	v := m.Update(hash, key, now, Create, func(r *rule, word uint64, at int64) (uint64, bool) { return r.take(word, at, n) })
	return v, v == Applied
}

func TestTakesAreExact(t *testing.T) {
	m := New(Config[rule]{Kernel: bucket{}, Params: rule{capacity: 10, unit: 1000}})
	var wg sync.WaitGroup
	var mu sync.Mutex
	granted := 0
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if _, ok := take(m, "k", 5, 1); ok {
					mu.Lock()
					granted++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	require.Equal(t, 10, granted)
	require.Equal(t, 1, m.Len())
	require.Equal(t, 0, m.Sweep(5))
	require.Equal(t, 1, m.Sweep(5+10*1000))
	require.Equal(t, 0, m.Len())
}
