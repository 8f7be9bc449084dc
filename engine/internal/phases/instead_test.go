// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"slices"
	"testing"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
)

// TestInstead: a seed without a scheme that is tried with http is one seed in two spellings, not a redirect: neither a
// bound of redirects nor rules about links and additions keep it out, it has what its line says, and it is shown by the
// URL that answers. What else redirects, or is known by then, is as before.
func TestInstead(t *testing.T) {
	const secure, plain = "https://a.example/", "http://a.example/"
	w := newWorld(t, admission.Options{})
	defer w.close()
	w.options.MaxRedirects = 0
	w.restart()
	w.p.env.NoAdditions, w.p.env.ChooseRedirectURL = true, true
	w.p.env.Links = policy.LinkRule{IgnoreInternal: true}
	w.inject("a.example\tnutch.score=3\tnutch.fetchInterval.fixed=3600\tcolor=red", "b.example", "https://c.example/")
	instead := func(to string) *storage.FetchOutcome {
		return &storage.FetchOutcome{Status: storage.FetchRedirTemp, Failure: "refused", Redirect: w.key(to)}
	}
	w.update(page{url: secure, outcome: instead(plain)}, page{url: "https://c.example/", redirect: "http://c.example/"})
	r, ok := w.records()[w.key(plain)]
	meta := []storage.Field{{Name: policy.MetaFixedInterval, Value: "3600"}, {Name: "color", Value: "red"}}
	if !ok || !r.IsSeed() || r.Score != 3 || r.Interval != 3600 || r.Status != storage.StatusUnfetched ||
		r.FetchTime != w.now || !slices.Equal(r.Meta, meta) {
		t.Errorf("%t, %+v", ok, r)
	}
	if _, ok := w.records()[w.key("http://c.example/")]; ok {
		t.Error("a redirect is followed")
	}
	if v := w.adm.VerdictKey(w.key(plain+"x"), admission.Facts{}); !v.OK() {
		t.Errorf("its host is not in scope: %+v", v)
	}
	w.check()

	w.p.env.NoAdditions, w.p.env.Links = false, policy.LinkRule{}
	w.inject("https://d.example/")
	w.update(page{url: "https://d.example/", links: []string{"http://b.example/", "https://b.example/"}})
	w.inject("http://b.example/far")
	w.update(page{url: "https://b.example/", outcome: instead("http://b.example/far")})
	if r := w.records()[w.key("http://b.example/far")]; !r.IsSeed() || r.Score != 1 {
		t.Errorf("what was known is %+v", r)
	}
	w.check()
}
