// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

func depthOf(w *world, url string) int {
	w.t.Helper()
	r, ok := w.records()[w.key(url)]
	if !ok {
		return -1
	}
	return int(r.Depth)
}

// TestDepthFalls: a page whose depth falls after its fetch passes that on, from page to page, also through redirects,
// and to pages that were too deep, whose hosts wake. It does not matter how much fits into memory.
func TestDepthFalls(t *testing.T) {
	for _, tableBytes := range []int64{1, 1 << 20} {
		t.Run(fmt.Sprint(tableBytes), func(t *testing.T) { depthFalls(t, tableBytes) })
	}
}

func depthFalls(t *testing.T, tableBytes int64) {
	w := newWorld(t, admission.Options{Scope: policy.ScopeAny, MaxDepth: 4})
	defer w.close()
	w.tableBytes = tableBytes
	w.restart()
	const far = "https://far.test/"
	w.inject(hostA, hostB)
	w.update(page{url: hostA, links: []string{hostA + "1"}})
	w.update(page{url: hostA + "1", links: []string{hostA + "2"}})
	w.update(page{url: hostA + "2", links: []string{hostA + "3"}})
	w.update(page{url: hostA + "3", links: []string{hostA + "old"}})
	w.update(page{url: hostA + "old", redirect: hostA + "new"})
	w.update(page{url: hostA + "new", links: []string{far, hostA}})
	if got := depthOf(w, far); got != 5 {
		t.Fatalf("depth %d at first", got)
	}
	sel, err := w.p.SelectHost(w.store, w.key(far).HostKey(), w.now, func([]byte) bool { return false }, NewBest(1))
	if err != nil || sel.Due != 0 {
		t.Fatalf("it is too deep: %+v, %v", sel, err)
	}
	r := w.update(page{url: hostB, links: []string{hostA + "2"}})
	for url, want := range map[string]int{"2": 1, "3": 2, "old": 3, "new": 3, "": 0} {
		if got := depthOf(w, hostA+url); got != want {
			t.Errorf("%s is of depth %d, want %d", url, got, want)
		}
	}
	if got := depthOf(w, far); got != 4 {
		t.Errorf("depth %d in the end", got)
	}
	if !slices.Contains(r.Woken, w.key(far).HostKey()) {
		t.Errorf("its host is not woken: %v", r.Woken)
	}
	sel, err = w.p.SelectHost(w.store, w.key(far).HostKey(), w.now, func([]byte) bool { return false }, NewBest(1))
	if err != nil || sel.Due != 1 {
		t.Errorf("%+v, %v", sel, err)
	}
	if r := w.inject(hostA + "new"); r.Known != 1 || depthOf(w, far) != 1 {
		t.Errorf("a seed that is known: %+v, depth %d", r, depthOf(w, far))
	}
	w.check()
}

// TestDepthOfUnknown: a page whose record is lost, as damage to the store may leave it, is as deep as can be until it
// is injected again; then its links are of depth 1.
func TestDepthOfUnknown(t *testing.T) {
	w := newWorld(t, admission.Options{Scope: policy.ScopeAny})
	defer w.close()
	w.update(page{url: hostA, links: []string{hostA + "1"}})
	w.update(page{url: hostA + "1", links: []string{hostA + "2"}})
	if got := depthOf(w, hostA+"2"); got != math.MaxUint16 {
		t.Errorf("below a lost seed the depth is %d", got)
	}
	w.inject(hostA)
	for n, url := range []string{hostA, hostA + "1", hostA + "2"} {
		if got := depthOf(w, url); got != n {
			t.Errorf("%s is of depth %d, want %d", url, got, n)
		}
	}
	w.check()
}

// TestDepthOfListed: a page of a list of URLs, which crawldb does not know, passes on the depth that a link in the
// segment of its own fetch gives it.
func TestDepthOfListed(t *testing.T) {
	w := newWorld(t, admission.Options{Scope: policy.ScopeAny})
	defer w.close()
	w.inject(hostA)
	w.update(page{url: hostA, links: []string{hostA + "1"}}, page{url: hostA + "1", links: []string{hostA + "2"}},
		page{url: hostA + "2", links: []string{hostA + "3"}})
	for n, url := range []string{hostA, hostA + "1", hostA + "2", hostA + "3"} {
		if got := depthOf(w, url); got != n {
			t.Errorf("%s is of depth %d, want %d", url, got, n)
		}
	}
	w.check()
}

// TestDepthOfRefetched: the links of every version of a page count, as they would have if its depth had been known.
func TestDepthOfRefetched(t *testing.T) {
	w := newWorld(t, admission.Options{Scope: policy.ScopeAny})
	defer w.close()
	w.inject(hostA, hostB)
	w.update(page{url: hostA, links: []string{hostA + "1"}})
	w.update(page{url: hostA + "1", links: []string{hostA + "2"}})
	w.update(page{url: hostA + "2", links: []string{hostA + "first"}})
	w.update(page{url: hostA + "2", links: []string{hostA + "second"}, at: 1000})
	w.update(page{url: hostB, links: []string{hostA + "2"}})
	if a, b := depthOf(w, hostA+"first"), depthOf(w, hostA+"second"); a != 2 || b != 2 {
		t.Errorf("depths %d and %d, want 2", a, b)
	}
	w.check()
}

// TestDepthOfWithheld: what is withheld waits with its least depth.
func TestDepthOfWithheld(t *testing.T) {
	w := newWorld(t, admission.Options{})
	defer w.close()
	w.inject(hostA, hostB)
	w.update(page{url: hostA, links: []string{hostA + "1"}})
	w.update(page{url: hostA + "1", links: []string{hostA + "2"}})
	w.update(page{url: hostA + "2", links: []string{other + "p"}})
	w.update(page{url: hostB, links: []string{hostA + "2"}})
	w.inject(other)
	if got := depthOf(w, other+"p"); got != 2 {
		t.Errorf("depth %d, want 2", got)
	}
	w.check()
}

// TestDepthOfSitemap: a page that a robots.txt names as a sitemap is of depth 0, also when it is known already.
func TestDepthOfSitemap(t *testing.T) {
	w := newWorld(t, admission.Options{Scope: policy.ScopeAny})
	defer w.close()
	w.inject(hostA)
	w.update(page{url: hostA, links: []string{hostA + "1"}})
	w.update(page{url: hostA + "1", links: []string{hostA + "2"}})
	w.sitemaps = []urlkey.Key{w.key(hostA + "1")}
	w.update(page{url: hostA, at: 1})
	if a, b := depthOf(w, hostA+"1"), depthOf(w, hostA+"2"); a != 0 || b != 1 {
		t.Errorf("depths %d and %d, want 0 and 1", a, b)
	}
	w.check()
}

// TestChainShortens: a redirect whose chain was too long when it was fetched is followed when a link to its page
// becomes known, and one that turns out to be a seed's takes its target into the scope.
func TestChainShortens(t *testing.T) {
	w := newWorld(t, admission.Options{MaxRedirects: 2})
	defer w.close()
	w.inject(hostA, hostB)
	w.update(page{url: hostA, redirect: hostA + "1"})
	w.update(page{url: hostA + "1", redirect: hostA + "2"})
	w.update(page{url: hostA + "2", redirect: hostA + "3"})
	if depthOf(w, hostA+"3") != -1 {
		t.Fatal("the chain is not too long")
	}
	if u := w.update(page{url: hostB, links: []string{hostA + "2"}}); u.New != 1 || u.Linked != 1 {
		t.Errorf("%+v", u)
	}
	if r, ok := w.records()[w.key(hostA+"3")]; !ok || r.Hops != 1 || r.Depth != 0 || r.Score != 1 {
		t.Errorf("%t %+v", ok, r)
	}
	w.update(page{url: hostB, links: []string{hostB + "deep"}, at: 1})
	w.update(page{url: hostB + "deep", redirect: other}, page{url: hostA + "3", links: []string{other + "p"}})
	if depthOf(w, other+"p") != -1 {
		t.Fatal("it is in scope")
	}
	w.inject(hostB + "deep")
	if got := depthOf(w, other+"p"); got != 1 {
		t.Errorf("a page of the host that a seed redirects to is of depth %d, want 1", got)
	}
	w.check()
}

// TestChainShortensScore: over distinct targets, what a redirect whose chain was too long leads to gets what the page
// has, as what any redirect leads to.
func TestChainShortensScore(t *testing.T) {
	w := newScored(t, admission.Options{MaxRedirects: 2}, policy.DistinctOPICScorer{})
	defer w.close()
	w.inject(hostA, hostB)
	w.update(page{url: hostA, redirect: hostA + "1"})
	w.update(page{url: hostA + "1", redirect: hostA + "2"})
	w.update(page{url: hostA + "2", redirect: hostA + "3"})
	w.update(page{url: hostB, links: []string{hostA + "2"}})
	page, target := w.records()[w.key(hostA+"2")], w.records()[w.key(hostA+"3")]
	if page.Score == 0 || target.Score != page.Score {
		t.Errorf("the page has %v, what it leads to %v", page.Score, target.Score)
	}
}

// TestNewAfterInterruption: a record that an interrupted updatedb left to be made counts as made by the next one.
func TestNewAfterInterruption(t *testing.T) {
	w := newWorld(t, admission.Options{MaxRedirects: 2})
	defer w.close()
	w.inject(hostA, hostB)
	w.update(page{url: hostA, redirect: hostA + "1"})
	w.update(page{url: hostA + "1", redirect: hostA + "2"})
	w.update(page{url: hostA + "2", redirect: hostA + "3"})
	segment := w.seal(page{url: hostB, links: []string{hostA + "2"}})
	var err error
	for n := 0; ; n++ { // the later it ends, the more is done
		if _, err = w.p.UpdateDB(&endsAfter{context.Background(), n}, segment); err == nil {
			t.Fatal("it ends before it makes the record, or not at all")
		}
		if unsettled, err := w.p.Unsettled(); err != nil || unsettled {
			break
		}
	}
	if depthOf(w, hostA+"3") != -1 {
		t.Fatal("the record was made at once")
	}
	if u := w.update(page{url: hostB, at: 1}); u.New != 1 || depthOf(w, hostA+"3") != 0 {
		t.Errorf("%+v, depth %d", u, depthOf(w, hostA+"3"))
	}
}

// TestChainShortensOutside: what a redirect whose chain was too long leads to is withheld, when the chain is short
// enough and the scope refuses it, as if the chain had been short from the beginning.
func TestChainShortensOutside(t *testing.T) {
	made := func(shortFirst bool) (storage.Record, int, Updated) {
		w := newWorld(t, admission.Options{MaxRedirects: 2})
		defer w.close()
		w.inject(hostA)
		links := []string{hostA + "0"}
		if shortFirst {
			links = append(links, hostA+"2")
		}
		w.update(page{url: hostA, links: links})
		w.update(page{url: hostA + "0", redirect: hostA + "1"})
		w.update(page{url: hostA + "1", redirect: hostA + "2"})
		w.update(page{url: hostA + "2", redirect: other})
		u := w.update(page{url: hostA, links: []string{hostA + "2"}, at: 1})
		rows := w.rows()
		w.check()
		w.admit(other)
		w.readmit()
		w.check()
		return w.records()[w.key(other)], rows, u
	}
	want, wantRows, _ := made(true)
	got, rows, u := made(false)
	if got.Hops != 1 || got.Depth != 1 || got.Score != want.Score || got.Score == 0 || rows != 1 || wantRows != 1 {
		t.Errorf("%+v of %d rows, want %+v of %d", got, rows, want, wantRows)
	}
	if u.New != 0 || u.Linked != 1 {
		t.Errorf("%+v", u)
	}
}

// graph is a small random web that changes: a page has links, or redirects, and other ones when it is fetched again.
type graph struct {
	urls     []string
	versions map[string][]page
	seeds    []string
	late     []string // injected during the crawl
}

func drawGraph(t *rapid.T) *graph {
	g := &graph{versions: map[string][]page{}}
	for _, host := range []string{hostA, hostB, hostW} {
		for i := range rapid.IntRange(1, 12).Draw(t, "pages of "+host) {
			g.urls = append(g.urls, fmt.Sprintf("%s%d", host, i))
		}
	}
	version := func(url string, at int64) page {
		if rapid.IntRange(0, 4).Draw(t, "redirects") == 0 {
			if to := rapid.SampledFrom(g.urls).Draw(t, "to"); to != url {
				return page{url: url, redirect: to, at: at}
			}
		}
		return page{url: url, at: at, links: rapid.SliceOfN(rapid.SampledFrom(g.urls), 0, 2).Draw(t, "links of "+url)}
	}
	for _, url := range g.urls {
		g.versions[url] = []page{version(url, 0), version(url, 1)}
	}
	g.seeds = rapid.SliceOfNDistinct(rapid.SampledFrom(g.urls), 1, 2, rapid.ID).Draw(t, "seeds")
	g.late = rapid.SliceOfN(rapid.SampledFrom(g.urls), 0, 2).Draw(t, "late seeds")
	return g
}

// place is where a search in breadth finds a URL.
type place struct{ depth, hops int }

// oracle searches the graph in breadth, through all links of the versions that were fetched: the relaxation of Bellman
// and Ford, in the simplest way. A redirect at the end of a chain that is too long is not followed.
func (g *graph) oracle(fetched map[string]int, maxRedirects int) map[string]place {
	found := map[string]place{}
	for _, s := range slices.Concat(g.seeds, g.late) {
		found[s] = place{}
	}
	for changed := true; changed; {
		changed = false
		reach := func(url string, p place) {
			was, ok := found[url]
			if !ok {
				was = place{math.MaxInt, math.MaxInt}
			}
			if now := (place{min(was.depth, p.depth), min(was.hops, p.hops)}); now != was {
				found[url], changed = now, true
			}
		}
		for url, times := range fetched {
			from, ok := found[url]
			if !ok {
				continue
			}
			for _, v := range g.versions[url][:times] {
				for _, to := range v.links {
					if to != url {
						reach(to, place{from.depth + 1, 0})
					}
				}
				if v.redirect != "" && from.hops < maxRedirects {
					reach(v.redirect, place{from.depth, from.hops + 1})
				}
			}
		}
	}
	return found
}

// endsAfter is a context that ends at its nth question.
type endsAfter struct {
	context.Context
	left int
}

func (c *endsAfter) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// crawlGraph fetches what is due in random order and segments of random size, with failures and restarts in between,
// until nothing is due. It returns how often each page was fetched.
func (g *graph) crawlGraph(t *rapid.T, w *world) map[string]int {
	fetched := map[string]int{}
	late := slices.Clone(g.late)
	try := func(what func(ctx context.Context) error) {
		for {
			ctx := context.Context(context.Background())
			if rapid.IntRange(0, 2).Draw(t, "fails") == 0 {
				ctx = &endsAfter{ctx, rapid.IntRange(0, 25).Draw(t, "steps")}
			}
			err := what(ctx)
			if rapid.IntRange(0, 4).Draw(t, "restart") == 0 {
				w.open()
			}
			if err == nil {
				return
			}
		}
	}
	inject := func(urls ...string) {
		try(func(ctx context.Context) error {
			_, err := w.p.Inject(ctx, InjectOptions{URLs: urls})
			return err
		})
	}
	inject(g.seeds...)
	for {
		var due []page
		for k, r := range w.records() {
			u, err := k.URL()
			if err != nil {
				t.Fatal(err)
			}
			url := u.String()
			n := fetched[url]
			if n < 2 && (n == 0 || len(url)%2 == 0) && w.p.admits(k, int(r.Depth)) {
				due = append(due, g.versions[url][n])
			}
		}
		if len(due) == 0 && len(late) == 0 {
			return fetched
		}
		if len(late) > 0 && (len(due) == 0 || rapid.Bool().Draw(t, "inject")) {
			inject(late[0])
			late = late[1:]
			continue
		}
		slices.SortFunc(due, func(a, b page) int { return strings.Compare(a.url, b.url) })
		due = rapid.Permutation(due).Draw(t, "order")
		due = due[:rapid.IntRange(1, len(due)).Draw(t, "segment")]
		number := w.seal(due...)
		for _, p := range due {
			fetched[p.url]++
		}
		try(func(ctx context.Context) error {
			if seg, _, err := w.store.Segment(number); err != nil || seg.State == storage.SegmentUpdated {
				_, err := w.p.Readmit(ctx) // the phase ended after its first ingestion
				return err
			}
			_, err := w.p.UpdateDB(ctx, number)
			return err
		})
	}
}

// TestDepthIsLeast: whatever the order of fetches and the size of segments, with late seeds, pages that change,
// failures and restarts in between, depths and hops are those of a search in breadth, and what MaxDepth reaches is
// what that reaches. Where scores go by depth, they are those of these depths.
func TestDepthIsLeast(t *testing.T) {
	checkFew(t, func(t *rapid.T) {
		g := drawGraph(t)
		o := admission.Options{
			Scope:    rapid.SampledFrom([]policy.Scope{policy.ScopeAny, policy.ScopeHost}).Draw(t, "scope"),
			MaxDepth: rapid.IntRange(0, 4).Draw(t, "max depth"), MaxRedirects: rapid.IntRange(1, 3).Draw(t, "chain"),
		}
		byDepth := rapid.Bool().Draw(t, "scores go by depth")
		var scorer policy.Scorer
		if byDepth {
			scorer = policy.BreadthScorer{}
		}
		w := newScored(t, o, scorer)
		defer w.close()
		if rapid.Bool().Draw(t, "little memory") {
			w.tableBytes = 1
			w.restart()
		}
		fetched := g.crawlGraph(t, w)
		w.check()
		want := g.oracle(fetched, o.MaxRedirects)
		for k, r := range w.records() {
			u, err := k.URL()
			if err != nil {
				t.Fatal(err)
			}
			if p := want[u.String()]; p != (place{int(r.Depth), int(r.Hops)}) {
				t.Fatalf("%s: depth %d, hops %d, want %+v", u, r.Depth, r.Hops, p)
			}
			if want := math.Pow(2, -float64(r.Depth)); byDepth && r.Score != want {
				t.Fatalf("%s of depth %d has score %v, want %v", u, r.Depth, r.Score, want)
			}
			if n := fetched[u.String()]; n == 0 && (o.MaxDepth == 0 || int(r.Depth) <= o.MaxDepth) {
				t.Fatalf("%s of depth %d was not fetched", u, r.Depth)
			}
			delete(want, u.String())
		}
		for url := range want {
			if o.Scope == policy.ScopeAny {
				t.Fatalf("%s is not known", url)
			}
		}
	})
}

// BenchmarkLower: what passing on a depth that fell costs, by page of 50 links, and what updatedb costs where nothing
// falls.
func BenchmarkLower(b *testing.B) {
	const pages, links = 2000, 50
	web := func(from string) (list []page) {
		for i := range pages {
			p := page{url: fmt.Sprintf("%sp/%d", from, i)}
			for j := range links {
				p.links = append(p.links, fmt.Sprintf("%sp/%d", from, (i+j*j*7)%(2*pages)))
			}
			list = append(list, p)
		}
		return list
	}
	all := web(hostA)
	for _, what := range []string{"nothing falls", "all fall"} {
		b.Run(what, func(b *testing.B) {
			var took time.Duration
			for range b.N {
				w := newWorld(b, admission.Options{Scope: policy.ScopeAny})
				w.tableBytes = 32 << 20
				w.restart()
				w.inject(hostA)
				start := page{url: hostA}
				for _, p := range all {
					start.links = append(start.links, p.url)
				}
				w.update(start)
				w.inject(hostB)
				number := w.seal(all...)
				begin := time.Now()
				if _, err := w.p.UpdateDB(context.Background(), number); err != nil {
					b.Fatal(err)
				}
				if what == "all fall" {
					begin = time.Now()
					var urls []string
					for _, p := range all {
						urls = append(urls, p.url)
					}
					if _, err := w.p.Inject(context.Background(), InjectOptions{URLs: urls}); err != nil {
						b.Fatal(err)
					}
				}
				took += time.Since(begin)
				w.close()
			}
			b.ReportMetric(float64(took.Nanoseconds())/float64(b.N)/pages/links, "ns/link")
			b.ReportMetric(float64(took.Microseconds())/float64(b.N)/pages, "µs/page")
		})
	}
}
