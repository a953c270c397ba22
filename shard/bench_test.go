package shard

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cespare/xxhash/v2"
)

// keysOf returns n keys of that many bytes, prepared so that no benchmark makes any.
func keysOf(n, size int) []string {
	var b strings.Builder
	b.Grow(n * size)
	for i := range n {
		fmt.Fprintf(&b, "client:%0*d", size-7, i*7919)
	}
	all, keys := b.String(), make([]string, n)
	for i := range keys {
		keys[i] = all[i*size : (i+1)*size]
	}
	return keys
}

func roomy() *Map[tokens] {
	return New(Config[tokens]{Kernel: bucket{}, Params: tokens{capacity: 1 << 20, unit: 1 << 20}})
}

func BenchmarkHit(b *testing.B) {
	for _, size := range []int{20, 36} {
		for _, n := range []int{1, 1e3, 1e6, 1e7} {
			b.Run(fmt.Sprintf("size=%d/keys=%d", size, n), func(b *testing.B) {
				keys := keysOf(n, size)
				m := roomy()
				for _, k := range keys {
					take(m, k, 0, 1)
				}
				rand.New(rand.NewPCG(1, 1)).Shuffle(n, func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
				i := 0
				for b.Loop() {
					if take(m, keys[i], 1<<19, 1) == Untracked {
						b.Fatal()
					}
					if i++; i == n {
						i = 0
					}
				}
			})
		}
	}
}

func BenchmarkFind(b *testing.B) {
	m := roomy()
	take(m, "client:0000000000001", 0, 1)
	h := xxhash.Sum64String("client:0000000000001")
	b.Run("find", func(b *testing.B) {
		for b.Loop() {
			if w, _ := m.Find(h, "client:0000000000001"); w == nil {
				b.Fatal()
			}
		}
	})
	b.Run("hash", func(b *testing.B) {
		for b.Loop() {
			if xxhash.Sum64String("client:0000000000001") != h {
				b.Fatal()
			}
		}
	})
	b.Run("cas", func(b *testing.B) {
		var w atomic.Uint64
		x := uint64(0)
		for b.Loop() {
			w.CompareAndSwap(x, x+1)
			x++
		}
	})
	b.Run("hash+cas", func(b *testing.B) {
		var w atomic.Uint64
		for b.Loop() {
			if xxhash.Sum64String("client:0000000000001") != h {
				b.Fatal()
			}
			old := w.Load()
			w.CompareAndSwap(old, old+1)
		}
	})
}

func BenchmarkCreate(b *testing.B) {
	for _, size := range []int{20, 36} {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			const n = 1e7
			keys := keysOf(n, size)
			m := roomy()
			runtime.GC()
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				take(m, keys[i], 1, 1)
				if i++; i == n {
					i = 0
					b.StopTimer()
					m = roomy()
					runtime.GC()
					b.StartTimer()
				}
			}
		})
	}
}
