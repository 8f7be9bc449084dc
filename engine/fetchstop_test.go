// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestStoppedFetch: the fetch after one that was interrupted goes on with its segment: each URL of the fetchlist is
// fetched once. Without content there would be nothing to go on from, so the segment is sealed. With ParseLater a
// segment that was fetched whole waits for parse, and is not offered to be fetched again.
func TestStoppedFetch(t *testing.T) {
	const pages = 8
	for name, set := range map[string]func(*engine.Options){
		"usual": func(*engine.Options) {}, "parse later": func(o *engine.Options) { o.ParseLater = true },
		"no content": func(o *engine.Options) { o.NoContent = true },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			var mu sync.Mutex
			stored, requests := map[string]int{}, 0
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				requests++
				n := requests
				mu.Unlock()
				if n == 5 { // robots.txt is the first // the stop cuts this request off
					cancel()
					<-r.Context().Done()
					return
				}
				fmt.Fprintf(w, "page %s", r.URL.Path)
			}))
			defer s.Close()
			o := siteOptions(t)
			o.Concurrency = 1
			set(&o)
			o.Events.PageStored = func(u urlkey.URL, _ *storage.FetchOutcome) {
				mu.Lock()
				stored[u.String()]++
				mu.Unlock()
			}
			e := open(t, o)
			defer mustClose(t, e)
			var seeds []string
			for i := range pages {
				seeds = append(seeds, fmt.Sprintf("%s/%d", s.URL, i))
			}
			if _, err := e.Inject(context.Background(), engine.InjectOptions{URLs: seeds}); err != nil {
				t.Fatal(err)
			}
			g, err := e.Generate(context.Background(), engine.GenerateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			first, err := e.Fetch(ctx, engine.FetchOptions{Segment: g.Segment})
			if err != nil || first.Cause.Kind != engine.CauseInterrupted {
				t.Fatalf("%s, %v", first.Cause, err)
			}
			if o.NoContent {
				if seg, err := e.Inspect().Segment(g.Segment); err != nil || seg.State != storage.SegmentSealed {
					t.Errorf("%+v, %v", seg, err)
				}
				return
			}
			second, err := e.Fetch(context.Background(), engine.FetchOptions{Segment: g.Segment})
			if err != nil || second.Cause.Kind != engine.CauseDone {
				t.Fatalf("%s, %v", second.Cause, err)
			}
			if n := first.Fetched + second.Fetched; n != pages || second.Fetched == 0 || len(stored) != pages {
				t.Errorf("fetched %d, then %d: %v", first.Fetched, second.Fetched, stored)
			}
			for u, n := range stored {
				if n != 1 {
					t.Errorf("%s was fetched %d times", u, n)
				}
			}
			seg, err := e.Inspect().Segment(g.Segment)
			if err != nil || seg.Counts.Fetched != pages || seg.Unparsed != o.ParseLater {
				t.Errorf("%+v, %v", seg, err)
			}
			if due, err := e.Inspect().DueSegments(storage.SegmentOpen); !errors.Is(err, engine.ErrNoSegment) {
				t.Errorf("due to be fetched: %v, %v", due, err)
			}
			if !o.ParseLater {
				return
			}
			third, err := e.Fetch(context.Background(), engine.FetchOptions{Segment: g.Segment})
			if err != nil || third.NothingFetched() || third.Cause.Help != `"seine parse" comes next` {
				t.Errorf("%s, %v", third.Cause, err)
			}
			if r, err := e.Seal(context.Background(), g.Segment); err != nil || r.Pages != pages {
				t.Errorf("%s, %v", r, err)
			}
		})
	}
}

// TestLimitAtTheEnd: a fetch that reaches a limit with the last URL of its fetchlist is done with it. One that reaches
// it before says where the rest is.
func TestLimitAtTheEnd(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(bigSite))
	defer s.Close()
	for _, later := range []bool{false, true} {
		for limit, want := range map[int64]engine.CauseKind{2: engine.CauseLimit, 3: engine.CauseDone} {
			o := siteOptions(t)
			o.ParseLater = later
			e := open(t, o)
			generated(t, e, s.URL+"/1", s.URL+"/2", s.URL+"/3")
			r, err := e.Fetch(t.Context(), engine.FetchOptions{Segment: 1, Limits: engine.Limits{MaxPages: limit}})
			if err != nil || r.Fetched != uint64(limit) || r.Cause.Kind != want {
				t.Errorf("parse later %t, %d pages: %s, %v", later, limit, r.Cause, err)
			}
			seg, err := e.Inspect().Segment(1)
			if err != nil || seg.Unparsed != (later && want == engine.CauseDone) {
				t.Errorf("parse later %t, %d pages: %+v, %v", later, limit, seg, err)
			}
			mustClose(t, e)
		}
	}
}
