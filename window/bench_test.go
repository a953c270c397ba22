package window

import "testing"

// One word, one goroutine: the step and its CAS. A changing window is one that the word
// does not hold yet; a gap is one after which both counts are gone.
func BenchmarkTake(b *testing.B) {
	b.Run("algorithm=fixed/window=same", func(b *testing.B) {
		p, w := mustFixed(b, 1<<40, minute), Fixed{}
		for b.Loop() {
			w.Take(p, second, 1)
		}
	})
	b.Run("algorithm=fixed/window=changing", func(b *testing.B) {
		p, w := mustFixed(b, 1<<20, second), Fixed{}
		now := int64(0)
		for b.Loop() {
			w.Take(p, now, 1)
			now += second
		}
	})
	b.Run("algorithm=fixed/mode=refuse", func(b *testing.B) {
		p, w := mustFixed(b, 1, minute), Fixed{}
		for b.Loop() {
			w.Take(p, second, 1)
		}
	})
	b.Run("algorithm=counter/window=same", func(b *testing.B) {
		p, w := mustCounter(b, 1<<29, minute), Counter{}
		now := int64(0)
		for b.Loop() {
			w.Take(p, now, 1)
			now += 100
		}
	})
	b.Run("algorithm=counter/window=changing", func(b *testing.B) {
		p, w := mustCounter(b, 1<<10, second), Counter{}
		now := int64(0)
		for b.Loop() {
			w.Take(p, now, 1)
			now += second
		}
	})
	b.Run("algorithm=counter/window=gap", func(b *testing.B) {
		p, w := mustCounter(b, 1<<10, second), Counter{}
		now := int64(0)
		for b.Loop() {
			w.Take(p, now, 1)
			now += 2 * second
		}
	})
	b.Run("algorithm=counter/mode=weighed", func(b *testing.B) {
		p, w := mustCounter(b, 1<<29, minute), Counter{}
		w.Take(p, minute-1, 1<<29)
		now := minute + 59*second
		for b.Loop() {
			w.Take(p, now, 1)
		}
	})
	b.Run("algorithm=counter/mode=refuse", func(b *testing.B) {
		p, w := mustCounter(b, 1, minute), Counter{}
		for b.Loop() {
			w.Take(p, second, 1)
		}
	})
}
