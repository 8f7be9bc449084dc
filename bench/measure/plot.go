// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"
)

// plot is a drawing of a layer: a unit over a number that is part of the benchmarks' names.
type plot struct {
	file, title string
	unit        string
	x           string // the text before the number, such as "pages="
	xLabel      string
}

// curve is one implementation's points, by x.
type curve struct {
	name   string
	points []point
}

type point struct{ x, y, low, high float64 }

// curves collects the points of a plot, nil if they have fewer than two different x.
func (p *plot) curves(rows []Summary) (out []curve) {
	xs := map[float64]bool{}
	for i := range rows {
		what, impl := rows[i].split()
		_, number, found := strings.Cut(what, p.x)
		u := rows[i].unit(p.unit)
		if !found || u == nil {
			continue
		}
		number, _, _ = strings.Cut(number, "-") // 1000-hosts
		x, err := strconv.ParseFloat(number, 64)
		if err != nil {
			continue
		}
		xs[x] = true
		at := slices.IndexFunc(out, func(c curve) bool { return c.name == impl })
		if at < 0 {
			at = len(out)
			out = append(out, curve{name: impl})
		}
		out[at].points = append(out[at].points, point{x, u.Median, u.Min, u.Max})
	}
	if len(xs) < 2 {
		return nil
	}
	return out
}

// The plot area, in units of the drawing.
const (
	plotLeft, plotRight, plotTop, plotBottom = 70.0, 560.0, 40.0, 300.0
)

var plotColors = []string{"#1b6ca8", "#c0392b", "#2e8b57", "#8e44ad", "#b9770e", "#555555"}

// svg draws curves over a logarithmic x axis and a y axis from 0, with a bar from the smallest to the largest run at
// each point.
func (p *plot) svg(curves []curve) string {
	xLow, xHigh, yHigh := math.Inf(1), math.Inf(-1), 0.0
	for _, c := range curves {
		for _, q := range c.points {
			xLow, xHigh, yHigh = min(xLow, q.x), max(xHigh, q.x), max(yHigh, q.high)
		}
	}
	yHigh = niceCeiling(yHigh)
	atX := func(x float64) float64 {
		return plotLeft + 20 + (plotRight-plotLeft-40)*(math.Log(x)-math.Log(xLow))/(math.Log(xHigh)-math.Log(xLow))
	}
	atY := func(y float64) float64 { return plotBottom - (plotBottom-plotTop)*y/yHigh }
	var b strings.Builder
	fmt.Fprintf(
		&b,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 350" font-family="sans-serif" font-size="12">`+"\n",
	)
	fmt.Fprintf(
		&b,
		`<rect width="720" height="350" fill="white"/><text x="%g" y="22" font-size="14">%s</text>`+"\n",
		plotLeft, html.EscapeString(p.title),
	)
	for i := range 5 {
		y := yHigh * float64(i) / 4
		fmt.Fprintf(&b, `<line x1="%g" x2="%g" y1="%.1f" y2="%.1f" stroke="#ddd"/>`+
			`<text x="%g" y="%.1f" text-anchor="end">%s</text>`+"\n",
			plotLeft, plotRight, atY(y), atY(y), plotLeft-6, atY(y)+4, formatMetric(y))
	}
	var xs []float64
	for _, c := range curves {
		for _, q := range c.points {
			if !slices.Contains(xs, q.x) {
				xs = append(xs, q.x)
				fmt.Fprintf(
					&b, `<text x="%.1f" y="%g" text-anchor="middle">%s</text>`+"\n", atX(q.x), plotBottom+18,
					formatCount(q.x),
				)
			}
		}
	}
	fmt.Fprintf(
		&b, `<text x="%g" y="%g" text-anchor="middle">%s</text>`+"\n", (plotLeft+plotRight)/2, plotBottom+38,
		html.EscapeString(p.xLabel),
	)
	for i, c := range curves {
		color := plotColors[i%len(plotColors)]
		slices.SortFunc(c.points, func(a, b point) int { return int(math.Copysign(1, a.x-b.x)) })
		var path strings.Builder
		for _, q := range c.points {
			fmt.Fprintf(&path, "%.1f,%.1f ", atX(q.x), atY(q.y))
			fmt.Fprintf(&b, `<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" stroke="%s"/>`+
				`<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n",
				atX(q.x), atX(q.x), atY(q.low), atY(q.high), color, atX(q.x), atY(q.y), color)
		}
		last := c.points[len(c.points)-1]
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="1.5"/>`+
			`<text x="%.1f" y="%.1f" fill="%s">%s</text>`+"\n",
			strings.TrimSpace(path.String()), color, atX(last.x)+10, atY(last.y)+4, color, html.EscapeString(c.name))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// niceCeiling rounds up to 1, 2, 4, 5, 8 or 10 times a power of ten.
func niceCeiling(y float64) float64 {
	if y <= 0 {
		return 1
	}
	p := math.Pow(10, math.Floor(math.Log10(y)))
	for _, m := range []float64{1, 2, 4, 5, 8} {
		if y <= m*p {
			return m * p
		}
	}
	return 10 * p
}

// formatCount returns 10⁴ for 10000, and other numbers as they are.
func formatCount(x float64) string {
	if e := math.Log10(x); e >= 3 && e == math.Trunc(e) {
		return "10" + string([]rune("⁰¹²³⁴⁵⁶⁷⁸⁹")[int(e)])
	}
	return formatMetric(x)
}
