package main

import (
	"fmt"
	"sort"
	"strings"
)

// withTables returns text with what stands between the markers of each table replaced:
//
//	<!-- benchtab given -->
//	<!-- end -->
func withTables(text string, samples []*sample) (string, error) {
	rendered := map[string]string{
		"conditions": renderConditions(samples),
		"floor":      renderFloor(samples),
		"goals":      renderGoals(samples),
	}
	for _, t := range tables() {
		rendered[t.name] = t.render(samples)
	}
	const begin, end = "<!-- benchtab ", "<!-- end -->"
	var out strings.Builder
	for {
		before, rest, ok := strings.Cut(text, begin)
		out.WriteString(before)
		if !ok {
			return out.String(), nil
		}
		name, rest, _ := strings.Cut(rest, " -->")
		_, after, closed := strings.Cut(rest, end)
		table, known := rendered[name]
		if !closed || !known {
			return "", fmt.Errorf("marker %q: closed: %v; known: %v", name, closed, known)
		}
		fmt.Fprintf(&out, "%s%s -->\n\n%s\n%s", begin, name, table, end)
		text = after
	}
}

// renderConditions tells what was measured, and with what.
func renderConditions(samples []*sample) string {
	var b strings.Builder
	b.WriteString("| | |\n|---|---|\n")
	for _, key := range []string{"cpu", "goos", "goarch", "kernel", "go", "commit"} {
		seen := map[string]bool{}
		for _, s := range samples {
			if v := s.labels[key]; v != "" {
				seen[v] = true
			}
		}
		var values []string
		for v := range seen {
			values = append(values, v)
		}
		sort.Strings(values)
		if len(values) > 0 {
			fmt.Fprintf(&b, "| %s | %s |\n", key, strings.Join(values, ", "))
		}
	}
	return b.String()
}
