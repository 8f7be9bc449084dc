// SPDX-License-Identifier: Apache-2.0

package measure

import "slices"

// SVG draws the pages a second and the processor time of a page, in ten seconds each, over the pages that were fetched.
func (r *LongRun) SVG() string {
	rates, costs := r.curves()
	xHigh, yHigh := 1.0, 1.0
	if n := len(r.Samples); n > 0 {
		xHigh = max(xHigh, float64(r.Samples[n-1].Pages))
	}
	for _, p := range slices.Concat(rates, costs) {
		yHigh = max(yHigh, p.y)
	}
	d := newLinear("A long crawl, in spans of ten seconds", "pages fetched", xHigh, niceCeiling(yHigh), "%.0f", "%.0f")
	for i, points := range [][]point{rates, costs} {
		if len(points) > 0 {
			name := []string{"pages/s", "µs of CPU a page"}[i]
			d.line(points, i, name, d.atY(points[len(points)-1].y))
		}
	}
	return d.svg()
}

// curves returns the pages a second and the µs of processor time of a page in each longWindow; the last may be longer.
func (r *LongRun) curves() (rates, costs []point) {
	s := r.Samples
	for from, i := 0, 1; i < len(s); i++ {
		if s[i].At-s[from].At < longWindow-longTick/2 || s[len(s)-1].At-s[i].At < longWindow && i < len(s)-1 {
			continue
		}
		a, b := s[from], s[i]
		x := float64(a.Pages+b.Pages) / 2
		rates = append(rates, point{x: x, y: rate(a, b)})
		if n := b.Pages - a.Pages; n > 0 {
			costs = append(costs, point{x: x, y: float64((b.CPU - a.CPU).Microseconds()) / float64(n)})
		}
		from = i
	}
	return rates, costs
}
