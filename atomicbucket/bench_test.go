package atomicbucket

import (
	"sync/atomic"
	"testing"
)

// One call as a map's hot path makes it: everything but the step's cost is in the cas=bare line.
func BenchmarkTake(b *testing.B) {
	rules := map[string]Params{"exact": mustCompile(b, 1e6, 100, 1e9), "scaled": mustCompile(b, 1e6, 1e9+7, 1e9)}
	b.Run("cas=bare", func(b *testing.B) {
		var w atomic.Uint64
		for b.Loop() {
			old := w.Load()
			w.CompareAndSwap(old, old+1)
		}
	})
	for units, p := range rules {
		b.Run("units="+units+"/cas=none", func(b *testing.B) {
			var word uint64
			now := int64(0)
			for b.Loop() {
				now += 1e7
				word, _ = p.Take(word, now, 1)
			}
		})
		b.Run("units="+units+"/mode=allow", func(b *testing.B) {
			var k Bucket
			now := int64(0)
			for b.Loop() {
				now += 1e7
				k.Take(&p, now, 1)
			}
		})
		b.Run("units="+units+"/mode=refuse", func(b *testing.B) {
			var k Bucket
			k.Take(&p, 0, 1e6)
			for b.Loop() {
				k.Take(&p, 0, 1)
			}
		})
		b.Run("units="+units+"/outcome", func(b *testing.B) {
			word, _ := p.Take(0, 0, 1e6)
			for b.Loop() {
				p.Outcome(word, 0, 1)
			}
		})
	}
}

func mustCompile(tb testing.TB, capacity, tokens, per int64) Params {
	p, err := Compile(capacity, tokens, per)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}
