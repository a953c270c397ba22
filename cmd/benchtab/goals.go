package main

import (
	"fmt"
	"strings"
)

// goal is a bound that the limiter is to keep, as a ratio of two things that were measured in one run.
type goal struct {
	text  string
	bound float64
	of    func(m measured) float64 // what is to stay within the bound; 0 if it wasn't measured
}

// measured looks medians up.
type measured []*sample

// median returns the median of a unit; 0 if it wasn't measured.
func (m measured) median(unit string, want labels) float64 {
	if s := find(m, unit, want); s != nil {
		return s.summary().center
	}
	return 0
}

func (m measured) floor(part string) float64 {
	return m.median("ns/op", labels{"name": "Floor", "part": part, "procs": "1"})
}

// take is the time of a call in one thread.
func (m measured) take(limiter, keys, dist, keyBytes, mode, clock string) float64 {
	return m.median("ns/op", labels{"name": "TryAcquire", "limiter": limiter, "keys": keys, "dist": dist, "keybytes": keyBytes,
		"mode": mode, "clock": clock, "procs": "1"})
}

func (m measured) hot(clock string) float64 {
	return m.take("lockfree", "1", "uniform", "20", "allow", clock)
}

func (m measured) million(limiter, keyBytes string) float64 {
	return m.take(limiter, "1e6", "uniform", keyBytes, "allow", "given")
}

func (m measured) refused(procs string) float64 {
	return m.median("ns/op", labels{"name": "Parallel", "limiter": "lockfree", "keys": "1", "mode": "refuse", "clock": "given",
		"goroutines": "1x", "procs": procs})
}

func (m measured) collection(limiter string) float64 {
	return m.median("ns/op", labels{"name": "Memory", "keys": "1e7", "limiter": limiter})
}

func (m measured) algorithm(name string) float64 {
	return m.median("ns/op", labels{"name": "Algorithm", "keys": "1", "mode": "allow", "limiter": name})
}

func (m measured) batch(size string) float64 {
	return m.median("ns/key", labels{"name": "Batch", "keys": "1e7", "batch": size})
}

var goals = []goal{
	{"one hot key, allowed, system clock / (clock + hash + CAS)", 1.25, func(m measured) float64 {
		return over(m.hot("system"), m.floor("clock")+m.floor("hash")+m.floor("cas"))
	}},
	{"(one hot key, allowed, time given - 1 ns) / (hash + CAS)", 1.3, func(m measured) float64 {
		return over(m.hot("given")-1, m.floor("hash")+m.floor("cas"))
	}},
	{"one hot key, refused, time given: two threads / one", 0.65, func(m measured) float64 {
		return over(m.refused("2"), m.refused("1"))
	}},
	{"1M keys, time given: lockfree / xsync", 0.45, func(m measured) float64 {
		return over(m.million("lockfree", "20"), m.million("xsync", "20"))
	}},
	{"1M keys, time given: lockfree / mutex-syncmap", 0.25, func(m measured) float64 {
		return over(m.million("lockfree", "20"), m.million("mutex-syncmap", "20"))
	}},
	{"1M keys of 36 bytes / of 20 bytes", 1.6, func(m measured) float64 {
		return over(m.million("lockfree", "36"), m.million("lockfree", "20"))
	}},
	{"10M keys, system clock: a key in a batch of 16 / a single call", 0.35, func(m measured) float64 {
		return over(m.batch("16"), m.batch("1"))
	}},
	{"one hot key, time given: fixed window / token bucket", 1.3, func(m measured) float64 {
		return over(m.algorithm("FIXED_WINDOW"), m.algorithm("TOKEN_BUCKET"))
	}},
	{"one hot key, time given: sliding counter / token bucket", 1.3, func(m measured) float64 {
		return over(m.algorithm("SLIDING_WINDOW_COUNTER"), m.algorithm("TOKEN_BUCKET"))
	}},
	{"one hot key, time given: sliding log of 100 / token bucket", 2, func(m measured) float64 {
		return over(m.algorithm("SLIDING_WINDOW_LOG"), m.algorithm("TOKEN_BUCKET"))
	}},
	{"allocations a new key", 0.01, func(m measured) float64 {
		return m.median("allocs/call", labels{"name": "Create", "new": "1in1", "limiter": "lockfree"})
	}},
	{"bytes a key beyond its own 20, at 10M keys", 44, func(m measured) float64 {
		return m.median("B/key", labels{"name": "Memory", "keys": "1e7", "limiter": "lockfree"}) - 20
	}},
	{"the same between 5M and 10M keys, the worst of eleven", 64, func(m measured) (worst float64) {
		for _, s := range m {
			if s.labels["name"] == "Octave" && s.unit == "B/key" {
				worst = max(worst, s.summary().center-20)
			}
		}
		return worst
	}},
	{"one garbage collection with 10M keys: lockfree / mutex-syncmap", 0.05, func(m measured) float64 {
		return over(m.collection("lockfree"), m.collection("mutex-syncmap"))
	}},
}

func over(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// renderGoals returns the goals in Markdown, with what was measured and whether it is within.
func renderGoals(samples []*sample) string {
	var b strings.Builder
	b.WriteString("| what | goal, at most | measured | |\n|---|---:|---:|---|\n")
	for _, g := range goals {
		v := g.of(samples)
		if v <= 0 {
			continue
		}
		verdict := "kept"
		if v > g.bound {
			verdict = "**missed**"
		}
		fmt.Fprintf(&b, "| %s | %.3g | %.3g | %s |\n", g.text, g.bound, v, verdict)
	}
	return b.String()
}

// renderFloor returns what no limiter can do without.
func renderFloor(samples []*sample) string {
	var b strings.Builder
	b.WriteString("| part | time |\n|---|---:|\n")
	for _, p := range []struct{ part, text string }{
		{"clock", "reading the clock"}, {"hash", "xxhash of 20 bytes"}, {"cas", "one uncontended load and compare-and-swap"},
		{"hash+cas", "hash and CAS, one after the other"}, {"all", "all three, one after the other"},
	} {
		if s := find(samples, "ns/op", labels{"name": "Floor", "part": p.part, "procs": "1"}); s != nil {
			fmt.Fprintf(&b, "| %s | %s |\n", p.text, s.summary().text(nanos))
		}
	}
	return b.String()
}
