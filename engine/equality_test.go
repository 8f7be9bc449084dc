// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/seine-crawler/seine/bench/simweb"
	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
)

// equalWeb is a web on which every way to crawl must leave the same crawldb, linkdb and index.
type equalWeb struct {
	options func(dir string) engine.Options
	seeds   engine.InjectOptions
	hosts   fetch.Hosts
	top     int      // URLs of a fetchlist in small batches, pages of a crawl that is cut short
	slow    []string // hosts, each of which is slow in one way
	again   func(slow string)
	check   func(t *testing.T, e *engine.Engine)
}

// equalWebs are the webs by name.
var equalWebs = map[string]func(t *testing.T) equalWeb{
	"any host":       func(t *testing.T) equalWeb { return anyHostWeb(t, 8, 25) },
	"seeds' hosts":   func(t *testing.T) equalWeb { return narrowWeb(t, policy.ScopeHost) },
	"seeds' domains": func(t *testing.T) equalWeb { return narrowWeb(t, policy.ScopeDomain) },

	"redirecting seeds, hosts":    func(t *testing.T) equalWeb { return redirectingWeb(t, policy.ScopeHost) },
	"redirecting seeds, domains":  func(t *testing.T) equalWeb { return redirectingWeb(t, policy.ScopeDomain) },
	"redirecting seeds, folders":  func(t *testing.T) equalWeb { return redirectingWeb(t, policy.ScopePrefix) },
	"redirecting seeds, any host": func(t *testing.T) equalWeb { return redirectingWeb(t, policy.ScopeAny) },

	"any host, near": func(t *testing.T) equalWeb { return nearWeb(anyHostWeb(t, 8, 25), 4) },
	"seeds, near":    func(t *testing.T) equalWeb { return nearWeb(redirectingWeb(t, policy.ScopeAny), 3) },
}

// anyHostWeb is a synthetic web without bounds.
func anyHostWeb(t *testing.T, hosts, meanPages int) equalWeb {
	w := newWorld(t, hosts, meanPages)
	return equalWeb{
		options: w.options, seeds: w.seeds(), hosts: w.hosts, top: 37,
		check: func(t *testing.T, e *engine.Engine) { w.checkTruth(e) },
	}
}

// nearWeb is a web of which only what is some links from a seed is fetched.
func nearWeb(w equalWeb, maxDepth int) equalWeb {
	options := w.options
	w.options = func(dir string) engine.Options {
		o := options(dir)
		o.MaxDepth = maxDepth
		return o
	}
	w.check = func(t *testing.T, e *engine.Engine) {
		near, far := 0, 0
		for r, err := range e.Inspect().Records(context.Background(), engine.RecordFilter{}) {
			if err != nil {
				t.Fatal(err)
			}
			tooFar := int(r.Depth) > maxDepth
			if tooFar != (r.Status == storage.StatusUnfetched) {
				t.Errorf("%s of depth %d is %s", r.URL, r.Depth, r.Status)
			}
			if tooFar {
				far++
			} else if int(r.Depth) == maxDepth {
				near++
			}
		}
		if near == 0 || far == 0 {
			t.Errorf("too tame: %d pages are as far as may be, %d farther", near, far)
		}
	}
	return w
}

// narrowWeb is a synthetic web of which only the hosts, or the domains, of three seeds are in scope, and those that
// their redirects lead to. A tenth of its hosts is slow, and many of its pages are equal.
func narrowWeb(t *testing.T, scope policy.Scope) equalWeb {
	p := simweb.Small()
	p.Hosts, p.HostsPerDomain, p.MeanPages, p.MaxPages, p.PageBytes = 12, 2, 20, 60, 1500
	p.External, p.Duplicate, p.SlowHosts, p.SlowLatency = 0.4, 0.2, 0.1, 20*time.Millisecond
	w := startWorld(t, p)
	web := equalWeb{hosts: w.hosts, top: 11}
	web.options = func(dir string) engine.Options {
		o := w.options(dir)
		o.Scope = scope
		return o
	}
	for _, host := range []int{0, 3, 7} {
		web.seeds.URLs = append(web.seeds.URLs, w.Web.Root(host))
	}
	web.check = func(t *testing.T, e *engine.Engine) {
		got := byStatus(t, e)
		if len(got["db_fetched"]) < 30 || len(got["db_duplicate"]) == 0 {
			t.Errorf("too tame: %d fetched, %d duplicates", len(got["db_fetched"]), len(got["db_duplicate"]))
		}
		if left := got["db_unfetched"]; len(left) > 0 {
			t.Errorf("not fetched: %v", left)
		}
	}
	return web
}

// redirectingWeb has seeds that redirect to other hosts and domains, links to these from pages of other hosts that are
// fetched before or after the redirect, equal pages with equal scores, and ways of different length to one page with
// others behind it.
func redirectingWeb(t *testing.T, scope policy.Scope) equalWeb {
	const same = `<title>same</title><p>These pages are equal, whatever they are called and whoever serves them.`
	n := newNames(t, map[string]string{
		"a.test/": `<title>a</title><p>This is a. <a href="HOST:www.b.test/x">x</a> <a href="HOST:www.d.test/y">y</a>
			<a href="/1">long way</a> <a href="HOST:other.test/">other</a> <a href="HOST:sub.a.test/">sub</a>
			<a href="HOST:sub.e.test/">a host of a domain that a seed passes</a>
			<a href="/equal/1">1</a> <a href="HOST:www.b.test/equal/2">2</a> <a href="HOST:www.d.test/equal/33">3</a>`,
		"a.test/1":                `<title>1</title><p>1 from a. <a href="/2">1</a> <a href="HOST:www.b.test/x">2</a>`,
		"a.test/2":                `<title>2</title><p>Two links from a. <a href="/3">next</a>`,
		"a.test/3":                `<title>3</title><p>Three links from a. <a href="HOST:www.b.test/deep">deep</a>`,
		"a.test/equal/1":          same,
		"sub.a.test/":             `<title>sub</title><p>Another host of a. <a href="HOST:www.b.test/from-sub">1</a>`,
		"b.test/":                 `-> HOST:www.b.test/`,
		"www.b.test/":             `<title>b</title><p>This is b. <a href="HOST:a.test/3">3</a>`,
		"www.b.test/x":            `<title>x</title><p>Only a links to this page.`,
		"www.b.test/equal/2":      same,
		"www.b.test/from-sub":     `-> HOST:www.d.test/from-b`,
		"www.b.test/deep":         `<title>deep</title><p>Many ways lead here. <a href="/deeper">on</a>`,
		"www.b.test/deeper":       `-> HOST:www.b.test/deeper-still`,
		"www.b.test/deeper-still": `<title>deeper</title><p><a href="HOST:www.d.test/deepest">on</a>`,
		"www.d.test/deepest":      `<title>deepest</title><p>Here it ends. <a href="/beyond">or not</a>`,
		"www.d.test/beyond":       `<title>beyond</title><p>Here it ends.`,
		"c.test/":                 `<title>c</title><p>c. <a href="HOST:www.b.test/deep">1</a> <a href="/to-x">2</a>`,
		"c.test/to-x":             `-> HOST:www.b.test/x`,
		"d.test/":                 `-> HOST:e.test/start/`,
		"e.test/start/":           `-> HOST:www.d.test/`,
		"www.d.test/":             `<title>d</title><a href="HOST:e.test/start/z">1</a><a href=HOST:b.test/more>2</a>`,
		"www.d.test/y":            `<title>y</title><p>Only a links to this page too.`,
		"www.d.test/equal/33":     same,
		"www.d.test/from-b":       `<title>from b</title><p>A redirect leads here from another host.`,
		"e.test/start/z":          `<title>z</title><p>The page of a host that a seed passed on its way.`,
		"sub.e.test/":             `<title>sub</title><p>Only a links to this host, which no seed names or leads to.`,
		"b.test/more":             `<title>more</title><p>The page of a host whose front page is a redirect.`,
		"other.test/":             `<title>other</title><p>No seed's host. <a href="HOST:www.b.test/from-other">1</a>`,
		"www.b.test/from-other":   `<title>from other</title><p>What only a page out of scope links to.`,
	})
	return equalWeb{
		options: func(dir string) engine.Options {
			o := n.options(dir)
			o.Scope = scope
			return o
		},
		seeds: n.seeds("a.test/", "b.test/", "c.test/", "d.test/"),
		hosts: n.hosts,
		top:   2,
		slow:  []string{"a.test", "b.test", "www.b.test", "c.test", "d.test"},
		again: func(slow string) { n.again(slow, 100*time.Millisecond) },
		check: func(t *testing.T, e *engine.Engine) {
			for page := range n.pages {
				if got := n.count(page); got > 1 {
					t.Errorf("%s was requested %d times", page, got)
				}
			}
		},
	}
}

// TestEqualWays: the phases one at a time, crawls of slow servers, and crawls that end early or are interrupted and go
// on leave the same crawldb, linkdb and index as one crawl does.
func TestEqualWays(t *testing.T) {
	for name, start := range equalWebs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			want := ""
			for _, way := range w.ways() {
				if w.again != nil {
					w.again(way.slow)
				}
				o := w.options(dataDir(t))
				o.Concurrency = way.fetchers
				way.run(t, o)
				e := open(t, o)
				verify(t, e)
				w.check(t, e)
				got := digest(t, e)
				mustClose(t, e)
				if want == "" {
					want = got
				}
				if sameDigest(t, got, want); t.Failed() {
					t.Fatalf("%s differs", way.name)
				}
			}
		})
	}
}

// way is one way to crawl a web to its end.
type way struct {
	name     string
	fetchers int
	slow     string // the host that is slow; "": none
	run      func(t *testing.T, o engine.Options)
}

// ways are those of a web. The first is one crawl.
func (w *equalWeb) ways() []way {
	crawls := func(pages int) func(*testing.T, engine.Options) {
		return func(t *testing.T, o engine.Options) { crawlInTurns(t, o, w.seeds, int64(pages)) }
	}
	batches := func(top int) func(*testing.T, engine.Options) {
		return func(t *testing.T, o engine.Options) {
			e := open(t, o)
			defer mustClose(t, e)
			batch(t, e, w.seeds, top)
		}
	}
	ways := []way{
		{"a crawl", 8, "", crawls(0)},
		{"a crawl of one fetcher", 1, "", crawls(0)},
		{"crawls of some pages", 4, "", crawls(w.top)},
		{"interrupted crawls", 4, "", func(t *testing.T, o engine.Options) {
			interruptedCrawls(t, o, w.seeds)
			if w.again != nil {
				w.again("") // what was cut off was requested again
			}
		}},
		{"batches", 4, "", batches(0)},
		{"small batches", 4, "", batches(w.top)},
	}
	for _, host := range w.slow {
		ways = append(ways, way{"a crawl where " + host + " is slow", 4, host, crawls(0)})
	}
	return ways
}

// crawlInTurns crawls until nothing is due. Each crawl fetches at most some pages (0: all), and opens the directory
// anew.
func crawlInTurns(t *testing.T, o engine.Options, in engine.InjectOptions, pages int64) {
	t.Helper()
	for range 200 {
		e := open(t, o)
		r, err := e.Crawl(context.Background(), engine.CrawlOptions{Inject: in, Limits: engine.Limits{MaxPages: pages}})
		mustClose(t, e)
		if err != nil {
			t.Fatal(err)
		}
		if r.Stopped == engine.StopDone {
			return
		}
		if r.Fetched > uint64(pages) {
			t.Fatalf("%d pages were fetched, over the limit of %d", r.Fetched, pages)
		}
		in = engine.InjectOptions{}
	}
	t.Fatal("the crawls do not come to an end")
}

// interruptedCrawls ends ten crawls after some milliseconds, every other one without settling anything, and crawls
// the rest.
func interruptedCrawls(t *testing.T, o engine.Options, in engine.InjectOptions) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 11))
	for i := range 10 {
		e := open(t, o)
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(5+rng.IntN(40))*time.Millisecond)
		c := engine.CrawlOptions{Inject: in}
		var r engine.CrawlReport
		var err error
		if i%2 == 0 {
			r, err = e.Crawl(ctx, c)
		} else {
			c.Abort = ctx
			r, err = e.Crawl(context.Background(), c)
		}
		cancel()
		mustClose(t, e)
		if err != nil && r.Stopped != engine.StopAborted {
			t.Fatalf("interrupted crawl %d: %v", i, err)
		}
	}
	crawlInTurns(t, o, in, 0)
}

// batch runs the phases one at a time until nothing is due.
func batch(t testing.TB, e *engine.Engine, in engine.InjectOptions, top int) {
	t.Helper()
	ctx := context.Background()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := e.Inject(ctx, in)
	check(err)
	for {
		g, err := e.Generate(ctx, engine.GenerateOptions{Top: top})
		if errors.Is(err, engine.ErrNothingDue) {
			break
		}
		check(err)
		if again, err := e.Generate(ctx, engine.GenerateOptions{Top: top}); err == nil {
			// A URL is in one of the two fetchlists only, so they can be fetched in any order.
			_, err = e.Fetch(ctx, engine.FetchOptions{Segment: again.Segment})
			check(err)
			finish(t, e, again.Segment)
		}
		_, err = e.Fetch(ctx, engine.FetchOptions{Segment: g.Segment})
		check(err)
		_, err = e.Seal(ctx, g.Segment) // parse again: nothing must change by it
		check(err)
		finish(t, e, g.Segment)
	}
	_, err = e.Dedup(ctx, engine.DedupOptions{})
	check(err)
	_, err = e.Index(ctx, engine.IndexOptions{Refresh: true})
	check(err)
}

func finish(t testing.TB, e *engine.Engine, segment uint32) {
	t.Helper()
	ctx := context.Background()
	if _, err := e.UpdateDB(ctx, segment); err != nil {
		t.Fatal(err)
	}
	if _, err := e.InvertLinks(ctx, segment); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Dedup(ctx, engine.DedupOptions{Segments: []uint32{segment}}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Index(ctx, engine.IndexOptions{Segments: []uint32{segment}}); err != nil {
		t.Fatal(err)
	}
}
