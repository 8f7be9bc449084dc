// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// variedWeb is a small web on which each option can be seen to have an effect.
func variedWeb(t *testing.T) *names {
	long := strings.Repeat("a long anchor text ", 12)
	prose := strings.Repeat("word These two pages say nearly the same. ", 20)
	return newNames(t, map[string]string{
		"a.test/robots.txt": "User-agent: *\nCrawl-delay: 0.004\nAllow: /\n\nUser-agent: other\nDisallow: /2\n\n" +
			"Sitemap: HOST:a.test/sitemap.xml\n",
		"a.test/sitemap.xml": `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
			<url><loc>HOST:a.test/only-in-sitemap</loc></url></urlset>`,
		"a.test/only-in-sitemap": `<title>listed</title><p>No page links here.`,
		"a.test/": `<title>a</title><p>word <a href="/1">1</a> <a href="/1">1</a> <a href="/2">` + long + `</a>
			<a href="/dup/1">d</a> <a href="/dup/22">d</a> <a href="/nf" rel=nofollow>nf</a>
			<a href="/1" rel=nofollow>not followed</a>
			<a href="HOST:b.test/">b</a> <a href="HOST:www.a.test/">www</a> <a href="/q?z=1&amp;a=2">q</a>
			<a href="/feed.xml">feed</a> <a href="/c.png">image</a> <a href="/r1">r</a>
			<a href="/a-rather-long-name-of-a-page-that-has-little-to-say">long</a>
			<form action="/form"><input name=x></form>`,
		"a.test/1": `<title>1</title><p>word <a href="/3">3</a> <a href="/2">two</a> <a href="/dup/22">d</a>`,
		"a.test/2": `<title>2</title><p>word <a href="/1">one</a> <a href="/dup/22">d</a>`,
		"a.test/3": `<title>3</title><p>word <a href="/missing">m</a> <a href="/near/1">n</a> <a href="/near/22">n</a>`,
		"a.test/near/1": `<title>n</title><article><h1>n</h1>` +
			`<p>This is the first of the two.<p>` + prose + `</article>`,
		"a.test/near/22": `<title>n</title><article><h1>n</h1>` +
			`<p>Here is the second one of both.<p>` + prose + `</article>`,
		"a.test/nf":     `<title>nf</title><p>word`,
		"a.test/q":      `<title>q</title><p>word`,
		"a.test/form":   `<title>form</title><p>word`,
		"a.test/dup/1":  `<title>d</title><p>word These two pages say the same, word for word.`,
		"a.test/dup/22": `<title>d</title><p>word These two pages say the same, word for word.`,
		"a.test/r1":     `-> HOST:a.test/r2`,
		"a.test/r2":     `-> HOST:a.test/r3`,
		"a.test/r3":     `<title>r3</title><p>word`,
		"a.test/feed.xml": `<rss version="2.0"><channel><title>feed</title><link>HOST:a.test/</link>
			<item><title>item</title><link>HOST:a.test/item</link></item></channel></rss>`,
		"a.test/item":  `<title>item</title><p>word`,
		"www.a.test/":  `<title>www</title><p>word <a href="/w">w</a>`,
		"www.a.test/w": `<title>w</title><p>word`,
		"b.test/":      `-> HOST:b.test/home/`,
		"b.test/home/": `<title>home</title><p>word <a href="/x">x</a> <a href="HOST:a.test/1">1</a>`,
		"b.test/x":     `<title>x</title><p>word`,
		"a.test/a-rather-long-name-of-a-page-that-has-little-to-say": `<title>long</title><p>word`,
	})
}

// effect is an option with a second value, which must have an effect, and in a crawl the same as in the phases.
type effect struct {
	field string // of Options
	set   func(t *testing.T, o *engine.Options)
	// fewer says that the value bounds how much is fetched, not exactly what: fewer pages are.
	fewer bool
	// shows, if not "", is the part of the state that must differ: "crawldb", "inlinks", "hits" or "index". The others
	// must not.
	shows string
}

var effects = []effect{
	{field: "UserAgent", set: func(_ *testing.T, o *engine.Options) { o.UserAgent = "other/1.0" }},
	{field: "MaxCrawlDelay", set: func(_ *testing.T, o *engine.Options) { o.MaxCrawlDelay = 2 * time.Millisecond }},
	{field: "Scope", set: func(_ *testing.T, o *engine.Options) { o.Scope = policy.ScopeHost }},
	{field: "MaxDepth", set: func(_ *testing.T, o *engine.Options) { o.MaxDepth = 1 }},
	{field: "MaxRedirects", set: func(_ *testing.T, o *engine.Options) { o.MaxRedirects = 1 }},
	{field: "HostPages", fewer: true, set: func(_ *testing.T, o *engine.Options) { o.HostPages = 3 }},
	{field: "HostBytes", fewer: true, set: func(_ *testing.T, o *engine.Options) { o.HostBytes = 1 }},
	{field: "HostTime", fewer: true, set: func(_ *testing.T, o *engine.Options) { o.HostTime = time.Nanosecond }},
	{field: "DomainPages", fewer: true, set: func(_ *testing.T, o *engine.Options) { o.DomainPages = 3 }},
	{field: "DomainBytes", fewer: true, set: func(_ *testing.T, o *engine.Options) { o.DomainBytes = 1 }},
	{field: "DomainTime", fewer: true, set: func(_ *testing.T, o *engine.Options) { o.DomainTime = time.Nanosecond }},
	{field: "Sitemaps", set: func(_ *testing.T, o *engine.Options) { o.Sitemaps = true }},
	{field: "ChooseRedirectURL", set: func(_ *testing.T, o *engine.Options) { o.ChooseRedirectURL = true }},
	{field: "RefuseTypes", set: func(_ *testing.T, o *engine.Options) { o.RefuseTypes = []string{"text/xml"} }},
	{field: "URLLength", set: func(_ *testing.T, o *engine.Options) { o.URLLength = 60 }},
	{field: "LiveFilters", set: func(t *testing.T, o *engine.Options) {
		path := filepath.Join(t.TempDir(), "denied")
		if err := os.WriteFile(path, []byte("b.test\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		o.LiveFilters = watchedHosts(t, path)
	}},
	{field: "HostPolicy", set: func(_ *testing.T, o *engine.Options) { o.HostPolicy = narrowHost }},
	{field: "HostPolicy", shows: "crawldb", set: func(_ *testing.T, o *engine.Options) { o.HostPolicy = oftenHost }},
	{field: "Links", set: func(_ *testing.T, o *engine.Options) { o.Links.IgnoreExternal = true }},
	{field: "Links", set: func(_ *testing.T, o *engine.Options) { o.Links.IgnoreInternal = true }},
	{field: "Links", set: func(_ *testing.T, o *engine.Options) {
		o.Links = policy.LinkRule{IgnoreExternal: true, ByDomain: true}
	}},
	{field: "NoAdditions", set: func(_ *testing.T, o *engine.Options) { o.NoAdditions = true }},
	{field: "PurgeGone", set: func(_ *testing.T, o *engine.Options) { o.PurgeGone = true }},
	{field: "SeedScore", shows: "crawldb", set: func(_ *testing.T, o *engine.Options) { o.SeedScore = 5 }},
	{field: "SeedScore", shows: "crawldb", set: func(_ *testing.T, o *engine.Options) { o.SeedScore = -1 }},
	{field: "Interval", shows: "crawldb", set: func(_ *testing.T, o *engine.Options) {
		o.Interval = 7 * 24 * time.Hour
	}},
	{field: "MaxInterval", shows: "crawldb", set: func(_ *testing.T, o *engine.Options) {
		o.MaxInterval = 100 * time.Hour
	}},
	{field: "TypeSchedules", shows: "crawldb", set: func(t *testing.T, o *engine.Options) {
		rule, err := policy.ParseTypeRule("text/html max=100h")
		if err != nil {
			t.Fatal(err)
		}
		o.TypeSchedules = policy.TypeRules{rule}
	}},
	{field: "Normalizers", set: func(_ *testing.T, o *engine.Options) {
		o.Normalizers = policy.URLNormalizers{policy.QueryNormalizer{}}
	}},
	{field: "NormalizerScopes", set: func(_ *testing.T, o *engine.Options) {
		o.NormalizerScopes = policy.NormalizerScopes{policy.NormalizeOutlink: {policy.QueryNormalizer{}}}
	}},
	{field: "Filters", set: func(_ *testing.T, o *engine.Options) { o.Filters = policy.URLFilters{} }},
	{field: "Scorer", set: func(_ *testing.T, o *engine.Options) { o.Scorer = policy.OPICScorer{} }},
	{field: "Scorer", set: func(_ *testing.T, o *engine.Options) { o.Scorer = policy.DistinctOPICScorer{} }},
	{field: "Scorer", set: func(_ *testing.T, o *engine.Options) { o.Scorer = policy.BreadthScorer{} }},
	{field: "Schedule", shows: "crawldb", set: func(_ *testing.T, o *engine.Options) {
		o.Schedule = policy.AdaptiveSchedule{MaxInterval: 5 * 86400}
	}},
	{field: "NoFollowLinks", set: func(_ *testing.T, o *engine.Options) { o.NoFollowLinks = true }, shows: "links"},
	{field: "MaxInlinks", set: func(_ *testing.T, o *engine.Options) { o.MaxInlinks = 1 }, shows: "links"},
	{field: "AnchorLength", set: func(_ *testing.T, o *engine.Options) { o.AnchorLength = 10 }, shows: "links"},
	{field: "DedupOrder", set: func(_ *testing.T, o *engine.Options) { o.DedupOrder = "length" }},
	{field: "NearDuplicates", set: func(_ *testing.T, o *engine.Options) { o.NearDuplicates = "mark" }},
	{field: "IndexFilters", shows: "index", set: func(_ *testing.T, o *engine.Options) {
		o.IndexFilters = []policy.IndexFilter{policy.IndexFilterFunc(
			func(d *index.Document, _ *storage.Record, _ *storage.ParseText) string {
				d.Text += " more"
				return ""
			})}
	}},
	{field: "Parsers", set: func(_ *testing.T, o *engine.Options) { o.Parsers.Forms = true }},
	{field: "Signature", set: func(_ *testing.T, o *engine.Options) { o.Signature = "body" }},
}

// withoutEffect are the options on which what is stored of a web like variedWeb does not depend, and why.
var withoutEffect = map[string]string{
	"Dir": "where", "MustExist": "where", "ReadOnly": "where", "RebuildIndex": "where",
	"Memory": "how", "Processors": "how", "PreferSearches": "when: see TestPlaces",
	"FS": "where", "OnFatal": "when the store fails",
	"Contact": "loopback needs none", "Hosts": "names", "NameServers": "names", "Resolver": "names",
	"Proxy": "how", "InsecureTLS": "https only", "AllowPrivate": "this web is private", "Protocol": "how",
	"Dial":  "how",
	"Delay": "when", "Concurrency": "when", "PerHost": "when", "FetchTimeout": "no page is slow",
	"TrapDuplicates": "needs 200 pages: see trapwatch_test.go",
	"NoIndex":        "of a crawl only: Index is told to index", "OnPage": "see TestOnPage", "PageWorkers": "when",
	"LinkRank":      "of a crawl only: see TestLinkRank",
	"SettleEvery":   "when: see TestSettleBeside",
	"ScheduleHints": "its sitemap says nothing of changes: see TestScheduleHints",
	"PurgeOrphans":  "takes time: see TestOrphans", "GoneUnlinked": "takes time: see TestOrphans",
	"OrphanUnlinked": "takes time: see TestOrphans",
	"ParseLater":     "see TestParseLater", "NoContent": "see TestNoContent",
	"CrawlLog": "see TestCrawlLog",
	"Events":   "see kill_test.go", "Now": "when", "IndexWriters": "elsewhere: see TestSendBothWays",
}

// oftenHost has the pages of one host fetched every hour.
var oftenHost = policy.HostPolicyFunc(func(h urlkey.HostKey) *policy.HostSettings {
	if h.Host() == "a.test" {
		return &policy.HostSettings{Interval: time.Hour}
	}
	return nil
})

// narrowHost has the pages of one host out of scope.
var narrowHost = policy.HostPolicyFunc(func(h urlkey.HostKey) *policy.HostSettings {
	if h.Host() != "b.test" {
		return nil
	}
	only := policy.ScopePage
	return &policy.HostSettings{Scope: &only}
})

// TestBothWays: every option has its effect in a crawl and in the phases alike, or is known to have none.
func TestBothWays(t *testing.T) {
	covered := map[string]bool{}
	for _, e := range effects {
		covered[e.field] = true
	}
	for f := range reflect.TypeFor[engine.Options]().Fields() {
		if f.IsExported() && covered[f.Name] == (withoutEffect[f.Name] != "") {
			t.Errorf("Options.%s: add it to effects, or to withoutEffect with the reason", f.Name)
		}
	}
	n := variedWeb(t)
	n.again("a.test", time.Millisecond) // a time that counts
	usual := sync.OnceValue(func() worldState { return stateBothWays(t, n, effect{}) })
	for i, e := range effects {
		t.Run(fmt.Sprintf("%d-%s", i, e.field), func(t *testing.T) {
			t.Parallel()
			got, usual := stateBothWays(t, n, e), usual()
			if e.fewer {
				if got.fetched >= usual.fetched {
					t.Errorf("%d pages were fetched, without the option %d", got.fetched, usual.fetched)
				}
				return
			}
			differs := map[string]bool{
				"crawldb": got.crawldb != usual.crawldb, "inlinks": got.inlinks != usual.inlinks,
				"hits": got.hits != usual.hits, "index": got.index != usual.index,
			}
			want := map[string][]string{
				"crawldb": {"crawldb"}, "links": {"inlinks", "index"}, "index": {"index"},
			}[e.shows]
			for part, differs := range differs {
				if want != nil && differs != slices.Contains(want, part) {
					t.Errorf("%s differs: %t", part, differs)
				}
			}
			if got == usual {
				t.Error("it has no effect")
			}
		})
	}
}

// worldState is what is stored of a web.
type worldState struct {
	crawldb, inlinks, hits, index string
	fetched                       int
}

// stateBothWays crawls a web with an option, and runs the phases one at a time, and compares what these leave.
func stateBothWays(t *testing.T, n *names, with effect) (s worldState) {
	t.Helper()
	first := true
	for way, run := range bothWays {
		o := n.options(dataDir(t))
		o.Scope = policy.ScopeAny
		if with.set != nil {
			with.set(t, &o)
		}
		run(t, o, n.seeds("a.test/"))
		e := open(t, o)
		got := stateOf(t, e)
		verify(t, e)
		mustClose(t, e)
		switch {
		case first:
			s, first = got, false
		case with.fewer: // which pages are within a budget depends on the order of fetches
			s.fetched = max(s.fetched, got.fetched)
		case got != s:
			for _, part := range [][2]string{{got.crawldb, s.crawldb}, {got.inlinks, s.inlinks}, {got.hits, s.hits}} {
				sameDigest(t, part[0], part[1])
			}
			t.Fatalf("%s leaves something else than the other way", way)
		}
	}
	return s
}

func stateOf(t *testing.T, e *engine.Engine) (s worldState) {
	t.Helper()
	ctx := context.Background()
	var records, inlinks strings.Builder
	var urls []string
	var pages []int
	for r, err := range e.Inspect().Records(ctx, engine.RecordFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Segment != 0 {
			s.fetched++
		}
		next := time.Duration(0)
		if !r.LastFetch.IsZero() {
			next = r.FetchTime.Sub(r.LastFetch)
		}
		fmt.Fprintf(&records, "%s %s http=%d score=%.9f signature=%s every %d next %s\n",
			r.URL, r.Status, r.HTTPStatus, r.Score, r.Signature, r.Interval, next)
		urls, pages = append(urls, r.URL), append(pages, 0)
		last := ""
		for l, err := range e.Inspect().Inlinks(ctx, r.URL, 100) {
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&inlinks, "%s <- %s %q\n", r.URL, l.From, l.Anchor)
			if l.From != last {
				pages[len(pages)-1]++
			}
			last = l.From
		}
	}
	counts, err := e.Inspect().LinkingPages(ctx, append([]string{"javascript:no"}, urls...), 100)
	// The one that is no page takes nothing from the others.
	if err == nil || !slices.Equal(counts, append([]int{0}, pages...)) {
		t.Errorf("%v pages are counted that link, and there are %v: %v", counts, pages, err)
	}
	found, err := e.Search(ctx, "word", engine.SearchOptions{Deadline: patient, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	var hits []string
	for _, h := range found.Hits {
		hits = append(hits, h.URL)
	}
	slices.Sort(hits)
	digest, err := e.Inspect().IndexDigest(ctx)
	if err != nil {
		t.Fatal(err)
	}
	s.crawldb, s.inlinks, s.hits = records.String(), inlinks.String(), strings.Join(hits, "\n")
	s.index = fmt.Sprintf("%016x", digest)
	return s
}
