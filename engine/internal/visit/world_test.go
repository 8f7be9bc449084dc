// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/frontier"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
	"github.com/seine-crawler/seine/storage/warc"
)

// world is a store, a web and a clock in memory.
type world struct {
	testing.TB
	fs       storage.FS
	store    *storage.Store
	env      Env
	segments *segment.Segments
	web      *web
	offset   atomic.Int64 // of the clock from the real one, ns
	delay    atomic.Int64
	extra    int // fetchers that stand in for slow visits

	mu    sync.Mutex
	warns []string
}

// newWorld makes a world whose crawl goes anywhere, without a delay, unless the options say otherwise.
func newWorld(t testing.TB, o admission.Options) *world {
	return newWorldOn(t, o, storage.NewMemFS())
}

func newWorldOn(t testing.TB, o admission.Options, fs storage.FS) *world {
	w := &world{TB: t, fs: fs, web: &web{pages: map[string]answer{}, busy: map[string]int{}}}
	w.delay.Store(-1)
	w.open()
	t.Cleanup(func() { w.store.Close() })
	o.Scope, o.Store, o.Now, o.Warn = policy.ScopeAny, w.store, w.now, w.warn
	if o.MaxRedirects == 0 {
		o.MaxRedirects = 5
	}
	a := admission.New(o)
	w.must(a.Load())
	w.env = Env{
		Store: w.store, Admission: a, Client: w.web, Agent: "seine", Now: w.now, Warn: w.warn,
		Delay:    func() time.Duration { return time.Duration(w.delay.Load()) },
		DiskFree: func() (Disk, error) { return Disk{}, nil },
	}
	w.must(w.store.WARCFS().MkdirAll("warc"))
	w.segments = w.segmentsOn(w.store.WARCFS())
	return w
}

func (w *world) segmentsOn(fs warc.FS) *segment.Segments {
	return segment.New(segment.Env{
		Store: w.store, FS: fs, Dir: "warc", Now: w.now, Agent: "seine", Warn: w.warn,
		Sorter: func(combine func(dst, a, b []byte) []byte) *storage.Sorter {
			return storage.NewSorter(storage.SorterOptions{Dir: w.store.SortDir(), FS: w.fs, Combine: combine})
		},
	})
}

func (w *world) open() {
	w.Helper()
	s, err := storage.Open("store", storage.Options{FS: w.fs, MemTableBytes: 256 << 10})
	w.must(err)
	w.store = s
}

// reopen is what a new process does.
func (w *world) reopen() {
	w.Helper()
	w.must(w.store.Close())
	w.open()
	w.env.Store = w.store
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) now() time.Time { return time.Now().Add(time.Duration(w.offset.Load())) }

func (w *world) pass(d time.Duration) { w.offset.Add(int64(d)) }

func (w *world) warn(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.warns = append(w.warns, err.Error())
}

func (w *world) warnings() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.warns)
}

func (w *world) url(raw string) urlkey.URL {
	w.Helper()
	u, err := urlkey.Parse(raw)
	w.must(err)
	return u
}

func (w *world) host(name string) urlkey.HostKey {
	w.Helper()
	return w.url("http://" + name + "/").HostKey()
}

// until waits for something that must happen.
func (w *world) until(what string, ok func() bool) {
	w.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			w.Fatalf("waited in vain: %s", what)
		}
	}
}

// answer makes the response to a request.
type answer func(ctx context.Context, r *fetch.Request) *fetch.Response

// web is all servers. What it does not know is not found.
type web struct {
	mu    sync.Mutex
	pages map[string]answer
	log   []*fetch.Request
	busy  map[string]int // requests under way by host
	most  int            // requests at once
	rude  []string       // hosts that had two requests at once
}

func (s *web) Fetch(ctx context.Context, r *fetch.Request) *fetch.Response {
	host := r.URL.Authority()
	s.mu.Lock()
	s.log = append(s.log, r)
	if s.busy[host]++; s.busy[host] > 1 {
		s.rude = append(s.rude, r.URL.String())
	}
	s.most = max(s.most, s.underWay())
	page := s.pages[r.URL.String()]
	s.mu.Unlock()
	if page == nil {
		page = status(404)
	}
	begin := time.Now()
	resp := page(ctx, r)
	resp.Start, resp.End = begin, time.Now()
	s.mu.Lock()
	s.busy[host]--
	s.mu.Unlock()
	return resp
}

// underWay is the number of requests at this moment. s.mu is held.
func (s *web) underWay() (n int) {
	for _, b := range s.busy {
		n += b
	}
	return n
}

func (s *web) inFlight() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.underWay()
}

func (s *web) set(url string, a answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages[url] = a
}

// requests are those that were made so far.
func (s *web) requests() []*fetch.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// count is the number of requests for a URL.
func (s *web) count(url string) (n int) {
	for _, r := range s.requests() {
		if r.URL.String() == url {
			n++
		}
	}
	return n
}

// reply answers with a head, fields without line ends, and a body.
func reply(head, body string) answer {
	return func(context.Context, *fetch.Request) *fetch.Response {
		r, err := fetch.StoredResponse([]byte(strings.ReplaceAll(head, "\n", "\r\n")+"\r\n\r\n"), []byte(body), "")
		if err != nil {
			panic(err)
		}
		return r
	}
}

func html(body string) answer { return reply("HTTP/1.1 200 OK\nContent-Type: text/html", body) }

func status(code int) answer { return reply(fmt.Sprintf("HTTP/1.1 %d Whatever", code), "") }

func robotsTxt(text string) answer { return reply("HTTP/1.1 200 OK\nContent-Type: text/plain", text) }

func moved(to string) answer { return reply("HTTP/1.1 302 Found\nLocation: "+to, "") }

func broken(f fetch.Failure) answer {
	return func(context.Context, *fetch.Request) *fetch.Response { return &fetch.Response{Failure: f} }
}

// truncated answers with a part of a body.
func truncated(why, body string) answer {
	return func(ctx context.Context, r *fetch.Request) *fetch.Response {
		resp := robotsTxt(body)(ctx, r)
		resp.Truncated = why
		return resp
	}
}

// stuck answers when let is closed, or fails when the request is canceled.
func stuck(let <-chan struct{}, then answer) answer {
	return func(ctx context.Context, r *fetch.Request) *fetch.Response {
		select {
		case <-let:
			return then(ctx, r)
		case <-ctx.Done():
			return &fetch.Response{Failure: fetch.FailCanceled, Err: ctx.Err(), RequestHead: []byte("GET /")}
		}
	}
}

// urlList is a supply of URLs in memory. All of them are always due.
type urlList struct {
	mu    sync.Mutex
	hosts map[urlkey.HostKey][]Choice
}

func newList(w *world, urls ...string) *urlList {
	l := &urlList{hosts: map[urlkey.HostKey][]Choice{}}
	for _, u := range urls {
		l.add(Choice{Key: w.url(u).Key(), Score: 1})
	}
	return l
}

func (l *urlList) add(c Choice) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := c.Key.HostKey()
	l.hosts[h] = append(l.hosts[h], c)
}

func (l *urlList) supply() Supply { return Supply{Choose: l.choose, Hosts: l.from} }

func (l *urlList) choose(_ storage.Reader, want *Wanted) (c Chosen, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, u := range l.hosts[want.Host] {
		if want.Taken([]byte(u.Key)) {
			continue
		}
		if want.Again && !u.Counted {
			c.Spent = true
			continue
		}
		if len(c.URLs) == want.Limit {
			c.More = true
			break
		}
		c.URLs = append(c.URLs, u)
	}
	return c, nil
}

func (l *urlList) from(_ context.Context, from urlkey.HostKey, limit int) (hosts []urlkey.HostKey, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for h := range l.hosts {
		if h >= from {
			hosts = append(hosts, h)
		}
	}
	slices.Sort(hosts)
	return hosts[:min(limit, len(hosts))], nil
}

// run is a pool at work.
type run struct {
	*Pool
	w      *world
	hosts  *Hosts
	front  *frontier.Frontier
	source *Source
}

// newRun makes a pool that does not run yet.
func (w *world) newRun(h *Hosts, l *urlList, limits Limits) *run {
	w.Helper()
	seg, err := w.segments.Create()
	w.must(err)
	r := &run{w: w, hosts: h, source: NewSource(h, l.supply())}
	r.front, err = frontier.New(frontier.Options{
		Source: r.source, Delay: w.env.Delay(), OnDrop: r.source.Release, OnHost: h.Remember, MaxHosts: 1000,
		OnForgive: h.Forgive,
		Extra:     w.extra,
		OnError:   func(h urlkey.HostKey, err error) { w.warn(fmt.Errorf("refilling %s: %w", h, err)) },
	})
	w.must(err)
	r.Pool = NewPool(h, r.front, r.source, seg, limits)
	return r
}

// start makes a pool and sets it to work.
func (w *world) start(h *Hosts, l *urlList, fetchers int, limits Limits) *run {
	w.Helper()
	r := w.newRun(h, l, limits)
	r.front.WakeAll()
	r.Start(context.Background(), fetchers)
	return r
}

// quiet waits until nothing is left to do, or the run is over.
func (r *run) quiet() {
	r.w.Helper()
	calm := 0
	r.w.until("the end of the work", func() bool {
		s := r.front.Stats()
		if s.Queued+s.InFlight+s.Refilling+s.Pending+s.Ready > 0 || r.Busy() > 0 {
			calm = 0
		} else {
			calm++
		}
		return calm > 20 || r.Reached() != NoLimit && r.Busy() == 0 || r.Err() != nil
	})
}

// end stops the pool and seals its segment.
func (r *run) end() segment.Counts {
	r.w.Helper()
	r.Stop()
	_, err := r.Finish(context.Background(), r.Segment())
	r.w.must(err)
	return r.Counts()
}

// finished runs to the end.
func (r *run) finished() segment.Counts {
	r.w.Helper()
	r.quiet()
	r.w.must(r.Err())
	return r.end()
}

// outcomes are those of a sealed segment by URL key.
func (w *world) outcomes(number uint32) map[urlkey.Key]storage.FetchOutcome {
	w.Helper()
	all := map[urlkey.Key]storage.FetchOutcome{}
	sc := w.store.Scan(storage.ParseLinks(number), nil, nil)
	for sc.Next() {
		var o storage.FetchOutcome
		w.must(storage.DecodeFetchOutcome(slices.Clone(sc.Value()), &o))
		all[urlkey.Key(sc.Key())] = o
	}
	w.must(sc.Close())
	return all
}

// hookFS calls a function before files are made or opened. The types are those of storage.FS, which only package
// storage can name.
type hookFS[F, C, O any] struct {
	storage.FS
	create func(string, C) (F, error)
	open   func(string, ...O) (F, error)
	hook   *atomic.Pointer[func(op, name string)]
}

func hooked[F, C, O any](
	fs storage.FS, create func(string, C) (F, error), open func(string, ...O) (F, error),
) (*hookFS[F, C, O], *atomic.Pointer[func(op, name string)]) {
	var hook atomic.Pointer[func(op, name string)]
	return &hookFS[F, C, O]{fs, create, open, &hook}, &hook
}

func (fs *hookFS[F, C, O]) call(op, name string) {
	if hook := fs.hook.Load(); hook != nil {
		(*hook)(op, name)
	}
}

func (fs *hookFS[F, C, O]) Create(name string, category C) (F, error) {
	fs.call("create", name)
	return fs.create(name, category)
}

func (fs *hookFS[F, C, O]) Open(name string, options ...O) (F, error) {
	fs.call("open", name)
	return fs.open(name, options...)
}

// sorted are the elements of a set in order.
func sorted[K cmp.Ordered, V any](m map[K]V) (keys []K) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
