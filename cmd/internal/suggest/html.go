package suggest

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"

	"github.com/casgate/ratelimit/cmd/internal/replay"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{"number": replay.Number, "style": replay.Style}).Parse(pageText))

// HTML writes the trade-offs as one page that needs nothing else.
func (r *Result) HTML(w io.Writer) error {
	return page.Execute(w, r)
}

// Side is what the suggested rules did in the replay.
func (r *Result) Side() *replay.Side { return &r.Report.Config }

// Words names the group.
func (g *Group) Words() string { return g.words() }

// Suggested is the point that is.
func (g *Group) Suggested() Point { return g.Curve[g.Chosen] }

// Least and Most are the bursts at the ends of the curve.
func (g *Group) Least() int64 { return g.Curve[len(g.Curve)-1].Burst }
func (g *Group) Most() int64  { return g.Curve[0].Burst }

// Top is the share, in percent, that the plot's upper edge stands for.
func (g *Group) Top() float64 {
	most := 0.0
	for _, p := range g.Curve {
		most = max(most, g.requestShare(p), g.clientShare(p))
	}
	for _, top := range []float64{1, 2, 5, 10, 20, 50} {
		if most <= top {
			return top
		}
	}
	return 100
}

func (g *Group) requestShare(p Point) float64 {
	return 100 * float64(p.Requests) / float64(max(g.Requests, 1))
}

func (g *Group) clientShare(p Point) float64 {
	return 100 * float64(p.Clients) / float64(max(g.Clients, 1))
}

// Plot draws the curve: the burst, on a logarithmic scale, against what is refused.
func (g *Group) Plot() template.HTML {
	const width, height, margin = 600.0, 240.0, 8.0
	scale := math.Log(float64(g.Most()) / float64(g.Least()))
	x := func(p Point) float64 {
		if scale == 0 {
			return width / 2
		}
		return margin + (width-2*margin)*math.Log(float64(p.Burst)/float64(g.Least()))/scale
	}
	y := func(share float64) float64 { return height - margin - (height-2*margin)*share/g.Top() }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="curve" viewBox="0 0 %.0f %.0f" role="img" aria-label="refused share by burst">`, width, height)
	at := x(g.Suggested())
	fmt.Fprintf(&b, `<line x1="%.1f" x2="%.1f" y1="0" y2="%.0f"/>`, at, at, height)
	for _, line := range []struct {
		class string
		share func(Point) float64
	}{{"clients", g.clientShare}, {"requests", g.requestShare}} {
		fmt.Fprintf(&b, `<polyline class="%s" points="`, line.class)
		for _, p := range g.Curve {
			fmt.Fprintf(&b, "%.1f,%.1f ", x(p), y(line.share(p)))
		}
		b.WriteString(`"/>`)
		for _, p := range g.Curve {
			fmt.Fprintf(&b, `<circle class="%s" cx="%.1f" cy="%.1f" r="4"><title>burst %d: %d requests and %d clients refused</title></circle>`,
				line.class, x(p), y(line.share(p)), p.Burst, p.Requests, p.Clients)
		}
	}
	b.WriteString("</svg>")
	return template.HTML(b.String()) // numbers only
}
