// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
)

// TestScheduleHints: a sitemap that says of a page that it changed after it was fetched has it fetched again in a
// quarter of its interval, in a crawl and in the phases alike, and only where the option is on. What it says of how
// often a page changes counts already after the first fetch, although the sitemap was fetched before the page.
func TestScheduleHints(t *testing.T) {
	changed := time.Now().Add(12 * time.Hour).UTC().Format(time.RFC3339)
	n := newNames(t, map[string]string{
		"a.test/robots.txt": "User-agent: *\nAllow: /\nSitemap: HOST:a.test/sitemap.xml\n",
		"a.test/sitemap.xml": `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
			<url><loc>HOST:a.test/p</loc><lastmod>` + changed + `</lastmod></url>
			<url><loc>HOST:a.test/q</loc><changefreq>daily</changefreq></url></urlset>`,
		"a.test/": `<a href="/p">p</a>`, "a.test/p": "<p>a page", "a.test/q": "<p>another page",
	})
	const month = 30 * 24 * time.Hour
	for way, run := range bothWays {
		for hints, want := range map[bool]time.Duration{false: month, true: month / 4} {
			o := n.options(dataDir(t))
			o.Sitemaps, o.ScheduleHints = true, hints
			run(t, o, n.seeds("a.test/"))
			e := open(t, o)
			q, err := e.Inspect().Record(n.spell("HOST:a.test/q"))
			if got := q.FetchTime.Sub(q.LastFetch); err != nil || got != want || len(q.Meta) != 0 {
				t.Errorf("%s, hints %t: after the first fetch, the next comes after %s, want %s; %v, %v",
					way, hints, got, want, q.Meta, err)
			}
			_, err = e.Recrawl(t.Context(), n.spell("HOST:a.test/sitemap.xml"))
			mustClose(t, e)
			if err != nil {
				t.Fatal(err)
			}
			run(t, o, engine.InjectOptions{})
			e = open(t, o)
			r, err := e.Inspect().Record(n.spell("HOST:a.test/p"))
			mustClose(t, e)
			if got := r.FetchTime.Sub(r.LastFetch); err != nil || got != want {
				t.Errorf("%s, hints %t: the next fetch comes after %s, want %s: %v", way, hints, got, want, err)
			}
		}
	}
}
