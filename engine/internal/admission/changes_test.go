// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"slices"
	"testing"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestChanges: the answer changes with Commit, and neither earlier nor for a process whose ingestion was lost. What
// came into reach is pending until it is readmitted, in this process and in the next.
func TestChanges(t *testing.T) {
	w := newWorld(t)
	a := w.process(admission.Options{})
	w.seed(a, true, "http://a.example/")
	w.readmit(a)
	w.pends(a)
	u, host := w.url("http://b.example/x"), string(w.host("http://b.example/"))
	admitted := func(a *admission.Admission, want bool) {
		t.Helper()
		if v := a.Verdict(u, admission.Facts{}); v.OK() != want {
			t.Errorf("%+v, want admitted: %t", v, want)
		}
	}
	c := a.NewChanges()
	c.Seed(w.url("http://b.example/").Key())
	admitted(a, false)
	admitted(w.process(admission.Options{}), false)

	a = w.process(admission.Options{})
	c = a.NewChanges()
	c.Seed(w.url("http://b.example/").Key())
	w.ingest(c, true)
	admitted(a, false)

	// The process ends before Commit: the ingestion is what counts.
	a = w.process(admission.Options{})
	admitted(a, true)
	w.pends(a, host)

	// So it does before what came into reach is readmitted.
	a = w.process(admission.Options{})
	w.pends(a, host)
	c = a.NewChanges()
	c.Readmitted(a.Pending())
	w.ingest(c, true)
	w.pends(a, host)
	w.must(c.Commit())
	w.pends(a)
	a = w.process(admission.Options{})
	admitted(a, true)
	w.pends(a)

	w.seed(a, true, "http://b.example/other") // no news
	w.pends(a)
	w.pends(w.process(admission.Options{}))
}

// TestReach: what a seed brings into reach depends on the scope.
func TestReach(t *testing.T) {
	host := func(w *world) string { return string(w.host("http://www.b.example/")) }
	domain := func(w *world) string { return w.host("http://www.b.example/").DomainKey() }
	for name, v := range map[string]struct {
		o    admission.Options
		want func(w *world) string // nil: nothing
	}{
		"any":    {admission.Options{Scope: policy.ScopeAny}, nil},
		"domain": {admission.Options{Scope: policy.ScopeDomain}, domain},
		"host":   {admission.Options{}, host},
		"prefix": {admission.Options{Scope: policy.ScopePrefix}, host},
		"page":   {admission.Options{Scope: policy.ScopePage}, host},
		"own":    {admission.Options{Hosts: scopes{"b.example": {Scope: scope(policy.ScopeDomain)}}}, domain},
	} {
		w := newWorld(t)
		a := w.process(v.o)
		w.seed(a, true, "http://www.b.example/1/")
		var want []string
		if v.want != nil {
			want = []string{v.want(w)}
		}
		if w.pends(a, want...); t.Failed() {
			t.Fatal(name)
		}
		a = w.process(v.o)
		w.pends(a, want...)
		w.readmit(a)
		w.pends(a)
		a = w.process(v.o)
		w.pends(a)

		// A second seed of the host is news to scopes that are narrower than hosts only.
		w.seed(a, true, "http://www.b.example/2/")
		if v.o.Scope != policy.ScopePage && v.o.Scope != policy.ScopePrefix && v.o.Hosts == nil {
			want = nil
		}
		w.pends(a, want...)
		w.pends(w.process(v.o), want...)
	}
}

// TestNothingWithheld: while no links are withheld, nothing has to be remembered as pending.
func TestNothingWithheld(t *testing.T) {
	w := newWorld(t)
	l := live("x")
	a := w.process(admission.Options{Live: []policy.LiveFilter{l}})
	w.seed(a, false, "http://a.example/")
	w.pends(w.process(admission.Options{Live: []policy.LiveFilter{live("y")}}))
}

// TestOtherProcess: a process whose scope, live filters or policy of hosts differ from those under which links were
// withheld finds everything pending; one without a difference does not.
func TestOtherProcess(t *testing.T) {
	own := scopes{"a": {Scope: scope(policy.ScopeAny)}}
	first := admission.Options{Live: []policy.LiveFilter{live("x")}, Hosts: own}
	for name, v := range map[string]struct {
		o    admission.Options
		news bool
	}{
		"same":      {admission.Options{Live: []policy.LiveFilter{live("x")}, Hosts: own}, false},
		"list":      {admission.Options{Live: []policy.LiveFilter{live("y")}, Hosts: own}, true},
		"no list":   {admission.Options{Hosts: own}, true},
		"scope":     {admission.Options{Live: first.Live, Scope: policy.ScopeAny, Hosts: own}, true},
		"hosts":     {admission.Options{Live: first.Live, Hosts: scopes{"a": {Scope: scope(policy.ScopeHost)}}}, true},
		"no policy": {admission.Options{Live: first.Live}, true},
		"depth":     {admission.Options{Live: first.Live, Hosts: own, MaxDepth: 3, TrapPercent: 50}, false},
	} {
		w := newWorld(t)
		a := w.process(first)
		w.seed(a, true, "http://a.example/")
		w.readmit(a)
		a = w.process(v.o)
		var want []string
		if v.news {
			want = []string{""}
		}
		if w.pends(a, want...); t.Failed() {
			t.Fatal(name)
		}
		w.pends(w.process(v.o), want...) // a process that only looked changes nothing
		w.readmit(w.process(v.o))
		w.pends(w.process(v.o))
	}
}

// TestPolicyWithoutFingerprint: whether such a policy of hosts changed between processes is not known, so everything is
// pending once links are withheld.
func TestPolicyWithoutFingerprint(t *testing.T) {
	w := newWorld(t)
	o := admission.Options{Hosts: policy.HostPolicyFunc(scopes{}.Settings)}
	w.seed(w.process(o), false, "http://a.example/")
	a := w.process(o)
	w.pends(a)
	w.seed(a, true, "http://a.example/")
	w.pends(w.process(o), "")
}

// TestSameHostTable: a table of hosts has a fingerprint. Only another one makes everything pending.
func TestSameHostTable(t *testing.T) {
	table := func(s policy.Scope) policy.HostPolicy {
		hosts, err := policy.NewHostTable(map[string]policy.HostSettings{"*.a.example": {Password: "p", Scope: &s}})
		if err != nil {
			t.Fatal(err)
		}
		return hosts
	}
	w := newWorld(t)
	w.seed(w.process(admission.Options{Hosts: table(policy.ScopePage)}), true)
	w.pends(w.process(admission.Options{Hosts: table(policy.ScopePage)}))
	w.pends(w.process(admission.Options{Hosts: table(policy.ScopeHost)}), "")
	w.pends(w.process(admission.Options{}), "")
}

// TestLiveFilterMeanwhile: a live filter that changes between NewChanges and the end of the ingestion leaves
// everything pending, in this process and in the next, whatever the next one's filter is.
func TestLiveFilterMeanwhile(t *testing.T) {
	for name, next := range map[string]string{"the old list again": "x", "the new list": "y"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			l := live("x")
			a := w.process(admission.Options{Live: []policy.LiveFilter{l}})
			c := a.NewChanges()
			l.next = []string{"y"}
			a.Refresh()
			w.apply(c, true) // it withheld links, by which list nobody knows
			w.pends(a, "")
			w.pends(w.process(admission.Options{Live: []policy.LiveFilter{live(next)}}), "")

			l = live("x")
			a = w.process(admission.Options{Live: []policy.LiveFilter{l}})
			c = a.NewChanges()
			c.Readmitted(a.Pending())
			l.next = []string{"y"}
			a.Refresh()
			w.apply(c, true)
			w.pends(a, "")
			w.pends(w.process(admission.Options{Live: []policy.LiveFilter{live(next)}}), "")
		})
	}
}

// TestLiveFilterBack: links withheld by a list that was in force for a while are found by a process that has the first
// list again, also when there was nothing to readmit in between.
func TestLiveFilterBack(t *testing.T) {
	for name, readmit := range map[string]func(w *world, a *admission.Admission){
		"not readmitted": func(*world, *admission.Admission) {},
		"readmitted":     func(w *world, a *admission.Admission) { w.readmit(a) },
		"nothing to readmit": func(w *world, a *admission.Admission) { // nothing is written then
			c := a.NewChanges()
			c.Readmitted(a.Pending())
			w.must(c.Commit())
			w.pends(a)
		},
	} {
		w := newWorld(t)
		l := live("x")
		a := w.process(admission.Options{Live: []policy.LiveFilter{l}})
		w.seed(a, true, "http://a.example/")
		w.readmit(a)
		l.next = []string{"y"}
		a.Refresh()
		readmit(w, a)
		w.apply(a.NewChanges(), true) // withholds by the second list
		a = w.process(admission.Options{Live: []policy.LiveFilter{live("x")}})
		if w.pends(a, ""); t.Failed() {
			t.Fatal(name)
		}
	}
}

// TestReadmittedAll: what came into reach before everything was looked at is not pending any more, what came into
// reach after is.
func TestReadmittedAll(t *testing.T) {
	w := newWorld(t)
	l := live("x")
	o := admission.Options{Live: []policy.LiveFilter{l}}
	a := w.process(o)
	w.seed(a, true, "http://a.example/")
	l.next = []string{"y"}
	a.Refresh()
	c := a.NewChanges()
	c.Readmitted(a.Pending())
	c.Seed(w.url("http://b.example/").Key()) // of the same ingestion, so its links were asked about too early
	w.apply(c, true)
	w.pends(a, string(w.host("http://b.example/")))
	w.pends(w.process(o), string(w.host("http://b.example/")))
}

// TestDamagedSeeds: a seed that is no key is reported as damage, with what was being read.
func TestDamagedSeeds(t *testing.T) {
	w := newWorld(t)
	ing := w.store.NewIngestion()
	w.must(ing.Table(storage.Meta()).Set([]byte("seed-url/nonsense"), nil))
	w.must(ing.Commit())
	a := admission.New(admission.Options{Scope: policy.ScopePage, Store: w.store})
	if err := a.Load(); !isCorrupt(err) {
		t.Errorf("%v", err)
	}
	if err := admission.New(admission.Options{Store: w.store}).Load(); err != nil {
		t.Errorf("a scope that needs no URLs: %v", err)
	}
}

// equalPage is one page of a group of equal pages. Fresh means that it was fetched in the segments of this Dedup.
type equalPage struct {
	Key   urlkey.Key
	Fresh bool
}

// tellOf tells the trap watch of a group of equal pages, as Dedup does.
func tellOf(a *admission.Admission, pages []equalPage) {
	all, fresh := map[string]int{}, map[string]int{}
	for _, p := range pages {
		prefix := string(admission.TrapPrefix([]byte(p.Key)))
		all[prefix]++
		if p.Fresh {
			fresh[prefix]++
		}
	}
	for prefix, n := range all {
		a.Copies([]byte(prefix), n, fresh[prefix])
	}
}

// TestTraps: a prefix most of whose recent pages are copies of one another is closed, stays closed over a restart, and
// nothing else is.
func TestTraps(t *testing.T) {
	w := newWorld(t)
	o := admission.Options{Scope: policy.ScopeAny, TrapPercent: 90}
	a := w.process(o)
	w.seed(a, false, "http://seed.example/")
	pages := func(prefix string, n int) (keys []equalPage) {
		for i := range n {
			key := w.url(prefix + string(rune('a'+i/26)) + string(rune('a'+i%26))).Key()
			a.Page([]byte(key))
			keys = append(keys, equalPage{Key: key, Fresh: true})
		}
		return keys
	}
	tellOf(a, pages("http://a.example/cal?month=", 200))
	tellOf(a, pages("http://a.example/few/", 199)) // too few to judge
	tellOf(a, pages("http://seed.example/", 200))  // the root of a seed's host
	tellOf(a, pages("http://seed.example/in/", 200))
	tellOf(a, pages("http://other.example/", 200))
	half := pages("http://a.example/half/", 200)
	tellOf(a, half[:100])
	for i, page := range pages("http://a.example/fr/", 200) { // each equal to one elsewhere
		tellOf(a, []equalPage{page, {Key: half[i].Key, Fresh: true}})
	}
	c := a.NewChanges()
	if n := a.CloseTraps(c); n != 3 || len(w.warns) != 0 {
		t.Errorf("%d will be closed, reported before they are: %q", n, w.warns)
	}
	want := "a.example/cal?… is closed: at least 90% of the pages recently fetched there were copies of one another " +
		"(setting trap-duplicates)"
	check := func(a *admission.Admission, on bool) {
		t.Helper()
		for url, closed := range map[string]bool{
			"http://a.example/cal?month=99": on, "http://a.example/cal": false, "http://a.example/": false,
			"http://a.example/few/x": false, "http://a.example/fr/x": false, "http://a.example/half/x": false,
			"http://seed.example/x": false, "http://seed.example/in/x": on,
			"http://seed.example/in/deep/er": on, "http://other.example/x/y?z": on,
		} {
			v := a.Verdict(w.url(url), admission.Facts{})
			if closed != (v == admission.Verdict{Reason: "duplicates"}) || closed == v.OK() {
				t.Errorf("%s: %+v, want closed: %t", url, v, closed)
			}
		}
	}
	check(a, false)
	w.ingest(c, false)
	check(a, false)
	w.must(c.Commit())
	if len(w.warns) != 3 || !slices.Contains(w.warns, want) {
		t.Errorf("warnings: %q", w.warns)
	}
	check(a, true)
	check(w.process(o), true)
	o.TrapPercent = 0
	check(w.process(o), false)
}

// TestTrapsFade: old counts count less, late pages of a closed prefix do not close it twice, and pages that are not
// fresh are no copies of this segment.
func TestTrapsFade(t *testing.T) {
	w := newWorld(t)
	a := w.process(admission.Options{Scope: policy.ScopeAny, TrapPercent: 50})
	fetch := func(n, copies int) int {
		t.Helper()
		var group []equalPage
		for i := range n {
			key := w.url("http://a.example/" + string(rune('a'+i/26)) + string(rune('a'+i%26))).Key()
			a.Page([]byte(key))
			group = append(group, equalPage{Key: key, Fresh: i < copies})
		}
		tellOf(a, group)
		tellOf(a, group[:1]) // a page alone is no copy
		c := a.NewChanges()
		closed := a.CloseTraps(c)
		w.apply(c, false)
		return closed
	}
	for i, v := range []struct{ pages, copies, closed int }{
		{400, 40, 0},  // 40 of 400
		{200, 160, 0}, // with half of those: 180 of 400
		{200, 160, 1}, // 250 of 400
		{400, 400, 0}, // it is closed
	} {
		if closed := fetch(v.pages, v.copies); closed != v.closed {
			t.Errorf("step %d: %d closed, want %d", i, closed, v.closed)
		}
	}
}

// TestNarrowerLater: a scope of seeds' URLs knows the seeds that came before it, as crawldb has them, and those that
// came in between; sitemaps are none. Once they have rows, crawldb is not asked.
func TestNarrowerLater(t *testing.T) {
	w := newWorld(t)
	record := func(url string, r storage.Record) {
		r.Status = storage.StatusUnfetched
		w.must(w.store.Apply(func(b *storage.Batch) error {
			return b.Set(storage.Crawldb(), []byte(w.url(url).Key()), storage.AppendRecord(nil, &r))
		}))
	}
	inject := func(o admission.Options, seed string) {
		w.seed(w.process(o), false, seed)
		record(seed, storage.Record{})
	}
	decides := func(a *admission.Admission, urls map[string]bool) {
		t.Helper()
		for url, want := range urls {
			if v := a.VerdictKey(w.url(url).Key(), admission.Facts{Depth: 1}); v.OK() != want {
				t.Errorf("%s is in scope: %t, want %t", url, v.OK(), want)
			}
		}
	}
	sitemap := []storage.Field{{Name: storage.MetaSitemap, Value: storage.SitemapNamed}}
	inject(admission.Options{}, "http://a.example/docs/1")
	record("http://a.example/docs/2", storage.Record{Depth: 1})
	record("http://a.example/map/1", storage.Record{Meta: sitemap})
	record("http://b.example/docs/1", storage.Record{Depth: 1})
	prefix, page := admission.Options{Scope: policy.ScopePrefix}, admission.Options{Scope: policy.ScopePage}
	decides(w.process(page), map[string]bool{"http://a.example/docs/1": true, "http://a.example/docs/2": false})
	own := admission.Options{Hosts: scopes{"a.example": {Scope: scope(policy.ScopePage)}}}
	decides(w.process(own), map[string]bool{"http://a.example/docs/1": true, "http://a.example/docs/2": false})
	inside := map[string]bool{
		"http://a.example/docs/3": true, "http://a.example/": false, "http://a.example/map/2": false,
		"http://b.example/docs/1": false,
	}
	a := w.process(prefix)
	decides(a, inside)
	w.apply(a.NewChanges(), false)
	w.must(w.store.Apply(func(b *storage.Batch) error {
		return b.Delete(storage.Crawldb(), []byte(w.url("http://a.example/docs/1").Key()))
	}))
	decides(w.process(prefix), inside)
	inject(prefix, "http://a.example/more/1")
	inject(admission.Options{}, "http://b.example/docs/1")
	inside["http://a.example/more/2"], inside["http://b.example/docs/1"] = true, true
	decides(w.process(prefix), inside)
	if len(w.warns) > 0 {
		t.Error(w.warns)
	}
}
