// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
)

// slowWeb is a web of which each host is slow in its own way, by the beginning of its name.
type slowWeb struct {
	names
	closed chan struct{} // ends requests that are never answered
}

// newSlowWeb makes a web of hosts: kinds says how many of each kind.
func newSlowWeb(t *testing.T, kinds map[string]int) (w *slowWeb, urls []string) {
	t.Helper()
	w = &slowWeb{names: names{hosts: fetch.Hosts{}}, closed: make(chan struct{})}
	for kind, n := range kinds {
		for i := range n {
			w.hosts[fmt.Sprintf("%s%d.test", kind, i)] = nil
		}
	}
	w.serveBy(t, w)
	t.Cleanup(func() { close(w.closed) })
	for host := range w.hosts {
		urls = append(urls, "http://"+host+":"+w.port+"/")
	}
	return w, urls
}

func (w *slowWeb) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	robots := r.URL.Path == "/robots.txt"
	switch {
	case robots && strings.HasPrefix(r.Host, "mute"):
		select {
		case <-w.closed:
		case <-r.Context().Done():
		}
	case robots:
		http.NotFound(out, r)
	case strings.HasPrefix(r.Host, "tired") && r.URL.Path != "/":
		out.Header().Set("Retry-After", "600")
		out.WriteHeader(http.StatusServiceUnavailable)
	default:
		out.Header().Set("Content-Type", "text/html")
		links := 3
		if strings.HasPrefix(r.Host, "giant") {
			links = 300
		}
		for i := range links {
			fmt.Fprintf(out, `<a href="/%d">page %d</a> `, i, i)
		}
	}
}

func (w *slowWeb) options(t *testing.T) engine.Options {
	return engine.Options{
		Dir: dataDir(t), Memory: 64 << 20, Hosts: w.hosts, Delay: -1, AllowPrivate: true, Scope: policy.ScopeHost,
		NoIndex: true, Concurrency: 16,
	}
}

// heldBy is heldWhen for a cause and what its text says, with the other causes that are named beside it.
func heldBy(
	t *testing.T, o engine.Options, urls []string, kind engine.CauseKind, says string, also ...engine.CauseKind,
) engine.Status {
	t.Helper()
	return heldWhen(t, o, urls, fmt.Sprintf("%s: %s, also %v", kind, says, also), named(kind, says, also...))
}

// named returns a function that reports whether a status names a cause as heldBy wants it.
func named(kind engine.CauseKind, says string, also ...engine.CauseKind) func(engine.Status) bool {
	return func(s engine.Status) bool {
		if s.Progress == nil || s.Progress.Cause.Kind != kind || !strings.Contains(s.Progress.Cause.Text, says) ||
			len(s.Progress.Also) != len(also) {
			return false
		}
		for i, a := range s.Progress.Also {
			if a.Kind != also[i] {
				return false
			}
		}
		return true
	}
}

// heldWhen crawls until its status is as named tells, and checks that it still is a moment later; the crawl is then
// ended. It returns the status.
func heldWhen(
	t *testing.T, o engine.Options, urls []string, what string, named func(engine.Status) bool,
) engine.Status {
	t.Helper()
	e := open(t, o)
	defer mustClose(t, e)
	ctx, end := context.WithCancel(t.Context())
	abort, cut := context.WithCancel(t.Context())
	crawl := crawlFrom(urls...)
	crawl.Abort = abort
	c := crawlBeside(ctx, t, e, crawl)
	defer func() {
		end()
		cut()
		<-c.done
	}()
	s := await(t, e, what, named)
	for range 10 {
		time.Sleep(20 * time.Millisecond)
		now, err := e.Inspect().Status()
		if err != nil {
			t.Fatal(err)
		}
		if !named(now) {
			text, _ := json.Marshal(now)
			t.Errorf("first %s, also %v; then the status is %s", s.Progress.Cause, s.Progress.Also, text)
			break
		}
	}
	if s.Progress.Cause.Help == "" {
		t.Errorf("%s: nothing says what to do", s.Progress.Cause)
	}
	return s
}

// muteNameServer is the address of a name server that takes queries and answers none.
func muteNameServer(t *testing.T) netip.AddrPort {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return netip.MustParseAddrPort(conn.LocalAddr().String())
}

// TestSlowDNS: a crawl whose name server keeps all hosts waiting says that it waits for DNS, and how many lookups are
// under way.
func TestSlowDNS(t *testing.T) {
	w, urls := newSlowWeb(t, map[string]int{"host": 40})
	o := w.options(t)
	o.Resolver = fetch.NewResolver(fetch.ResolverOptions{
		Servers: []netip.AddrPort{muteNameServer(t)}, Timeout: time.Minute,
	})
	o.Contact = "https://crawler.example/"
	says := "40 hosts wait for addresses from DNS"
	heldWhen(t, o, urls, says, func(s engine.Status) bool {
		return s.Progress != nil && s.Progress.Cause.Kind == engine.CauseDNS &&
			strings.Contains(s.Progress.Cause.Text, says) && 20 <= s.Lookups && s.Lookups <= 40
	})
}

// TestOneGiantHost: a crawl of which one host has nearly all of what is left names it, how much it has and how fast it
// may be asked, also while that host's request is under way.
func TestOneGiantHost(t *testing.T) {
	for _, c := range []struct {
		delay time.Duration
		wait  string
	}{
		{300 * time.Millisecond, "URLs, one each 300ms (delay)"},
		{150 * time.Millisecond, "URLs, one each 250ms (delay of its address)"},
	} {
		w, urls := newSlowWeb(t, map[string]int{"giant": 1, "host": 8})
		o := w.options(t)
		o.Delay = c.delay
		s := heldBy(t, o, urls, engine.CausePoliteness, "politeness: only giant0.test:"+w.port+" has URLs left: 2")
		if text := s.Progress.Cause.Text; !strings.Contains(text, c.wait) {
			t.Errorf("%s, want %s", text, c.wait)
		}
	}
}

// nearlyFull is a disk of 992 MB of which a number of bytes are free. WARC files have another number.
type nearlyFull struct {
	storage.FS
	free, warc *atomic.Uint64
}

func (d nearlyFull) GetDiskUsage(dir string) (storage.DiskUsage, error) {
	free := d.free.Load()
	if filepath.Base(dir) == "warc" {
		free = d.warc.Load()
	}
	return storage.DiskUsage{AvailBytes: free, TotalBytes: 992e6, UsedBytes: 992e6 - free}, nil
}

// TestNearlyFullDisk: a crawl that waits for space says so, with how much there is and how much is needed; it goes on
// when there is enough, and says why it ended when there never is.
func TestNearlyFullDisk(t *testing.T) {
	w, urls := newSlowWeb(t, map[string]int{"giant": 1})
	o := w.options(t)
	o.Delay = 100 * time.Millisecond
	var passed atomic.Int64
	o.Now = func() time.Time { return time.Now().Add(time.Duration(passed.Load())) }
	disk := nearlyFull{FS: storage.NewMemFS(), free: new(atomic.Uint64), warc: new(atomic.Uint64)}
	disk.free.Store(900e6)
	disk.warc.Store(900e6)
	o.FS, o.Dir = disk, "/data"
	e := open(t, o)
	defer mustClose(t, e)
	crawl := crawlFrom(urls...)
	crawl.Patience = time.Hour
	c := crawlBeside(t.Context(), t, e, crawl)
	await(t, e, "pages", func(s engine.Status) bool { return s.Progress != nil && s.Progress.Fetched > 3 })
	disk.free.Store(20e6)
	full := func(s engine.Status) bool { return s.Progress.Cause.Kind == engine.CauseDiskFull }
	s := await(t, e, "a full disk", full)
	const want = "the disk of /data is nearly full, so fetchers wait; 20 MB are free: free some space on it: with " +
		"310 MB the crawl goes on"
	if got := s.Progress.Cause.String(); !strings.HasPrefix(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
	await(t, e, "all fetchers being held", func(now engine.Status) bool {
		held, all := doing(now, engine.DoingHeld) // what was under way when it was full ends first
		return full(now) && held == all
	})
	if len(s.Alerts) == 0 || s.Alerts[0].Kind != engine.AlertDiskFull || s.Alerts[0].Level != engine.AlertBroken {
		t.Errorf("alerts: %+v", s.Alerts)
	}
	disk.free.Store(900e6)
	await(t, e, "more pages", func(now engine.Status) bool { return now.Progress.Fetched > s.Progress.Fetched })
	disk.warc.Store(10e6) // which may be on a disk of their own
	s = await(t, e, "a full disk of WARC files", full)
	if got := s.Progress.Cause.String(); !strings.HasPrefix(got, "the disk of /data/warc is nearly full") ||
		s.Store.DiskFreeBytes != 10e6 {
		t.Errorf("%s; %d bytes are free", got, s.Store.DiskFreeBytes)
	}
	disk.warc.Store(900e6)
	await(t, e, "more pages again", func(now engine.Status) bool { return now.Progress.Fetched > s.Progress.Fetched })
	disk.free.Store(20e6)
	await(t, e, "a full disk again", full)
	passed.Add(int64(crawl.Patience))
	<-c.done
	s, err := e.Inspect().Status()
	if err != nil || c.err == nil || s.Stopped != engine.StopFailed || !full(s) {
		t.Errorf("%v, %v, %+v", err, c.err, s.Progress)
	}
}

// TestDiskForWhatWasFetched: space that the store takes for what was fetched, until that is searchable, is not free for
// more: fetchers wait while a byte is free beyond the least, in a crawl and in a fetch. Then it is free again.
func TestDiskForWhatWasFetched(t *testing.T) {
	const least = 248e6
	for _, batch := range []bool{false, true} {
		w, urls := newSlowWeb(t, map[string]int{"giant": 1})
		o := w.options(t)
		o.Delay = 100 * time.Millisecond
		disk := nearlyFull{FS: storage.NewMemFS(), free: new(atomic.Uint64), warc: new(atomic.Uint64)}
		disk.free.Store(900e6)
		disk.warc.Store(900e6)
		o.FS, o.Dir = disk, "/data"
		e := open(t, o)
		for i := range 100 {
			urls = append(urls, fmt.Sprintf("%sseed%d", urls[0], i))
		}
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- fetchSome(ctx, e, urls, batch) }()
		await(t, e, "pages", func(s engine.Status) bool { return s.Progress != nil && s.Progress.Fetched > 3 })
		disk.free.Store(least + 1)
		full := func(s engine.Status) bool { return s.Progress.Cause.Kind == engine.CauseDiskFull }
		s := await(t, e, "a full disk", full)
		if s.Store.DiskPendingBytes == 0 || len(s.Alerts) == 0 || s.Alerts[0].Kind != engine.AlertDiskFull {
			t.Errorf("batch %t: %d bytes are pending, alerts %+v", batch, s.Store.DiskPendingBytes, s.Alerts)
		}
		end()
		if err := <-ended; err != nil {
			t.Errorf("batch %t: %v", batch, err)
		}
		s, err := e.Inspect().Status()
		if err != nil || s.Store.DiskPendingBytes > 0 {
			t.Errorf("batch %t: at the end %d bytes are pending, %v", batch, s.Store.DiskPendingBytes, err)
		}
		mustClose(t, e)
	}
}

// fetchSome fetches seeds until a context ends: in a crawl, or a fetchlist.
func fetchSome(ctx context.Context, e *engine.Engine, urls []string, batch bool) error {
	if !batch {
		_, err := e.Crawl(ctx, crawlFrom(urls...))
		return err
	}
	if _, err := e.Inject(ctx, engine.InjectOptions{URLs: urls}); err != nil {
		return err
	}
	g, err := e.Generate(ctx, engine.GenerateOptions{})
	if err == nil {
		_, err = e.Fetch(ctx, engine.FetchOptions{Segment: g.Segment})
	}
	return err
}

// TestAllHostsAsleep: a crawl all of whose hosts demand a long pause says so, and when one is asked again.
func TestAllHostsAsleep(t *testing.T) {
	w, urls := newSlowWeb(t, map[string]int{"tired": 12})
	began := time.Now()
	s := heldBy(t, w.options(t), urls, engine.CauseThrottled, "12 hosts demanded a pause")
	_, text, _ := strings.Cut(s.Progress.Cause.Text, "is requested again in ")
	text, _, _ = strings.Cut(text, ":")
	again, err := time.ParseDuration(text)
	if passed := time.Since(began); err != nil || again > 10*time.Minute || again < 10*time.Minute-passed-time.Second {
		t.Errorf("%s: it does not say when, %s after the pause was demanded first: %v", s.Progress.Cause, passed, err)
	}
}

// TestRobotsUnreachable: a crawl whose hosts never answer the request for robots.txt says so, while it waits and when
// it has given up waiting.
func TestRobotsUnreachable(t *testing.T) {
	w, urls := newSlowWeb(t, map[string]int{"mute": 20})
	o := w.options(t)
	o.Concurrency = 32
	asking := func(want int, says string) {
		t.Helper()
		heldWhen(t, o, urls, says, func(s engine.Status) bool {
			n, _ := doing(s, engine.DoingRobots)
			connecting, _ := doing(s, engine.DoingConnect) // to ask for it
			return n+connecting == want && named(engine.CauseRobots, says)(s)
		})
	}
	asking(20, "20 hosts have not sent robots.txt yet")
	o.Dir, o.Concurrency = dataDir(t), 16
	asking(16, "16 of 16 fetchers wait for robots.txt")
	o.Dir, o.FetchTimeout = dataDir(t), 500*time.Millisecond
	heldBy(t, o, urls, engine.CauseRobots, "20 hosts, such as mute0.test:"+w.port+", do not answer the request for "+
		"robots.txt (")
}

// TestTwoCauses: when two things hold a crawl up, the one that holds more hosts comes first.
func TestTwoCauses(t *testing.T) {
	for _, c := range []struct {
		tired, mute int
		kind, also  engine.CauseKind
		says        string
	}{
		{9, 4, engine.CauseThrottled, engine.CauseRobots, "9 hosts demanded a pause"},
		{4, 9, engine.CauseRobots, engine.CauseThrottled, "9 hosts have not sent robots.txt yet"},
	} {
		w, urls := newSlowWeb(t, map[string]int{"tired": c.tired, "mute": c.mute})
		heldBy(t, w.options(t), urls, c.kind, c.says, c.also)
	}
}
