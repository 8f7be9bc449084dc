// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
)

// TestRefuseTypesInAnyCase: a media type is refused however it is written, and the caller's list stays as it is.
func TestRefuseTypesInAnyCase(t *testing.T) {
	for _, one := range []string{"Text/HTML", "TEXT/*"} {
		o := siteOptions(t)
		o.RefuseTypes = []string{one}
		r, _ := crawlSite(t, o, chain(t, 3).URL+"/0", engine.Limits{})
		if r.Fetched != 0 || r.Failed != 1 {
			t.Errorf("%s: %d pages were fetched, %d failed", one, r.Fetched, r.Failed)
		}
		if o.RefuseTypes[0] != one {
			t.Errorf("the list says %s now", o.RefuseTypes[0])
		}
	}
}

// TestClockYears: a clock that shows a year for which no times are kept is a fault of Options. From the first to the
// last of the others, crawls work.
func TestClockYears(t *testing.T) {
	at := func(year int, more time.Duration) time.Time {
		return time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC).Add(more)
	}
	for _, now := range []time.Time{{}, at(1960, 0), at(1971, -1), at(2262, 0), at(2300, 0), at(9999, 0)} {
		o := siteOptions(t)
		o.Now = func() time.Time { return now }
		e, err := engine.Open(o)
		if err == nil {
			err = e.Close()
		}
		var fault *engine.OptionError
		if !errors.As(err, &fault) || fault.Field != "Now" || !strings.Contains(fault.Rule, "1971") {
			t.Errorf("%s: %v", now, err)
		}
	}
	for _, first := range []time.Time{at(1971, 0), at(2261, 364*24*time.Hour)} {
		o := siteOptions(t)
		start := time.Now()
		o.Now = func() time.Time { return first.Add(time.Since(start)) }
		if r, _ := crawlSite(t, o, chain(t, 3).URL+"/0", engine.Limits{}); r.Fetched != 4 {
			t.Errorf("%s: %d pages were fetched", first, r.Fetched)
		}
	}
}

// TestSearchNegativeOffset: hits have ranks from 1 on, whatever the offset.
func TestSearchNegativeOffset(t *testing.T) {
	o := siteOptions(t)
	o.NoIndex = false
	crawlSite(t, o, chain(t, 3).URL+"/0", engine.Limits{})
	e := open(t, o)
	defer mustClose(t, e)
	for _, offset := range []int{0, -1, -7, math.MinInt} {
		r, err := e.Search(ctx, "page", engine.SearchOptions{Deadline: patient, Offset: offset})
		if err != nil || len(r.Hits) != 4 || r.Hits[0].Rank != 1 || r.Hits[3].Rank != 4 {
			t.Errorf("offset %d: %+v, %v", offset, r.Hits, err)
		}
	}
}

// TestBlockNames: what stands for many hosts is no host, and then none of the others is blocked either.
func TestBlockNames(t *testing.T) {
	e := open(t, siteOptions(t))
	defer mustClose(t, e)
	if err := e.Block("kept.example"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"*.example", "*", "a*b.example:8080", "%2a.example", "\uff0a.example"} {
		for _, do := range []func(...string) error{e.Block, e.Unblock} {
			if err := do("kept.example", name); err == nil || !strings.Contains(err.Error(), "stands for many") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	blocked, err := e.Inspect().Blocked()
	if err != nil || !slices.Equal(blocked, []string{"kept.example"}) {
		t.Errorf("%v is blocked, %v", blocked, err)
	}
}
