// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/storage"
)

// patient is the deadline of searches that must find all there is, on a busy machine too.
const patient = time.Minute

// crawling is a crawl that runs beside a test.
type crawling struct {
	t      *testing.T
	done   chan struct{}
	report engine.CrawlReport
	err    error
}

// crawlBeside starts a crawl. The test waits for it, or cancels ctx.
func crawlBeside(ctx context.Context, t *testing.T, e *engine.Engine, o engine.CrawlOptions) *crawling {
	c := &crawling{t: t, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		c.report, c.err = e.Crawl(ctx, o)
	}()
	return c
}

// wait waits for the end of the crawl.
func (c *crawling) wait() engine.CrawlReport {
	c.t.Helper()
	select {
	case <-c.done:
	case <-time.After(3 * time.Minute):
		c.t.Fatal("the crawl does not end")
	}
	if c.err != nil {
		c.t.Fatal(c.err)
	}
	return c.report
}

// await waits until a status is as wanted.
func await(t *testing.T, e *engine.Engine, what string, is func(engine.Status) bool) engine.Status {
	t.Helper()
	var s engine.Status
	for began := time.Now(); time.Since(began) < 2*time.Minute; time.Sleep(10 * time.Millisecond) {
		var err error
		if s, err = e.Inspect().Status(); err != nil {
			t.Fatal(err)
		}
		if is(s) {
			return s
		}
	}
	text, _ := json.Marshal(s)
	t.Fatalf("%s: waited in vain; the status is %s", what, text)
	return s
}

// gated is a site with 20 pages, of which /gate answers when its channel is closed.
func gated(t *testing.T) (s *httptest.Server, let chan struct{}) {
	let = make(chan struct{})
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/":
			for n := range 20 {
				fmt.Fprintf(w, `<a href="/%d">page</a> `, n)
			}
			fmt.Fprint(w, `<a href="/gate">gate</a>`)
		case "/gate":
			<-let
		case "/robots.txt", "/3":
			http.NotFound(w, r)
		default:
			fmt.Fprintf(w, "<title>page</title><p>This is %s of a site.", r.URL.Path)
		}
	}))
	t.Cleanup(s.Close)
	return s, let
}

func doing(s engine.Status, what engine.FetcherDoing) (n, all int) {
	for _, f := range s.Fetchers {
		if all += f.Count; f.Doing == what {
			n += f.Count
		}
	}
	return n, all
}

// TestStatus: an engine says what it does before, during and after a crawl, and that survives the way through JSON.
func TestStatus(t *testing.T) {
	site, let := gated(t)
	o := siteOptions(t)
	o.Concurrency, o.NoIndex = 5, false
	e := open(t, o)
	s := await(t, e, "a count", func(s engine.Status) bool { return !s.Store.AsOf.IsZero() })
	if s.Running || s.Progress != nil || !s.Started.IsZero() || len(s.Fetchers) > 0 || len(s.Store.URLs) > 0 ||
		s.Memory.HeapBytes == 0 || s.Memory.GoBytes < s.Memory.HeapBytes || s.Memory.LimitBytes == 0 {
		t.Errorf("before a crawl: %+v", s)
	}
	c := crawlBeside(t.Context(), t, e, crawlFrom(site.URL+"/"))
	s = await(t, e, "a fetcher that waits", func(s engine.Status) bool {
		n, _ := doing(s, engine.DoingFirstByte)
		idle, all := doing(s, engine.DoingIdle)
		// A host's outcomes count there once they are durable, which is later.
		return n == 1 && idle == all-1 && s.Progress.Fetched == 20 && s.Progress.Failed == 1 &&
			len(s.TopHosts) == 1 && s.TopHosts[0].Pages >= 20 && s.TopHosts[0].Failed >= 1
	})
	p := s.Progress
	_, all := doing(s, engine.DoingIdle)
	if !s.Running || s.Stopping || s.Started.IsZero() || !s.Ended.IsZero() || s.Stopped != "" ||
		p.Phase != "crawling" || p.Busy != 1 || all < 5 || s.HostsLimit == 0 || s.QueuedLimit == 0 {
		t.Errorf("during a crawl: %+v %+v", s, p)
	}
	if h := s.TopHosts[0]; h.Pages != 20 || h.Failed != 1 || h.Bytes < 1000 || h.PagesPerSecond <= 0 ||
		"http://"+h.Host != site.URL {
		t.Errorf("top hosts: %+v, want %s", s.TopHosts, site.URL)
	}
	shares := map[string]engine.MemoryShare{}
	for _, m := range s.Memory.Shares {
		shares[m.Name] = m
		if m.UsedBytes < 0 || m.LimitBytes <= 0 {
			t.Errorf("share %+v", m)
		}
	}
	if len(shares) != 6 || shares["hosts"].UsedBytes == 0 || shares["memtables"].UsedBytes == 0 {
		t.Errorf("shares: %+v", s.Memory.Shares)
	}
	throughJSON(t, s)
	close(let)
	c.wait()
	s = await(t, e, "the count at the end", func(s engine.Status) bool {
		return s.Store.URLs[storage.StatusFetched] == 21
	})
	if s.Running || s.Ended.Before(s.Started) || s.Stopped != engine.StopDone || s.Error != "" ||
		s.Progress.Phase != "done" || s.Progress.Fetched != 21 || s.Progress.Cause.Kind != engine.CauseDone ||
		len(s.Fetchers) > 0 {
		t.Errorf("after a crawl: %+v %+v", s, s.Progress)
	}
	if x := s.Store; x.Hosts != 1 || x.URLs[storage.StatusGone] != 1 || len(x.URLs) != 2 || x.Documents != 21 ||
		x.Segments[storage.SegmentIndexed] == 0 || x.WARCFiles == 0 || x.WARCBytes < 1000 || len(x.Ranges) < 10 ||
		x.DiskFreeBytes == 0 || x.DiskTotalBytes < x.DiskFreeBytes || x.Tables.Ingestions == 0 {
		t.Errorf("what is stored: %+v", x)
	}
	throughJSON(t, s)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Inspect().Status(); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// slowNames is a resolver that answers when its channel is closed.
type slowNames struct{ let chan struct{} }

func (s slowNames) Lookup(ctx context.Context, _ string) ([]netip.Addr, error) {
	select {
	case <-s.let:
	case <-ctx.Done():
	}
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, ctx.Err()
}

// TestStatusOfDNS: a crawl that waits for DNS says so, although no fetcher does.
func TestStatusOfDNS(t *testing.T) {
	site, let := gated(t)
	close(let)
	names := slowNames{make(chan struct{})}
	o := siteOptions(t)
	o.Resolver, o.Contact = names, "https://crawler.example/"
	e := open(t, o)
	defer mustClose(t, e)
	port := site.URL[strings.LastIndexByte(site.URL, ':'):]
	c := crawlBeside(t.Context(), t, e, crawlFrom("http://a.example"+port+"/", "http://b.example"+port+"/"))
	await(t, e, "two lookups", func(s engine.Status) bool {
		return s.Lookups == 2 && s.Refills == 2 && s.Progress != nil && s.Progress.Cause.Kind == engine.CauseDNS
	})
	now, err := e.Inspect().HostNow("a.example" + port)
	if err != nil || now.State != engine.HostRefill || now.LastMinute != nil {
		t.Errorf("%+v, %v", now, err)
	}
	close(names.let)
	if r := c.wait(); r.Fetched != 42 {
		t.Errorf("%+v", r)
	}
	s, err := e.Inspect().Status()
	if err != nil || s.Lookups != 0 {
		t.Errorf("%+v, %v", s, err)
	}
	for _, a := range s.Alerts {
		if a.Kind != engine.AlertMemory { // that of all tests is in this process
			t.Errorf("%+v", a)
		}
	}
}

// TestStatusOfFetch: a call of Fetch has a status while it runs, as a crawl has, and Stop ends it cleanly.
func TestStatusOfFetch(t *testing.T) {
	site, let := gated(t)
	defer close(let)
	e := open(t, siteOptions(t))
	defer mustClose(t, e)
	ctx := t.Context()
	if _, err := e.Inject(ctx, seeds(site.URL+"/gate", site.URL+"/1")); err != nil {
		t.Fatal(err)
	}
	g, err := e.Generate(ctx, engine.GenerateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var r engine.FetchReport
	done := make(chan error)
	go func() {
		var err error
		r, err = e.Fetch(ctx, engine.FetchOptions{Segment: g.Segment})
		done <- err
	}()
	s := await(t, e, "a fetch that waits for the last page", func(s engine.Status) bool {
		n, _ := doing(s, engine.DoingFirstByte)
		return s.Running && n == 1 && s.Progress.Fetched == 1 && s.Progress.Cause.Kind == engine.CausePoliteness
	})
	if p := s.Progress; p.Phase != "fetching" || p.Busy != 1 || p.MaxPages != 2 || s.Started.IsZero() {
		t.Errorf("%+v, %+v", s, p)
	}
	throughJSON(t, s)
	if err := e.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil || r.Cause.Kind != engine.CauseInterrupted || r.Fetched != 1 {
		t.Errorf("%v, %+v", err, r)
	}
	if s, err := e.Inspect().Status(); err != nil || s.Running {
		t.Errorf("after it: %v, %+v", err, s)
	}
}

// throughJSON checks that a value is the same after a way through JSON.
func throughJSON[T any](t *testing.T, v T) {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var back T
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if !reflect.DeepEqual(v, back) {
		t.Errorf("through JSON\n%+v became\n%+v", v, back)
	}
}
