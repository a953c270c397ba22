package bench

import (
	"sync/atomic"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/casgate/ratelimit"
)

// RunFloor measures what no limiter of this kind can do without: reading the clock, hashing a key of 20 bytes, one
// uncontended compare-and-swap; each by itself, and together in the order in which a limiter needs them.
func RunFloor(b *testing.B) {
	clock := ratelimit.SystemClock()
	asked := Visits(1024, 1024, KeyBytes, Uniform)
	var word atomic.Uint64
	var sink uint64
	b.Run("part=clock", func(b *testing.B) {
		for b.Loop() {
			sink += uint64(clock.NanoTime())
		}
	})
	b.Run("part=hash", func(b *testing.B) {
		i := 0
		for b.Loop() {
			sink += xxhash.Sum64String(asked[i&1023])
			i++
		}
	})
	b.Run("part=cas", func(b *testing.B) {
		for b.Loop() {
			old := word.Load()
			word.CompareAndSwap(old, old+1)
		}
	})
	b.Run("part=hash+cas", func(b *testing.B) {
		i := 0
		for b.Loop() {
			hash := xxhash.Sum64String(asked[i&1023])
			old := word.Load()
			word.CompareAndSwap(old, old+hash)
			i++
		}
	})
	b.Run("part=all", func(b *testing.B) {
		i := 0
		for b.Loop() {
			now := uint64(clock.NanoTime())
			hash := xxhash.Sum64String(asked[i&1023])
			old := word.Load()
			word.CompareAndSwap(old, old+hash+now)
			i++
		}
	})
	sinks.Store(sink)
}

// sinks keeps results alive.
var sinks atomic.Uint64
