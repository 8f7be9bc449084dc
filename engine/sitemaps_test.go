// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine"
)

// sitemapSite serves a page, and another one that only a sitemap lists, by way of robots.txt, a sitemap index and a
// gzip file.
func sitemapSite(t *testing.T) *httptest.Server {
	var s *httptest.Server
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			fmt.Fprintf(w, "Sitemap: %s/index.xml\nUser-agent: *\nDisallow: /secret\n", s.URL)
			fmt.Fprint(w, "Sitemap: http://elsewhere.example/s.xml\nSitemap: mailto:x\n")
		case "/index.xml":
			w.Header().Set("Content-Type", "text/xml")
			fmt.Fprintf(w, "<sitemapindex><sitemap><loc>%s/s.xml.gz</loc></sitemap></sitemapindex>", s.URL)
		case "/s.xml.gz":
			w.Header().Set("Content-Type", "application/gzip")
			z := gzip.NewWriter(w)
			fmt.Fprintf(z, "<urlset><url><loc>%s/island</loc></url><url><loc>%[1]s/secret</loc></url></urlset>", s.URL)
			z.Close()
		case "/", "/island":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<title>Page %s</title>lighthouse", r.URL.Path)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// TestSitemaps: pages that only a sitemap lists are found. Searches do not find sitemaps, and they are no seeds.
func TestSitemaps(t *testing.T) {
	s := sitemapSite(t)
	for _, on := range []bool{false, true} {
		e := open(t, engine.Options{Dir: t.TempDir(), Memory: 64 << 20, Delay: -1, AllowPrivate: true, Sitemaps: on})
		r, err := e.Crawl(context.Background(), crawlFrom(s.URL+"/"))
		if err != nil {
			t.Fatal(err)
		}
		hits, err := e.Search(context.Background(), "lighthouse", engine.SearchOptions{Deadline: patient})
		if err != nil {
			t.Fatal(err)
		}
		fetched, denied, found := uint64(1), uint64(0), 1
		if on {
			fetched, denied, found = 4, 1, 2
		}
		if r.Fetched != fetched || r.RobotsDenied != denied || hits.Total != found {
			t.Errorf("sitemaps %t: %d fetched, %d denied, %d found", on, r.Fetched, r.RobotsDenied, hits.Total)
		}
		if seeds := reportOf(t, e, engine.ReportSeeds, 0); len(seeds) != 1 {
			t.Errorf("sitemaps %t: seeds %q", on, seeds)
		}
		story, err := e.Inspect().URLStory(t.Context(), s.URL+"/index.xml")
		if on && (err != nil || !strings.Contains(story.String(), "as a sitemap")) {
			t.Errorf("%v\n%s", err, story)
		}
		mustClose(t, e)
	}
}

// TestSitemapsOfEarlierProcess: a crawl finds the sitemaps of hosts that an earlier process fetched, although it has no
// other reason to visit them.
func TestSitemapsOfEarlierProcess(t *testing.T) {
	s, ctx := sitemapSite(t), context.Background()
	o := engine.Options{Dir: t.TempDir(), Memory: 64 << 20, Delay: -1, AllowPrivate: true, Sitemaps: true}
	e := open(t, o)
	if _, err := e.Inject(ctx, engine.InjectOptions{URLs: []string{s.URL + "/"}}); err != nil {
		t.Fatal(err)
	}
	g, err := e.Generate(ctx, engine.GenerateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := e.Fetch(ctx, engine.FetchOptions{Segment: g.Segment}); err != nil || r.Fetched != 1 {
		t.Fatalf("%d fetched, %v", r.Fetched, err)
	}
	mustClose(t, e)
	e = open(t, o)
	if r, err := e.Crawl(ctx, engine.CrawlOptions{}); err != nil || r.Fetched != 3 || r.RobotsDenied != 1 {
		t.Errorf("%d fetched, %d denied, %v", r.Fetched, r.RobotsDenied, err)
	}
	mustClose(t, e)
}
