// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"testing"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestSitemapIsNoSeed: a sitemap that a robots.txt names is no seed, although it is of depth 0: no walk of LinkRank
// begins at it, neither its redirects nor another directory take a host into the scope by it. It is one once it is
// injected.
func TestSitemapIsNoSeed(t *testing.T) {
	const direct, chain, far, farther = hostA + "direct.xml", hostA + "chain.xml", "http://far.example/",
		"http://farther.example/"
	w := newWorld(t, admission.Options{})
	defer w.close()
	inScope := func(w *world, url string, want bool) {
		t.Helper()
		if v := w.adm.VerdictKey(w.key(url), admission.Facts{}); v.OK() != want {
			t.Errorf("%s is in scope: %t, want %t", url, v.OK(), want)
		}
	}
	starts := func(want uint64) {
		t.Helper()
		o := rankOptions()
		o.FromSeeds, o.DryRun = true, true
		if _, r := w.ranks(o); r.Starts != want {
			t.Errorf("walks begin at %d pages, want %d", r.Starts, want)
		}
	}
	w.inject(hostA)
	w.sitemaps = []urlkey.Key{w.key(direct), w.key(chain), w.key(hostA)}
	w.update(page{url: hostA, links: []string{chain}})
	starts(1)
	w.update(page{url: direct, redirect: far}, page{url: chain, redirect: hostA + "list.xml"})
	w.update(page{url: hostA + "list.xml", redirect: farther})
	if got := depthOf(w, hostA+"list.xml"); got != 0 {
		t.Errorf("what a sitemap redirects to is of depth %d, want 0", got)
	}
	inScope(w, far+"p", false)
	inScope(w, farther+"p", false)
	starts(1)
	w.inject(direct)
	inScope(w, far+"p", true)
	starts(2)
	w.sitemaps = []urlkey.Key{w.key(direct)}
	w.update(page{url: hostA, at: 1})
	starts(2)
	w.check()

	there := newWorld(t, admission.Options{Scope: policy.ScopeAny})
	defer there.close()
	there.inject(far)
	there.sitemaps = []urlkey.Key{w.key(far), w.key(farther + "sitemap.xml"), w.key(chain)}
	there.update(page{url: far})
	here := newWorld(t, admission.Options{})
	defer here.close()
	here.inject(chain)
	for range 2 {
		if _, err := here.p.ImportRecords(t.Context(), there.store, ImportOptions{}); err != nil {
			t.Fatal(err)
		}
		inScope(here, far+"p", true)
		inScope(here, farther+"p", false)
		if r := here.records()[w.key(chain)]; len(r.Meta) != 0 {
			t.Errorf("a seed that another directory knows as a sitemap: %+v", r)
		}
	}
	here.check()
}
