// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/seine-crawler/seine/engine"
)

// The size of charts in their own units: the width of a step, and the height; and the most steps that a line has.
const (
	chartStep   = 2
	chartHeight = 160
	chartPoints = 100
)

// axis is the span of time that all charts of a page share, cut into equal steps.
type axis struct {
	From, To time.Time
	Steps    [][]engine.Sample

	past bool // it ends before now: its last values are not those of now
}

// newAxis sorts samples, oldest first, into steps. No step is shorter than the samples are, so that no line has gaps
// that mean nothing.
func newAxis(samples []engine.Sample, span time.Duration, now time.Time) axis {
	if len(samples) == 0 {
		return axis{}
	}
	a := axis{To: samples[len(samples)-1].Time}
	if a.past = now.Sub(a.To) >= time.Minute; !a.past && now.After(a.To) { // else the clock was set back
		a.To = now
	}
	a.From = a.To
	for _, s := range samples { // where the clock was set back, the oldest sample is not the first in time
		if from := s.Time.Add(-seconds(s.Seconds)); from.Before(a.From) {
			a.From = from
		}
	}
	if span > 0 && a.To.Sub(a.From) > span {
		a.From = a.To.Add(-span)
	}
	longest := 1.0
	for _, s := range samples {
		longest = max(longest, s.Seconds)
	}
	whole := a.To.Sub(a.From).Seconds()
	n := min(max(int(whole/longest), 1), chartPoints)
	a.Steps = make([][]engine.Sample, n)
	for _, s := range samples {
		at := s.Time.Add(-seconds(s.Seconds / 2)).Sub(a.From).Seconds()
		if i := int(at / whole * float64(n)); at >= 0 && i < n {
			a.Steps[i] = append(a.Steps[i], s)
		}
	}
	return a
}

// chart is what its template draws.
type chart struct {
	Name, Unit string
	Now        string // the newest value, with its unit
	Most       string // the value at the top
	Lines      []chartLine
	Suffix     string // of values in bytes, for the script: "B" or "B/s"
	Values     string // of the first line, for the script: numbers with commas, nothing where there is none
	Width      int    // in the chart's units
	Limit      int    // height of a limit in the chart's units, 0 if it is not shown
	Link       string
}

// chartLine is one line, or area, with its direct label.
type chartLine struct {
	Name string // "" if the chart has only this one
	Now  string
	Hue  int // from 1
	Path string
	Area string // "": a line alone
}

// series is a name for a number of samples.
type series struct {
	Name  string
	Value func(*engine.Sample) float64
}

// draw draws one or more series. Stacked ones add up. write makes a text of a value.
func (a *axis) draw(name string, limit float64, stacked bool, write func(float64) string, list ...series) chart {
	values := make([][]float64, len(list))
	most := limit
	for i, s := range list {
		values[i] = a.values(s.Value)
		for k, v := range values[i] {
			if stacked && i > 0 && !math.IsNaN(v) {
				values[i][k] += values[i-1][k]
			}
			if !math.IsNaN(values[i][k]) {
				most = max(most, values[i][k])
			}
		}
	}
	top := roundUp(most)
	c := chart{Name: name, Width: chartStep * len(a.Steps), Most: strings.Replace(write(top), ".00", "", 1)}
	for i, s := range list {
		line := chartLine{Name: s.Name, Hue: i%6 + 1, Path: drawPath(values[i], nil, top)}
		if stacked || len(list) == 1 {
			var floor []float64
			if stacked && i > 0 {
				floor = values[i-1]
			}
			line.Area = drawPath(values[i], pick(floor, len(values[i])), top)
		}
		last := math.NaN()
		if n := len(values[i]); n > 0 {
			last = values[i][n-1]
			if math.IsNaN(last) && n > 1 {
				last = values[i][n-2] // the newest step has just begun
			}
			if stacked && i > 0 {
				last -= lastOf(values[i-1])
			}
		}
		if a.past {
			last = math.NaN()
		}
		line.Now = writeOr(write, last)
		c.Lines = append(c.Lines, line)
	}
	if n := len(list); n > 0 {
		of := values[0]
		if stacked {
			of = values[n-1]
		}
		c.Now, c.Values = writeOr(write, lastOf(of)), join(of)
		if a.past {
			c.Now = writeOr(write, math.NaN())
		}
	}
	if limit > 0 {
		c.Limit = max(height(limit/top), 1)
	}
	return c
}

// values are the means of a series in the steps; NaN where nothing is known.
func (a *axis) values(value func(*engine.Sample) float64) []float64 {
	list := make([]float64, len(a.Steps))
	for i, step := range a.Steps {
		sum, weight := 0.0, 0.0
		for k := range step {
			sum += value(&step[k]) * step[k].Seconds
			weight += step[k].Seconds
		}
		list[i] = sum / weight
	}
	return list
}

func lastOf(values []float64) float64 {
	for i := len(values) - 1; i >= max(0, len(values)-2); i-- {
		if !math.IsNaN(values[i]) {
			return values[i]
		}
	}
	return math.NaN()
}

func writeOr(write func(float64) string, v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return write(v)
}

// pick is a list, or zeros in its place.
func pick(list []float64, n int) []float64 {
	if list == nil {
		return make([]float64, n)
	}
	return list
}

// drawPath draws a line through values; with a floor it is the area between both. NaN interrupts it. All numbers are
// whole, and relative after the first, so that a point takes some four bytes.
func drawPath(values, floor []float64, top float64) string {
	var w pathWriter
	for i := 0; i < len(values); {
		if math.IsNaN(values[i]) {
			i++
			continue
		}
		end := i
		for end < len(values) && !math.IsNaN(values[end]) {
			end++
		}
		w.move(i, values[i]/top)
		for k := i + 1; k < end; k++ {
			w.line(k, values[k]/top)
		}
		if floor != nil {
			for k := end - 1; k >= i; k-- {
				w.line(k, floor[k]/top)
			}
			w.flush()
			w.WriteByte('Z')
		} else if w.flush(); end == i+1 {
			w.WriteString("h.1") // a point alone
		}
		i = end
	}
	return w.String()
}

// pathWriter writes the data of an SVG path.
type pathWriter struct {
	strings.Builder
	x, y   int  // where it is
	across int  // to the right of that, not written yet
	lines  bool // the last command was a line: another needs no letter
}

// move begins a line at a step and a share of the height.
func (w *pathWriter) move(step int, share float64) {
	w.x, w.y, w.across, w.lines = chartStep*step+chartStep/2, height(share), 0, false
	fmt.Fprintf(w, "M%d %d", w.x, w.y)
}

// line goes on to a step and a share of the height.
func (w *pathWriter) line(step int, share float64) {
	x, y := chartStep*step+chartStep/2, height(share)
	if y == w.y && (w.across == 0 || w.across > 0 == (x > w.x)) {
		w.across, w.x = w.across+x-w.x, x
		return
	}
	w.flush()
	switch {
	case !w.lines:
		w.WriteByte('l')
	case x >= w.x:
		w.WriteByte(' ')
	}
	fmt.Fprint(w, x-w.x)
	if y >= w.y {
		w.WriteByte(' ')
	}
	fmt.Fprint(w, y-w.y)
	w.x, w.y, w.lines = x, y, true
}

// flush writes what is level.
func (w *pathWriter) flush() {
	if w.across != 0 {
		fmt.Fprintf(w, "h%d", w.across)
		w.across, w.lines = 0, false
	}
}

// height is a share of the height in the units of a chart, from above.
func height(share float64) int { return chartHeight - int(math.Round(share*chartHeight)) }

// join writes values for the script.
func join(values []float64) string {
	var b strings.Builder
	for i, v := range values {
		if i > 0 {
			b.WriteByte(',')
		}
		if !math.IsNaN(v) {
			b.WriteString(strconv.FormatFloat(v, 'g', 3, 64))
		}
	}
	return b.String()
}

// roundUp is the next of 1, 2 and 5 times a power of ten: the value at the top of a chart.
func roundUp(v float64) float64 {
	if !(v > 0) {
		return 1
	}
	p := math.Pow(10, math.Floor(math.Log10(v)))
	for _, f := range []float64{1, 2, 5} {
		if v <= f*p*1.0001 {
			return f * p
		}
	}
	return 10 * p
}
