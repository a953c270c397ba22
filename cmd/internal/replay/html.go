package replay

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"
)

//go:embed page.html
var pageText string

//go:embed style.css
var styleText string

// Style is the style of the pages of replay and suggest.
func Style() template.CSS { return template.CSS(styleText) }

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"number": Number,
	"share":  Share,
	"strip":  strip,
	"style":  Style,
}).Parse(pageText))

// htmlRows is how many clients the page draws over time.
const htmlRows = 30

// pageView is what the page shows. Its fields go before the Report's.
type pageView struct {
	*Report
	// All bars of one panel are of one scale.
	When       []panel
	Ticks      []string
	Clients    []Row
	MoreHurt   int
	Most       uint32 // the most refusals of one client in one bucket
	MostByRule uint32
	Rows       []Row // endpoints
	Sides      []*Side
}

// panel is a plot over time.
type panel struct {
	Title, Class string
	Most         string
	Bars         template.HTML
}

// HTML writes the report as one page that needs nothing else: no script, no font, no picture from elsewhere.
func (p *Report) HTML(w io.Writer) error {
	v := pageView{Report: p, Ticks: p.ticks(), Sides: []*Side{&p.Config}}
	v.When = append(v.When, p.panel("all requests, refused ones in red", "", p.Over.Requests, p.Over.Refused))
	if p.Config.Refused > 0 {
		v.When = append(v.When, p.panel("refused by "+p.Config.File, "refused", p.Over.Refused, nil))
	}
	if p.Against != nil {
		v.Sides = append(v.Sides, p.Against)
		v.When = append(v.When, p.panel("refused by "+p.Against.File, "against", p.Over.Against, nil))
	}
	if p.Over.Shadow != nil {
		v.When = append(v.When, p.panel("would be refused by rules in shadow mode", "shadow", p.Over.Shadow, nil))
	}
	for _, c := range p.Clients.Rows {
		if c.hurt() && len(v.Clients) < htmlRows {
			v.Clients = append(v.Clients, c)
			for _, n := range c.Over {
				v.Most = max(v.Most, n)
			}
		}
	}
	v.MoreHurt = max(p.Clients.Refused-len(v.Clients), 0)
	for _, side := range v.Sides {
		for _, r := range side.Rules {
			for _, n := range r.Over {
				v.MostByRule = max(v.MostByRule, n)
			}
		}
	}
	for _, e := range p.Endpoints.Rows {
		if e.hurt() && len(v.Rows) < htmlRows {
			v.Rows = append(v.Rows, e)
		}
	}
	return page.Execute(w, v)
}

// panel draws counts, and the parts of them that are in over.
func (p *Report) panel(title, class string, counts, over []uint32) panel {
	most := uint32(1)
	for _, n := range counts {
		most = max(most, n)
	}
	const height = 100
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="bars" viewBox="0 0 %d %d" preserveAspectRatio="none" role="img" aria-label="%s">`, len(counts), height, template.HTMLEscapeString(title))
	for i, n := range counts {
		if n == 0 {
			continue
		}
		h := float64(n) / float64(most) * height
		fmt.Fprintf(&b, `<g><title>%s: %s`, p.bucketText(i), Number(uint64(n)))
		if over != nil {
			fmt.Fprintf(&b, " requests, %s refused", Number(uint64(over[i])))
		}
		fmt.Fprintf(&b, `</title><rect class="%s" x="%d" y="%.2f" width="1" height="%.2f"/>`, class, i, height-h, h)
		if over != nil && over[i] > 0 {
			h := max(float64(over[i])/float64(most)*height, 1)
			fmt.Fprintf(&b, `<rect class="refused" x="%d" y="%.2f" width="1" height="%.2f"/>`, i, height-h, h)
		}
		b.WriteString("</g>")
	}
	b.WriteString("</svg>")
	return panel{title, class, Number(uint64(most)), template.HTML(b.String())} // numbers and escaped text
}

// strip draws counts as a row of cells, the darker the more.
func strip(p *Report, counts []uint32, most uint32) template.HTML {
	if counts == nil {
		return "" // of too many clients, not all are known over time
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="strip" viewBox="0 0 %d 1" preserveAspectRatio="none" role="img" aria-label="refusals over time">`, len(counts))
	for i, n := range counts {
		if n > 0 {
			step := 1
			for step < 5 && uint64(n)<<(2*(5-step)) < uint64(most) { // a step is a factor of four
				step++
			}
			step = 6 - step
			fmt.Fprintf(&b, `<rect class="s%d" x="%d" y="0" width="1" height="1"><title>%s: %s</title></rect>`, step, i, p.bucketText(i), Number(uint64(n)))
		}
	}
	b.WriteString("</svg>")
	return template.HTML(b.String()) // numbers only
}

// bucketText says when a bucket begins.
func (p *Report) bucketText(i int) string {
	return p.Over.Start.Add(time.Duration(i) * p.Over.Width.Duration()).Format("2 Jan 15:04:05")
}

// ticks are the labels under plots over time, evenly spread from the beginning to the end.
func (p *Report) ticks() []string {
	const n = 4
	whole := time.Duration(len(p.Over.Requests)) * p.Over.Width.Duration()
	layout := "15:04"
	switch {
	case whole > 300*24*time.Hour:
		layout = "Jan 2006"
	case whole > 20*time.Hour:
		layout = "2 Jan 15:04"
	case whole < 10*time.Minute:
		layout = "15:04:05"
	}
	var ticks []string
	for i := range n + 1 {
		ticks = append(ticks, p.Over.Start.Add(whole*time.Duration(i)/n).Format(layout))
	}
	return ticks
}

// Glance says in a few sentences who is hurt, and when.
func (p *Report) Glance() string {
	if p.Config.Refused == 0 {
		return ""
	}
	text := ""
	if rows := p.Clients.Rows; len(rows) > 0 && rows[0].Refused > 0 {
		top := rows[0]
		text = fmt.Sprintf("Most refusals, %s of %s, are %s's", Number(top.Refused), Number(p.Config.Refused), top.Name)
		if top.Refused*2 < p.Config.Refused {
			few, sum := 0, uint64(0)
			for _, c := range rows {
				if sum*10 >= p.Config.Refused*9 {
					break
				}
				few++
				sum += c.Refused
			}
			text = fmt.Sprintf("%s have %s of them", plural(uint64(few), "client"), Share(sum, p.Config.Refused))
		}
		text += ". "
	}
	worst := 0
	for i, n := range p.Over.Refused {
		if n > p.Over.Refused[worst] {
			worst = i
		}
	}
	from := p.Over.Start.Add(time.Duration(worst) * p.Over.Width.Duration())
	return text + fmt.Sprintf("It is worst at %s UTC: %s of %s requests refused within %v.", from.Format("2 Jan 15:04:05"),
		Number(uint64(p.Over.Refused[worst])), Number(uint64(p.Over.Requests[worst])), p.Over.Width)
}

// LastedText says from when to when a client was refused.
func (r Row) LastedText() string {
	if r.First == nil {
		return ""
	}
	return during(*r.First, *r.Last)
}

// Percent is the refused share of a row's requests, from 0 to 100.
func (r Row) Percent() string { return percent(r.Refused, r.Requests) }

// PercentAgainst is the same for the other rules.
func (r Row) PercentAgainst() string { return percent(r.Against, r.Requests) }

func percent(part, whole uint64) string {
	if whole == 0 {
		return "0"
	}
	return fmt.Sprintf("%.1f", 100*float64(part)/float64(whole))
}
