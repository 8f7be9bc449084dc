// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"errors"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/storage"
)

// TestHistoryOfCrawl: a crawl is sampled; the samples add up to its report, and survive a power failure.
func TestHistoryOfCrawl(t *testing.T) {
	site, let := gated(t)
	o := siteOptions(t)
	fs := storage.NewCrashableFS()
	o.Dir, o.FS, o.NoIndex = "/crawl", fs, false
	e := open(t, o)
	if list, err := e.Inspect().History(0); err != nil || len(list) > 0 {
		t.Errorf("before a crawl: %v, %v", list, err)
	}
	c := crawlBeside(t.Context(), t, e, crawlFrom(site.URL+"/"))
	s := await(t, e, "two samples", func(s engine.Status) bool {
		list, err := e.Inspect().History(time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		return len(list) == 2 && s.Newest != nil && s.Newest.Time.Equal(list[1].Time)
	})
	throughJSON(t, s)
	if x := s.Newest; x.Busy != 1 || x.PagesPerSecond != 0 || x.Fetchers != 4 || x.HeapBytes == 0 ||
		math.Abs(x.Seconds-1) > 0.6 {
		t.Errorf("the second sample: %+v", x)
	}
	close(let)
	r := c.wait()
	list, err := e.Inspect().History(time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]float64{}
	for _, x := range list {
		sums["pages"] += x.Seconds * x.PagesPerSecond
		sums["fetches"] += x.Seconds * x.FetchesPerSecond
		sums["failures"] += x.Seconds * x.FailuresPerSecond
		sums["bytes"] += x.Seconds * x.BytesPerSecond
		sums["indexed"] += x.Seconds * x.IndexedPerSecond
		sums["discovered"] += x.Seconds * x.DiscoveredPerSecond
		for _, stage := range x.CPU {
			sums["cpu"] += x.Seconds * stage.Seconds
		}
	}
	for name, want := range map[string]uint64{
		"pages": r.Fetched, "fetches": r.Attempts(), "failures": r.Failed, "bytes": r.Bytes, "indexed": r.Indexed,
		"discovered": r.Discovered,
	} {
		if math.Abs(sums[name]-float64(want)) > 1e-6*float64(want) {
			t.Errorf("%s: the samples add up to %f, the report says %d", name, sums[name], want)
		}
	}
	if cpu := sums["cpu"]; cpu <= 0 || cpu > 2*r.CPUSeconds {
		t.Errorf("%f seconds of processor time, the report says %f", cpu, r.CPUSeconds)
	}
	o.FS = fs.Crash(0, 1)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Inspect().History(0); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	e = open(t, o)
	defer mustClose(t, e)
	again, err := e.Inspect().History(time.Hour)
	if err != nil || len(again) != len(list) {
		t.Fatalf("%d samples, want %d, %v", len(again), len(list), err)
	}
	for i := range list {
		list[i].Time = list[i].Time.Truncate(time.Millisecond) // what is stored
		if !reflect.DeepEqual(again[i], list[i]) {
			t.Errorf("%d: %+v, want %+v", i, again[i], list[i])
		}
	}
	verify(t, e)
}
