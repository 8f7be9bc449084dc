// SPDX-License-Identifier: Apache-2.0

package simweb

import (
	"math"
	"slices"
	"testing"
	"time"
)

// TestDistributions: a large web has the shape that its parameters require. All draws are fixed by the seed, so the
// outcome is too; the tolerances are some standard deviations wide, in case the seed changes.
func TestDistributions(t *testing.T) {
	p := Default()
	p.Hosts, p.Seed, p.MaxPages, p.Restricted, p.Forbidden, p.Errors = 4000, 8, 20_000, 0.25, 0.2, 0.01
	p.PageBytes, p.Links, p.NavLinks = 40_000, 60, 3
	p.SlowHosts, p.SlowLatency, p.OldCharsets, p.Delayed, p.Sitemaps = 0.05, time.Second, 0.2, 0.1, 0.4
	w := newWeb(t, p)

	var pages []int
	byLanguage, shared := map[string]int{}, map[string]int{}
	var restricted, none, delayed, old, slow, sitemaps, total, alone float64
	for i := range p.Hosts {
		pages = append(pages, w.Pages(i))
		tag, charset := w.Language(i)
		byLanguage[tag]++
		shared[w.Address(i)]++
		h := w.host(i)
		total += float64(h.pages)
		restricted += one(w.restricted(i))
		none += one(w.robotsMode(i) == robotsNone)
		delayed += one(w.CrawlDelay(i) > 0)
		old += one(charset != "utf-8")
		slow += one(w.latency(&h, 3) == time.Second)
		sitemaps += one(w.hasSitemap(i))
	}
	hosts := float64(p.Hosts)
	near(t, "mean pages per host", total/hosts, 52, 3)
	// The maximum likelihood of a continuous power law above a lower end (Clauset and others 2009), for
	// the larger hosts, where rounding does not matter.
	slices.Sort(pages)
	var logs float64
	tail := pages[len(pages)*9/10:]
	for _, n := range tail {
		logs += math.Log((float64(n) + 0.5) / float64(tail[0]))
	}
	near(t, "exponent of pages per host", 1+float64(len(tail))/logs, 1.8, 0.15)
	for _, part := range p.Languages {
		near(t, "hosts in "+part.Name, float64(byLanguage[part.Name])/hosts, part.Share, 0.005)
	}
	near(t, "restricted hosts", restricted/hosts, 0.25, 0.01)
	near(t, "hosts without robots.txt", none/hosts, 0.3, 0.01)
	near(t, "hosts with Crawl-delay", delayed/hosts, 0.1, 0.02)
	near(t, "hosts in old charsets", old/hosts, 0.2, 0.01)
	near(t, "slow hosts", slow/hosts, 0.05, 0.015)
	near(t, "hosts with sitemaps", sitemaps/hosts, 0.4, 0.03)
	for _, n := range shared {
		alone += one(n == 1)
	}
	near(t, "hosts with an address of their own", alone/hosts, 0.175*15/16, 0.02)
	checkPages(t, w)
}

// checkPages looks at some tens of thousands of pages and compares their shape.
func checkPages(t *testing.T, w *Web) {
	p := w.Params()
	kinds, status := map[Kind]float64{}, map[int16]float64{}
	var forbidden, onRestricted, all, noIndex, query float64
	for i := range p.Hosts {
		h := w.host(i)
		for n := 1; n < min(h.pages, 60); n++ {
			d := w.draw(&h, n)
			all++
			kinds[d.kind]++
			status[d.status]++
			if w.restricted(i) {
				onRestricted++
				forbidden += one(d.forbidden)
			}
			noIndex += one(d.noIndex)
			query += one(d.hasArg)
		}
	}
	if all < 20_000 {
		t.Errorf("only %.0f pages were looked at", all)
	}
	near(t, "duplicates", kinds[KindDuplicate]/all, p.Duplicate, 0.003)
	near(t, "near-duplicates", kinds[KindNearDuplicate]/all, p.NearDuplicate, 0.008)
	near(t, "redirects", kinds[KindRedirect]/all, p.Redirects, 0.005)
	near(t, "temporary of redirects", status[302]/(status[301]+status[302]), p.Temporary, 0.03)
	near(t, "missing", kinds[KindMissing]/all, p.Missing, 0.004)
	near(t, "410 of missing", status[410]/(status[404]+status[410]), 0.04, 0.02)
	near(t, "errors", kinds[KindError]/all, p.Errors, 0.003)
	near(t, "forbidden pages of restricted hosts", forbidden/onRestricted, p.Forbidden, 0.015)
	near(t, "noindex", noIndex/all, p.NoIndex, 0.003)
	near(t, "queries", query/all, p.Queries, 0.006)
	checkLinks(t, w)
}

// checkLinks writes out some thousands of pages.
func checkLinks(t *testing.T, w *Web) {
	p := w.Params()
	var sizes, degrees []float64
	var links, external, noFollow, titled float64
	var buf []byte
	for i := range p.Hosts {
		h := w.host(i)
		for n := 4; n < min(h.pages, 60); n += 4 {
			if d := w.draw(&h, n); d.kind != KindPage || h.pages < 20 {
				continue
			}
			buf = w.AppendHTML(buf[:0], i, n, someDay)
			sizes = append(sizes, float64(len(buf)))
			_, out, _ := w.degree(&h, n)
			degrees = append(degrees, float64(out))
			for _, l := range w.appendRefs(nil, &h, n, out)[1+p.NavLinks:] {
				links++
				titled += one(l.anchor == anchorTitle)
				if int(l.host) != i {
					external++
					noFollow += one(l.noFollow)
				}
			}
		}
	}
	if len(sizes) < 2000 {
		t.Errorf("only %d pages were written", len(sizes))
	}
	near(t, "nofollow of external links", noFollow/external, p.NoFollowLinks, 0.01)
	near(t, "external links", external/links, p.External, 0.03)
	slices.Sort(sizes)
	slices.Sort(degrees)
	near(t, "median size", sizes[len(sizes)/2]/float64(p.PageBytes), 1, 0.06)
	near(t, "sigma of sizes", math.Log(sizes[len(sizes)*9/10]/sizes[len(sizes)/2])/1.2816, p.PageSigma, 0.06)
	near(t, "median degree", degrees[len(degrees)/2]/float64(p.Links), 1, 0.05)
	near(
		t, "sigma of degrees", math.Log(degrees[len(degrees)*9/10]/degrees[len(degrees)/10])/2.5632,
		p.LinksSigma, 0.05,
	)
	if titled/links < p.TitleAnchors || titled == links { // links of the tree are always titled
		t.Errorf("%.2f of anchors are titles, want at least %.2f and not all", titled/links, p.TitleAnchors)
	}
}

func one(ok bool) float64 {
	if ok {
		return 1
	}
	return 0
}

func near(t *testing.T, what string, got, want, by float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > by {
		t.Errorf("%s: %.4f, want %.4f within %.4f", what, got, want, by)
	}
}
