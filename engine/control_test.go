// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// chain is a site whose page N links to page N+1 only, up to a last one.
func chain(t testing.TB, last int) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); err != nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Saw", r.Header.Get("X-Key")+"|"+r.Header.Get("Cookie")+"|"+r.Header.Get("Authorization"))
		fmt.Fprintf(w, "<title>page %d</title><p>This is page %d of a chain.", n, n)
		if n < last {
			fmt.Fprintf(w, ` <a href="/%d">the next</a>`, n+1)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// TestOnPage: every fetch is delivered once, with what was fetched and parsed, before the crawl returns.
func TestOnPage(t *testing.T) {
	s := chain(t, 30)
	var mu sync.Mutex
	pages := map[string]*engine.Page{}
	o := siteOptions(t)
	o.PageWorkers = 2
	var running, most atomic.Int32
	o.OnPage = func(p *engine.Page) {
		most.Store(max(most.Load(), running.Add(1)))
		defer running.Add(-1)
		time.Sleep(2 * time.Millisecond)
		mu.Lock()
		defer mu.Unlock()
		if pages[p.URL.String()] != nil {
			t.Errorf("%s was delivered twice", p.URL)
		}
		pages[p.URL.String()] = p
	}
	e := open(t, o)
	defer mustClose(t, e)
	in := seeds(s.URL+"/0", s.URL+"/missing")
	if _, err := e.Crawl(context.Background(), engine.CrawlOptions{Inject: in}); err != nil {
		t.Fatal(err)
	}
	if len(pages) != 32 || most.Load() > 2 || running.Load() != 0 {
		t.Errorf("%d pages, at most %d at once, %d still run", len(pages), most.Load(), running.Load())
	}
	p := pages[s.URL+"/7"]
	if p == nil || p.HTTPStatus != 200 || p.Status != storage.FetchSuccess || p.Fetched.IsZero() ||
		p.Parsed.Title != "page 7" || !strings.Contains(string(p.Body), "page 7 of a chain") ||
		!strings.Contains(string(p.Head), "text/html") ||
		len(p.Links) != 1 || p.Links[0].URL != s.URL+"/8" || p.Links[0].Anchor != "the next" {
		t.Errorf("page 7: %+v", p)
	}
	p = pages[s.URL+"/missing"]
	if p == nil || p.Status != storage.FetchGone || p.Parsed != nil || p.HTTPStatus != 404 {
		t.Errorf("missing page: %+v", p)
	}
}

// TestEnqueue: a crawl fetches what is handed to it while it runs, from callbacks and from elsewhere.
func TestEnqueue(t *testing.T) {
	s, other := chain(t, 3), chain(t, 2)
	o := siteOptions(t)
	var e *engine.Engine
	o.OnPage = func(p *engine.Page) {
		if strings.HasSuffix(p.URL.String(), s.URL+"/3") {
			if err := e.Enqueue(other.URL + "/0"); err != nil {
				t.Error(err)
			}
		}
		if p.URL.String() == other.URL+"/2" {
			r, err := e.Inject(context.Background(), seeds(s.URL+"/0?again"))
			if err != nil || r.New != 1 {
				t.Errorf("inject beside the crawl: %v, %v", r, err)
			}
		}
	}
	e = open(t, o)
	defer mustClose(t, e)
	if err := e.Enqueue(s.URL); !errors.Is(err, engine.ErrNotCrawling) {
		t.Errorf("enqueue without a crawl: %v", err)
	}
	r, err := e.Crawl(context.Background(), crawlFrom(s.URL+"/0"))
	if err != nil || r.Fetched != 4+3+1 || r.Stopped != engine.StopDone {
		t.Errorf("%v, %v", r, err)
	}
}

// TestPause: a paused crawl requests nothing and does not end; Resume lets it go on.
func TestPause(t *testing.T) {
	s := chain(t, 40)
	o := siteOptions(t)
	var e *engine.Engine
	var seen atomic.Int32
	paused := make(chan struct{})
	o.OnPage = func(*engine.Page) {
		if seen.Add(1) == 5 {
			if err := e.Pause(); err != nil {
				t.Error(err)
			}
			close(paused)
		}
	}
	e = open(t, o)
	defer mustClose(t, e)
	go func() {
		<-paused
		for last := int32(-1); last != seen.Load(); time.Sleep(200 * time.Millisecond) { // until nothing moves any more
			last = seen.Load()
		}
		if n := seen.Load(); n > 10 {
			t.Errorf("%d pages while it was paused", n)
		}
		if err := e.Resume(); err != nil {
			t.Error(err)
		}
	}()
	r, err := e.Crawl(context.Background(), crawlFrom(s.URL+"/0"))
	if err != nil || r.Fetched != 41 {
		t.Errorf("%v, %v", r, err)
	}
}

// TestLiveSettings: limits, delay and number of fetchers change while a crawl runs.
func TestLiveSettings(t *testing.T) {
	changed := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n int
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &n)
		if n == 4 { // it cannot get further before
			select {
			case <-changed:
			case <-r.Context().Done():
			}
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<a href="/%d">the next</a>`, n+1)
	}))
	defer s.Close()
	o := siteOptions(t)
	o.Delay = time.Hour // until it is changed, nothing but the first page is fetched
	e := open(t, o)
	defer mustClose(t, e)
	if err := e.SetLimits(engine.Limits{MaxPages: 1}); !errors.Is(err, engine.ErrNotCrawling) {
		t.Errorf("limits without a crawl: %v", err)
	}
	if err := e.SetConcurrency(0); err == nil {
		t.Error("no fetchers")
	}
	if err := e.SetDelay(-1); err != nil {
		t.Fatal(err)
	}
	once := sync.Once{}
	c := engine.CrawlOptions{Inject: seeds(s.URL + "/0"), ProgressEvery: time.Millisecond}
	c.Progress = func(p engine.Progress) {
		if p.Phase == "crawling" && p.Fetched >= 3 {
			once.Do(func() {
				defer close(changed)
				for _, err := range []error{
					e.SetConcurrency(9), e.SetConcurrency(2), e.SetDelay(-1), e.SetLimits(engine.Limits{MaxPages: 23}),
				} {
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		if p.Fetched > 20 && p.Fetchers != 2 {
			t.Errorf("%d fetchers", p.Fetchers)
		}
	}
	r, err := e.Crawl(context.Background(), c)
	if err != nil || r.Fetched != 23 || r.Stopped != engine.StopMaxPages {
		t.Errorf("%v, %v", r, err)
	}
}

// TestBusy: one crawl or fetch at a time, and no fetchlist is made of what a crawl hands out. Afterwards one is.
func TestBusy(t *testing.T) {
	s := chain(t, 3)
	o := siteOptions(t)
	var e *engine.Engine
	o.OnPage = func(*engine.Page) {
		if _, err := e.Crawl(context.Background(), engine.CrawlOptions{}); !errors.Is(err, engine.ErrBusy) {
			t.Errorf("a second crawl: %v", err)
		}
		if _, err := e.Fetch(context.Background(), engine.FetchOptions{Segment: 1}); !errors.Is(err, engine.ErrBusy) {
			t.Errorf("a fetch beside it: %v", err)
		}
		if err := e.Recover(context.Background()); !errors.Is(err, engine.ErrBusy) {
			t.Errorf("recover beside it: %v", err)
		}
		if _, err := e.Generate(context.Background(), engine.GenerateOptions{}); !errors.Is(err, engine.ErrBusy) {
			t.Errorf("generate beside it: %v", err)
		}
		pipe := strings.NewReader(s.URL + "/0\n")
		_, err := e.FreeGenerate(context.Background(), engine.FreeGenerateOptions{Readers: []io.Reader{pipe}})
		if !errors.Is(err, engine.ErrBusy) || pipe.Len() != int(pipe.Size()) {
			t.Errorf("freegen beside it: %v, with %d of %d bytes unread", err, pipe.Len(), pipe.Size())
		}
	}
	e = open(t, o)
	defer mustClose(t, e)
	if _, err := e.Crawl(context.Background(), crawlFrom(s.URL+"/0")); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Generate(context.Background(), engine.GenerateOptions{}); !errors.Is(err, engine.ErrNothingDue) {
		t.Errorf("generate after it: %v", err)
	}
}

// TestClose: Close stops a crawl cleanly and waits for it; afterwards every call is an error, none a crash.
func TestClose(t *testing.T) {
	s := chain(t, 10_000)
	o := siteOptions(t)
	e := open(t, o)
	started := make(chan struct{})
	ended := make(chan engine.CrawlReport)
	var once sync.Once
	go func() {
		c := engine.CrawlOptions{Inject: seeds(s.URL + "/0"), ProgressEvery: time.Millisecond}
		c.Progress = func(p engine.Progress) {
			if p.Fetched > 3 {
				once.Do(func() { close(started) })
			}
		}
		r, err := e.Crawl(context.Background(), c)
		if err != nil {
			t.Error(err)
		}
		ended <- r
	}()
	<-started
	closed := make(chan error)
	go func() { closed <- e.Close() }()
	if r := <-ended; r.Stopped != engine.StopInterrupted || r.Fetched == 0 {
		t.Errorf("%v", r)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	afterClose(t, e)
	again := open(t, o)
	defer mustClose(t, again)
	verify(t, again)
}

// afterClose calls every method of a closed engine.
func afterClose(t *testing.T, e *engine.Engine) {
	t.Helper()
	ctx := context.Background()
	in := e.Inspect()
	calls := map[string]func() error{
		"Close":          e.Close,
		"Inject":         func() error { _, err := e.Inject(ctx, engine.InjectOptions{}); return err },
		"Generate":       func() error { _, err := e.Generate(ctx, engine.GenerateOptions{}); return err },
		"Fetch":          func() error { _, err := e.Fetch(ctx, engine.FetchOptions{}); return err },
		"Seal":           func() error { _, err := e.Seal(ctx, 1); return err },
		"UpdateDB":       func() error { _, err := e.UpdateDB(ctx, 1); return err },
		"InvertLinks":    func() error { _, err := e.InvertLinks(ctx, 1); return err },
		"Dedup":          func() error { _, err := e.Dedup(ctx, engine.DedupOptions{}); return err },
		"Index":          func() error { _, err := e.Index(ctx, engine.IndexOptions{}); return err },
		"Crawl":          func() error { _, err := e.Crawl(ctx, engine.CrawlOptions{}); return err },
		"Recover":        func() error { return e.Recover(ctx) },
		"Enqueue":        func() error { return e.Enqueue("http://a.test/") },
		"Pause":          e.Pause,
		"Resume":         e.Resume,
		"SetDelay":       func() error { return e.SetDelay(1) },
		"SetConcurrency": func() error { return e.SetConcurrency(1) },
		"SetLimits":      func() error { return e.SetLimits(engine.Limits{}) },
		"no fetchers":    func() error { return e.SetConcurrency(0) },
		"wrong limits":   func() error { return e.SetLimits(engine.Limits{MaxPages: -1}) },
		"Search":         func() error { _, err := e.Search(ctx, "net", engine.SearchOptions{}); return err },
		"NewestSegment":  func() error { _, err := e.Inspect().NewestSegment(storage.SegmentOpen); return err },
		"IndexDigest":    func() error { _, err := e.Inspect().IndexDigest(ctx); return err },
		"IndexStats":     func() error { _, err := e.Inspect().IndexStats(); return err },
		"Record":         func() error { _, err := in.Record("http://a.test/"); return err },
		"Stats":          func() error { _, err := in.Stats(ctx, false); return err },
		"Verify":         func() error { _, err := in.Verify(ctx); return err },
		"Check":          func() error { _, err := in.Check("http://a.test/", policy.NormalizeInject); return err },
		"Records": func() error {
			for _, err := range in.Records(ctx, engine.RecordFilter{}) {
				return err
			}
			return nil
		},
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, engine.ErrClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
}

// TestAbort: Abort ends a crawl at once and settles nothing; the next crawl takes up what was synced.
func TestAbort(t *testing.T) {
	w := newWorld(t, 8, 40)
	dir := dataDir(t)
	abort, cancel := context.WithCancel(context.Background())
	defer cancel()
	e := open(t, w.options(dir))
	c := engine.CrawlOptions{Inject: w.seeds(), Abort: abort, ProgressEvery: 1}
	c.Progress = func(p engine.Progress) {
		if p.Fetched > 20 {
			cancel()
		}
	}
	r, err := e.Crawl(context.Background(), c)
	if !errors.Is(err, context.Canceled) || r.Stopped != engine.StopAborted || r.Fetched <= 20 {
		t.Errorf("%v, %v", r, err)
	}
	mustClose(t, e)
	w.crawl(w.options(dir), engine.CrawlOptions{})
	e = open(t, w.options(dir))
	defer mustClose(t, e)
	w.checkTruth(e)
	verify(t, e)
}

// TestAbortByDeadline: the error of an abort is that of its context, and the host that did not answer is not blamed.
func TestAbortByDeadline(t *testing.T) {
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/robots.txt" {
			<-release
		}
	}))
	defer s.Close()
	defer close(release)
	e := open(t, siteOptions(t))
	defer mustClose(t, e)
	if _, err := e.Inject(context.Background(), seeds(s.URL+"/")); err != nil {
		t.Fatal(err)
	}
	abort, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	r, err := e.Crawl(context.Background(), engine.CrawlOptions{Abort: abort})
	if !errors.Is(err, context.DeadlineExceeded) || r.Stopped != engine.StopAborted || r.Failed != 0 {
		t.Errorf("%v, %v", r, err)
	}
	if _, err := e.Generate(context.Background(), engine.GenerateOptions{}); err != nil {
		t.Errorf("the page is not due any more: %v", err)
	}
}

// TestCanceledPhase: a phase whose context is canceled writes nothing and says so.
func TestCanceledPhase(t *testing.T) {
	w := newWorld(t, 4, 20)
	e := open(t, w.options(dataDir(t)))
	defer mustClose(t, e)
	ctx := context.Background()
	if _, err := e.Inject(ctx, w.seeds()); err != nil {
		t.Fatal(err)
	}
	g, err := e.Generate(ctx, engine.GenerateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if r, err := e.Fetch(canceled, engine.FetchOptions{Segment: g.Segment}); err == nil && r.Fetched > 0 {
		t.Errorf("a canceled fetch: %v", r)
	}
	if _, err := e.Inject(canceled, seeds("http://new.test/")); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled inject: %v", err)
	}
	if _, err := e.Inspect().Record("http://new.test/"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("it left a record: %v", err)
	}
}

// TestHostPolicy: a host's own settings reach its requests, and nobody else's.
func TestHostPolicy(t *testing.T) {
	s, other := chain(t, 3), chain(t, 3)
	host := func(raw string) string { return strings.TrimPrefix(raw, "http://") }
	page := policy.ScopePage
	table, err := policy.NewHostTable(map[string]policy.HostSettings{
		host(s.URL): {
			Header:   []policy.HeaderField{{Name: "X-Key", Value: "k"}},
			Cookies:  []policy.HeaderField{{Name: "a", Value: "1"}, {Name: "b", Value: "2"}},
			Username: "u", Password: "p", PlainAuth: true,
			MaxPages: 2,
		},
		host(other.URL): {Scope: &page},
	})
	if err != nil {
		t.Fatal(err)
	}
	o := siteOptions(t)
	o.HostPolicy = table
	var mu sync.Mutex
	saw := map[string]string{}
	o.OnPage = func(p *engine.Page) {
		_, value, _ := strings.Cut(string(p.Head), "Saw: ")
		value, _, _ = strings.Cut(value, "\r\n")
		mu.Lock()
		saw[p.URL.String()] = value
		mu.Unlock()
	}
	e := open(t, o)
	defer mustClose(t, e)
	in := seeds(s.URL+"/0", other.URL+"/0")
	if _, err := e.Crawl(context.Background(), engine.CrawlOptions{Inject: in}); err != nil {
		t.Fatal(err)
	}
	for u, want := range map[string]string{s.URL + "/0": "k|a=1; b=2|Basic dTpw", other.URL + "/0": "||"} {
		if saw[u] != want {
			t.Errorf("%s saw %q, want %q", u, saw[u], want)
		}
	}
	if len(saw) != 3 { // two by the budget of the one, one by the scope of the other
		t.Errorf("fetched: %v", saw)
	}
}

// TestIndexFilterShows: what an index filter changes is what hits show, and snippets can be escaped.
func TestIndexFilterShows(t *testing.T) {
	s := chain(t, 3)
	o := siteOptions(t)
	o.NoIndex = false
	day := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	change := func(d *index.Document, _ *storage.Record, _ *storage.ParseText) string {
		d.Stored = append(d.Stored, storage.Field{Name: "kind", Value: "link"})
		d.Date = day
		if strings.HasSuffix(d.URL, "/2") {
			d.Title, d.Text, d.Boost = "Second", "herring <b>& chips</b>", 50
		}
		return ""
	}
	o.IndexFilters = []policy.IndexFilter{policy.IndexFilterFunc(change)}
	e := open(t, o)
	defer mustClose(t, e)
	if _, err := e.Crawl(context.Background(), crawlFrom(s.URL+"/0")); err != nil {
		t.Fatal(err)
	}
	html := engine.SearchOptions{Deadline: patient, HTML: true, MarkStart: "<mark>", MarkEnd: "</mark>"}
	found, err := e.Search(context.Background(), "herring", html)
	if err != nil || len(found.Hits) != 1 {
		t.Fatalf("%+v, %v", found, err)
	}
	h := found.Hits[0]
	if h.Title != "Second" || h.Snippet != "<mark>herring</mark> &lt;b&gt;&amp; chips&lt;/b&gt;" ||
		h.SnippetText != "herring <b>& chips</b>" || len(h.Matches) != 1 || !h.Date.Equal(day) ||
		len(h.Stored) != 1 || h.Stored[0].Value != "link" {
		t.Errorf("%+v", h)
	}
}

// TestDefaultsKept: filters can be added to the defaults, and a nil slice means them.
func TestDefaultsKept(t *testing.T) {
	mine := policy.URLFilterFunc(func(u urlkey.URL) string {
		if strings.HasPrefix(u.Path(), "/private/") {
			return "private"
		}
		return ""
	})
	for _, c := range []struct {
		filters policy.URLFilters
		picture string
	}{
		{nil, "suffix"},
		{append(policy.DefaultFilters(time.Now()), mine), "suffix"},
		{policy.URLFilters{mine}, ""},
	} {
		k := engine.NewURLChecker(engine.Options{Filters: c.filters})
		if got := k.Check("http://a.test/x.jpg", policy.NormalizeOutlink); got.Reason != c.picture {
			t.Errorf("%v: a picture: %q, want %q", c.filters, got.Reason, c.picture)
		}
	}
}

// TestBusyBesidePurge: a crawl beside a purge is ErrBusy, whose text does not say that a crawl or fetch is running.
func TestBusyBesidePurge(t *testing.T) {
	t.Parallel()
	var e *engine.Engine
	var busy error
	o := siteOptions(t)
	o.Events.PhaseDone = func(r engine.Report) {
		if _, ok := r.(engine.PurgeReport); !ok {
			return
		}
		done := make(chan struct{}) // on a goroutine of its own: the listener itself must not call the Engine
		go func() {
			defer close(done)
			_, busy = e.Crawl(context.Background(), engine.CrawlOptions{})
		}()
		<-done
	}
	e = open(t, o)
	defer mustClose(t, e)
	if _, err := e.Purge(context.Background()); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(busy, engine.ErrBusy) || !strings.Contains(busy.Error(), "other work that runs alone") {
		t.Errorf("a crawl beside a purge: %v", busy)
	}
}
