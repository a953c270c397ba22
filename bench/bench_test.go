package bench

import "testing"

// workloads are those that the README's and BENCHMARKS.md's tables have.
func workloads(clock string) []Workload {
	var all []Workload
	for _, mode := range []string{Allow, Refuse} {
		for _, w := range []Workload{
			{Keys: 1, Dist: Uniform},
			{Keys: 1_000, Dist: Uniform},
			{Keys: 1_000_000, Dist: Uniform},
			{Keys: 1_000_000, Dist: Zipf},
			{Keys: 10_000_000, Dist: Uniform},
		} {
			w.Mode, w.Clock, w.KeyBytes = mode, clock, KeyBytes
			all = append(all, w)
		}
	}
	return all
}

func contenders() []Contender { return append([]Contender{Ours}, Textbooks...) }

func BenchmarkFloor(b *testing.B) { RunFloor(b) }

// BenchmarkTryAcquire asks in one goroutine. Run it with -cpu 1.
func BenchmarkTryAcquire(b *testing.B) {
	for _, clock := range []string{Given, System, Coarse} {
		for _, w := range workloads(clock) {
			for _, c := range contenders() {
				Run(b, w, c, 0)
			}
		}
	}
}

// BenchmarkParallel asks in one goroutine for each processor, and in 32 for each. Run it with -cpu 1,2 and more.
func BenchmarkParallel(b *testing.B) {
	for _, clock := range []string{Given, System} {
		for _, w := range workloads(clock) {
			for _, goroutines := range []int{1, 32} {
				for _, c := range contenders() {
					Run(b, w, c, goroutines)
				}
			}
		}
	}
}

// BenchmarkMemory tells the bytes that a key takes, and what holding them costs the garbage collector.
func BenchmarkMemory(b *testing.B) {
	for _, keys := range []int{1_000, 1_000_000, 10_000_000} {
		for _, c := range contenders() {
			RunMemory(b, keys, c)
		}
	}
}

// BenchmarkGrow tells how long single calls take while keys come that were never seen.
func BenchmarkGrow(b *testing.B) {
	for _, keys := range []int{1_000_000, 10_000_000} {
		for _, c := range append([]Contender{Idle}, contenders()...) {
			RunGrow(b, keys, c)
		}
	}
}
