package window

import "testing"

// One key, one goroutine, at capacity 100. "even": one request leaves the window for each
// that comes; "burst": 100 at an instant, a window apart; "sparse": one in two windows.
func BenchmarkLog(b *testing.B) {
	p, err := CompileLog(100, 100, minute)
	if err != nil {
		b.Fatal(err)
	}
	run := func(name string, advance func(i int64) int64) {
		b.Run(name, func(b *testing.B) {
			var l Log
			now, i := int64(0), int64(0)
			word := l.New(&p, now, 1)
			b.ReportAllocs()
			for b.Loop() {
				l.Try(&p, word, now, 1)
				now += advance(i)
				i++
			}
		})
	}
	run("mode=even", func(int64) int64 { return minute / 100 })
	run("mode=refuse", func(int64) int64 { return 0 })
	run("mode=sparse", func(int64) int64 { return 2 * minute })
	run("mode=burst", func(i int64) int64 {
		if i%100 == 99 {
			return minute
		}
		return 0
	})
}
