// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync/atomic"
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

// TestSearchEnds: the deadline and the context of a search end the reading of its hits too, of which there may be
// thousands. The ten best are there in any case.
func TestSearchEnds(t *testing.T) {
	o := siteOptions(t)
	o.NoIndex = false
	crawlSite(t, o, chain(t, 40).URL+"/0", engine.Limits{})
	var moved atomic.Int64
	begin := time.Now()
	more := engine.SearchOptions{Deadline: patient, Limit: 100}
	// look is called at each look at the clock, which stands otherwise.
	find := func(ctx context.Context, so engine.SearchOptions, look func()) (engine.SearchResult, error) {
		var looks atomic.Int32
		o := o
		o.Now = func() time.Time {
			if looks.Add(-1) < -1 { // behind the begin of the search
				look()
			}
			return begin.Add(time.Duration(moved.Load()))
		}
		looks.Store(1 << 30)
		e := open(t, o)
		defer mustClose(t, e)
		looks.Store(0)
		defer looks.Store(1 << 30)
		return e.Search(ctx, "page", so)
	}
	if r, err := find(ctx, more, func() {}); err != nil || len(r.Hits) != 41 || r.Partial {
		t.Errorf("%d hits, partial %v: %v", len(r.Hits), r.Partial, err)
	}
	explained := more
	explained.Explain = true // which may have taken half a second beyond the deadline
	r, err := find(ctx, explained, func() { moved.Store(int64(patient + time.Second/2)) })
	if err != nil || len(r.Hits) != 41 || r.Partial || r.Hits[40].Explanation == nil {
		t.Errorf("explained: %d hits, partial %v: %v", len(r.Hits), r.Partial, err)
	}
	moved.Store(0)
	r, err = find(ctx, more, func() { moved.Add(int64(2 * patient)) })
	if err != nil || len(r.Hits) != 10 || !r.Partial || r.Total != 41 || r.Hits[9].Snippet == "" {
		t.Errorf("the time is up: %d hits of %d, partial %v: %v", len(r.Hits), r.Total, r.Partial, err)
	}
	canceled, cancel := context.WithCancel(ctx)
	if _, err := find(canceled, more, cancel); !errors.Is(err, context.Canceled) {
		t.Errorf("the context has ended: %v", err)
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
