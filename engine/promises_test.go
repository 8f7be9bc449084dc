// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/policy"
)

// names is a web of several names, each on a loopback address of its own: a page for each "host/path", where the text
// HOST:name stands for a name with the port, and a text that begins with "-> " is a redirect.
type names struct {
	pages map[string]string
	port  string
	hosts fetch.Hosts

	mu    sync.Mutex
	slow  map[string]time.Duration // by host: how long each of its pages takes
	until map[string]string        // by host: the page whose request each of its pages waits for
	asked map[string]int           // requests by "host/path"
}

func newNames(t testing.TB, pages map[string]string) *names {
	t.Helper()
	n := &names{pages: pages, hosts: fetch.Hosts{}, slow: map[string]time.Duration{}, asked: map[string]int{}}
	for page := range pages {
		host, _, _ := strings.Cut(page, "/")
		n.hosts[host] = nil
	}
	n.serve(t)
	return n
}

// serve listens on 127.0.0.2 and following, on one port.
func (n *names) serve(t testing.TB) {
	t.Helper()
	n.serveBy(t, n)
}

// serveBy is serve with another handler.
func (n *names) serveBy(t testing.TB, by http.Handler) {
	t.Helper()
	server := &http.Server{Handler: by}
	t.Cleanup(func() { server.Close() })
	all, err := n.listen()
	for try := 0; err != nil && try < 20; try++ { // the port may be taken at another of the addresses
		all, err = n.listen()
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		go server.Serve(l)
	}
}

// listen chooses a port, and listens.
func (n *names) listen() (all []net.Listener, err error) {
	n.port = "0"
	address := netip.MustParseAddr("127.0.0.1")
	for _, host := range slices.Sorted(maps.Keys(n.hosts)) {
		address = address.Next()
		l, err := net.Listen("tcp", address.String()+":"+n.port)
		if err != nil {
			for _, l := range all {
				l.Close()
			}
			return nil, err
		}
		_, n.port, _ = net.SplitHostPort(l.Addr().String())
		n.hosts[host] = []netip.Addr{address}
		all = append(all, l)
	}
	return all, nil
}

func (n *names) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, _, _ := strings.Cut(r.Host, ":")
	page := host + r.URL.Path
	n.mu.Lock()
	n.asked[page]++
	slow, until := n.slow[host], n.until[host]
	n.mu.Unlock()
	text, ok := n.pages[page]
	if !ok {
		http.NotFound(w, r)
		return
	}
	time.Sleep(slow)
	for until != "" && n.count(until) == 0 && r.Context().Err() == nil {
		time.Sleep(time.Millisecond)
	}
	text = n.spell(text)
	if to, ok := strings.CutPrefix(text, "-> "); ok {
		http.Redirect(w, r, to, http.StatusMovedPermanently)
		return
	}
	w.Header().Set("Content-Type", "text/html")
	if strings.HasSuffix(page, ".xml") {
		w.Header().Set("Content-Type", "text/xml")
	}
	fmt.Fprint(w, text)
}

func (n *names) spell(text string) string {
	for host := range n.hosts {
		text = strings.ReplaceAll(text, "HOST:"+host+"/", "http://"+host+":"+n.port+"/")
	}
	return text
}

// again makes one host slow, "" none, and forgets the requests so far.
func (n *names) again(slow string, by time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked, n.slow, n.until = map[string]int{}, map[string]time.Duration{}, nil
	if slow != "" {
		n.slow[slow] = by
	}
}

// hold makes the pages of one host wait for the request of a page, which keeps a crawl going until then.
func (n *names) hold(host, page string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.until = map[string]string{host: page}
}

// count is the number of requests for a page so far.
func (n *names) count(page string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked[page]
}

// wantRequests compares the numbers of requests for pages.
func (n *names) wantRequests(t testing.TB, want map[string]int) {
	t.Helper()
	for page, want := range want {
		if got := n.count(page); got != want {
			t.Errorf("%s was requested %d times, want %d", page, got, want)
		}
	}
}

func (n *names) options(dir string) engine.Options {
	return engine.Options{
		Dir: dir, Memory: 64 << 20, Delay: -1, AllowPrivate: true, Concurrency: 4,
		Resolver: fetch.NewResolver(fetch.ResolverOptions{Hosts: n.hosts}),
	}
}

func (n *names) seeds(pages ...string) engine.InjectOptions {
	var in engine.InjectOptions
	for _, p := range pages {
		in.URLs = append(in.URLs, n.spell("HOST:"+p))
	}
	return in
}

// redirectingSeed is two seeds of which b redirects to www.b, whose page x only a links to.
func redirectingSeed(t testing.TB) *names {
	return newNames(t, map[string]string{
		"a.test/": `<title>a</title><p>This is a. <a href="HOST:www.b.test/x">x</a> <a href="/more">more</a>
			<a href="HOST:other.test/">not in scope</a>`,
		"a.test/more":  `<title>more</title><p>More of a. <a href="HOST:www.b.test/y">y</a>`,
		"b.test/":      `-> HOST:www.b.test/`,
		"www.b.test/":  `<title>b</title><p>This is b, which links to nothing.`,
		"www.b.test/x": `<title>x</title><p>Only a links to this page.`,
		"www.b.test/y": `-> HOST:www.b.test/z`,
		"www.b.test/z": `<title>z</title><p>This is where a redirect leads.`,
		"other.test/":  `<title>other</title><p>This is out of scope.`,
	})
}

// TestSeedRedirect: a link to a host that a seed redirects to is followed, whether its page or the redirect is seen
// first, by a crawl and by the phases. Crawldb, linkdb and index are the same in all cases.
func TestSeedRedirect(t *testing.T) {
	t.Parallel()
	n := redirectingSeed(t)
	crawl := func(t *testing.T, e *engine.Engine, limit int64, seeds ...string) {
		t.Helper()
		c := engine.CrawlOptions{Inject: n.seeds(seeds...), Limits: engine.Limits{MaxPages: limit}}
		if _, err := e.Crawl(context.Background(), c); err != nil {
			t.Fatal(err)
		}
	}
	both := func(t *testing.T, e *engine.Engine) { crawl(t, e, 0, "a.test/", "b.test/") }
	want := ""
	for _, way := range []struct {
		name, slow string
		run        func(t *testing.T, e *engine.Engine)
	}{
		{"batch", "", func(t *testing.T, e *engine.Engine) { batch(t, e, n.seeds("a.test/", "b.test/"), 1) }},
		{"crawl", "", both},
		{"crawl, b slow", "b.test", both},
		{"crawl, a slow", "a.test", both},
		{"crawl of two segments", "", func(t *testing.T, e *engine.Engine) {
			crawl(t, e, 1, "a.test/")
			crawl(t, e, 0, "b.test/")
		}},
	} {
		t.Run(way.name, func(t *testing.T) {
			n.again(way.slow, 700*time.Millisecond)
			e := open(t, n.options(dataDir(t)))
			defer mustClose(t, e)
			way.run(t, e)
			n.wantRequests(t, map[string]int{"www.b.test/x": 1, "www.b.test/z": 1, "a.test/more": 1, "other.test/": 0})
			verify(t, e)
			got := digest(t, e)
			if want == "" {
				want = got
			}
			sameDigest(t, got, want)
		})
	}
}

// TestScopeWidened: what a wider scope permits in a later run is found in what earlier runs fetched. In the end it is
// as if the scope had never been narrower.
func TestScopeWidened(t *testing.T) {
	n := redirectingSeed(t)
	dir := dataDir(t)
	crawl := func(dir string, scope policy.Scope, in engine.InjectOptions) {
		t.Helper()
		o := n.options(dir)
		o.Scope = scope
		e := open(t, o)
		defer mustClose(t, e)
		if _, err := e.Crawl(context.Background(), engine.CrawlOptions{Inject: in}); err != nil {
			t.Fatal(err)
		}
	}
	crawl(dir, policy.ScopeHost, n.seeds("a.test/"))
	if n.count("www.b.test/x")+n.count("other.test/") > 0 {
		t.Error("out of scope, but requested")
	}
	crawl(dir, policy.ScopeHost, n.seeds("other.test/")) // a seed that is linked to, on a host of its own
	crawl(dir, policy.ScopeAny, engine.InjectOptions{})
	n.wantRequests(t, map[string]int{"www.b.test/x": 1, "www.b.test/z": 1, "other.test/": 1})

	wide := dataDir(t) // a crawl whose scope was never narrower
	crawl(wide, policy.ScopeAny, n.seeds("a.test/", "other.test/"))
	sameDigest(t, digestOf(t, n.options(dir)), digestOf(t, n.options(wide)))
}

// TestSitemapWidened: a sitemap out of scope that robots.txt names and a page links to is a sitemap once a wider scope
// permits it, as if the scope had never been narrower.
func TestSitemapWidened(t *testing.T) {
	n := newNames(t, map[string]string{
		"a.test/robots.txt": "User-agent: *\nSitemap: HOST:b.test/list.xml\n",
		"a.test/":           `<title>a</title><p>This is a. <a href="HOST:b.test/list.xml">list</a>`,
		"b.test/list.xml":   `<urlset><url><loc>HOST:b.test/listed</loc></url></urlset>`,
		"b.test/listed":     `<title>listed</title><p>Only the sitemap names this page.`,
	})
	crawl := func(dir string, scope policy.Scope) {
		t.Helper()
		o := n.options(dir)
		o.Scope, o.Sitemaps = scope, true
		e := open(t, o)
		defer mustClose(t, e)
		if _, err := e.Crawl(context.Background(), engine.CrawlOptions{Inject: n.seeds("a.test/")}); err != nil {
			t.Fatal(err)
		}
	}
	dir, wide := dataDir(t), dataDir(t)
	crawl(dir, policy.ScopeHost)
	n.wantRequests(t, map[string]int{"b.test/list.xml": 0})
	crawl(dir, policy.ScopeAny)
	n.wantRequests(t, map[string]int{"b.test/list.xml": 1, "b.test/listed": 1})
	crawl(wide, policy.ScopeAny)
	sameDigest(t, digestOf(t, n.options(dir)), digestOf(t, n.options(wide)))
}

// TestFilterWidened: links to a host that a list denies no longer are followed, by the crawl that is running and by
// later ones. Links to hosts that it still denies are kept.
func TestFilterWidened(t *testing.T) {
	t.Parallel()
	n := redirectingSeed(t)
	list := filepath.Join(t.TempDir(), "deny")
	deny := func(hosts string) {
		t.Helper()
		if err := os.WriteFile(list, []byte(hosts), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	crawl := func(t *testing.T, dir string, c engine.CrawlOptions) {
		t.Helper()
		filter, err := policy.WatchFile(list, "denied hosts", policy.ParseDeniedHosts)
		if err != nil {
			t.Fatal(err)
		}
		o := n.options(dir)
		o.Scope, o.LiveFilters = policy.ScopeAny, []policy.LiveFilter{filter}
		e := open(t, o)
		defer mustClose(t, e)
		if _, err := e.Crawl(context.Background(), c); err != nil {
			t.Fatal(err)
		}
		verify(t, e)
	}
	seeds := n.seeds("a.test/")
	t.Run("while it runs", func(t *testing.T) {
		n.hold("other.test", "www.b.test/x")
		deny("b.test\n")
		c := engine.CrawlOptions{Inject: seeds, ProgressEvery: 50 * time.Millisecond}
		c.Progress = func(p engine.Progress) {
			if p.Discovered == 3 { // a's page is in crawldb, and its link to x is withheld
				deny("# nobody\n")
			}
		}
		crawl(t, dataDir(t), c)
		n.wantRequests(t, map[string]int{"www.b.test/x": 1})
	})
	t.Run("later, in two steps", func(t *testing.T) {
		n.again("", 0)
		dir := dataDir(t)
		deny("b.test\nother.test\n")
		crawl(t, dir, engine.CrawlOptions{Inject: seeds})
		n.wantRequests(t, map[string]int{"www.b.test/x": 0, "other.test/": 0})
		deny("b.test\n")
		crawl(t, dir, engine.CrawlOptions{})
		n.wantRequests(t, map[string]int{"www.b.test/x": 0, "other.test/": 1})
		deny("# nobody\n")
		crawl(t, dir, engine.CrawlOptions{})
		n.wantRequests(t, map[string]int{"www.b.test/x": 1, "www.b.test/z": 1, "other.test/": 1})

		never := dataDir(t) // the crawl of a list that never denied anything
		crawl(t, never, engine.CrawlOptions{Inject: seeds})
		sameDigest(t, digestOf(t, n.options(dir)), digestOf(t, n.options(never)))
	})
}

// TestFilterWidenedAgain: pages that were in crawldb before a list denied their host are fetched by the crawl during
// which it denies the host no longer.
func TestFilterWidenedAgain(t *testing.T) {
	t.Parallel()
	n := newNames(t, map[string]string{
		"a.test/":     `<a href="HOST:b.test/x">x</a> <a href="/more">more</a> <a href="HOST:other.test/">other</a>`,
		"a.test/more": `<title>more</title><p>More of a.`,
		"b.test/x":    `<title>x</title><p>This is x.`,
		"other.test/": `<title>other</title><p>This page is slow.`,
	})
	list := filepath.Join(t.TempDir(), "deny")
	crawl := func(denied string, o engine.Options, c engine.CrawlOptions) {
		t.Helper()
		if err := os.WriteFile(list, []byte(denied), 0o666); err != nil {
			t.Fatal(err)
		}
		o.Scope, o.LiveFilters = policy.ScopeAny, watchedHosts(t, list)
		e := open(t, o)
		defer mustClose(t, e)
		if _, err := e.Crawl(context.Background(), c); err != nil {
			t.Fatal(err)
		}
		verify(t, e)
	}
	o := n.options(dataDir(t))
	crawl("", o, engine.CrawlOptions{Inject: n.seeds("a.test/"), Limits: engine.Limits{MaxPages: 1}})
	n.again("", 0)
	n.hold("other.test", "b.test/x")
	c := engine.CrawlOptions{ProgressEvery: 50 * time.Millisecond}
	c.Progress = func(engine.Progress) {
		if n.count("a.test/more") > 0 { // the hosts with something due were looked at by then
			if err := os.WriteFile(list, nil, 0o666); err != nil {
				t.Error(err)
			}
		}
	}
	crawl("b.test\n", o, c)
	n.wantRequests(t, map[string]int{"b.test/x": 1})
}

// TestSurvivor: which of equal pages stays does not depend on how fast their servers answer.
func TestSurvivor(t *testing.T) {
	t.Parallel()
	same := `<title>same</title><p>This is the very same page, whatever it is called and whoever serves it.`
	for _, slow := range []string{"a.test", "b.test", "c.test"} {
		n := newNames(t, map[string]string{
			"start.test/": `<a href="HOST:a.test/same">1</a> <a href="HOST:b.test/same">2</a>
				<a href="HOST:c.test/longer-name">3</a>`,
			"a.test/same":        same,
			"b.test/same":        same,
			"c.test/longer-name": same,
		})
		n.again(slow, 300*time.Millisecond)
		o := n.options(dataDir(t))
		o.Scope = policy.ScopeAny
		e := open(t, o)
		if _, err := e.Crawl(context.Background(), engine.CrawlOptions{Inject: n.seeds("start.test/")}); err != nil {
			t.Fatal(err)
		}
		got := byStatus(t, e)["db_fetched"]
		if want := n.spell("HOST:a.test/same"); !got[want] || len(got) != 2 {
			t.Errorf("%s is slow: %v stay, want %s", slow, got, want)
		}
		mustClose(t, e)
	}
}

// TestDedupOrder: the order decides which of equal pages stays.
func TestDedupOrder(t *testing.T) {
	same := `<title>same</title><p>This is the very same page, whatever it is called and whoever serves it.`
	n := newNames(t, map[string]string{
		"start.test/": `<a href="HOST:start.test/2">2</a> <a href="HOST:a.test/longer">1</a>
			<a href="HOST:b.test/s">2</a>`,
		"start.test/2":  `<title>2</title><p>Another page. <a href="HOST:a.test/longer">1</a>`,
		"a.test/longer": same,
		"b.test/s":      same,
	})
	for order, want := range map[string]string{
		"": "a.test/longer", "score": "a.test/longer", "length,score": "b.test/s",
	} {
		o := n.options(dataDir(t))
		o.Scope, o.DedupOrder = policy.ScopeAny, order
		e := open(t, o)
		if _, err := e.Crawl(context.Background(), engine.CrawlOptions{Inject: n.seeds("start.test/")}); err != nil {
			t.Fatal(err)
		}
		if got := byStatus(t, e)["db_fetched"]; !got[n.spell("HOST:"+want)] || len(got) != 3 {
			t.Errorf("order %q: %v stay, want %s", order, got, want)
		}
		mustClose(t, e)
	}
	o := n.options(dataDir(t))
	o.DedupOrder = "score,beauty"
	if _, err := engine.Open(o); err == nil || !strings.Contains(err.Error(), `"beauty"`) {
		t.Errorf("an order by beauty: %v", err)
	}
}

// TestNothingDue: after a finished crawl no host is due, so neither a second crawl nor generate looks at records.
func TestNothingDue(t *testing.T) {
	w := newWorld(t, 8, 25)
	dir := dataDir(t)
	w.crawl(w.options(dir), engine.CrawlOptions{Inject: w.seeds()})
	e := open(t, w.options(dir))
	defer mustClose(t, e)
	now := time.Now()
	for h, err := range e.Inspect().Hosts(context.Background(), engine.HostFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if !h.NextDue.After(now) {
			t.Errorf("%s has something due at %s", h.Host, h.NextDue)
		}
	}
	if _, err := e.Generate(context.Background(), engine.GenerateOptions{}); !errors.Is(err, engine.ErrNothingDue) {
		t.Errorf("generate: %v", err)
	}
	verify(t, e) // which compares each host's next due time with a scan
}

// TestFetchlistFirst: a crawl fetches what generate chose, and counts it.
func TestFetchlistFirst(t *testing.T) {
	for _, limit := range []int64{0, 3} {
		w := newWorld(t, 6, 20)
		e := open(t, w.options(dataDir(t)))
		ctx := context.Background()
		first := engine.CrawlOptions{Inject: w.seeds(), Limits: engine.Limits{MaxPages: 10}}
		if _, err := e.Crawl(ctx, first); err != nil {
			t.Fatal(err)
		}
		g, err := e.Generate(ctx, engine.GenerateOptions{Top: 5})
		if err != nil {
			t.Fatal(err)
		}
		r, err := e.Crawl(ctx, engine.CrawlOptions{Limits: engine.Limits{MaxPages: limit}})
		if err != nil {
			t.Fatal(err)
		}
		seg, err := e.Inspect().Segment(g.Segment)
		if err != nil {
			t.Fatal(err)
		}
		c := seg.Counts
		got := c.Fetched + c.Failed + c.Redirected + c.NotModified + c.RobotsDenied
		if got == 0 || limit == 0 && got != g.Selected {
			t.Errorf("limit %d: of %d URLs in the fetchlist %d were fetched: %s", limit, g.Selected, got, seg)
		}
		if limit > 0 && (r.Fetched != uint64(limit) || r.Stopped != engine.StopMaxPages) {
			t.Errorf("limit %d: %d fetched, stopped by %s", limit, r.Fetched, r.Stopped)
		}
		if limit == 0 {
			w.checkTruth(e)
		}
		mustClose(t, e)
		if p := w.Report(); p.Twice > 0 {
			t.Errorf("%s", p)
		}
	}
}
