package compare

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// columnOf is the time that one column of the terminal's picture stands for.
const columnOf = 4 * time.Second

var bars = []rune(" ▁▂▃▄▅▆▇█")

// Terminal draws the results as lines of bars, with the figures that matter beside them.
func Terminal(w io.Writer, results []Result) error {
	var b strings.Builder
	fmt.Fprintf(&b, "One client under a limit of %d a minute, four minutes long; a column is %v, a full one %d requests.\n\n",
		Limit, columnOf, highest(results, columnOf))
	fmt.Fprintf(&b, "%-16s %-*s %8s %11s\n", "", int(Span/columnOf), "admitted", "in all", "most a min")
	for _, r := range results {
		fmt.Fprintf(&b, "%-16s %s %8d %11d\n", r.Title(), line(r.Per(columnOf), highest(results, columnOf)), len(r.Admitted), r.Most(Window))
	}
	fmt.Fprintf(&b, "%-16s %s\n", "", scale())
	_, err := io.WriteString(w, b.String())
	return err
}

func highest(results []Result, step time.Duration) int {
	most := 1
	for _, r := range results {
		for _, n := range r.Per(step) {
			most = max(most, n)
		}
	}
	return most
}

func line(counts []int, highest int) string {
	var b strings.Builder
	for _, n := range counts {
		b.WriteRune(bars[(n*(len(bars)-1)+highest-1)/highest])
	}
	return b.String()
}

// scale marks the minutes, where fixed windows begin.
func scale() string {
	var b strings.Builder
	for at := time.Duration(0); at < Span; at += Window {
		fmt.Fprintf(&b, "%-*s", int(Window/columnOf), fmt.Sprintf("|%d min", int(at/Window)))
	}
	return strings.TrimRight(b.String(), " ")
}
