// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/index"
)

// crawlNames crawls a web of names from some seeds.
func crawlNames(t *testing.T, pages map[string]string, seeds ...string) *engine.Engine {
	t.Helper()
	n := newNames(t, pages)
	e := open(t, n.options(t.TempDir()))
	t.Cleanup(func() { mustClose(t, e) })
	if _, err := e.Inject(context.Background(), n.seeds(seeds...)); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Crawl(context.Background(), engine.CrawlOptions{}); err != nil {
		t.Fatal(err)
	}
	return e
}

// hitsOf searches and returns the hits' paths in their order.
func hitsOf(t *testing.T, e *engine.Engine, query string, o engine.SearchOptions) (paths string, hits []engine.Hit) {
	t.Helper()
	o.Deadline = patient
	r, err := e.Search(context.Background(), query, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range r.Hits {
		paths += " /" + h.URL[strings.LastIndexByte(h.URL, '/')+1:]
	}
	return strings.TrimSpace(paths), r.Hits
}

// factorOf returns the factor of a score with a description that begins so, 1 if there is none.
func factorOf(h *engine.Hit, begins string) float64 {
	for _, d := range h.Explanation.Details {
		if strings.HasPrefix(d.Description, begins) {
			return d.Value
		}
	}
	return 1
}

// TestStaticScore: of two equal pages the one that more domains link to comes first; hosts of one domain, the page's
// own domain and repeated links count nothing; links that are found after the page was indexed count in the end.
func TestStaticScore(t *testing.T) {
	const page = `<title>net</title><p>A net of twine, number `
	links := func(to ...string) string {
		text := "<title>links</title>"
		for _, l := range to {
			text += `<p><a href="HOST:` + l + `">it</a>`
		}
		return text
	}
	e := crawlNames(t, map[string]string{
		"a.test/":       links("a.test/few", "a.test/many", "a.test/own", "b.test/", "a.test/1"),
		"a.test/few":    page + `1`,
		"a.test/many":   page + `2`,
		"a.test/own":    page + `3`,
		"a.test/1":      links("a.test/own", "c.test/"),
		"b.test/":       links("a.test/many", "a.test/few", "a.test/few", "www.b.test/"),
		"www.b.test/":   links("a.test/few", "www.b.test/1"),
		"www.b.test/1":  links("a.test/few"),
		"c.test/":       links("a.test/many", "d.test/"),
		"d.test/":       links("e.test/"),
		"e.test/":       links("f.test/"),
		"f.test/":       links("a.test/many"),
		"sub.a.test/":   links("a.test/own"),
		"sub.a.test/in": page + `4`,
	}, "a.test/", "sub.a.test/", "www.b.test/", "b.test/", "c.test/", "d.test/", "e.test/", "f.test/")
	paths, hits := hitsOf(t, e, "twine", engine.SearchOptions{Explain: true})
	if paths != "/many /few /own" {
		t.Fatal(paths)
	}
	for i, domains := range []int{3, 1, 0} {
		if got, want := factorOf(&hits[i], "boost"), index.StaticBoost(1, domains); got != want {
			t.Errorf("%s has the static score %v, want %v", hits[i].URL, got, want)
		}
		if hits[i].Explanation.Value != hits[i].Score {
			t.Errorf("%s scores %v, explained as %v", hits[i].URL, hits[i].Score, hits[i].Explanation.Value)
		}
	}
}

// TestSearchFreshness: a search that prefers new pages finds them first, one without a date between, and another search
// the old one, which says more of the word.
func TestSearchFreshness(t *testing.T) {
	page := func(age int, text string) string {
		date := time.Now().AddDate(0, 0, -age).UTC().Format(time.RFC3339)
		return fmt.Sprintf(`<title>t</title><meta property="article:published_time" content="%s"><p>%s`, date, text)
	}
	e := crawlNames(t, map[string]string{
		"a.test/":     `<title>t</title><a href="/new">1</a> <a href="/old">2</a> <a href="/none">3</a>`,
		"a.test/new":  page(1, "A herring of today swims in the sea with others."),
		"a.test/old":  page(3000, "A herring, and another herring swims in the sea."),
		"a.test/none": `<title>t</title><p>A herring of no year swims in the sea with others.`,
	}, "a.test/")
	if paths, _ := hitsOf(t, e, "herring", engine.SearchOptions{}); !strings.HasPrefix(paths, "/old") {
		t.Errorf("without freshness: %s", paths)
	}
	o := engine.SearchOptions{Freshness: 30 * 24 * time.Hour, Explain: true}
	paths, hits := hitsOf(t, e, "herring", o)
	if paths != "/new /none /old" {
		t.Errorf("with freshness: %s", paths)
	}
	for i, least := range []float64{1.4, 1, .5} {
		if got := factorOf(&hits[i], "freshness"); got < least || got > least+.1 {
			t.Errorf("%s has the freshness %v", hits[i].URL, got)
		}
	}
	o.Now = time.Now().AddDate(0, 0, -3000)
	if paths, _ := hitsOf(t, e, "herring", o); paths != "/old /new /none" {
		t.Errorf("with freshness of when the old page was new: %s", paths)
	}
}

// TestSearchCounts: a search counts all matches, or as many as it must and says so.
func TestSearchCounts(t *testing.T) {
	pages, root := map[string]string{}, ""
	for i := range 20 {
		pages[fmt.Sprintf("a.test/%d", i)] = fmt.Sprintf("<title>t</title><p>A gull %d.", i)
		root += fmt.Sprintf(`<a href="/%d">next</a>`, i)
	}
	pages["a.test/"] = root
	e := crawlNames(t, pages, "a.test/")
	for least, want := range map[int]bool{0: false, 5: true, 20: true, 21: false} {
		r, err := e.Search(context.Background(), "gull", engine.SearchOptions{Deadline: patient, TotalAtLeast: least})
		if err != nil || r.AtLeast != want || r.Total > 20 || r.Total < 20 && (!want || r.Total < least) {
			t.Errorf("%d at least: %d found, at least %v: %v", least, r.Total, r.AtLeast, err)
		}
	}
}

// TestSharedTitles: hits show titles without what all pages of their host have in them, which is not searched either;
// pages of small hosts keep it. A document is indexed again when its host's rule changed, and only then.
func TestSharedTitles(t *testing.T) {
	pages := map[string]string{"small.test/": `<title>Nets — Boilerplate 1.2</title><p>A trawl.`}
	root := `<title>Contents — Boilerplate 1.2</title><p>A trawl. <a href="HOST:small.test/">small</a>`
	for i := range 12 {
		const page = "<title>Chapter %d — Boilerplate 1.2</title><p>A trawl %d."
		pages[fmt.Sprintf("a.test/%d", i)] = fmt.Sprintf(page, i, i)
		root += fmt.Sprintf(`<a href="/%d">next</a>`, i)
	}
	pages["a.test/"] = root
	e := crawlNames(t, pages, "a.test/", "small.test/")
	_, hits := hitsOf(t, e, "trawl", engine.SearchOptions{Limit: 20})
	if len(hits) != 14 {
		t.Fatalf("%d hits", len(hits))
	}
	for _, h := range hits {
		if cut := !strings.Contains(h.Title, "Boilerplate"); cut != strings.Contains(h.URL, "/a.test") {
			t.Errorf("%s has the title %q", h.URL, h.Title)
		}
	}
	if paths, _ := hitsOf(t, e, "title:boilerplate", engine.SearchOptions{}); paths != "/" {
		t.Errorf("found by what titles share: %s", paths)
	}
	r, err := e.Index(context.Background(), engine.IndexOptions{Refresh: true})
	if err != nil || r.Refreshed != 0 {
		t.Errorf("%d documents were refreshed without a change: %v", r.Refreshed, err)
	}
}
