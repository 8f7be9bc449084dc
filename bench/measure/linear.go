// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"fmt"
	"html"
	"strings"
)

// linear is a drawing of lines over two axes that begin at 0.
type linear struct {
	b            strings.Builder
	xHigh, yHigh float64
}

// newLinear draws the axes up to xHigh and yHigh, with numbers in the formats of fmt, a title above and a text below.
func newLinear(title, below string, xHigh, yHigh float64, xFormat, yFormat string) *linear {
	d := &linear{xHigh: xHigh, yHigh: yHigh}
	fmt.Fprintf(&d.b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 350" font-family="sans-serif" `+
		`font-size="12">`+"\n"+`<rect width="720" height="350" fill="white"/><text x="%g" y="22" font-size="14">`+
		`%s</text>`+"\n", plotLeft, html.EscapeString(title))
	for i := range 5 {
		y, x := yHigh*float64(i)/4, xHigh*float64(i)/4
		fmt.Fprintf(&d.b, `<line x1="%g" x2="%g" y1="%.1f" y2="%.1f" stroke="#ddd"/>`+
			`<text x="%g" y="%.1f" text-anchor="end">`+yFormat+`</text><text x="%.1f" y="%g" text-anchor="middle">`+
			xFormat+`</text>`+"\n", plotLeft, plotRight, d.atY(y), d.atY(y), plotLeft-6, d.atY(y)+4, y, d.atX(x),
			plotBottom+18, x)
	}
	fmt.Fprintf(&d.b, `<text x="%g" y="%g" text-anchor="middle">%s</text>`+"\n", (plotLeft+plotRight)/2, plotBottom+38,
		html.EscapeString(below))
	return d
}

func (d *linear) atX(x float64) float64 { return plotLeft + (plotRight-plotLeft)*x/d.xHigh }
func (d *linear) atY(y float64) float64 { return plotBottom - (plotBottom-plotTop)*y/d.yHigh }

// line draws a line, and its name beside the right end at a height of the drawing.
func (d *linear) line(points []point, n int, name string, height float64) {
	color := plotColors[n%len(plotColors)]
	var path strings.Builder
	for _, p := range points {
		fmt.Fprintf(&path, "%.1f,%.1f ", d.atX(p.x), d.atY(p.y))
	}
	fmt.Fprintf(&d.b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="1.5"/>`+
		`<text x="%g" y="%.1f" fill="%s">%s</text>`+"\n", strings.TrimSpace(path.String()), color,
		plotRight+8, height+4, color, html.EscapeString(name))
}

func (d *linear) svg() string { return d.b.String() + "</svg>\n" }
