// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestLinkingDomains: each domain but the page's own counts once; below a public suffix, each name is another domain.
func TestLinkingDomains(t *testing.T) {
	var l linking
	for _, c := range []struct {
		target  string
		sources []string // in the order of keys
		domains int
	}{
		{"http://a.example/", []string{"http://a.example/b", "http://www.a.example/"}, 0},
		{"http://a.example/", []string{"http://b.example/", "http://b.example/b", "http://www.b.example/"}, 1},
		{"http://github.io/", []string{"http://github.io/b", "http://a.github.io/", "http://b.github.io/"}, 2},
		{"http://b.example/", []string{"http://github.io/", "http://a.github.io/", "http://www.a.github.io/"}, 2},
		{"http://www.amazonaws.com/", []string{"http://amazonaws.com/", "http://a.s3.amazonaws.com/"}, 1},
	} {
		key := func(raw string) []byte {
			u, err := urlkey.Parse(raw)
			if err != nil {
				t.Fatal(err)
			}
			return u.AppendKey(nil)
		}
		l.begin(key(c.target))
		for _, source := range c.sources {
			l.add(key(source))
		}
		if l.domains != c.domains {
			t.Errorf("%d domains of %v link to %s, want %d", l.domains, c.sources, c.target, c.domains)
		}
	}
}

// TestTargets: for targets in any order, with links and without, read to the end or not, targets stands where a seek
// does.
func TestTargets(t *testing.T) {
	s, err := storage.Open(t.TempDir(), storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	in := s.NewIngestion()
	defer in.Abort()
	w := in.Table(storage.Linkdb())
	target := func(n int) []byte { return fmt.Appendf(nil, "example.target:%03d", n) }
	for n := range 40 {
		for part := range n % 4 { // one in four has no links
			if err := w.Set(storage.AppendLinkdbKey(nil, target(n), uint32(part)), []byte{0}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := in.Commit(); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.IntRange(0, 45), 1, 60).Draw(t, "targets")
		if rapid.Bool().Draw(t, "in order") {
			slices.Sort(list)
		}
		links, want := newTargets(s), s.Scan(storage.Linkdb(), nil, nil)
		defer links.Close()
		defer want.Close()
		for i, n := range list {
			ok := want.SeekGE(storage.AppendLinkdbKey(nil, target(n), 0))
			for got := links.seek(target(n)); ; got = links.next() {
				if got != ok || ok && string(links.Key()) != string(want.Key()) {
					t.Fatalf("target %d: %v, want %v", n, got, ok)
				}
				if !ok || (i+n)%3 == 0 {
					break
				}
				ok = want.Next()
			}
		}
	})
}

// TestStaticScoreInPlace: a page to which another domain links by a text that others have too keeps its words in the
// index and gets the static score. One with another text is indexed again.
func TestStaticScoreInPlace(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		host, port, _ := strings.Cut(r.Host, ":")
		switch {
		case r.URL.Path == "/robots.txt":
			http.NotFound(w, r)
		case r.URL.Path != "/":
			fmt.Fprintf(w, "<title>t</title><p>a trawl of %s", r.URL.Path)
		case host == "a.test":
			fmt.Fprint(w, `<title>a</title><a href=/one>one</a> <a href=/two>two</a>`)
		case host == "b.test":
			fmt.Fprintf(w, `<title>b</title><a href=//a.test:%s/one>one</a>`, port)
		default:
			fmt.Fprintf(w, `<title>c</title><a href=//a.test:%s/two>second</a>`, port)
		}
	}))
	defer site.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(site.URL, "http://"), ":")
	loopback := []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	ctx := context.Background()
	e, err := Open(Options{
		Dir: t.TempDir(), Delay: -1, AllowPrivate: true, Scope: policy.ScopeAny,
		Hosts: fetch.Hosts{"a.test": loopback, "b.test": loopback, "c.test": loopback},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	at := func(path string) index.Location {
		t.Helper()
		u, err := urlkey.Parse("http://a.test:" + port + path)
		if err != nil {
			t.Fatal(err)
		}
		value, ok, err := e.w.store.Get(index.Located(), []byte(u.Key()), nil)
		if err != nil || !ok {
			t.Fatalf("%s: %v, %v", path, ok, err)
		}
		l, err := index.DecodeLocated(value)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	crawl := func(host string) {
		t.Helper()
		seeds := InjectOptions{URLs: []string{"http://" + host + ":" + port + "/"}}
		if r, err := e.Crawl(ctx, CrawlOptions{Inject: seeds}); err != nil || r.Fetched == 0 || r.Draining <= 0 ||
			r.Draining > r.Took {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	crawl("a.test")
	one, two := at("/one"), at("/two")
	crawl("b.test")
	if at("/two") != two {
		t.Errorf("/two is at %+v, before at %+v", at("/two"), two)
	}
	if now := at("/one"); now.Segment != one.Segment || now.Doc != one.Doc || now.Stamp == one.Stamp {
		t.Errorf("with one more link /one is at %+v, before at %+v", now, one)
	}
	crawl("c.test")
	if now := at("/two"); now.Segment == two.Segment || now.Stamp == two.Stamp {
		t.Errorf("with a link by another text /two is at %+v, before at %+v", now, two)
	}
	found, err := e.Search(ctx, "trawl", SearchOptions{Explain: true})
	if err != nil || len(found.Hits) != 2 {
		t.Fatalf("%+v, %v", found, err)
	}
	for _, h := range found.Hits {
		texts := 1
		if strings.HasSuffix(h.URL, "/two") {
			texts = 2
		}
		want := fmt.Sprint(index.StaticBoost(texts, 1))
		boosted := func(x index.Explanation) bool {
			return x.Description == "boost of the page" && fmt.Sprint(x.Value) == want
		}
		if !slices.ContainsFunc(h.Explanation.Details, boosted) {
			t.Errorf("%s has not boost %s: %+v", h.URL, want, h.Explanation)
		}
	}
	if r, err := e.Index(ctx, IndexOptions{Refresh: true}); err != nil || r.Refreshed != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}
