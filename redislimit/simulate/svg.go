package main

import (
	"fmt"
	"strings"
)

// svg draws the rows: for each rule and strategy a bar of calls a second and one of requests admitted too many.
func svg(rows []row) string {
	const width, left, line, bar = 760, 250, 22, 220
	var most, worst float64
	for _, r := range rows {
		most, worst = max(most, r.calls), max(worst, r.over)
	}
	var b strings.Builder
	height := line * (len(rows) + 2 + len(rules))
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", width, height)
	text := func(x, y int, anchor, s string) {
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="%s" fill="#222">%s</text>`+"\n", x, y, anchor, s)
	}
	text(left, line-6, "start", "Redis calls a second")
	text(left+bar+30, line-6, "start", "admitted too many")
	y, rule := line, ""
	for _, r := range rows {
		if r.rule != rule {
			rule = r.rule
			y += line
			fmt.Fprintf(&b, `<text x="10" y="%d" font-weight="bold" fill="#222">%s</text>`+"\n", y-6, rule)
		}
		y += line
		text(left-10, y-6, "end", r.strategy)
		calls, over := int(r.calls/most*bar*0.7), int(r.over/worst*bar*0.7)
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="14" fill="#3b6ea5"/>`+"\n", left, y-18, max(calls, 1))
		text(left+calls+6, y-6, "start", fmt.Sprintf("%.0f", r.calls))
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="14" fill="#c0504d"/>`+"\n", left+bar+30, y-18, max(over, 1))
		text(left+bar+36+over, y-6, "start", fmt.Sprintf("%.2f %%", r.over))
	}
	b.WriteString("</svg>\n")
	return b.String()
}
