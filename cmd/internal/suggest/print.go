package suggest

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/casgate/ratelimit/cmd/internal/replay"
)

// YAML writes the suggestion as a rule file. What it stands on is in comments.
func (r *Result) YAML(w io.Writer) error {
	p := &printer{}
	p.comment("%s", r.Report.Read())
	p.comment("%s", r.Report.Lines())
	p.comment("Replayed, %s.", r.Report.Verdict(&r.Report.Config))
	shown := 0
	for _, c := range r.Report.Clients.Rows {
		if c.Refused == 0 || shown == 5 {
			break
		}
		shown++
		p.comment("  %s: %s of %s requests refused, by %s", c.Name, replay.Number(c.Refused), replay.Number(c.Requests), c.Rule)
	}
	if more := r.Report.Config.Clients - shown; more > 0 && shown > 0 {
		p.comment("  and %d more", more)
	}
	for _, g := range r.Groups {
		p.group(g)
	}
	text, err := yaml.Marshal(r.Spec)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, p.String()+"\n"+string(text))
	return err
}

type printer struct{ strings.Builder }

func (p *printer) comment(format string, args ...any) {
	for line := range strings.Lines(fmt.Sprintf(format, args...)) {
		p.WriteString(strings.TrimRight("# "+line, " \n") + "\n")
	}
}

// group writes a group's trade-off.
func (p *printer) group(g *Group) {
	point := g.Curve[g.Chosen]
	p.WriteString("#\n")
	title := g.words()
	if g.Match != "" {
		title += " (" + g.Match + ")"
	}
	p.comment("%s, by %s: %v, %d at once.", title, g.Key, g.Rate, point.Burst)
	p.comment("%s.", g.Why)
	p.comment("    burst  clients refused     requests refused")
	for i, x := range g.Curve {
		mark := ' '
		if i == g.Chosen {
			mark = '>'
		}
		p.comment("%c %7d  %s %s  %s", mark, x.Burst, right(uint64(x.Clients), uint64(g.Clients), 18), right(x.Requests, g.Requests, 18),
			bar(x.Requests, g.Requests))
	}
}

// right writes "12 (3.4 %)", aligned.
func right(part, whole uint64, width int) string {
	text := fmt.Sprintf("%s (%s)", replay.Number(part), replay.Share(part, whole))
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}

// bar draws a share of up to all.
func bar(part, whole uint64) string {
	const width = 24
	eighths := int(part * width * 8 / max(whole, 1))
	if part > 0 {
		eighths = max(eighths, 1)
	}
	text := strings.Repeat("█", eighths/8)
	if eighths%8 > 0 {
		text += string([]rune("▏▎▍▌▋▊▉")[eighths%8-1])
	}
	return text
}
