// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/storage"
)

// heldSite answers at once, except for /held, which it answers when it is released. That comes last of its URLs.
type heldSite struct {
	*httptest.Server
	asked    chan struct{} // closed when /held was requested
	released chan struct{}
	release  func()
}

func newHeldSite(t *testing.T) *heldSite {
	s := &heldSite{asked: make(chan struct{}), released: make(chan struct{})}
	s.release = sync.OnceFunc(func() { close(s.released) })
	asked := sync.OnceFunc(func() { close(s.asked) })
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		switch r.URL.Path {
		case "/first":
			fmt.Fprint(w, `<title>first</title><meta name=robots content=noarchive><p>what it says <a href="/next">on`)
		case "/gone":
			http.NotFound(w, r)
		case "/held":
			asked()
			select {
			case <-s.released:
			case <-r.Context().Done():
			}
			fmt.Fprint(w, "<title>held</title><p>at last")
		case "/next":
			fmt.Fprint(w, "<title>next</title><p>and on")
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	t.Cleanup(s.release)
	return s
}

// options are those of an engine whose clock stands still: so no segment is full because of its age, nor are its links
// worth more than sealing it costs, and what is open stays open until the site is released.
func (s *heldSite) options(t *testing.T) engine.Options {
	o := siteOptions(t)
	o.PerHost, o.Concurrency, o.NoIndex = 8, 8, false
	now := time.Now()
	o.Now = func() time.Time { return now }
	return o
}

// story waits for the first fetch of a URL.
func (s *heldSite) story(t *testing.T, e *engine.Engine, path string) engine.URLStory {
	t.Helper()
	for {
		v, err := e.Inspect().URLStory(ctx, s.URL+path)
		if err != nil {
			t.Fatal(err)
		}
		if len(v.Fetches) > 0 {
			return v
		}
		select {
		case <-s.released:
			t.Fatalf("%s: no fetch", path)
		case <-time.After(time.Millisecond):
		}
	}
}

// open checks what there is of the pages that were fetched into the open segment, and returns the capture of /first.
func (s *heldSite) open(t *testing.T, e *engine.Engine) engine.CaptureView {
	t.Helper()
	in := e.Inspect()
	<-s.asked
	v, gone := s.story(t, e, "/first"), s.story(t, e, "/gone")
	f := v.Fetches[0]
	if seg, err := in.Segment(f.Segment); err != nil || seg.State != storage.SegmentOpen {
		t.Fatalf("%+v, %v", seg, err)
	}
	if len(v.Fetches) != 1 || f.Status != storage.FetchSuccess || f.HTTPStatus != 200 || f.MediaType != "text/html" ||
		f.Digest == "" || f.WARC == "" || f.Bytes == 0 || v.Record == nil || !v.Record.LastFetch.IsZero() ||
		v.NotIndexed != fmt.Sprintf("its newest fetch is in segment %d, which is open: "+
			"crawldb has it when that is updated", f.Segment) {
		t.Errorf("%s", v)
	}
	if f := gone.Fetches[0]; f.Status != storage.FetchGone || f.HTTPStatus != 404 || f.Segment != v.Fetches[0].Segment {
		t.Errorf("%s", gone)
	}
	list := captures(t, e, s.URL+"/first")
	if len(list) != 1 || !list[0].Time.Equal(f.Time) || list[0].Digest != f.Digest || list[0].Segment != f.Segment {
		t.Fatalf("captures %v", list)
	}
	for _, at := range []time.Time{{}, f.Time} {
		c, err := in.StoredCopy(ctx, s.URL+"/first", at)
		if err != nil || c.Capture != list[0] || c.Content != list[0] || c.Charset != "utf-8" || !c.NoArchive ||
			!strings.Contains(c.Text(), "what it says") {
			t.Errorf("%+v, %v", c, err)
		}
	}
	for _, segment := range []uint32{0, f.Segment} {
		p := parsedPages(t, e, segment, s.URL+"/first")
		if len(p) != 1 || p[0].Segment != f.Segment || !strings.Contains(p[0].Text, "what it says") ||
			len(p[0].Outlinks) != 1 {
			t.Errorf("in segment %d: %+v", segment, p)
		}
	}
	return list[0]
}

// parsedPages are the parse records of a URL.
func parsedPages(t *testing.T, e *engine.Engine, segment uint32, url string) (list []engine.ParseView) {
	t.Helper()
	for p, err := range e.Inspect().ParseRecords(ctx, segment, url) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	return list
}

// TestOpenSegmentOfCrawl: while a crawl fills a segment, what it has fetched is told, and can be read. Who looks again
// and again until the crawl ends sees each fetch at each look, and never twice.
func TestOpenSegmentOfCrawl(t *testing.T) {
	t.Parallel()
	s := newHeldSite(t)
	e := open(t, s.options(t))
	defer mustClose(t, e)
	crawled := make(chan error, 1)
	go func() {
		r, err := e.Crawl(ctx, crawlFrom(s.URL+"/first", s.URL+"/gone", s.URL+"/held"))
		if err == nil && r.Fetched != 3 {
			err = fmt.Errorf("%v", r)
		}
		crawled <- err
	}()
	c := s.open(t, e)
	if v, err := e.Inspect().URLStory(ctx, s.URL+"/held"); err != nil || len(v.Fetches) != 0 {
		t.Errorf("%s, %v", v, err)
	}
	var export strings.Builder
	if err := e.Inspect().ExportCDXJ(ctx, &export); err != nil || strings.Count(export.String(), "\n") != 2 ||
		!strings.Contains(export.String(), s.URL+"/first") {
		t.Errorf("exported: %s, %v", &export, err)
	}
	s.release()
	for looking := true; looking; {
		select {
		case err := <-crawled:
			if err != nil {
				t.Fatal(err)
			}
			looking = false // once more, after the end
		default:
		}
		if list := captures(t, e, s.URL+"/first"); len(list) != 1 || list[0] != c {
			t.Fatalf("captures %v, want %v", list, c)
		}
		v, err := e.Inspect().URLStory(ctx, s.URL+"/first")
		if err != nil || len(v.Fetches) != 1 {
			t.Fatalf("%s, %v", v, err)
		}
		x, err := e.Inspect().StoredCopy(ctx, s.URL+"/first", time.Time{})
		if err != nil || x.Capture != c || !x.NoArchive {
			t.Fatalf("%+v, %v", x, err)
		}
	}
	v, err := e.Inspect().URLStory(ctx, s.URL+"/first")
	if err != nil || !v.Indexed || v.Record.LastFetch.IsZero() || !v.Record.LastFetch.Equal(v.Fetches[0].Time) {
		t.Errorf("%s, %v", v, err)
	}
	var sealed strings.Builder
	if err := e.Inspect().ExportCDXJ(ctx, &sealed); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(export.String()) {
		if !strings.Contains(sealed.String(), line) {
			t.Errorf("the export of the open segment had %s, that of the sealed one has\n%s", line, &sealed)
		}
	}
}

// TestOpenSegmentOfFetch: the same of a fetchlist whose pages are parsed later, also after the fetch was interrupted.
func TestOpenSegmentOfFetch(t *testing.T) {
	t.Parallel()
	s := newHeldSite(t)
	o := s.options(t)
	o.ParseLater = true
	e := open(t, o)
	defer mustClose(t, e)
	if _, err := e.Inject(ctx, seeds(s.URL+"/first", s.URL+"/gone", s.URL+"/held")); err != nil {
		t.Fatal(err)
	}
	generated, err := e.Generate(ctx, engine.GenerateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	number := generated.Segment
	stopped, stop := context.WithCancel(ctx)
	fetched := make(chan error, 1)
	go func() {
		_, err := e.Fetch(stopped, engine.FetchOptions{Segment: number})
		fetched <- err
	}()
	c := s.open(t, e)
	stop()
	if err := <-fetched; err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if again := s.open(t, e); again != c {
		t.Errorf("%v, want %v", again, c)
	}
	s.release()
	if _, err := e.Fetch(ctx, engine.FetchOptions{Segment: number}); err != nil {
		t.Fatal(err)
	}
	if again := s.open(t, e); again != c {
		t.Errorf("%v, want %v", again, c)
	}
	if _, err := e.Seal(ctx, number); err != nil {
		t.Fatal(err)
	}
	if list := captures(t, e, s.URL+"/first"); len(list) != 1 || list[0] != c {
		t.Errorf("captures %v, want %v", list, c)
	}
	for _, path := range []string{"/first", "/gone", "/held"} {
		v, err := e.Inspect().URLStory(ctx, s.URL+path)
		if err != nil || len(v.Fetches) != 1 {
			t.Errorf("%s, %v", v, err)
		}
	}
}
