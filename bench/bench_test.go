package bench

import "testing"

func contenders() []Contender { return append([]Contender{Ours}, Textbooks...) }

func BenchmarkFloor(b *testing.B) { RunFloor(b) }

// BenchmarkTryAcquire asks in one goroutine. Run it with -cpu 1.
func BenchmarkTryAcquire(b *testing.B) {
	for _, w := range Workloads(Given, System, Coarse) {
		for _, c := range contenders() {
			Run(b, w, c, 0)
		}
	}
}

// BenchmarkParallel asks in one goroutine for each processor, and in 32 for each. Run it with -cpu 1,2 and more.
func BenchmarkParallel(b *testing.B) {
	for _, w := range Workloads(Given, System) {
		for _, goroutines := range []int{1, 32} {
			for _, c := range contenders() {
				Run(b, w, c, goroutines)
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

// BenchmarkAlgorithm compares the algorithms of this module.
func BenchmarkAlgorithm(b *testing.B) { RunAlgorithms(b) }

// BenchmarkBatch compares TryAcquireMany with single calls.
func BenchmarkBatch(b *testing.B) {
	for _, keys := range []int{1_000, 1_000_000, 10_000_000} {
		RunBatches(b, keys)
	}
}

// BenchmarkCreate asks for new keys, always or now and then.
func BenchmarkCreate(b *testing.B) {
	for _, ratio := range []int{1, 10} {
		for _, c := range contenders() {
			RunCreate(b, ratio, c)
		}
	}
}
