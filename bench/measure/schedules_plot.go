// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"cmp"
	"fmt"
	"html"
	"slices"
	"strings"
)

// SchedulesSVG draws freshness over time, a line for each schedule.
func SchedulesSVG(list []ScheduleRun) string {
	days, fetches := 1, 0
	for i := range list {
		days, fetches = max(days, len(list[i].Daily)), list[i].Fetches
	}
	atX := func(day float64) float64 { return plotLeft + (plotRight-plotLeft)*day/float64(days) }
	atY := func(y float64) float64 { return plotBottom - (plotBottom-plotTop)*y }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 350" font-family="sans-serif" `+
		`font-size="12">`+"\n"+`<rect width="720" height="350" fill="white"/><text x="%g" y="22" font-size="14">`+
		`Share of pages that are fresh, with %d fetches under each schedule</text>`+"\n", plotLeft, fetches)
	for i := range 5 {
		y, day := float64(i)/4, float64(days)*float64(i)/4
		fmt.Fprintf(&b, `<line x1="%g" x2="%g" y1="%.1f" y2="%.1f" stroke="#ddd"/>`+
			`<text x="%g" y="%.1f" text-anchor="end">%.2f</text><text x="%.1f" y="%g" text-anchor="middle">%.0f</text>`+
			"\n", plotLeft, plotRight, atY(y), atY(y), plotLeft-6, atY(y)+4, y, atX(day), plotBottom+18, day)
	}
	fmt.Fprintf(&b, `<text x="%g" y="%g" text-anchor="middle">days; beside the names: mean of the second half</text>`+
		"\n", (plotLeft+plotRight)/2, plotBottom+38)
	names := namePlaces(list, atY)
	for i := range list {
		r, color := &list[i], plotColors[i%len(plotColors)]
		var path strings.Builder
		for day, y := range r.Daily {
			fmt.Fprintf(&path, "%.1f,%.1f ", atX(float64(day)+.5), atY(y))
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="1.5"/>`+
			`<text x="%g" y="%.1f" fill="%s">%s %.3f</text>`+"\n", strings.TrimSpace(path.String()), color,
			plotRight+8, names[i]+4, color, html.EscapeString(r.Name), r.Mean())
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// namePlaces returns how far down the name of each curve stands: beside its mean, or below the name above it.
func namePlaces(list []ScheduleRun, atY func(float64) float64) []float64 {
	const apart = 15
	places, order := make([]float64, len(list)), make([]int, len(list))
	for i := range list {
		places[i], order[i] = atY(list[i].Mean()), i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(places[a], places[b]) })
	for n, i := range order[1:] {
		places[i] = max(places[i], places[order[n]]+apart)
	}
	return places
}
