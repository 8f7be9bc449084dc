// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Line is one result of one benchmark, in the format of `go test -bench`: benchstat reads it too.
type Line struct {
	Name    string // without "Benchmark" and the number of processors, such as Crawl/pages=10000/seine
	Count   int    // iterations, or pages of a crawl
	Metrics []Metric
}

// Metric is one number of a line with its unit, such as ns/op or pages/s.
type Metric struct {
	Unit  string
	Value float64
}

// String returns the line as Go's testing package writes it.
func (l Line) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Benchmark%s\t%d", l.Name, l.Count)
	for _, m := range l.Metrics {
		b.WriteByte('\t')
		b.WriteString(formatMetric(m.Value))
		b.WriteByte(' ')
		b.WriteString(m.Unit)
	}
	return b.String()
}

func formatMetric(v float64) string {
	switch {
	case v >= 100 || v == float64(int64(v)):
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// Value returns the number with a unit, false if there is none.
func (l *Line) Value(unit string) (float64, bool) {
	for _, m := range l.Metrics {
		if m.Unit == unit {
			return m.Value, true
		}
	}
	return 0, false
}

// ReadLines reads the benchmark lines of a text and skips all others. A line that begins like one but cannot be read is
// an error that names it.
func ReadLines(r io.Reader) ([]Line, error) {
	var out []Line
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		name, ok := strings.CutPrefix(s.Text(), "Benchmark")
		fields := strings.Fields(name)
		if !ok || len(fields) < 4 || len(fields)%2 != 0 {
			continue // such as the name alone, which -v prints first
		}
		l := Line{Name: withoutProcs(fields[0])}
		var err error
		if l.Count, err = strconv.Atoi(fields[1]); err != nil {
			continue
		}
		for i := 2; i < len(fields); i += 2 {
			v, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return nil, fmt.Errorf("benchmark line %q: %w", s.Text(), err)
			}
			l.Metrics = append(l.Metrics, Metric{Unit: fields[i+1], Value: v})
		}
		out = append(out, l)
	}
	return out, s.Err()
}

// withoutProcs removes the -2 of BenchmarkX-2, which Go adds on a machine with two processors.
func withoutProcs(name string) string {
	i := strings.LastIndexByte(name, '-')
	if i < 0 {
		return name
	}
	if _, err := strconv.Atoi(name[i+1:]); err != nil {
		return name
	}
	return name[:i]
}

// Sample is the values of several runs of one benchmark for one unit.
type Sample struct{ Values []float64 }

// Median returns the middle value, or the mean of the two in the middle; 0 without values.
func (s Sample) Median() float64 {
	v := slices.Sorted(slices.Values(s.Values))
	switch n := len(v); {
	case n == 0:
		return 0
	case n%2 == 1:
		return v[n/2]
	default:
		return (v[n/2-1] + v[n/2]) / 2
	}
}

// Spread returns half the range of the values divided by their median: 0.1 means that they are within about a tenth of
// it. It is 0 without values.
func (s Sample) Spread() float64 {
	m := s.Median()
	if m == 0 {
		return 0
	}
	return (slices.Max(s.Values) - slices.Min(s.Values)) / 2 / m
}
