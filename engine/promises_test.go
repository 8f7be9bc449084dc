// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/policy"
)

// names is a web of several names on one loopback server: a page for each "host/path", where the text HOST:name
// stands for a name with the port, and a text that begins with "-> " is a redirect.
type names struct {
	*httptest.Server
	pages map[string]string
	slow  map[string]time.Duration // by host: how long each of its pages takes
	port  string
	hosts fetch.Hosts

	mu    sync.Mutex
	asked map[string]int // "host/path"
}

func newNames(t testing.TB, pages map[string]string) *names {
	n := &names{pages: pages, slow: map[string]time.Duration{}, hosts: fetch.Hosts{}, asked: map[string]int{}}
	n.Server = httptest.NewServer(n)
	t.Cleanup(n.Close)
	u, err := url.Parse(n.URL)
	if err != nil {
		t.Fatal(err)
	}
	n.port = u.Port()
	for page := range pages {
		host, _, _ := strings.Cut(page, "/")
		n.hosts[host] = []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	}
	return n
}

func (n *names) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, _, _ := strings.Cut(r.Host, ":")
	page := host + r.URL.Path
	n.mu.Lock()
	n.asked[page]++
	n.mu.Unlock()
	text, ok := n.pages[page]
	if !ok {
		http.NotFound(w, r)
		return
	}
	time.Sleep(n.slow[host])
	text = n.spell(text)
	if to, ok := strings.CutPrefix(text, "-> "); ok {
		http.Redirect(w, r, to, http.StatusMovedPermanently)
		return
	}
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprint(w, text)
}

func (n *names) spell(text string) string {
	for host := range n.hosts {
		text = strings.ReplaceAll(text, "HOST:"+host+"/", "http://"+host+":"+n.port+"/")
	}
	return text
}

// count is the number of requests for a page so far.
func (n *names) count(page string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked[page]
}

func (n *names) options(t testing.TB) engine.Options {
	return engine.Options{Dir: dataDir(t), Memory: 64 << 20, Delay: -1, AllowPrivate: true, Concurrency: 4,
		Resolver: fetch.NewResolver(fetch.ResolverOptions{Hosts: n.hosts})}
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
		"a.test/":      `<title>a</title><p>This is a. <a href="HOST:www.b.test/x">x</a> <a href="/more">more</a> <a href="HOST:other.test/">not in scope</a>`,
		"a.test/more":  `<title>more</title><p>More of a. <a href="HOST:www.b.test/y">y</a>`,
		"b.test/":      `-> HOST:www.b.test/`,
		"www.b.test/":  `<title>b</title><p>This is b, which links to nothing.`,
		"www.b.test/x": `<title>x</title><p>Only a links to this page.`,
		"www.b.test/y": `-> HOST:www.b.test/z`,
		"www.b.test/z": `<title>z</title><p>This is where a redirect leads.`,
		"other.test/":  `<title>other</title><p>This is out of scope.`,
	})
}

// TestSeedRedirect: what a page links to on a host that a seed redirects to is fetched, whether the page or the
// redirect is seen first, by a crawl and by the phases, and crawldb is the same in all cases.
func TestSeedRedirect(t *testing.T) {
	digests := map[string]string{}
	for _, way := range []string{"crawl", "crawl, b slow", "crawl, a slow", "crawl of two segments", "batch"} {
		t.Run(way, func(t *testing.T) {
			n := redirectingSeed(t)
			switch way {
			case "crawl, b slow":
				n.slow["b.test"] = 700 * time.Millisecond
			case "crawl, a slow":
				n.slow["a.test"] = 700 * time.Millisecond
			}
			e := open(t, n.options(t))
			defer mustClose(t, e)
			ctx := context.Background()
			switch way {
			case "batch":
				batch(t, e, n.seeds("a.test/", "b.test/"), 1)
			case "crawl of two segments":
				_, err := e.Crawl(ctx, engine.CrawlOptions{Inject: n.seeds("a.test/"), Limits: engine.Limits{MaxPages: 1}})
				if err == nil {
					_, err = e.Crawl(ctx, engine.CrawlOptions{Inject: n.seeds("b.test/")})
				}
				if err != nil {
					t.Fatal(err)
				}
			default:
				if _, err := e.Crawl(ctx, engine.CrawlOptions{Inject: n.seeds("a.test/", "b.test/")}); err != nil {
					t.Fatal(err)
				}
			}
			for page, want := range map[string]int{"www.b.test/x": 1, "www.b.test/z": 1, "a.test/more": 1, "other.test/": 0} {
				if got := n.count(page); got != want {
					t.Errorf("%s was requested %d times, want %d", page, got, want)
				}
			}
			verify(t, e)
			// The port is in the pages, and so in their signatures.
			text := strings.ReplaceAll(digestWithoutIndex(t, e), ":"+n.port+"/", ":port/")
			digests[way] = regexp.MustCompile(` signature=[0-9a-f]+`).ReplaceAllString(text, "")
		})
	}
	for way, d := range digests {
		if d != digests["batch"] {
			t.Errorf("%s differs from batch", way)
			sameDigest(t, d, digests["batch"])
		}
	}
}

// TestScopeWidened: what a wider scope permits in a later run is found in what earlier runs fetched.
func TestScopeWidened(t *testing.T) {
	n := redirectingSeed(t)
	o := n.options(t)
	crawl := func(scope policy.Scope, in engine.InjectOptions) {
		t.Helper()
		o.Scope = scope
		e := open(t, o)
		defer mustClose(t, e)
		if _, err := e.Crawl(context.Background(), engine.CrawlOptions{Inject: in}); err != nil {
			t.Fatal(err)
		}
	}
	crawl(policy.ScopeHost, n.seeds("a.test/"))
	if n.count("www.b.test/x")+n.count("other.test/") > 0 {
		t.Error("out of scope, but requested")
	}
	crawl(policy.ScopeHost, n.seeds("other.test/")) // a seed that is linked to, on a host that nothing else brings in
	crawl(policy.ScopeAny, engine.InjectOptions{})
	for _, page := range []string{"www.b.test/x", "www.b.test/z", "other.test/"} {
		if got := n.count(page); got != 1 {
			t.Errorf("%s was requested %d times", page, got)
		}
	}
}

// TestFilterWidened: what a list of hosts comes to permit is found, while a crawl runs and in a later one.
func TestFilterWidened(t *testing.T) {
	for _, when := range []string{"while it runs", "later"} {
		t.Run(when, func(t *testing.T) {
			n := redirectingSeed(t)
			list := filepath.Join(t.TempDir(), "deny")
			write := func(text string) {
				if err := os.WriteFile(list, []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			write("b.test\n")
			o := n.options(t)
			o.Scope = policy.ScopeAny
			crawl := func(c engine.CrawlOptions) {
				t.Helper()
				deny, err := policy.WatchFile(list, "denied hosts", policy.ParseDeniedHosts)
				if err != nil {
					t.Fatal(err)
				}
				o.LiveFilters = []policy.LiveFilter{deny}
				e := open(t, o)
				defer mustClose(t, e)
				if _, err := e.Crawl(context.Background(), c); err != nil {
					t.Fatal(err)
				}
			}
			c := engine.CrawlOptions{Inject: n.seeds("a.test/")}
			if when == "while it runs" {
				n.slow["other.test"] = 3 * time.Second // keeps the crawl going
				c.ProgressEvery = 50 * time.Millisecond
				c.Progress = func(engine.Progress) {
					if n.count("other.test/") > 0 { // which takes its time: the links of a.test/ are withheld by now
						write("# nobody\n")
					}
				}
			}
			crawl(c)
			if when == "later" {
				if n.count("www.b.test/x") > 0 {
					t.Error("denied, but requested")
				}
				write("# nobody\n")
				crawl(engine.CrawlOptions{})
			}
			if got := n.count("www.b.test/x"); got != 1 {
				t.Errorf("requested %d times", got)
			}
		})
	}
}

// TestSurvivor: which of equal pages stays does not depend on how fast servers answered.
func TestSurvivor(t *testing.T) {
	same := `<title>same</title><p>This is the very same page, whatever it is called and whoever serves it.`
	for _, slow := range []string{"a.test", "b.test", "c.test"} {
		n := newNames(t, map[string]string{
			"start.test/":        `<a href="HOST:a.test/same">1</a> <a href="HOST:b.test/same">2</a> <a href="HOST:c.test/longer-name">3</a>`,
			"a.test/same":        same,
			"b.test/same":        same,
			"c.test/longer-name": same,
		})
		n.slow[slow] = 300 * time.Millisecond
		o := n.options(t)
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
		"start.test/":   `<a href="HOST:start.test/2">2</a> <a href="HOST:a.test/longer">1</a> <a href="HOST:b.test/s">2</a>`,
		"start.test/2":  `<title>2</title><p>Another page. <a href="HOST:a.test/longer">1</a>`,
		"a.test/longer": same,
		"b.test/s":      same,
	})
	for order, want := range map[string]string{"": "a.test/longer", "score": "a.test/longer", "length,score": "b.test/s"} {
		o := n.options(t)
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
	o := n.options(t)
	o.DedupOrder = "score,beauty"
	if _, err := engine.Open(o); err == nil || !strings.Contains(err.Error(), `"beauty"`) {
		t.Errorf("an order by beauty: %v", err)
	}
}

// TestNothingDue: after a finished crawl no host looks due, so a second crawl and generate look at no records.
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
		if _, err := e.Crawl(ctx, engine.CrawlOptions{Inject: w.seeds(), Limits: engine.Limits{MaxPages: 10}}); err != nil {
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
		if got := c.Fetched + c.Failed + c.Redirected + c.NotModified + c.RobotsDenied; got == 0 || limit == 0 && got != g.Selected {
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
