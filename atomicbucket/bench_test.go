package atomicbucket

import (
	"sync/atomic"
	"testing"
)

// The step alone, the step in its loop, and the CAS that the loop can't do without.
func BenchmarkTake(b *testing.B) {
	b.Run("step=none", func(b *testing.B) {
		var word atomic.Uint64
		for b.Loop() {
			old := word.Load()
			word.CompareAndSwap(old, old+1)
		}
	})
	for _, units := range []struct {
		name   string
		tokens int64
	}{{"exact", 1e9}, {"scaled", 1e9 + 7}} {
		p := compile(b, 1e6, units.tokens, second)
		b.Run("units="+units.name+"/step=alone", func(b *testing.B) {
			var word uint64
			for now := int64(0); b.Loop(); now++ {
				word, _ = p.Take(word, now, 1)
			}
		})
		b.Run("units="+units.name+"/mode=allow", func(b *testing.B) {
			var k Bucket
			for now := int64(0); b.Loop(); now++ {
				k.Take(&p, now, 1)
			}
		})
		b.Run("units="+units.name+"/mode=refuse", func(b *testing.B) {
			var k Bucket
			k.Take(&p, 0, 1e6)
			for b.Loop() {
				k.Take(&p, 0, 1)
			}
		})
		b.Run("units="+units.name+"/mode=outcome", func(b *testing.B) {
			var k Bucket
			k.Take(&p, 0, 1e6)
			for b.Loop() {
				k.Outcome(&p, 0, 1)
			}
		})
	}
}
