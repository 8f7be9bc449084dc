// SPDX-License-Identifier: Apache-2.0

package web

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/seine-crawler/seine/engine"
)

// The size of charts in their own units, and the most points that a line has.
const (
	chartWidth  = 300
	chartHeight = 80
	chartPoints = 120
)

// axis is the span of time that all charts of a page share, cut into equal steps.
type axis struct {
	From, To time.Time
	Steps    [][]engine.Sample
}

// newAxis sorts samples, oldest first, into steps. No step is shorter than the samples are, so that no line has gaps
// that mean nothing.
func newAxis(samples []engine.Sample, span time.Duration, now time.Time) axis {
	if len(samples) == 0 {
		return axis{}
	}
	a := axis{To: samples[len(samples)-1].Time}
	if now.Sub(a.To) < time.Minute {
		a.To = now
	}
	a.From = samples[0].Time.Add(-seconds(samples[0].Seconds))
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
	Limit      string // height of a limit in the chart's units, "" if it is not shown
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
	c := chart{Name: name, Most: strings.Replace(write(top), ".00", "", 1)}
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
		line.Now = writeOr(write, last)
		c.Lines = append(c.Lines, line)
	}
	if n := len(list); n > 0 {
		of := values[0]
		if stacked {
			of = values[n-1]
		}
		c.Now, c.Values = writeOr(write, lastOf(of)), join(of)
	}
	if limit > 0 {
		c.Limit = coordinate(chartHeight - limit/top*chartHeight)
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

// drawPath draws a line through values; with a floor it is the area between both. NaN interrupts it.
func drawPath(values, floor []float64, top float64) string {
	var b strings.Builder
	x := func(i int) string { return coordinate((float64(i) + 0.5) / float64(len(values)) * chartWidth) }
	y := func(v float64) string { return coordinate(chartHeight - v/top*chartHeight) }
	for i := 0; i < len(values); {
		if math.IsNaN(values[i]) {
			i++
			continue
		}
		end := i
		for end < len(values) && !math.IsNaN(values[end]) {
			end++
		}
		for k := i; k < end; k++ {
			b.WriteString(map[bool]string{true: "M", false: "L"}[k == i] + x(k) + " " + y(values[k]))
		}
		if floor != nil {
			for k := end - 1; k >= i; k-- {
				b.WriteString("L" + x(k) + " " + y(floor[k]))
			}
			b.WriteString("Z")
		} else if end == i+1 {
			b.WriteString("h0.01") // a point alone
		}
		i = end
	}
	return b.String()
}

func coordinate(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

// join writes values for the script.
func join(values []float64) string {
	var b strings.Builder
	for i, v := range values {
		if i > 0 {
			b.WriteByte(',')
		}
		if !math.IsNaN(v) {
			b.WriteString(strconv.FormatFloat(v, 'g', 4, 64))
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
