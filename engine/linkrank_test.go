// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/bench/simweb"
	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
)

// TestLinkRank: of a crawled web, linkrank gives the ranks that the web itself computes, and all of the pages have them
// as scores; a crawl that ranks at its end leaves the same.
func TestLinkRank(t *testing.T) {
	w := newWorld(t, 6, 20)
	ctx := context.Background()
	urls, want := rankedWeb(t, w)
	o := w.options(dataDir(t))
	w.crawl(o, engine.CrawlOptions{Inject: w.seeds()})
	e := open(t, o)
	r, err := e.Linkdb().Rank(ctx, engine.LinkRankOptions{Tolerance: 1e-12, Passes: 500, DryRun: true, Top: len(urls)})
	if err != nil || r.Changed != 0 || len(r.Top) != len(urls) {
		t.Fatalf("%v: %d ranks of %d URLs, %s", err, len(r.Top), len(urls), r)
	}
	for i, n := range r.Top {
		rank, known := want[n.Name]
		if !known || math.Abs(n.Rank-rank) > 1e-6 {
			t.Errorf("%s has rank %.9f, want %.9f", n.Name, n.Rank, rank)
		}
		if i > 0 && n.Rank > r.Top[i-1].Rank {
			t.Errorf("%s comes after a lower rank", n.Name)
		}
	}
	if _, err := e.Linkdb().Rank(ctx, engine.LinkRankOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Dedup(ctx, engine.DedupOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Index(ctx, engine.IndexOptions{Refresh: true}); err != nil {
		t.Fatal(err)
	}
	verify(t, e)
	ranked := digest(t, e)
	mustClose(t, e)

	o = w.options(dataDir(t))
	o.LinkRank = "page"
	w.crawl(o, engine.CrawlOptions{Inject: w.seeds()})
	sameDigest(t, digestOf(t, o), ranked)
}

// TestInlinkDomains: by inlink domains, a page's score is the number of other domains that link or redirect to it, in a
// crawl that ranks at its end as after one phase at a time. Scores are no ranks then, whatever they were before, so
// search does not count the domains twice.
func TestInlinkDomains(t *testing.T) {
	n := newNames(t, map[string]string{
		"a.test/":   `1<a href="/x">x</a> <a href="HOST:b.test/">b</a> <a href="HOST:c.test/">c</a>`,
		"a.test/x":  `2<a href="HOST:b.test/">b</a> <a href="HOST:c.test/1">c</a> <a href="HOST:www.a.test/">w</a>`,
		"a.test/to": `3`, "www.a.test/": `4<a href="HOST:a.test/to">to</a> <a href="HOST:b.test/">b</a>`,
		"b.test/": `-> HOST:c.test/`,
		"c.test/": `5<a href="HOST:a.test/x">x</a> <a href="HOST:b.test/">b</a> <a href="/1">1</a>`, "c.test/1": `6`,
	})
	want := map[string]float64{}
	for page, domains := range map[string]float64{
		"a.test/": 0, "a.test/x": 1, "a.test/to": 0, "www.a.test/": 0, "b.test/": 2, "c.test/": 2, "c.test/1": 1,
	} {
		want[n.spell("HOST:"+page)] = domains
	}
	ctx := context.Background()
	var digests []string
	for way, run := range bothWays {
		for _, ranked := range []string{"", "page", "inlink-domains"} {
			o := n.options(dataDir(t))
			o.Scope, o.LinkRank = policy.ScopeAny, ranked
			run(t, o, n.seeds("a.test/"))
			e := open(t, o)
			if way == "batch" || ranked != "inlink-domains" {
				r, err := e.Linkdb().Rank(ctx, engine.LinkRankOptions{By: "inlink-domains", Top: 1})
				if err != nil || r.Nodes != 7 || r.Edges != 6 || len(r.Top) != 1 || r.Top[0].Rank != 2 {
					t.Fatalf("%+v, %v", r, err)
				}
				if _, err := e.Dedup(ctx, engine.DedupOptions{}); err != nil {
					t.Fatal(err)
				}
				if _, err := e.Index(ctx, engine.IndexOptions{Refresh: true}); err != nil {
					t.Fatal(err)
				}
			}
			if got := scores(t, e); !maps.Equal(got, want) {
				t.Errorf("%s, %q: %v, want %v", way, ranked, got, want)
			}
			verify(t, e)
			digests = append(digests, digest(t, e))
			mustClose(t, e)
		}
	}
	for _, d := range digests[1:] {
		sameDigest(t, d, digests[0])
	}
}

// rankedWeb computes the ranks of a web's URLs with a matrix of all links; 1 is the mean. A page does not link to
// itself.
func rankedWeb(t *testing.T, w *world) (urls []string, ranks map[string]float64) {
	t.Helper()
	links := map[string][]string{}
	err := simweb.WalkSite(context.Background(), w.Web, []string{w.Web.Root(0)}, func(v *simweb.SiteVisit) error {
		urls = append(urls, v.URL)
		links[v.URL] = slices.DeleteFunc(slices.Clone(v.To), func(to string) bool { return to == v.URL })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	n := float64(len(urls))
	number := map[string]int{}
	for i, u := range urls {
		number[u] = i
	}
	matrix := make([][]float64, len(urls)) // by target, then source
	for i := range matrix {
		matrix[i] = slices.Repeat([]float64{0}, len(urls))
	}
	for from, targets := range links {
		for _, to := range targets {
			matrix[number[to]][number[from]] = 1 / float64(len(targets))
		}
		for i := range urls {
			if len(targets) == 0 {
				matrix[i][number[from]] = 1 / n
			}
		}
	}
	rank := slices.Repeat([]float64{1}, len(urls))
	for range 200 {
		next := slices.Repeat([]float64{0.15}, len(urls))
		for to, row := range matrix {
			for from, share := range row {
				next[to] += 0.85 * share * rank[from]
			}
		}
		rank = next
	}
	ranks = map[string]float64{}
	for i, u := range urls {
		ranks[u] = rank[i]
	}
	return urls, ranks
}

// TestLinkRankFirst: the pages with the best ranks are generated first, and found first among pages that say the same.
func TestLinkRankFirst(t *testing.T) {
	link := `<a href="/best">x</a><a href="/new">x</a>`
	n := newNames(t, map[string]string{
		"a.test/": `<a href="/1">x</a><a href="/2">x</a><a href="/3">x</a>`, "a.test/1": link, "a.test/2": link + " ",
		"a.test/3": link + "  ", "a.test/best": "<p>a word of the best</p>", "a.test/other": "<p>a word of others</p>",
	})
	o := n.options(dataDir(t))
	e := open(t, o)
	defer mustClose(t, e)
	ctx := context.Background()
	if _, err := e.Crawl(ctx, engine.CrawlOptions{Inject: n.seeds("a.test/", "a.test/other")}); err != nil {
		t.Fatal(err)
	}
	score := func() float64 {
		found, err := e.Search(ctx, "word", engine.SearchOptions{Deadline: patient})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range found.Hits {
			if h.URL == n.spell("HOST:a.test/best") {
				return h.Score
			}
		}
		t.Fatal("the page is not found")
		return 0
	}
	before := score()
	if _, err := e.Linkdb().Rank(ctx, engine.LinkRankOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Index(ctx, engine.IndexOptions{Refresh: true}); err != nil {
		t.Fatal(err)
	}
	if after := score(); after <= before {
		t.Errorf("score %v, before ranking %v", after, before)
	}
	for _, o := range []engine.LinkRankOptions{
		{By: "votes"}, {By: "inlink-domains", Graph: "host"}, {By: "inlink-domains", Passes: 1},
		{By: "inlink-domains", Trusted: []string{"a.test"}}, {Graph: "site"}, {Damping: 1},
		{Damping: math.NaN()}, {HostDecay: 2}, {Tolerance: -1}, {Passes: -1}, {Top: -1},
		{Trusted: []string{"a b"}},
	} {
		if _, err := e.Linkdb().Rank(ctx, o); err == nil {
			t.Errorf("%+v is no error", o)
		}
	}
	ranked := scores(t, e)
	for _, unknown := range []string{"b.test", n.spell("HOST:a.test/bes"), n.spell("HOST:a.test/z*")} {
		o := engine.LinkRankOptions{Trusted: []string{n.spell("HOST:a.test/best"), unknown}}
		_, err := e.Linkdb().Rank(ctx, o)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("target %q names no page", unknown)) {
			t.Errorf("trusted %s: %v", unknown, err)
		}
	}
	if !maps.Equal(scores(t, e), ranked) {
		t.Error("scores changed in spite of the errors")
	}
	if _, err := e.Delete(ctx, n.spell("HOST:a.test/"), n.spell("HOST:a.test/other")); err != nil {
		t.Fatal(err)
	}
	_, err := e.Linkdb().Rank(ctx, engine.LinkRankOptions{FromSeeds: true})
	if err == nil || !strings.Contains(err.Error(), "no page that crawldb knows is one") {
		t.Errorf("without a seed: %v", err)
	}
}

// TestLinkRankBesideDepth: scores that follow from depths are not written over, only looked at beside.
func TestLinkRankBesideDepth(t *testing.T) {
	n := newNames(t, map[string]string{"a.test/": `<a href="/1">x</a>`, "a.test/1": `<a href="/">x</a>`})
	o := n.options(dataDir(t))
	o.Scorer = policy.BreadthScorer{}
	e := open(t, o)
	defer mustClose(t, e)
	ctx := context.Background()
	if _, err := e.Crawl(ctx, engine.CrawlOptions{Inject: n.seeds("a.test/")}); err != nil {
		t.Fatal(err)
	}
	before := scores(t, e)
	for _, by := range []string{"pagerank", "inlink-domains"} {
		_, err := e.Linkdb().Rank(ctx, engine.LinkRankOptions{By: by})
		if err == nil || !strings.Contains(err.Error(), "it contradicts a scoring by depth, which writes scores too") {
			t.Errorf("%s: %v", by, err)
		}
		if r, err := e.Linkdb().Rank(ctx, engine.LinkRankOptions{By: by, DryRun: true}); err != nil || r.Nodes != 2 {
			t.Errorf("%s, only to look: %s, %v", by, r, err)
		}
	}
	if after := scores(t, e); !maps.Equal(after, before) {
		t.Errorf("scores %v, before %v", after, before)
	}
}

// TestLinkRankPowerLoss ranks on a file system that loses what was not synced, cuts the power at each write of a file,
// and ranks again: the outcome is that of an undisturbed run.
func TestLinkRankPowerLoss(t *testing.T) {
	w := newWorld(t, 3, 10)
	fs := storage.NewCrashableFS()
	o := w.options("/crawl")
	o.FS = fs
	w.crawl(o, engine.CrawlOptions{Inject: w.seeds()})
	ctx := context.Background()
	e := open(t, o)
	var losses []*storage.CrashableFS
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := uint64(0); ; i++ {
			select {
			case <-stop:
				return
			default:
				if len(losses) < 30 {
					losses = append(losses, fs.Crash(int(i*37%101), i))
				}
			}
		}
	}()
	_, err := e.Linkdb().Rank(ctx, engine.LinkRankOptions{})
	close(stop)
	<-done
	if err != nil {
		t.Fatal(err)
	}
	losses = append(losses, fs.Crash(0, 1))
	want := digest(t, e)
	mustClose(t, e)
	for _, loss := range losses {
		o.FS = loss
		e := open(t, o)
		if _, err := e.Linkdb().Rank(ctx, engine.LinkRankOptions{}); err != nil {
			t.Fatal(err)
		}
		sameDigest(t, digest(t, e), want)
		verify(t, e)
		mustClose(t, e)
	}
}
