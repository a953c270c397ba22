package replay

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// textRows is how many rows of a table the text shows; JSON and HTML have more.
const textRows = 15

// Text writes the report for a terminal.
func (p *Report) Text(w io.Writer) error {
	t := &text{}
	t.say("%s\n%s", p.Read(), p.Lines())
	for _, s := range p.Log.Samples {
		t.say("  %s:%d: %s: %.100q", s.File, s.Line, s.Why, s.Text)
	}
	if p.Log.Decided > 0 {
		t.say("\n%s", p.Verdict(&p.Config))
		if p.Config.Shadow > 0 {
			t.say("its shadow rules would refuse %s", plural(p.Config.Shadow, "request"))
		}
		if p.Against != nil {
			t.say("%s\n%s", p.Verdict(p.Against), p.Difference())
		}
		t.over(p)
		t.rules(&p.Config)
		if p.Against != nil {
			t.rules(p.Against)
		}
		t.list(p, "client", &p.Clients)
		t.list(p, "endpoint", &p.Endpoints)
		t.keys(&p.Config)
	}
	_, err := io.WriteString(w, t.String())
	return err
}

type text struct{ strings.Builder }

func (t *text) say(format string, args ...any) { fmt.Fprintf(t, format+"\n", args...) }

// table writes rows under a head: the last column's texts from the left, all others from the right.
func (t *text) table(head []string, rows [][]string) {
	rows = append([][]string{head}, rows...)
	widths := make([]int, len(head))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		for i, cell := range row {
			if i == len(row)-1 {
				t.say("  %s", cell)
				break
			}
			fmt.Fprintf(t, "%s%s", strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2), cell)
		}
	}
}

// over draws requests and refusals over time.
func (t *text) over(p *Report) {
	const columns = 80
	n := len(p.Over.Requests)
	if n < 2 {
		return
	}
	per := (n + columns - 1) / columns
	t.say("\nover time, each column %v from %s", p.Over.Width*Seconds(per), p.Over.Start.Format("2 Jan 2006 15:04 UTC"))
	line := func(what string, counts []uint32) {
		if counts != nil {
			t.say("  %-12s %s", what, bars(counts, per))
		}
	}
	line("requests", p.Over.Requests)
	line("refused", p.Over.Refused)
	line("by the other", p.Over.Against)
	line("in shadow", p.Over.Shadow)
}

// bars draws counts, per of them a column, the highest at full height.
func bars(counts []uint32, per int) string {
	sums := make([]uint64, (len(counts)+per-1)/per)
	most := uint64(1)
	for i, n := range counts {
		sums[i/per] += uint64(n)
		most = max(most, sums[i/per])
	}
	blocks := []rune("▁▂▃▄▅▆▇█")
	drawn := make([]rune, len(sums))
	for i, n := range sums {
		drawn[i] = ' '
		if n > 0 {
			drawn[i] = blocks[(n*8-1)/most]
		}
	}
	return string(drawn) + "  at most " + Number(most)
}

func (t *text) rules(s *Side) {
	t.say("\n%s", s.File)
	var rows [][]string
	for _, r := range s.Rules {
		words := r.Name
		if r.Limit != "" {
			words += ": " + r.Limit
		}
		if r.Key != "" {
			words += ", by " + r.Key
		}
		if r.Mode != "enforce" {
			words += " [" + r.Mode + "]"
		}
		if r.Unkeyed > 0 {
			words += fmt.Sprintf(" (%s without that key)", Number(r.Unkeyed))
		}
		refused := r.Refused
		if r.Mode == "shadow" {
			refused = r.Shadow
		}
		rows = append(rows, []string{Number(r.Asked), Number(refused), Share(refused, r.Asked), words})
	}
	t.table([]string{"asked", "refused", "", "rule"}, rows)
}

// list writes who was refused.
func (t *text) list(p *Report, what string, l *List) {
	var rows [][]string
	for _, r := range l.Rows {
		if !r.hurt() || len(rows) == textRows {
			break
		}
		row := []string{Number(r.Requests), Number(r.Refused), Share(r.Refused, r.Requests)}
		if p.Against != nil {
			row = append(row, Number(r.Against), Share(r.Against, r.Requests))
		}
		words := r.Name
		if r.Rule != "" {
			words += ", by " + r.Rule
		}
		if r.First != nil {
			words += ", " + during(*r.First, *r.Last)
		}
		rows = append(rows, append(row, words))
	}
	if rows == nil {
		return
	}
	head := []string{"requests", "refused", ""}
	if p.Against != nil {
		head = append(head, "by the other", "")
	}
	t.say("\n%ss that are refused most", what)
	t.table(append(head, what), rows)
	if l.Refused > len(rows) {
		t.say("  and %s more", Number(uint64(l.Refused-len(rows))))
	}
}

// keys writes which keys were refused most, where they aren't the addresses that the clients are listed by.
func (t *text) keys(s *Side) {
	var rows [][]string
	for _, k := range s.Keys {
		if !strings.HasPrefix(k.Key, "ip=") || strings.Contains(k.Key, " ") {
			rows = append(rows, []string{Number(k.Refused), k.Rule + ": " + k.Key})
		}
	}
	if rows != nil {
		t.say("\nkeys that are refused most (a # is a hash of what the client sent)")
		t.table([]string{"refused", "rule and key"}, rows)
	}
}
