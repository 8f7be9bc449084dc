// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"maps"
	"testing"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
)

// opicWeb is a web on which OPIC's scores do not depend on the order of fetches: a page's score is complete before the
// page is fetched, because only one page of the level before, or pages that come later, link to it.
func opicWeb(t *testing.T) *names {
	return newNames(t, map[string]string{
		"a.test/": `<title>a</title><a href="/x">x</a> <a href="/x">x</a> <a href="/x">x</a> <a href="/x">more</a>
			<a href="/y">y</a> <a href="HOST:b.test/">b</a> <a href="#top">top</a> <a href="/#end">end</a>
			<a href="/">this page</a> <a href="/z" rel=nofollow>z</a> <a href="/c.png">refused</a>`,
		"a.test/x":  `<title>x</title><p>1. <a href="/">back</a> <a href="/x2">on</a>`,
		"a.test/x2": `<title>x2</title><p>2.`,
		"a.test/y": `<title>y</title><meta http-equiv=refresh content="9;url=/r"><p>3.
			<a href="/r">r</a> <a href="/s">s</a>`,
		"a.test/r": `<title>r</title><p>4.`,
		"a.test/s": `<title>s</title><p>5. <a href="/x">x</a>`,
		"b.test/":  `-> HOST:c.test/`,
		"c.test/":  `<title>c</title><p>6. <a href="HOST:a.test/y">y</a>`,
	})
}

// TestOPIC: scores as Nutch's OPICScoringFilter gives them, by the rules of its ParseOutputFormat and CrawlDbReducer.
// The front page has 1 and 8 links that count: 4 to x, 1 to y, 1 to b, and 2 to parts of itself. (Nutch compares a link
// with the page's URL before it strips the fragment, so "#top" counts and "/" does not.) So x gets 4/8, y and b get
// 1/8, and the page itself 2/8. Of x, which has 4/8, half goes back and half to x2. A refresh and a redirect give
// nothing.
func TestOPIC(t *testing.T) {
	for name, c := range map[string]struct {
		scorer policy.Scorer
		want   map[string]float64
	}{
		"as Nutch": {policy.OPICScorer{}, map[string]float64{
			"a.test/": 1 + 2.0/8 + 4.0/8/2, "a.test/x": 4.0/8 + 1.0/8/2, "a.test/x2": 4.0 / 8 / 2, "a.test/y": 1.0 / 8,
			"b.test/": 1.0 / 8, "c.test/": 0, "a.test/r": 1.0 / 8 / 2, "a.test/s": 1.0 / 8 / 2,
		}},
		// All counts the refused link and that to "/" too: 10 on the front page.
		"refused links count": {policy.OPICScorer{CountFiltered: true}, map[string]float64{
			"a.test/": 1 + 0.1*2 + 0.1*4/2, "a.test/x": 0.1*4 + 0.1/2, "a.test/x2": 0.1 * 4 / 2, "a.test/y": 0.1,
			"b.test/": 0.1, "c.test/": 0, "a.test/r": 0.1 / 2, "a.test/s": 0.1 / 2,
		}},
		"weights": {policy.OPICScorer{Internal: 2, External: -1}, map[string]float64{
			"a.test/": 1 + 2*2.0/8 + 2*1.0/2, "a.test/x": 2*4.0/8 + 2*0.25, "a.test/x2": 2 * 1.0 / 2,
			"a.test/y": 2 * 1.0 / 8, "b.test/": 0, "c.test/": 0, "a.test/r": 2 * 0.25 / 2, "a.test/s": 2 * 0.25 / 2,
		}},
		// Three targets of the front page, two of x and y; a redirect is a page's one target.
		"distinct targets": {policy.DistinctOPICScorer{}, map[string]float64{
			"a.test/": 1 + 1.0/3/2, "a.test/x": 1.0/3 + 1.0/3/2, "a.test/x2": 1.0 / 3 / 2, "a.test/y": 1.0/3 + 1.0/3,
			"b.test/": 1.0 / 3, "c.test/": 1.0 / 3, "a.test/r": 1.0 / 3 / 2, "a.test/s": 1.0 / 3 / 2,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := opicWeb(t)
			for way, run := range bothWays {
				o := n.options(dataDir(t))
				o.Scope, o.Scorer = policy.ScopeAny, c.scorer
				run(t, o, n.seeds("a.test/"))
				e := open(t, o)
				got := scores(t, e)
				mustClose(t, e)
				want := maps.Clone(c.want)
				for page, score := range want {
					u := n.spell("HOST:" + page)
					if d := got[u] - score; d > 1e-12 || d < -1e-12 {
						t.Errorf("%s: %s has %v, want %v", way, page, got[u], score)
					}
					delete(got, u)
				}
				for u := range got {
					t.Errorf("%s: %s does not belong", way, u)
				}
			}
		})
	}
}

// bothWays crawls a web to its end in the two ways that must not differ.
var bothWays = map[string]func(t *testing.T, o engine.Options, in engine.InjectOptions){
	"crawl": func(t *testing.T, o engine.Options, in engine.InjectOptions) { crawlInTurns(t, o, in, 0) },
	"batch": func(t *testing.T, o engine.Options, in engine.InjectOptions) {
		e := open(t, o)
		defer mustClose(t, e)
		batch(t, e, in, 0)
	},
}

// scores are the scores of all records by URL.
func scores(t *testing.T, e *engine.Engine) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	for r, err := range e.Inspect().Records(context.Background(), engine.RecordFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		out[r.URL] = r.Score
	}
	return out
}
