// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

const (
	hostA   = "https://a.test/"
	hostB   = "https://b.test/"
	hostW   = "https://w.example.org/"
	hostDir = hostW + "dir/"
	other   = "https://x.test/"
)

// TestRedirectWidens: what a page linked to before the scope widened is found.
func TestRedirectWidens(t *testing.T) {
	for _, order := range []string{"link first", "redirect first", "together"} {
		t.Run(order, func(t *testing.T) {
			w := newWorld(t, admission.Options{})
			defer w.close()
			w.inject(hostA, hostB)
			link, redirect := page{url: hostA, links: []string{hostW + "x", other}}, page{url: hostB, redirect: hostDir}
			var r Updated
			switch order {
			case "link first":
				if r = w.update(link); r.Withheld != 2 || r.Filtered["scope"] != 2 || r.New != 0 {
					t.Errorf("%+v", r)
				}
				r = w.update(redirect)
			case "redirect first":
				w.update(redirect)
				r = w.update(link)
			default:
				r = w.update(link, redirect)
			}
			found, ok := w.records()[w.key(hostW+"x")]
			if !ok || found.Score != 0.5 || found.Depth != 1 {
				t.Errorf("%t %+v", ok, found)
			}
			if host := w.key(hostW).HostKey(); !slices.Contains(r.Woken, host) {
				t.Errorf("%s is not woken: %+v", host, r)
			}
			if left := w.withheld(); len(left) != 1 || left[0] != w.key(other) {
				t.Errorf("withheld: %v", left)
			}
			w.check()
		})
	}
}

// web is a small random web whose pages have links.
type web struct {
	scope policy.Scope
	urls  []string
	links map[string][]string
}

func drawWeb(t *rapid.T) *web {
	scopes := []policy.Scope{policy.ScopeHost, policy.ScopeDomain, policy.ScopePrefix, policy.ScopePage}
	v := &web{scope: rapid.SampledFrom(scopes).Draw(t, "scope"), links: map[string][]string{}}
	for _, host := range []string{hostA, hostW + "dir/", hostW, "https://v.example.org/", other} {
		for i := range 3 {
			v.urls = append(v.urls, fmt.Sprintf("%sp%d", host, i), fmt.Sprintf("%srefused%d", host, i))
		}
	}
	v.urls = append(v.urls, hostDir)
	for _, u := range append([]string{hostA, hostA + "s1", hostA + "s2", hostA + "s3"}, v.urls...) {
		v.links[u] = rapid.SliceOfN(rapid.SampledFrom(v.urls), 0, 6).Draw(t, "links of "+u)
	}
	return v
}

// segments draws an order of pages and cuts it into segments.
func segments(t *rapid.T, pages []page) (parts [][]page) {
	for _, p := range rapid.Permutation(pages).Draw(t, "order") {
		if len(parts) == 0 || rapid.Bool().Draw(t, "cut") {
			parts = append(parts, nil)
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], p)
	}
	return parts
}

// crawl runs the web in two rounds: the seeds, then all that they lead to. between is called after each segment of the
// first round, and last before the second.
func (v *web) crawl(t *rapid.T, w *world, between, last func()) {
	seeds := []string{hostA, hostB, hostA + "s1", hostA + "s2", hostA + "s3"}
	w.inject(seeds...)
	pages := []page{{url: hostB, redirect: hostDir}}
	for _, u := range seeds {
		if u != hostB {
			pages = append(pages, page{url: u, links: v.links[u]})
		}
	}
	for _, part := range segments(t, pages) {
		w.update(part...)
		between()
	}
	last()
	w.check()
	pages = nil
	for k, r := range w.records() {
		if u, err := k.URL(); err == nil && r.Status == storage.StatusUnfetched {
			pages = append(pages, page{url: u.String(), links: v.links[u.String()]})
		}
	}
	slices.SortFunc(pages, func(a, b page) int { return strings.Compare(a.url, b.url) })
	for _, part := range segments(t, pages) {
		w.update(part...)
	}
	w.check()
}

// refusing is a filter whose answer never changes.
var refusing = policy.URLFilterFunc(func(u urlkey.URL) string {
	if strings.Contains(u.Path(), "refused") {
		return "refused"
	}
	return ""
})

// TestOrderOfAdmission: crawldb does not depend on when the scope widened, nor on the cut of segments.
func TestOrderOfAdmission(t *testing.T) {
	checkFew(t, func(t *rapid.T) {
		v := drawWeb(t)
		options := admission.Options{Scope: v.scope, Filters: policy.URLFilters{refusing}}
		nothing := func() {}
		wide := newWorld(t, options)
		defer wide.close()
		wide.admit(hostDir)
		v.crawl(t, wide, nothing, nothing)
		narrow := newWorld(t, options)
		defer narrow.close()
		restarts := rapid.Bool().Draw(t, "restarts")
		v.crawl(t, narrow, func() {
			if restarts {
				narrow.restart()
			}
		}, nothing)
		if a, b := wide.dump(), narrow.dump(); a != b {
			t.Fatalf("wide from the start:\n%s\nwidened by the redirect:\n%s", a, b)
		}
	})
}

// TestOrderOfFilters: nor does it depend on when a live filter began to permit a host.
func TestOrderOfFilters(t *testing.T) {
	denied := []urlkey.HostKey{keyOf(t, hostW).HostKey(), keyOf(t, "https://v.example.org/").HostKey()}
	checkFew(t, func(t *rapid.T) {
		v := drawWeb(t)
		open, narrow := &liveDeny{}, &liveDeny{}
		options := admission.Options{Scope: v.scope, Filters: policy.URLFilters{refusing}}
		options.Live = []policy.LiveFilter{open}
		wide := newWorld(t, options)
		defer wide.close()
		nothing := func() {}
		v.crawl(t, wide, nothing, nothing)
		options.Live = []policy.LiveFilter{narrow}
		narrow.set(1, denied...)
		late := newWorld(t, options)
		defer late.close()
		version := uint64(1)
		change := func() {
			changes := []string{"", "permit one", "restart", "permit one and restart", "deny"}
			switch rapid.SampledFrom(changes).Draw(t, "change") {
			case "":
				return
			case "deny":
				version++
				narrow.set(version, denied...)
				late.adm.Refresh()
				return
			case "restart":
				late.restart()
				return
			case "permit one":
				version++
				narrow.set(version, denied[1])
				late.adm.Refresh()
			case "permit one and restart":
				version++
				narrow.set(version, denied[0])
				late.restart()
			}
			if rapid.Bool().Draw(t, "readmit") {
				late.readmit()
			}
		}
		v.crawl(t, late, change, func() {
			narrow.set(100)
			late.adm.Refresh()
			late.readmit()
		})
		if a, b := wide.dump(), late.dump(); a != b {
			t.Fatalf("permitted from the start:\n%s\npermitted later:\n%s", a, b)
		}
	})
}

// TestReadmitAfterCrash: what a crash between updatedb and readmitting leaves is done by the next process, once.
func TestReadmitAfterCrash(t *testing.T) {
	w := newWorld(t, admission.Options{})
	defer func() { w.close() }()
	w.inject(hostA, hostB)
	w.update(page{url: hostA, links: []string{hostW + "x", other}})
	w.updateOnly(page{url: hostB, redirect: hostDir})
	w.open()
	if pending := w.adm.Pending(); len(pending) != 1 || pending[0] != string(w.key(hostW).HostKey()) {
		t.Fatalf("pending: %q", pending)
	}
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := w.p.Readmit(canceled); err == nil || len(w.adm.Pending()) != 1 || len(w.withheld()) != 2 {
		t.Errorf("canceled: %v, %q, %q", err, w.adm.Pending(), w.withheld())
	}
	if r := w.readmit(); r.New != 1 || len(r.Woken) != 1 {
		t.Errorf("%+v", r)
	}
	before := w.dump()
	w.open()
	if r := w.readmit(); r.New+r.Linked != 0 || len(w.adm.Pending()) != 0 || w.dump() != before {
		t.Errorf("%+v, pending %q", r, w.adm.Pending())
	}
	w.check()
}

// TestReadmitPending: everything is pending in the next process if this one ended before it looked at withheld links
// again after a change of a filter, even if the filter is by then what it was when the last fingerprint was stored.
func TestReadmitPending(t *testing.T) {
	f := &liveDeny{}
	w := newWorld(t, admission.Options{Scope: policy.ScopeAny, Live: []policy.LiveFilter{f}})
	defer w.close()
	x := w.key(other).HostKey()
	f.set(1, x)
	w.restart()
	w.inject(hostA)
	if r := w.update(page{url: hostA, links: []string{other}}); r.Withheld != 1 {
		t.Errorf("%+v", r)
	}
	f.set(2, x, w.key(hostW).HostKey())
	w.adm.Refresh()
	w.updateOnly(page{url: hostA, links: []string{hostW + "x"}})
	f.set(1, x)
	w.restart()
	if r := w.readmit(); r.New != 1 {
		t.Errorf("%+v, withheld %v", r, w.withheld())
	}
}

// updateOnly is update up to its ingestion: what a process does that ends before it readmits.
func (w *world) updateOnly(pages ...page) {
	w.t.Helper()
	number := w.seal(pages...)
	seg, err := SegmentIn(w.store, number, "updatedb", storage.SegmentSealed)
	if err != nil {
		w.t.Fatal(err)
	}
	u := w.p.newUpdate(number, &Updated{Filtered: map[string]uint64{}})
	defer u.close()
	if err := u.collect(context.Background(), uint64(len(pages))); err != nil {
		w.t.Fatal(err)
	}
	if err := u.apply(context.Background(), seg); err != nil {
		w.t.Fatal(err)
	}
}

// TestFetchedAgain: what a page says again is not withheld again, but what it says for the first time is.
func TestFetchedAgain(t *testing.T) {
	w := newWorld(t, admission.Options{})
	defer w.close()
	w.inject(hostA)
	w.update(page{url: hostA, links: []string{hostA + "deep"}})
	w.sitemaps = []urlkey.Key{w.key(other + "sitemap.xml")}
	if r := w.update(page{url: hostA + "deep", links: []string{other, hostW}}); r.Withheld != 3 {
		t.Errorf("%+v", r)
	}
	w.sitemaps = []urlkey.Key{w.key(other + "sitemap.xml")}
	again := w.update(page{url: hostA + "deep", links: []string{other, other + "new"}}) // the first is known
	if again.Withheld != 1 {
		t.Errorf("%+v", again)
	}
	if r := w.update(page{url: hostA, links: []string{other, hostW}}); r.Withheld != 2 { // at less depth
		t.Errorf("%+v", r)
	}
	if r := w.update(page{url: hostA, links: []string{other, hostW}}); r.Withheld != 0 {
		t.Errorf("%+v", r)
	}
	w.inject(other + "seed")
	all := w.records()
	for url, want := range map[string]storage.Record{
		other:                 {Score: 0.5, Depth: 1},
		other + "new":         {Score: 0, Depth: 2},
		other + "sitemap.xml": {Score: 1, Depth: 0},
	} {
		if r, ok := all[w.key(url)]; !ok || r.Score != want.Score || r.Depth != want.Depth {
			t.Errorf("%s: %t %+v, want %+v", url, ok, r, want)
		}
	}
	w.check()
}

// TestFilterChangesMeanwhile: a live filter that changes while a phase asks it leaves everything pending.
func TestFilterChangesMeanwhile(t *testing.T) {
	f := &liveDeny{}
	w := newWorld(t, admission.Options{Scope: policy.ScopeAny, Live: []policy.LiveFilter{f}})
	defer w.close()
	change := func(version uint64, hosts ...urlkey.HostKey) func() {
		return func() {
			f.set(version, hosts...)
			w.adm.Refresh()
		}
	}
	b, x := w.key(hostB).HostKey(), w.key(other).HostKey()
	change(1, b, x)()
	w.inject(hostA)
	f.after = change(2) // in UpdateDB
	if r := w.update(page{url: hostA, links: []string{hostB, other}}); r.New != 2 {
		t.Errorf("%+v, withheld %q", r, w.withheld())
	}
	for i, restart := range []bool{false, true} {
		change(3, b, x)()
		w.update(page{url: hostA, links: []string{fmt.Sprintf("%s%d", hostB, i), fmt.Sprintf("%s%d", other, i)}})
		change(4, b, x)()
		f.after = change(5) // in Readmit, after the first target was refused
		if r := w.readmit(); r.New != 1 || len(w.adm.Pending()) != 1 {
			t.Errorf("%+v, pending %q", r, w.adm.Pending())
		}
		if restart {
			w.restart()
		}
		if r := w.readmit(); r.New != 1 || len(w.adm.Pending()) != 0 {
			t.Errorf("restarted: %t: %+v, pending %q", restart, r, w.adm.Pending())
		}
	}
	change(3, b, x)()
	w.update(page{url: hostA, links: []string{hostB + "last", other + "last"}})
	change(5)()
	f.after = func() { // after the first target was admitted: denied for a moment
		change(6, b, x)()
		f.after = change(5)
	}
	if r := w.readmit(); r.New != 1 {
		t.Errorf("%+v", r)
	}
	w.restart()
	if r := w.readmit(); r.New != 1 || len(w.withheld()) != 0 {
		t.Errorf("%+v, withheld %q", r, w.withheld())
	}
	w.check()
}

// TestRefusedForGood: a closed trap counts among a page's links and is not withheld; a static filter does not count; a
// chain of redirects that is too long is not withheld, whatever the scope.
func TestRefusedForGood(t *testing.T) {
	w := newWorld(t, admission.Options{Filters: policy.URLFilters{refusing}, TrapPercent: 80, MaxRedirects: 1})
	defer w.close()
	w.inject(hostA, hostB)
	c := w.adm.NewChanges()
	c.Close(string(w.key(hostA + "trap/"))[:len("test,a,)/trap/")])
	if err := c.Commit(); err != nil {
		t.Fatal(err)
	}
	r := w.update(
		page{url: hostA, links: []string{hostA + "trap/1", hostA + "trap/2", hostA + "refused", hostA + "p", other}},
		page{url: hostB, redirect: hostB + "1"},
	)
	if r.Filtered["duplicates"] != 2 || r.Filtered["refused"] != 1 || r.Filtered["scope"] != 1 || r.Withheld != 1 {
		t.Errorf("%+v", r)
	}
	if p := w.records()[w.key(hostA+"p")]; p.Score != 0.25 {
		t.Errorf("score %g, want a quarter", p.Score)
	}
	w.update(page{url: hostA + "p", redirect: hostA + "q"}) // at depth 1, so that its redirects do not widen the scope
	for _, from := range []string{hostB + "1", hostA + "q"} {
		r = w.update(page{url: from, redirect: other + "far"})
		if r.Filtered["redirect_chain"] != 1 || r.Withheld != 0 {
			t.Errorf("%s: %+v", from, r)
		}
	}
}

// TestSitemaps: a sitemap that is not known gets a seed's score, at once or when it comes into scope; one that is known
// stays as it is. An update that fails loses none.
func TestSitemaps(t *testing.T) {
	w := newWorld(t, admission.Options{})
	defer w.close()
	w.inject(hostA)
	w.sitemaps = []urlkey.Key{w.key(hostA + "sitemap.xml"), w.key(hostW + "sitemap.xml"), w.key(hostA)}
	segment := w.seal(page{url: hostA})
	ctx, cancel := context.WithCancel(context.Background())
	w.collected = cancel
	if _, err := w.p.UpdateDB(ctx, segment); !errors.Is(err, context.Canceled) {
		t.Fatalf("canceled: %v", err)
	}
	w.collected = nil
	if _, err := w.p.UpdateDB(context.Background(), segment); err != nil {
		t.Fatal(err)
	}
	w.sitemaps = []urlkey.Key{w.key(hostA + "sitemap.xml"), w.key(hostW + "sitemap.xml")}
	before := w.dump()
	w.update()
	if got := w.dump(); got != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, got)
	}
	w.inject(hostW)
	w.sitemaps = []urlkey.Key{w.key(hostW + "sitemap.xml")}
	w.update()
	all := w.records()
	for _, u := range []string{hostA, hostA + "sitemap.xml", hostW + "sitemap.xml"} {
		if r, ok := all[w.key(u)]; !ok || r.Score != 1 || r.Depth != 0 {
			t.Errorf("%s: %t %+v", u, ok, r)
		}
	}
	w.check()
}
