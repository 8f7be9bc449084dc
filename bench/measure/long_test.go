// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"math"
	"strings"
	"testing"
	"time"
)

// longRun has a sample each second; pages are those of each second.
func longRun(pages ...int) *LongRun {
	r := &LongRun{Samples: []LongSample{{}}}
	for i, n := range pages {
		last := r.Samples[i]
		r.Samples = append(r.Samples, LongSample{
			At: last.At + time.Second, Pages: last.Pages + n, CPU: last.CPU + time.Duration(n)*500*time.Microsecond,
		})
	}
	return r
}

func same(n, pages int) (list []int) {
	for range n {
		list = append(list, pages)
	}
	return list
}

func join(lists ...[]int) (all []int) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// TestLongRates: the least rate is that of the ten slowest seconds, however they lie and also if a look was missed.
func TestLongRates(t *testing.T) {
	missed := longRun(join(same(20, 100), same(12, 0), same(20, 100))...)
	missed.Samples = append(missed.Samples[:21], missed.Samples[32:]...)
	for name, c := range map[string]struct {
		run         *LongRun
		mean, least float64
	}{
		"steady":           {longRun(same(30, 100)...), 100, 100},
		"ten slow seconds": {longRun(join(same(13, 100), same(10, 20), same(17, 100))...), 80, 20},
		"five slow ones":   {longRun(join(same(15, 100), same(5, 0), same(20, 100))...), 87.5, 50},
		"slow at the end":  {longRun(join(same(30, 100), same(10, 0), same(1, 10))...), 3010. / 41, 0},
		"no look for long": {missed, 4000. / 52, 0},
		"short":            {longRun(same(3, 7)...), 7, 7},
		"nothing":          {&LongRun{}, 0, 0},
	} {
		mean, least := c.run.rates()
		if math.Abs(mean-c.mean) > 1e-9 || math.Abs(least-c.least) > 1e-9 {
			t.Errorf("%s: mean %v, least %v; want %v and %v", name, mean, least, c.mean, c.least)
		}
	}
}

// TestLongTrim: what a crawl does after its last page does not count for its rate.
func TestLongTrim(t *testing.T) {
	r := longRun(join(same(12, 100), same(9, 0))...)
	r.trim()
	if mean, _ := r.rates(); len(r.Samples) != 13 || mean != 100 {
		t.Errorf("%d samples, %v pages/s", len(r.Samples), mean)
	}
}

// TestLongCurves: a drawing has a point for every ten seconds, and all pages are in one.
func TestLongCurves(t *testing.T) {
	r := longRun(join(same(10, 100), same(10, 50), same(15, 200))...)
	rates, costs := r.curves()
	var got []float64
	for i, p := range rates {
		got = append(got, p.x, p.y, costs[i].x, costs[i].y)
	}
	want := []float64{5, 100, 10, 500, 15, 50, 20, 500, 27.5, 200, 35, 500}
	if len(got) != len(want) {
		t.Fatalf("%v, want %v", got, want)
	}
	for i := range got {
		if math.Abs(got[i]-want[i]) > 1e-9 {
			t.Fatalf("%v, want %v", got, want)
		}
	}
	svg := r.SVG()
	for _, part := range []string{"pages/s</text>", "µs of CPU a page</text>", "<polyline", ">40<"} {
		if !strings.Contains(svg, part) {
			t.Errorf("the drawing lacks %q:\n%s", part, svg)
		}
	}
	if svg := (&LongRun{}).SVG(); !strings.HasSuffix(svg, "</svg>\n") || strings.Contains(svg, "NaN") {
		t.Errorf("a drawing of nothing: %s", svg)
	}
}

// TestLongQuarters: what a page costs in the first and in the last quarter of the pages, however long each takes.
func TestLongQuarters(t *testing.T) {
	grows := longRun(join(same(5, 200), same(10, 100), same(10, 50), same(25, 60))...)
	for i := range grows.Samples {
		if i > 25 { // 500 µs a page until then, and 600 more from there on
			later := grows.Samples[i].Pages - grows.Samples[25].Pages
			grows.Samples[i].CPU += time.Duration(later) * 600 * time.Microsecond
		}
	}
	for name, c := range map[string]struct {
		run         *LongRun
		first, last time.Duration
	}{
		"steady": {longRun(same(40, 100)...), 500 * time.Microsecond, 500 * time.Microsecond},
		"grows":  {grows, 500 * time.Microsecond, 1100 * time.Microsecond},
		"nothing at the end": {
			longRun(join(same(30, 100), same(10, 0))...), 500 * time.Microsecond, 500 * time.Microsecond,
		},
		"nothing after the first": {longRun(same(9, 0)...), 0, 0},
		"too short for a quarter": {longRun(same(3, 7)...), 0, 0},
		"nothing":                 {&LongRun{}, 0, 0},
	} {
		if first, last := c.run.quarters(); first != c.first || last != c.last {
			t.Errorf("%s: %v and %v, want %v and %v", name, first, last, c.first, c.last)
		}
		if growth := c.run.growth(); len(growth) != 0 && c.first == 0 || c.first > 0 &&
			(len(growth) != 1 || growth[0].Value != float64(c.last)/float64(c.first)) {
			t.Errorf("%s: %v, with costs of %v and %v", name, growth, c.first, c.last)
		}
	}
}
