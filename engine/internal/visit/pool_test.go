// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
	"github.com/seine-crawler/seine/storage/warc"
)

// settings is a policy of hosts by name.
type settings map[string]policy.HostSettings

func (s settings) Settings(h urlkey.HostKey) *policy.HostSettings {
	if set, ok := s[h.Host()]; ok {
		return &set
	}
	return nil
}

// liveHosts is a live list of one denied host.
type liveHosts struct {
	now, next atomic.Pointer[string]
}

func (l *liveHosts) set(host string) { l.next.Store(&host) }

func (l *liveHosts) denied(host string) string {
	if d := l.now.Load(); d != nil && *d == host {
		return "host_denied"
	}
	return ""
}

func (l *liveHosts) Accept(u urlkey.URL) string         { return l.denied(u.Host()) }
func (l *liveHosts) AcceptHost(h urlkey.HostKey) string { return l.denied(h.Host()) }
func (l *liveHosts) Explain(urlkey.URL) string          { return "" }
func (l *liveHosts) Fingerprint() uint64                { return 0 }
func (l *liveHosts) Refresh() (changed bool, err error) {
	next := l.next.Load()
	return l.now.Swap(next) != next, nil
}

// site makes pages of some hosts, and returns their URLs.
func (w *world) site(hosts, pages int) (urls []string) {
	for h := range hosts {
		for p := range pages {
			u := fmt.Sprintf("http://h%d.example/%d", h, p)
			w.web.set(u, html("This is "+u))
			urls = append(urls, u)
		}
	}
	return urls
}

// TestRun: each URL of the supply is requested once and ends as an outcome, which is counted and reported once it is
// durable.
func TestRun(t *testing.T) {
	w := newWorld(t, admission.Options{})
	urls := append(w.site(5, 20),
		"http://h0.example/none", "http://h1.example/no", "http://gone.example/", "http://moved.example/")
	w.web.set("http://h1.example/robots.txt", robotsTxt(disallowNo))
	w.web.set("http://gone.example/", broken(fetch.FailAddress))
	w.web.set("http://moved.example/", moved("/else"))
	var mu sync.Mutex
	reported := map[string]storage.FetchStatus{}
	var pages atomic.Int64
	w.env.Stored = func(u urlkey.URL, o *storage.FetchOutcome) {
		mu.Lock()
		defer mu.Unlock()
		if _, twice := reported[u.String()]; twice {
			t.Errorf("%s is reported twice", u)
		}
		reported[u.String()] = o.Status
	}
	w.env.Page = func(a *segment.Attempt, s *segment.Scratch) {
		pages.Add(1)
		if a.Response != nil && s.Outcome().HTTPStatus != uint16(a.Response.Status) {
			t.Errorf("%s: %+v", a.URL, s.Outcome())
		}
	}
	r := w.start(NewHosts(w.env), newList(w, urls...), 8, Limits{})
	c := r.finished()
	if c.Fetched != 100 || c.Gone != 2 || c.Redirected != 1 || c.RobotsDenied != 1 || c.Attempts() != 104 ||
		c.Bytes == 0 {
		t.Errorf("%+v", c)
	}
	outcomes := w.outcomes(1)
	for _, u := range urls {
		o, ok := outcomes[w.url(u).Key()]
		if !ok || reported[u] != o.Status {
			t.Errorf("%s: %+v, reported as %s", u, o, reported[u])
		}
		want := 1
		if u == "http://h1.example/no" {
			want = 0
		}
		if n := w.web.count(u); n != want {
			t.Errorf("%s was requested %d times", u, n)
		}
	}
	if pages.Load() != 104 || len(reported) != 104 || r.Received() != int64(c.Bytes) || len(w.web.rude) > 0 {
		t.Errorf("%d pages, %d reported, %d bytes, at once: %q", pages.Load(), len(reported), r.Received(), w.web.rude)
	}
	if len(w.warnings()) > 0 {
		t.Errorf("%q", w.warnings())
	}
	select {
	case <-r.Changed():
	default:
		t.Error("Changed did not receive at the end of the work")
	}
}

// TestConditional: a known URL is requested with the validators that its last version left, but for an ETag of *, which
// would ask whether there is any version.
func TestConditional(t *testing.T) {
	w := newWorld(t, admission.Options{})
	known, star := w.url("http://a.example/known"), w.url("http://a.example/star")
	for url, etag := range map[urlkey.URL]string{known: `"e"`, star: "*"} {
		r := storage.Record{Status: storage.StatusFetched, Segment: 1, ETag: etag}
		if url == known {
			r.LastModified = "Wed, 04 Mar 2026 05:00:00 GMT"
		}
		w.must(w.store.Apply(func(b *storage.Batch) error {
			return b.Set(storage.Crawldb(), []byte(url.Key()), storage.AppendRecord(nil, &r))
		}))
	}
	w.web.set(known.String(), status(304))
	l := newList(w, "http://a.example/new")
	l.add(Choice{Key: known.Key(), Known: true})
	l.add(Choice{Key: star.Key(), Known: true})
	l.add(Choice{Key: w.url("http://a.example/lost").Key(), Known: true})
	if c := w.start(NewHosts(w.env), l, 1, Limits{}).finished(); c.NotModified != 1 || c.Gone != 3 {
		t.Errorf("%+v", c)
	}
	for _, r := range w.web.requests() {
		has := r.IfNoneMatch == `"e"` && r.IfModifiedSince != ""
		if has != (r.URL == known) || !has && r.IfNoneMatch+r.IfModifiedSince != "" {
			t.Errorf("%s: %q, %q", r.URL, r.IfNoneMatch, r.IfModifiedSince)
		}
	}
}

// TestStoreError: an error of the store while validators are read ends the run, and is its error.
func TestStoreError(t *testing.T) {
	w := newWorld(t, admission.Options{})
	urls := w.site(3, 30)
	damaged := w.url("http://h1.example/7")
	w.must(w.store.Apply(func(b *storage.Batch) error {
		return b.Set(storage.Crawldb(), []byte(damaged.Key()), []byte("?"))
	}))
	l := newList(w)
	for _, u := range urls {
		l.add(Choice{Key: w.url(u).Key(), Known: true})
	}
	r := w.start(NewHosts(w.env), l, 4, Limits{})
	w.until("the error", func() bool { return r.Err() != nil })
	select {
	case <-r.Changed():
	case <-time.After(time.Minute):
		t.Error("Changed did not receive")
	}
	r.Stop()
	says := "validators of " + damaged.String()
	if err := r.Err(); !errors.Is(err, storage.ErrCorrupt) || !strings.Contains(err.Error(), says) {
		t.Errorf("%v", err)
	}
	w.must(r.Abandon())
	if n := w.web.count(damaged.String()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// TestLiveFilterCutsOff: a request under way that a live filter refuses by now is cut off, and its URL is released, not
// recorded. So is the request for robots.txt. Others go on. What is left of the visit has the host's next visit made at
// once, which the race detector sees if the old one is still used.
func TestLiveFilterCutsOff(t *testing.T) {
	for _, path := range []string{"/", "/robots.txt"} {
		deny := &liveHosts{}
		w := newWorld(t, admission.Options{Live: []policy.LiveFilter{deny}})
		let := make(chan struct{})
		w.web.set("http://a.example"+path, stuck(nil, nil))
		w.web.set("http://b.example/", stuck(let, html("b")))
		l := newList(w, "http://a.example/", "http://a.example/second", "http://b.example/")
		r := w.start(NewHosts(w.env), l, 2, Limits{})
		w.until("both requests", func() bool {
			return w.web.inFlight() == 2 && w.web.count("http://a.example"+path) == 1 &&
				w.web.count("http://b.example/") == 1
		})
		tick := func() bool {
			t.Helper()
			changed, err := r.Tick(w.now(), time.Minute)
			w.must(err)
			return changed
		}
		if tick() {
			t.Error("a change where there is none")
		}
		deny.set("a.example")
		if tick() {
			t.Error("the filters were refreshed again at once")
		}
		w.pass(filtersInterval)
		if !tick() {
			t.Error("the change was not seen")
		}
		key := w.url("http://a.example/").Key()
		w.until("the release", func() bool { return !r.source.taken([]byte(key)) })
		l.mu.Lock()
		delete(l.hosts, w.host("a.example")) // phases choose no refused URL
		l.mu.Unlock()
		close(let)
		c := r.finished()
		if c.Fetched != 1 || c.Attempts() != 1 || len(w.outcomes(1)) != 1 {
			t.Errorf("%s: %+v", path, c)
		}
		if w.web.count("http://a.example/") != strings.Count(path, "/")-strings.Count(path, "robots") {
			t.Errorf("%s: %d requests for the page", path, w.web.count("http://a.example/"))
		}
	}
}

// TestStopCutsOff: the end of a run cuts off what is under way, which then counts as not made.
func TestStopCutsOff(t *testing.T) {
	w := newWorld(t, admission.Options{})
	w.web.set("http://a.example/", stuck(nil, nil))
	w.web.set("http://b.example/robots.txt", stuck(nil, nil))
	h := NewHosts(w.env)
	r := w.start(h, newList(w, "http://a.example/", "http://b.example/"), 4, Limits{})
	w.until("both requests", func() bool { return w.web.inFlight() == 2 && w.web.count("http://a.example/") == 1 })
	if c := r.end(); c.Attempts() != 0 || len(w.outcomes(1)) != 0 || r.Err() != nil {
		t.Errorf("%+v, %v", c, r.Err())
	}
	for _, host := range []string{"a.example", "b.example"} {
		if f := w.recalled(h, w.host(host)); f.Failures > 0 {
			t.Errorf("%s: %+v", host, f)
		}
	}
}

// TestHostSettings: header fields, cookies and the password of a host's settings go to that host, robots.txt included,
// and to no other; the password over http only where the settings say so.
func TestHostSettings(t *testing.T) {
	w := newWorld(t, admission.Options{Hosts: settings{
		"own.example": {
			Header:  []policy.HeaderField{{Name: "X-Token", Value: "t"}},
			Cookies: []policy.HeaderField{{Name: "a", Value: "1"}, {Name: "b", Value: "2"}},
		},
		"auth.example":  {Username: "me", Password: "secret"},
		"plain.example": {Username: "me", Password: "secret", PlainAuth: true},
		"pause.example": {Delay: time.Millisecond},
	}})
	w.web.set("http://own.example/robots.txt", moved("http://other.example/r.txt"))
	urls := []string{
		"http://own.example/", "http://auth.example/", "https://auth.example/", "http://plain.example/",
		"http://pause.example/", "http://other.example/",
	}
	w.start(NewHosts(w.env), newList(w, urls...), 4, Limits{}).finished()
	const basic = "Authorization: Basic bWU6c2VjcmV0"
	want := map[string]string{
		"http://own.example":   "X-Token: t, Cookie: a=1; b=2",
		"https://auth.example": basic, "http://plain.example": basic,
	}
	for _, r := range w.web.requests() {
		var fields []string
		for _, f := range r.Header {
			fields = append(fields, f.Name+": "+f.Value)
		}
		origin := r.URL.Scheme() + "://" + r.URL.Host()
		if got := strings.Join(fields, ", "); got != want[origin] {
			t.Errorf("%s: %q, want %q", r.URL, got, want[origin])
		}
	}
	for _, u := range urls {
		if w.web.count(u) != 1 {
			t.Errorf("%s: %d requests", u, w.web.count(u))
		}
	}
	if req := NewHosts(w.env).Request(w.url("http://own.example/")); len(req.Header) != 2 || req.MaxBody != 0 {
		t.Errorf("%+v", req)
	}
}

// TestThrottled: the pause that a host asks for is obeyed and survives the run; the rest of the visit's URLs stay due.
func TestThrottled(t *testing.T) {
	w := newWorld(t, admission.Options{})
	urls := w.site(1, 5)
	w.web.set(urls[0], reply("HTTP/1.1 503 Busy\nRetry-After: 3600", ""))
	h := NewHosts(w.env)
	r := w.start(h, newList(w, urls...), 2, Limits{})
	w.until("the pause", func() bool {
		return w.recalled(h, w.host("h0.example")).NotBefore.After(w.now().Add(59 * time.Minute))
	})
	c := r.end()
	if c.Attempts() != 1 || c.Failures["http_503"] != 1 {
		t.Errorf("%+v", c)
	}
}

// TestStoredInTurn: outcomes are reported by one goroutine at a time, also while one segment is finished and the next
// is being filled.
func TestStoredInTurn(t *testing.T) {
	w := newWorld(t, admission.Options{})
	var inside, calls atomic.Int64
	w.env.Stored = func(urlkey.URL, *storage.FetchOutcome) {
		if inside.Add(1) != 1 {
			t.Error("two at once")
		}
		time.Sleep(100 * time.Microsecond)
		calls.Add(1)
		inside.Add(-1)
	}
	r := w.newRun(NewHosts(w.env), newList(w), Limits{})
	var s segment.Scratch
	fill := func(seg *segment.Writer) {
		t.Helper()
		for i := range 20 {
			u := w.url(fmt.Sprintf("http://h%d.example/", i))
			_, err := seg.Store(&segment.Attempt{URL: u, At: w.now(), Failure: fetch.FailRefused}, &s)
			w.must(err)
		}
	}
	full := r.Segment()
	fill(full)
	next, err := w.segments.Create()
	w.must(err)
	if r.Rotate(next) != full || r.Segment() != next {
		t.Error("another segment came back")
	}
	fill(next)
	var wg sync.WaitGroup
	for _, seg := range []*segment.Writer{full, next} {
		wg.Go(func() { w.must(r.Sync(seg)) })
	}
	wg.Wait()
	if calls.Load() != 40 || r.Counts().Failed != 40 || r.Counts().Failures["refused"] != 40 {
		t.Errorf("%d calls, %+v", calls.Load(), r.Counts())
	}
	_, err = r.Finish(context.Background(), full)
	w.must(err)
	w.must(r.Abandon())
	r.front.Close()
}

// failingFS fails to sync files on demand, and counts those that are open.
type failingFS struct {
	warc.FS
	fail atomic.Bool
	open atomic.Int64
}

func (fs *failingFS) Create(name string) (warc.File, error) {
	f, err := fs.FS.Create(name)
	if err != nil {
		return nil, err
	}
	fs.open.Add(1)
	return &failingFile{f, fs}, nil
}

type failingFile struct {
	warc.File
	fs *failingFS
}

func (f *failingFile) Sync() error {
	if f.fs.fail.Load() {
		return fmt.Errorf("syncing: %w", os.ErrPermission)
	}
	return f.File.Sync()
}

func (f *failingFile) Close() error {
	f.fs.open.Add(-1)
	return f.File.Close()
}

// TestFailingDisk: a failed sync ends the run, nothing that was not synced is counted, and no file stays open, however
// the run is wound up.
func TestFailingDisk(t *testing.T) {
	for name, wind := range map[string]func(r *run) error{
		"finish":  func(r *run) error { _, err := r.Finish(context.Background(), r.Segment()); return err },
		"abandon": func(r *run) error { return r.Abandon() },
	} {
		w := newWorld(t, admission.Options{})
		fs := &failingFS{FS: w.store.WARCFS()}
		w.segments = w.segmentsOn(fs)
		r := w.start(NewHosts(w.env), newList(w, w.site(2, 5)...), 2, Limits{})
		w.until("the pages", func() bool { return r.Counts().Fetched == 10 })
		fs.fail.Store(true)
		w.web.set("http://late.example/", html("late"))
		r.source.supply = newList(w, "http://late.example/").supply()
		r.front.Wake(w.host("late.example"))
		w.until("the error", func() bool { return r.Err() != nil })
		r.Stop()
		if err := r.Err(); !errors.Is(err, os.ErrPermission) || r.Counts().Fetched != 10 {
			t.Errorf("%s: %v, %+v", name, err, r.Counts())
		}
		if err := wind(r); !errors.Is(err, os.ErrPermission) {
			t.Errorf("%s: %v", name, err)
		}
		if n := fs.open.Load(); n != 0 {
			t.Errorf("%s: %d files are open", name, n)
		}
	}
}

// TestFlushFails: a segment whose hosts cannot be saved is not sealed, and its file does not stay open.
func TestFlushFails(t *testing.T) {
	w := newWorld(t, admission.Options{})
	fs := &failingFS{FS: w.store.WARCFS()}
	w.segments = w.segmentsOn(fs)
	r := w.start(NewHosts(w.env), newList(w, w.site(1, 3)...), 2, Limits{})
	r.quiet()
	r.Stop()
	r.hosts.env.Store = w.readOnly()
	if _, err := r.Finish(context.Background(), r.Segment()); err == nil || fs.open.Load() != 0 {
		t.Errorf("%v, %d files are open", err, fs.open.Load())
	}
	if seg, _, err := w.store.Segment(1); err != nil || seg.State != storage.SegmentOpen || seg.Counts.Fetched != 0 {
		t.Errorf("%+v, %v", seg, err)
	}
}

// TestRequestAllocations: a request to a host without settings costs the request and nothing else.
func TestRequestAllocations(t *testing.T) {
	w := newWorld(t, admission.Options{})
	h, u := NewHosts(w.env), w.url("http://a.example/")
	var req *fetch.Request
	if n := testing.AllocsPerRun(100, func() { req = h.request(u, 0) }); n > 1 || req.URL != u {
		t.Errorf("%v allocations", n)
	}
}
