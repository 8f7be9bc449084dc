// SPDX-License-Identifier: Apache-2.0

package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/index"
)

// manyPages serves a few pages in three languages, of two types and three years, on two hosts.
func manyPages(t *testing.T) (seeds []string) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); err != nil {
			http.NotFound(w, r)
			return
		}
		text := fmt.Sprintf("harbour %s %d of %s", []string{"storm", "boats", "nets and storm"}[n%3], n, r.Host)
		if n%4 == 3 {
			w.Header().Set("Content-Type", "text/plain")
			fmt.Fprint(w, text)
			return
		}
		fmt.Fprintf(w, `<html lang=%s><meta name=date content="%d-05-01"><title>Page %d</title><p>%s`,
			[]string{"de", "ru", "en"}[n%3], 2021+n%3, n, text)
	}))
	t.Cleanup(server.Close)
	for n := range 24 {
		address := server.URL
		if n%2 == 1 {
			address = strings.Replace(address, "127.0.0.1", "localhost", 1)
		}
		seeds = append(seeds, fmt.Sprintf("%s/%d", address, n))
	}
	return seeds
}

// TestFacetQueries: the query of each value of a facet finds as many pages as the value counts; where the search page
// has a link to that query, the page that it leads to has one back.
func TestFacetQueries(t *testing.T) {
	e, err := engine.Open(engine.Options{Dir: t.TempDir(), Memory: 64 << 20, AllowPrivate: true, Delay: -1})
	must(t, err)
	t.Cleanup(func() { must(t, e.Close()) })
	seeds := manyPages(t)
	_, err = e.Crawl(t.Context(), engine.CrawlOptions{Inject: engine.InjectOptions{URLs: seeds}})
	must(t, err)
	server := httptest.NewServer(New(e, Options{Token: testToken}))
	t.Cleanup(server.Close)
	s := &site{t: t, e: e, api: server.URL + apiPath}
	host := strings.TrimSuffix(strings.TrimPrefix(seeds[0], "http://"), "/0")
	other := strings.TrimSuffix(strings.TrimPrefix(seeds[1], "http://"), "/1")
	search := func(q string) (a SearchAnswer) {
		t.Helper()
		_, text := s.get(apiPath + "/search?limit=1&collapse=false&facets=lang,type,year,host&q=" + url.QueryEscape(q))
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			t.Fatalf("%q: %v", q, err)
		}
		return a
	}
	values := 0
	for _, q := range []string{
		"harbour", "harbour OR storm", "lang:de,ru", "lang:de lang:ru", "lang:de OR lang:ru", "harbour AND",
		"harbour NOT", "harbour AND NOT", "harbour ||", "harbour |", "harbour -", `"harbour`, "(harbour",
		"harbour (storm", "+lang:de", "OR harbour (storm", "NOT storm harbour (boats",
		"lang:de,ru harbour (storm", "title:", "date:2021..2022 harbour", "harbour lang:en lang:en",
		"NOT lang:de", "?lang:de harbour", "lang:de AND harbour", "(lang:de OR harbour)",
		"harbour NOT lang:en lang:de", "storm OR boats lang:de,en", "storm || boats lang:de,en", "harbour “",
		"type:html,text", "lang:de lang:ru +lang:de", "lang:de OR storm", "Lang:ru,de +harbour",
		"harbour -lang:en", "harbour NOT (", "host:" + host + " host:" + other, "host:" + host + " OR lang:de",
		"-storm", "storm OR boats AND", "OR(storm) boats", `storm” "harbour (boats"`, `“storm OR boats” lang:de,ru`,
		`boats| harbour "storm (`, `(storm)"boats`, `net boats -lang:ru ||`, `"harbour" NOT"storm" “boats”`,
	} {
		found := search(q)
		for _, f := range found.Facets {
			for _, v := range f.Values {
				values++
				if a := search(v.Query); a.Total != v.Count {
					t.Errorf("%q, %s %s: %d; %q (%s) finds %d", q, f.Name, v.Value, v.Count, v.Query, a.Query, a.Total)
				}
				there, present := linkOf(q, f.Name, v.FacetValue)
				if present {
					continue
				}
				back, present := linkOf(there, f.Name, v.FacetValue)
				if there != v.Query || !present || search(back).Total != found.Total {
					t.Errorf("%q, %s %s: the page leads to %q, and back to %q", q, f.Name, v.Value, there, back)
				}
			}
		}
	}
	if values < 200 {
		t.Errorf("%d values", values)
	}
}

// linkOf returns the query to which a value of a facet leads on the search page, and whether it is in the query.
func linkOf(query, facet string, v index.FacetValue) (to string, present bool) {
	views := facetsOf(&page{}, searchState{Query: query}, []index.Facet{{Name: facet, Values: []index.FacetValue{v}}})
	address, err := url.Parse(views[0].Values[0].Address)
	if err != nil {
		panic(err)
	}
	return address.Query().Get("q"), views[0].Values[0].Present
}

// TestNarrowed: a filter looks as a person would write it, and a + comes only where two filters would mean either.
func TestNarrowed(t *testing.T) {
	for _, c := range [][3]string{
		{"net lang:de", "lang:de", "net lang:de"}, {"net +lang:de", "lang:de", "net +lang:de"},
		{"net lang:de,ru", "lang:de", "net lang:de,ru +lang:de"},
		{"net lang:de,ru +lang:de", "lang:de", "net lang:de,ru +lang:de"},
		{"lang:de lang:ru", "lang:de", "lang:de lang:ru +lang:de"},
		{"net lang:de", "type:text/html", "net lang:de type:text/html"},
		{"lang:de OR net", "lang:de", "(lang:de OR net) lang:de"}, {"net NOT", "lang:de", "net lang:de"},
		{"net NOT lang:ru", "lang:de", "net NOT lang:ru lang:de"}, {"AND", "lang:de", "lang:de"},
	} {
		if got := narrowed(c[0], "", c[1]); got != c[2] || narrowed(got, "", c[1]) != got {
			t.Errorf("%q with %s: %q, want %q; again: %q", c[0], c[1], got, c[2], narrowed(got, "", c[1]))
		}
	}
}

// TestFilters: a filter is shown with the NOT before it, and the way without it takes that one out and no other.
func TestFilters(t *testing.T) {
	for query, want := range map[string][][2]string{
		"net NOT lang:de":              {{"NOT lang:de", "net"}},
		"NOT NOT lang:de net":          {{"NOT NOT lang:de", "net"}},
		"-lang:de +site:x.org net":     {{"-lang:de", "+site:x.org net"}, {"+site:x.org", "-lang:de net"}},
		"lang:de net NOT lang:de":      {{"lang:de", "net NOT lang:de"}, {"NOT lang:de", "lang:de net"}},
		"lang:de OR net lang:de":       {{"lang:de", "net lang:de"}, {"lang:de", "lang:de OR net"}},
		"net AND NOT type:text/html a": {{"NOT type:text/html", "net a"}},
	} {
		var got [][2]string
		at := func(change func(*searchState)) string {
			s := searchState{Query: query}
			change(&s)
			return s.Query
		}
		for _, f := range filtersOf(query, at) {
			got = append(got, [2]string{f.Word, f.Without})
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
}

// TestNoHits: a page without hits says why, and what to do next.
func TestNoHits(t *testing.T) {
	s := newSite(t)
	h, empty := New(s.e, Options{}), New(opened(t, t.TempDir()), Options{})
	for _, c := range []struct {
		of        *Handler
		address   string
		says, not string
	}{
		{h, "/?q=mesh&page=9", `The results end before page 9</h2> <p>Go to <a href="/?q=mesh">`, `class="pages"`},
		{h, "/?q=zebra&page=9", "No page has this", "before page"},
		{h, "/?q=%2A", "There is no word to search for", "understood as"},
		{h, "/?q=net+date:2024..2023", "matched: column 10: date: &#34;2024..2023&#34; is an empty", "site:%"},
		{h, "/?q=zebra", "understood as <code><bdi>zebra", "before page"},
		{empty, "/", `placeholder="Search" data-complete`, "Search 0 pages"},
		{empty, "/", "Nothing is crawled yet", "No page has this"},
		{empty, "/?q=zebra", "seine crawl --contact", "No page has this"},
	} {
		status, _, body := opens(t, c.of, c.address)
		if body = strings.Join(strings.Fields(body), " "); status != 200 || !strings.Contains(body, c.says) ||
			strings.Contains(body, c.not) {
			t.Errorf("%s: status %d without %q, or with %q:\n%s", c.address, status, c.says, c.not, body)
		}
	}
	held, _ := heldCrawl(t, engine.Options{})
	if _, _, body := opens(t, New(held, Options{}), "/"); !strings.Contains(body, "See how the crawl goes") {
		t.Errorf("while a crawl begins: %s", body)
	}
	if status, _, body := opens(t, h, "/atom.xml"); status != 400 || !strings.Contains(body, "Add ?q=") {
		t.Errorf("a feed without a query: status %d, %s", status, body)
	}
	const updated = "<updated>1970-01-01T00:00:00Z</updated>"
	if status, _, body := opens(t, h, "/atom.xml?q=zebra"); status != 200 || !strings.Contains(body, updated) {
		t.Errorf("a feed without entries: status %d, %s", status, body)
	}
}

// TestFeedAddress: a feed has one page, which its link to the search leads to, and an order that there is not is as
// none: the newest come first.
func TestFeedAddress(t *testing.T) {
	h := New(newSite(t).e, Options{})
	feed := func(more string) (entries, alternate string) {
		status, _, body := opens(t, h, "/atom.xml?q=mesh"+more)
		if status != 200 {
			t.Fatalf("%s: status %d: %s", more, status, body)
		}
		_, entries, _ = strings.Cut(body, "<entry>")
		_, alternate, _ = strings.Cut(body, `rel="alternate"`)
		alternate, _, _ = strings.Cut(alternate, ">")
		return entries, alternate
	}
	want, link := feed("")
	if want == "" {
		t.Fatal("it has no entries")
	}
	for _, more := range []string{"&page=2", "&sort=nonsense", "&sort=newest"} {
		if entries, alternate := feed(more); entries != want || alternate != link {
			t.Errorf("%s: %s leads to %s, want %s to %s", more, entries, alternate, want, link)
		}
	}
}
