// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"math"
	"testing"
	"time"
)

// TestBrake: fetchers wait the longer the more full segments are in the lanes, and small ones weigh little. What has
// left the lanes does not count.
func TestBrake(t *testing.T) {
	now := time.Unix(1e9, 0)
	small, full := []float64{.01, .01, .01, .01, .01, .01}, []float64{1, 1, 1, 1, 1, 1}
	for _, c := range []struct {
		name    string
		handed  []float64
		inLanes int
		open    float64
		part    float64
	}{
		{"nothing", nil, 0, 0, 0},
		{"the first segment is full", nil, 0, 1, 0},
		{"three segments", full, 2, 1, 0},
		{"half a segment more", full, 3, .5, .5 / 3},
		{"one and a half more", full, 4, .5, .5},
		{"the lanes take no more", full, 5, 1, 1},
		{"more than that", full, 6, 1, 1},
		{"many small ones", small, 6, 1, 0},
		{"those that are in the lanes are small", []float64{1, 1, 1, 1, .1, .1}, 2, .9, 0},
		{"those that are in the lanes are full", []float64{.1, .1, 1, 1, 1, 1}, 4, .5, .5},
		{"some are of the crawl before", full[:1], 9, .5, 0},
	} {
		yields := false
		b := brake{yield: func(on bool) { yields = on }}
		for _, fill := range c.handed {
			b.hand(handed{fill, gatherPages, now, 0})
		}
		if got := b.look(lanes{c.inLanes, c.inLanes, c.open}, now); math.Abs(got-c.part) > 1e-9 {
			t.Errorf("%s: fetchers wait for %v of the time, want %v", c.name, got, c.part)
		}
		if b.slows() != (c.part >= brakeSlow) {
			t.Errorf("%s: says that it slows the crawl down: %t", c.name, b.slows())
		}
		if yields != (c.part > 0) {
			t.Errorf("%s: merges yield: %t", c.name, yields)
		}
		if b.release(); !yields || b.slows() {
			t.Errorf("%s: when fetching is over, merges yield: %t, it slows fetchers: %t", c.name, yields, b.slows())
		}
		if b.done(); yields {
			t.Errorf("%s: when the lanes are done, merges yield", c.name)
		}
		if len(b.handed) > c.inLanes {
			t.Errorf("%s: remembers %d segments, and %d are in the lanes", c.name, len(b.handed), c.inLanes)
		}
	}
}

// TestBrakeIsLate: fetchers wait while the pages of full segments are not searchable for longer than those take. Of
// segments that were handed over, the oldest counts, whichever lane it is in, until it is done with.
func TestBrakeIsLate(t *testing.T) {
	start := time.Unix(1e9, 0)
	b := brake{yield: func(bool) {}}
	b.hand(handed{.1, gatherPages, start, 0})
	b.hand(handed{.1, gatherPages, start.Add(lateFrom), 0})
	most, half := time.Duration(lateMost*float64(lateFrom)), time.Duration((1+lateMost)/2*float64(lateFrom))
	for _, c := range []struct {
		name    string
		after   time.Duration
		unfound int
		part    float64
	}{
		{"in time", lateFrom, 2, 0},
		{"late", half, 2, latePart / 2},
		{"as late as counts", most, 2, latePart},
		{"much later", most * 9, 2, latePart},
		{"the first is searchable", half + lateFrom, 1, latePart / 2},
		{"both are", most * 9, 0, 0},
		{"neither counts again", most * 9, 2, 0},
	} {
		if got := b.look(lanes{segments: 0, unfound: c.unfound}, start.Add(c.after)); math.Abs(got-c.part) > 1e-9 {
			t.Errorf("%s: fetchers wait for %v of the time, want %v", c.name, got, c.part)
		}
	}
}

// TestLateness: a segment may take as long as its pages do, and one of few pages gathers with others first.
func TestLateness(t *testing.T) {
	start := time.Unix(1e9, 0)
	for _, c := range []struct {
		pages int
		took  time.Duration
		want  float64
	}{
		{gatherPages, lateFrom, 0},
		{gatherPages, time.Duration(lateMost * float64(lateFrom)), 1},
		{10 * gatherPages, 10 * lateFrom, 0},
		{10 * gatherPages, time.Duration(10 * lateMost * float64(lateFrom)), 1},
		{gatherPages - 1, gatherMax + lateFrom, 0},
		{1, gatherMax + time.Duration(lateMost*float64(lateFrom)), 1},
	} {
		h := handed{pages: c.pages, at: start}
		if got := h.lateness(start.Add(c.took)); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%d pages after %s: %v, want %v", c.pages, c.took, got, c.want)
		}
	}
}

// TestBrakeIsTheCause: a crawl that is slowed down says so in each moment, also while its fetchers may begin visits,
// and not any more when fetching is over.
func TestBrakeIsTheCause(t *testing.T) {
	e, err := Open(Options{Dir: t.TempDir(), Contact: "https://seine.example/"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	c := newConductor(e.w, CrawlOptions{})
	kind := func() CauseKind { return c.progress(phaseCrawling).Cause.Kind }
	if k := kind(); k == CauseBacklog {
		t.Errorf("at first: %s", k)
	}
	for range 5 {
		c.brake.hand(handed{1, gatherPages, time.Now(), 0})
	}
	c.brake.look(lanes{5, 5, .2}, time.Now())
	if k := kind(); k != CauseBacklog {
		t.Errorf("with full lanes: %s", k)
	}
	c.brake.look(lanes{2, 2, .2}, time.Now())
	if k := kind(); k == CauseBacklog {
		t.Errorf("with lanes that have room: %s", k)
	}
	c.brake.look(lanes{2, 2, 4}, time.Now())
	c.brake.release()
	if k := kind(); k == CauseBacklog {
		t.Errorf("after the end: %s", k)
	}
}
