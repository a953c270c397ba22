package compare

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

const (
	width    = 20 * vg.Centimeter
	height   = 22 * vg.Centimeter
	stepOf   = 2 * time.Second // a bar
	barWidth = 3.4             // points
)

var (
	barColor  = color.RGBA{R: 0x2b, G: 0x6c, B: 0xb0, A: 0xff}
	edgeColor = color.Gray{Y: 0xb8}
)

// SVG draws the results below one another: what passed in each two seconds, with the edges of the minutes.
func SVG(w io.Writer, results []Result) error {
	canvas := vgsvg.New(width, height)
	dc := draw.New(canvas)
	rows := make([][]*plot.Plot, len(results))
	for i := range results {
		p, err := panel(&results[i], highest(results, stepOf), i == len(results)-1)
		if err != nil {
			return err
		}
		rows[i] = []*plot.Plot{p}
	}
	tiles := draw.Tiles{Rows: len(results), Cols: 1, PadY: 3 * vg.Millimeter, PadTop: 2 * vg.Millimeter, PadRight: 4 * vg.Millimeter}
	for i, row := range plot.Align(rows, tiles, dc) {
		rows[i][0].Draw(row[0])
	}
	_, err := canvas.WriteTo(w)
	return err
}

// panel is one algorithm's plot.
func panel(r *Result, highest int, last bool) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = fmt.Sprintf("%s: %d of %d admitted, at most %d in any minute", r.Title(), len(r.Admitted), r.Offered, r.Most(Window))
	p.Y.Label.Text = fmt.Sprintf("in %v", stepOf)
	p.Y.Min, p.Y.Max = 0, float64(highest)
	p.X.Min, p.X.Max = 0, Span.Seconds()
	if last {
		p.X.Label.Text = "seconds; a minute begins at each line"
	}
	p.X.Tick.Marker = plot.TickerFunc(func(_, _ float64) (ticks []plot.Tick) {
		for s := 0.0; s <= Span.Seconds(); s += 30 {
			ticks = append(ticks, plot.Tick{Value: s, Label: fmt.Sprint(s)})
		}
		return ticks
	})
	for at := Window; at < Span; at += Window {
		edge, err := plotter.NewLine(plotter.XYs{{X: at.Seconds(), Y: 0}, {X: at.Seconds(), Y: float64(highest)}})
		if err != nil {
			return nil, err
		}
		edge.Color = edgeColor
		p.Add(edge)
	}
	var values plotter.Values
	for _, n := range r.Per(stepOf) {
		values = append(values, float64(n))
	}
	chart, err := plotter.NewBarChart(values, barWidth)
	if err != nil {
		return nil, err
	}
	chart.Color, chart.LineStyle.Width = barColor, 0
	chart.XMin = stepOf.Seconds() / 2
	p.Add(&spaced{chart, stepOf.Seconds()})
	return p, nil
}

// spaced is a bar chart whose bars are by apart instead of 1.
type spaced struct {
	*plotter.BarChart
	by float64
}

// Plot draws each bar at its time.
func (s *spaced) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, v := range s.Values {
		if v == 0 {
			continue
		}
		middle := x(s.XMin + float64(i)*s.by)
		c.FillPolygon(s.Color, []vg.Point{
			{X: middle - s.Width/2, Y: y(0)}, {X: middle + s.Width/2, Y: y(0)},
			{X: middle + s.Width/2, Y: y(v)}, {X: middle - s.Width/2, Y: y(v)},
		})
	}
}

// DataRange keeps the axes as they were set.
func (s *spaced) DataRange() (xmin, xmax, ymin, ymax float64) {
	return 0, Span.Seconds(), 0, math.Max(1, 0)
}
