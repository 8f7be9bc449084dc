// SPDX-License-Identifier: Apache-2.0

package measure

import "slices"

// SVG draws the pages a second in spans of ten seconds, and the processor time that a page took until then, over time.
func (r *LongRun) SVG() string {
	rates, costs := r.curves()
	xHigh, yHigh := 1.0, 1.0
	for _, p := range slices.Concat(rates, costs) {
		xHigh, yHigh = max(xHigh, p.x), max(yHigh, p.y)
	}
	d := newLinear("A long crawl, in spans of ten seconds", "seconds since the first page", niceCeiling(xHigh),
		niceCeiling(yHigh), "%.0f", "%.0f")
	for i, points := range [][]point{rates, costs} {
		if len(points) > 0 {
			name := []string{"pages/s", "µs of CPU a page"}[i]
			d.line(points, i, name, d.atY(points[len(points)-1].y))
		}
	}
	return d.svg()
}

// curves returns the pages a second of each longWindow, the last of which may be longer, and the µs of processor time
// that the pages until its end took.
func (r *LongRun) curves() (rates, costs []point) {
	s := r.Samples
	for from, i := 0, 1; i < len(s); i++ {
		if s[i].At-s[from].At < longWindow-longTick/2 || s[len(s)-1].At-s[i].At < longWindow && i < len(s)-1 {
			continue
		}
		a, b := s[from], s[i]
		rates = append(rates, point{x: (a.At + b.At).Seconds() / 2, y: rate(a, b)})
		costs = append(costs, point{x: b.At.Seconds(), y: float64(b.CPU.Microseconds()) / float64(max(1, b.Pages))})
		from = i
	}
	return rates, costs
}
