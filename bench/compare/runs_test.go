package compare

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/casgate/ratelimit/bench"
)

// TestBenchmarksRun runs every kind of benchmark once, with few keys: a benchmark that fails is found here, not after an
// hour of measuring.
func TestBenchmarksRun(t *testing.T) {
	before := flag.Lookup("test.benchtime").Value.String()
	require.NoError(t, flag.Set("test.benchtime", "1x"))
	t.Cleanup(func() { require.NoError(t, flag.Set("test.benchtime", before)) })
	run := func(name string, f func(b *testing.B)) {
		t.Run(name, func(t *testing.T) {
			require.NotZero(t, testing.Benchmark(f).N, "it failed")
		})
	}
	run("floor", bench.RunFloor)
	run("batch", func(b *testing.B) { bench.RunBatches(b, 1000) })
	for _, c := range contenders() {
		run("create "+c.Name, func(b *testing.B) { bench.RunCreate(b, 1, c) })
		run("grow "+c.Name, func(b *testing.B) { bench.RunGrow(b, 1000, c) })
		run("memory "+c.Name, func(b *testing.B) { bench.RunMemory(b, 1000, c) })
		for _, w := range bench.Workloads(bench.Given, bench.System, bench.Coarse) {
			if w.Keys <= 1000 {
				run(w.Name()+" "+c.Name, func(b *testing.B) { bench.Run(b, w, c, 0) })
				run(w.Name()+" 1x "+c.Name, func(b *testing.B) { bench.Run(b, w, c, 1) })
			}
		}
	}
}
