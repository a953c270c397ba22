package main

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
)

// table is one table of the document: a row for each workload, a column for each limiter.
type table struct {
	name    string // of its markers
	head    string // of the first column
	unit    string
	rows    []row
	label   string   // whose values make the columns; empty: limiter
	columns []string // those values; the first column is what the others are divided by
	format  func(float64) string
}

type row struct {
	text string
	want labels
}

// columns of tables.
var (
	all  = []string{"lockfree", "xsync", "mutex-syncmap", "mutex-sharded", "x-time-rate", "throttled", "go-limiter"}
	most = []string{"lockfree", "xsync", "mutex-syncmap", "mutex-sharded", "x-time-rate"} // those that take the time
)

// tables lists the document's tables.
func tables() []table {
	algorithms := []string{"TOKEN_BUCKET", "FIXED_WINDOW", "SLIDING_WINDOW_COUNTER", "SLIDING_WINDOW_LOG"}
	withNone := append([]string{"none"}, all...)
	return []table{
		{name: "given", head: "time given, one thread", unit: "ns/op", rows: takeRows("given"), columns: most, format: nanos},
		{name: "system", head: "system clock, one thread", unit: "ns/op", rows: takeRows("system"), columns: all, format: nanos},
		{name: "coarse", head: "coarse clock, one thread", unit: "ns/op", rows: takeRows("coarse"), columns: most[:4], format: nanos},
		{name: "parallel-given", head: "time given, wall time a call", unit: "ns/op", rows: parallelRows("given"), columns: most, format: nanos},
		{name: "parallel-system", head: "system clock, wall time a call", unit: "ns/op", rows: parallelRows("system"), columns: all, format: nanos},
		{name: "algorithm", head: "time given, one thread", unit: "ns/op", rows: algorithmRows(), columns: algorithms, format: nanos},
		{name: "batch", head: "system clock, one thread, time a key", unit: "ns/key", rows: batchRows(), label: "batch", columns: []string{"1", "16"}, format: nanos},
		{name: "create", head: "new keys, system clock, one thread", unit: "ns/op", rows: createRows(), columns: all, format: nanos},
		{name: "allocations", head: "allocations a call", unit: "allocs/call", rows: createRows(), columns: all, format: hundredths},
		{name: "bytes", head: "bytes a key, its own 20 included", unit: "B/key", rows: memoryRows(), columns: all, format: whole},
		{name: "collection", head: "one garbage collection", unit: "ns/op", rows: memoryRows(), columns: all, format: nanos},
		{name: "grow-1e6", head: "a call, while growing to 1M keys", rows: growRows("1e6"), columns: withNone, format: nanos},
		{name: "grow-1e7", head: "a call, while growing to 10M keys", rows: growRows("1e7"), columns: withNone, format: nanos},
	}
}

var workloads = []struct {
	text                 string
	keys, dist, keyBytes string
}{
	{"1 key", "1", "uniform", "20"},
	{"1,000 keys", "1e3", "uniform", "20"},
	{"1M keys", "1e6", "uniform", "20"},
	{"1M keys of 36 bytes", "1e6", "uniform", "36"},
	{"1M keys, Zipf", "1e6", "zipf", "20"},
	{"10M keys", "1e7", "uniform", "20"},
}

func takeRows(clock string) (rows []row) {
	for _, mode := range []string{"allow", "refuse"} {
		for _, w := range workloads {
			rows = append(rows, row{w.text + ", " + verb(mode), labels{"name": "TryAcquire", "keys": w.keys, "dist": w.dist,
				"keybytes": w.keyBytes, "mode": mode, "clock": clock, "procs": "1"}})
		}
	}
	return rows
}

func verb(mode string) string {
	return map[string]string{"allow": "allowed", "refuse": "refused"}[mode]
}

func parallelRows(clock string) (rows []row) {
	for _, mode := range []string{"allow", "refuse"} {
		for _, w := range workloads[:3] {
			for _, threads := range []struct{ text, procs, goroutines string }{
				{"1 thread", "1", "1x"}, {"2 threads", "2", "1x"}, {"2 threads, 64 goroutines", "2", "32x"},
			} {
				rows = append(rows, row{w.text + ", " + verb(mode) + ", " + threads.text, labels{"name": "Parallel", "keys": w.keys,
					"mode": mode, "clock": clock, "procs": threads.procs, "goroutines": threads.goroutines}})
			}
		}
	}
	return rows
}

func algorithmRows() (rows []row) {
	for _, mode := range []string{"allow", "refuse"} {
		for _, w := range []struct{ text, keys string }{{"1 key", "1"}, {"1M keys", "1e6"}} {
			rows = append(rows, row{w.text + ", " + verb(mode), labels{"name": "Algorithm", "keys": w.keys, "mode": mode}})
		}
	}
	return rows
}

func batchRows() []row {
	return []row{
		{"1,000 keys", labels{"name": "Batch", "keys": "1e3"}},
		{"1M keys", labels{"name": "Batch", "keys": "1e6"}},
		{"10M keys", labels{"name": "Batch", "keys": "1e7"}},
	}
}

func createRows() []row {
	return []row{
		{"every call", labels{"name": "Create", "new": "1in1"}},
		{"one call in ten", labels{"name": "Create", "new": "1in10"}},
	}
}

func memoryRows() []row {
	return []row{
		{"1M keys held", labels{"name": "Memory", "keys": "1e6"}},
		{"10M keys held", labels{"name": "Memory", "keys": "1e7"}},
	}
}

// growRows are quantiles: the label "unit" stands in for the table's unit.
func growRows(keys string) (rows []row) {
	for _, q := range []struct{ text, unit string }{
		{"half of all calls within", "p50-ns"}, {"99 %", "p99-ns"}, {"99.9 %", "p99.9-ns"}, {"99.99 %", "p99.99-ns"},
		{"99.999 %", "p99.999-ns"}, {"the longest", "max-ns"},
	} {
		rows = append(rows, row{q.text, labels{"name": "Grow", "keys": keys, "unit": q.unit}})
	}
	return rows
}

// render returns the table in Markdown. Rows and columns of which nothing was measured are left out.
func (t table) render(samples []*sample) string {
	columns := t.measured(samples)
	if len(columns) == 0 {
		return "Not measured yet.\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| %s |", t.head)
	for _, column := range columns {
		if t.label != "" {
			column = t.label + " " + column
		}
		fmt.Fprintf(&b, " %s |", column)
	}
	fmt.Fprintf(&b, "\n|---|%s\n", strings.Repeat("---:|", len(columns)))
	for _, r := range t.rows {
		var cells []string
		var base summary
		for i, column := range columns {
			s := t.cell(samples, r, column)
			if s == nil {
				cells = append(cells, "-")
				continue
			}
			sum := s.summary()
			if i == 0 {
				base = sum
			}
			cells = append(cells, t.text(sum, base, i == 0))
		}
		if strings.Trim(strings.Join(cells, ""), "-") != "" {
			fmt.Fprintf(&b, "| %s | %s |\n", r.text, strings.Join(cells, " | "))
		}
	}
	return b.String()
}

// measured returns the columns that have anything in them.
func (t table) measured(samples []*sample) (columns []string) {
	for _, column := range t.columns {
		for _, r := range t.rows {
			if t.cell(samples, r, column) != nil {
				columns = append(columns, column)
				break
			}
		}
	}
	return columns
}

func (t table) cell(samples []*sample, r row, column string) *sample {
	want, unit := maps.Clone(r.want), t.unit
	if u, ok := want["unit"]; ok {
		unit = u
		delete(want, "unit")
	}
	want[cmp.Or(t.label, "limiter")] = column
	return find(samples, unit, want)
}

// text returns a cell: the median, its interval, and how many times the base it is.
func (t table) text(s, base summary, isBase bool) string {
	text := s.text(t.format)
	if !isBase && base.center > 0 {
		text += fmt.Sprintf(" (%s×)", ratio(s.center/base.center))
	}
	return text
}

func ratio(r float64) string {
	if r >= 10 {
		return fmt.Sprintf("%.0f", r)
	}
	return fmt.Sprintf("%.2f", r)
}

// nanos writes a time that is given in ns, with three digits.
func nanos(ns float64) string {
	for _, u := range []struct {
		name string
		ns   float64
	}{{"s", 1e9}, {"ms", 1e6}, {"µs", 1e3}} {
		if ns >= 0.9995*u.ns {
			return fmt.Sprintf("%.3g %s", ns/u.ns, u.name)
		}
	}
	return fmt.Sprintf("%.3g ns", ns)
}

func whole(v float64) string { return fmt.Sprintf("%.0f", v) }

func hundredths(v float64) string { return fmt.Sprintf("%.2f", v) }
