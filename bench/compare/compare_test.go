package compare

import (
	"slices"
	"testing"

	"github.com/casgate/ratelimit/bench"
)

func contenders() []bench.Contender {
	return slices.Concat([]bench.Contender{bench.Ours}, Rivals, bench.Textbooks)
}

func BenchmarkFloor(b *testing.B) { bench.RunFloor(b) }

// BenchmarkTryAcquire asks in one goroutine. Run it with -cpu 1.
func BenchmarkTryAcquire(b *testing.B) {
	for _, w := range bench.Workloads(bench.Given, bench.System, bench.Coarse) {
		for _, c := range contenders() {
			bench.Run(b, w, c, 0)
		}
	}
}

// BenchmarkParallel asks in one goroutine for each processor, and in 32 for each. Run it with -cpu 1,2 and more.
func BenchmarkParallel(b *testing.B) {
	for _, w := range bench.Workloads(bench.Given, bench.System) {
		for _, goroutines := range []int{1, 32} {
			for _, c := range contenders() {
				bench.Run(b, w, c, goroutines)
			}
		}
	}
}

// BenchmarkMemory tells the bytes that a key takes, and what holding them costs the garbage collector.
func BenchmarkMemory(b *testing.B) {
	for _, keys := range []int{1_000_000, 10_000_000} {
		for _, c := range contenders() {
			bench.RunMemory(b, keys, c)
		}
	}
}

// BenchmarkOctave tells the bytes that a key takes at numbers of keys over a doubling, in which tables fill and split.
func BenchmarkOctave(b *testing.B) {
	for keys := 5_000_000; keys <= 10_000_000; keys += 500_000 {
		bench.RunMemory(b, keys, bench.Ours)
	}
}

// BenchmarkGrow tells how long single calls take while keys come that were never seen.
func BenchmarkGrow(b *testing.B) {
	for _, keys := range []int{1_000_000, 10_000_000} {
		for _, c := range slices.Concat([]bench.Contender{bench.Idle}, contenders()) {
			bench.RunGrow(b, keys, c)
		}
	}
}

// BenchmarkAlgorithm compares the algorithms of this module.
func BenchmarkAlgorithm(b *testing.B) { bench.RunAlgorithms(b) }

// BenchmarkBatch compares TryAcquireMany with single calls.
func BenchmarkBatch(b *testing.B) {
	for _, keys := range []int{1_000, 1_000_000, 10_000_000} {
		bench.RunBatches(b, keys)
	}
}

// BenchmarkCreate asks for new keys, always or now and then.
func BenchmarkCreate(b *testing.B) {
	for _, ratio := range []int{1, 10} {
		for _, c := range contenders() {
			bench.RunCreate(b, ratio, c)
		}
	}
}
