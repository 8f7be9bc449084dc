// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"math"
	"testing"
)

// TestBrake: fetchers wait the longer the more full segments are in the lanes, and small ones weigh little. What has
// left the lanes does not count.
func TestBrake(t *testing.T) {
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
			b.hand(fill)
		}
		if got := b.look(c.inLanes, c.open); math.Abs(got-c.part) > 1e-9 {
			t.Errorf("%s: fetchers wait for %v of the time, want %v", c.name, got, c.part)
		}
		if b.slows() != (c.part >= brakeSlow) {
			t.Errorf("%s: says that it slows the crawl down: %t", c.name, b.slows())
		}
		if yields != (c.part > 0) {
			t.Errorf("%s: merges yield: %t", c.name, yields)
		}
		if b.release(); yields || b.slows() {
			t.Errorf("%s: when fetching is over, merges yield: %t, it slows fetchers: %t", c.name, yields, b.slows())
		}
		if len(b.handed) > c.inLanes {
			t.Errorf("%s: remembers %d segments, and %d are in the lanes", c.name, len(b.handed), c.inLanes)
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
		c.brake.hand(1)
	}
	c.brake.look(5, .2)
	if k := kind(); k != CauseBacklog {
		t.Errorf("with full lanes: %s", k)
	}
	c.brake.look(2, .2)
	if k := kind(); k == CauseBacklog {
		t.Errorf("with lanes that have room: %s", k)
	}
	c.brake.look(2, 4)
	c.brake.release()
	if k := kind(); k == CauseBacklog {
		t.Errorf("after the end: %s", k)
	}
}
