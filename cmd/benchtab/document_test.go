package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDocumentIsRegenerated compares the tables of BENCHMARKS.md with those of the raw results.
func TestDocumentIsRegenerated(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "BENCHMARKS.md"))
	require.NoError(t, err)
	samples, err := readSamples(filepath.Join(root, "testdata", "bench"))
	require.NoError(t, err)
	next, err := withTables(string(text), samples)
	require.NoError(t, err)
	assert.Equal(t, next, string(text), "run: go run ./cmd/benchtab tables")
	for _, table := range tables() {
		assert.Contains(t, next, "<!-- benchtab "+table.name+" -->", "every table is in the document")
	}
}

const raw = `commit: abc
go: 1.26
goos: linux
cpu: Some CPU
BenchmarkFloor/part=clock 	 10	 20.0 ns/op
BenchmarkFloor/part=hash 	 10	 4.0 ns/op
BenchmarkFloor/part=cas 	 10	 6.0 ns/op
BenchmarkTryAcquire/keys=1/dist=uniform/keybytes=20/mode=allow/clock=system/limiter=lockfree 	 10	 30.0 ns/op	 0 B/op
BenchmarkTryAcquire/keys=1/dist=uniform/keybytes=20/mode=allow/clock=system/limiter=lockfree 	 10	 34.0 ns/op	 0 B/op
BenchmarkTryAcquire/keys=1/dist=uniform/keybytes=20/mode=allow/clock=system/limiter=lockfree 	 10	 33.0 ns/op	 0 B/op
BenchmarkTryAcquire/keys=1/dist=uniform/keybytes=20/mode=allow/clock=system/limiter=xsync 	 10	 66.0 ns/op	 0 B/op
BenchmarkMemory/keys=1e7/limiter=lockfree-2 	 3	 2000000 ns/op	 63.2 B/key
BenchmarkGrow/keys=1e6/limiter=none-2 	 1	 2000000 ns/op	 51 max-ns	 22 p50-ns
`

func samplesOf(t *testing.T, text string) []*sample {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "x.txt"), []byte(text), 0o644))
	samples, err := readSamples(dir)
	require.NoError(t, err)
	return samples
}

func TestTables(t *testing.T) {
	doc := "a\n<!-- benchtab system -->\nold\n<!-- end -->\nb\n<!-- benchtab grow-1e6 --><!-- end --> c <!-- benchtab goals -->\n<!-- end -->\n" +
		"<!-- benchtab bytes -->\n<!-- end -->\n<!-- benchtab conditions -->\n<!-- end -->\n"
	got, err := withTables(doc, samplesOf(t, raw))
	require.NoError(t, err)
	for _, want := range []string{
		"a\n<!-- benchtab system -->\n\n",
		"| system clock, one thread | lockfree | xsync |\n|---|---:|---:|\n| 1 key, allowed | 33 ns | 66 ns (2.00×) |\n\n<!-- end -->\nb\n",
		"| half of all calls within | 22 ns |\n| the longest | 51 ns |\n",
		"| one hot key, allowed, system clock / (clock + hash + CAS) | 1.25 | 1.1 | kept |\n",
		"| bytes a key beyond its own 20, at 10M keys | 44 | 43.2 | kept |\n",
		"| 10M keys held | 63 |\n",
		"| cpu | Some CPU |\n", "| commit | abc |\n",
	} {
		assert.Contains(t, got, want)
	}
	assert.NotContains(t, got, "old")
	again, err := withTables(got, samplesOf(t, raw))
	require.NoError(t, err)
	assert.Equal(t, got, again)
}

func TestBadMarkers(t *testing.T) {
	for _, doc := range []string{"<!-- benchtab given -->", "<!-- benchtab unheard-of -->\n<!-- end -->"} {
		_, err := withTables(doc, samplesOf(t, raw))
		assert.ErrorContains(t, err, "marker")
	}
}

func TestUsage(t *testing.T) {
	assert.ErrorContains(t, run(nil), "want measure or tables")
	assert.ErrorContains(t, run([]string{"draw"}), `"draw"`)
	assert.ErrorContains(t, rewrite(t.TempDir(), "document_test.go"), "no raw results")
}

func TestNanos(t *testing.T) {
	for ns, want := range map[float64]string{0.5: "0.5 ns", 9.81: "9.81 ns", 1234: "1.23 µs", 999.8: "1 µs", 5.5e9: "5.5 s", 2e6: "2 ms"} {
		assert.Equal(t, want, nanos(ns))
	}
}
