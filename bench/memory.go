package bench

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/casgate/ratelimit"
)

// RunMemory measures what contender c costs while it holds that many keys of KeyBytes, none of them idle: the heap that
// a key takes, its own bytes included (B/key), and the time of a garbage collection (ns/op).
func RunMemory(b *testing.B, keys int, c Contender) {
	w := Workload{Keys: keys, Dist: Uniform, Mode: Refuse, KeyBytes: KeyBytes}
	b.Run(fmt.Sprintf("keys=%s/limiter=%s", count(keys), c.Name), func(b *testing.B) {
		forgetKeys()
		before := heap()
		l := c.New(w.rule(), ratelimit.SystemClock())
		w.fill(c, l)
		perKey := float64(heap()-before) / float64(keys)
		for b.Loop() {
			runtime.GC()
		}
		b.ReportMetric(perKey, "B/key")
		runtime.KeepAlive(l)
	})
}

// heap returns the bytes that are reachable now.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// mallocs returns how many allocations were made since the start.
func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}
