// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// without refuses URLs with a word.
func without(word string) policy.URLFilter {
	return policy.URLFilterFunc(func(u urlkey.URL) string {
		if strings.Contains(u.String(), word) {
			return "word"
		}
		return ""
	})
}

// renamed writes a word of URLs otherwise.
type renamed struct{ from, to string }

func (n renamed) Normalize(u urlkey.URL) (urlkey.URL, error) {
	return urlkey.Parse(strings.ReplaceAll(u.String(), n.from, n.to))
}

// filtered opens the directory again with a filter that refuses /docs/ and a normalizer that renames /secret.
func (r *removal) filtered() {
	r.t.Helper()
	r.o.Filters = append(slices.Clone(policy.DefaultFilters(time.Now())), without("/docs/"))
	r.o.Normalizers = append(slices.Clone(policy.DefaultNormalizers()), renamed{"/secret", "/public"})
	r.e = open(r.t, r.o)
}

func (r *removal) filter() engine.FilterReport {
	r.t.Helper()
	report, err := r.e.Filter(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	verify(r.t, r.e)
	return report
}

// TestFilter: what new filters refuse, and what new normalizers spell otherwise, leaves every range; the new spelling
// is due. A second run finds nothing.
func TestFilter(t *testing.T) {
	removalWays(t, func(t *testing.T, fill func(*engine.Engine, engine.InjectOptions)) {
		r := newRemoval(t, nil)
		defer func() { mustClose(t, r.e) }()
		fill(r.e, r.n.seeds("a.test/"))
		if f := r.filter(); f.Records+f.Inlinks+f.Renamed != 0 {
			t.Errorf("nothing is to be filtered: %+v", f)
		}
		mustClose(t, r.e)
		r.filtered()
		f := r.filter()
		if f.Records != 3 || f.Documents != 3 || f.Renamed != 1 || f.Parsed != 3 || f.Inlinks == 0 {
			t.Errorf("%+v", f)
		}
		known := r.known("a.test/docs/1", "a.test/docs/2", "a.test/secret", "a.test/public", "a.test/same")
		if !slices.Equal(known, []bool{false, false, false, true, true}) {
			t.Errorf("known: %v", known)
		}
		r.finds(map[string]int{"breakwater": 0, "albatross": 0, "harbour": 1, "jetty": 1})
		public, err := r.e.Inspect().Record(r.url("a.test/public"))
		if err != nil || public.Status != storage.StatusUnfetched || public.Depth != 1 || public.Score == 0 {
			t.Errorf("%+v, %v", public, err)
		}
		for l, err := range r.e.Inspect().Links(context.Background()) {
			if err != nil || strings.Contains(l.From+l.To, "/docs/") || strings.Contains(l.From+l.To, "/secret") {
				t.Errorf("linkdb has %+v, %v", l, err)
			}
		}
		if f := r.filter(); f.Records+f.Inlinks+f.Withheld+f.Renamed != 0 {
			t.Errorf("a second run: %+v", f)
		}
		if !r.archived("albatross") {
			t.Error("WARC files have lost what was not purged")
		}
		if p := r.purge(); p.Captures == 0 || r.archived("albatross") {
			t.Errorf("WARC files have what was filtered: %+v", p)
		}
	})
}

// TestFilterPowerLoss: whenever the power fails during a Filter, the store opens and verifies, and doing it again ends
// as if nothing had happened.
func TestFilterPowerLoss(t *testing.T) {
	fs := storage.NewCrashableFS()
	r := newRemoval(t, func(o *engine.Options) { o.Dir, o.FS = "/data", fs })
	r.o.Now = func() time.Time { return time.UnixMilli(1_800_000_000_000) }
	batch(t, r.e, r.n.seeds("a.test/"), 2)
	mustClose(t, r.e)
	r.filtered()
	var losses []*storage.CrashableFS
	ended, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		for i := uint64(0); ; i++ {
			select {
			case <-ended:
				return
			default:
				losses = append(losses, fs.Crash([]int{0, 10, 50, 90, 100}[i%5], i))
				runtime.Gosched()
			}
		}
	}()
	r.filter()
	close(ended)
	<-watched
	want := digest(t, r.e)
	mustClose(t, r.e)
	if len(losses) < 5 {
		t.Fatalf("only %d moments", len(losses))
	}
	for i, step := 0, max(1, len(losses)/20); i < len(losses); i += step {
		l := &removal{t: t, n: r.n, o: r.o}
		l.o.FS = losses[i]
		l.e = open(t, l.o)
		verify(t, l.e)
		l.filter()
		// The end of the next crawl does what Filter could not finish.
		if _, err := l.e.Dedup(context.Background(), engine.DedupOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := l.e.Index(context.Background(), engine.IndexOptions{Refresh: true}); err != nil {
			t.Fatal(err)
		}
		sameDigest(t, digest(t, l.e), want)
		mustClose(t, l.e)
		if t.Failed() {
			t.Fatalf("moment %d of %d", i, len(losses))
		}
	}
}

// TestOrphans: a page that nothing links to any more is gone after some time, an orphan after more, and with
// the option it is removed. Once it is linked again, it comes back.
func TestOrphans(t *testing.T) {
	removalWays(t, func(t *testing.T, fill func(*engine.Engine, engine.InjectOptions)) {
		var now time.Duration
		r := newRemoval(t, func(o *engine.Options) {
			o.Now = func() time.Time { return time.UnixMilli(1_800_000_000_000).Add(now) }
			o.GoneUnlinked, o.OrphanUnlinked = 10*time.Hour, 20*time.Hour
			o.DedupOrder = "length"
		})
		defer func() { mustClose(t, r.e) }()
		fill(r.e, r.n.seeds("a.test/"))
		again := func(after time.Duration) {
			t.Helper()
			now += after
			if _, err := r.e.Recrawl(context.Background(), r.url("a.test/")); err != nil {
				t.Fatal(err)
			}
			fill(r.e, engine.InjectOptions{})
			verify(t, r.e)
		}
		status := func(page string) storage.Status {
			t.Helper()
			record, err := r.e.Inspect().Record(r.url(page))
			if err != nil {
				t.Fatal(err)
			}
			return record.Status
		}
		home := r.n.pages["a.test/"]
		const page, twin = "a.test/same", "b.test/same/too"
		r.finds(map[string]int{"lighthouse": 1})
		r.n.pages["a.test/"] = strings.ReplaceAll(home, `<a href="/same">same</a>`, "")
		again(time.Hour)
		if s := status(page); s.String() != "db_fetched" {
			t.Errorf("without links since just now: %s", s)
		}
		again(11 * time.Hour)
		if s := status(page); s.String() != "db_gone" || status(twin) != storage.StatusFetched {
			t.Errorf("without links for 11 hours: %s; its duplicate is %s", s, status(twin))
		}
		why := func() string {
			t.Helper()
			s, err := r.e.Inspect().URLStory(t.Context(), r.url(page))
			if err != nil {
				t.Fatal(err)
			}
			return s.NotIndexed
		}
		if s := why(); s != "no page links to it any more" {
			t.Errorf("without links for 11 hours: %s", s)
		}
		r.finds(map[string]int{"lighthouse": 1, "harbour": 1})
		again(11 * time.Hour)
		if s := status(page); s.String() != "db_orphan" {
			t.Errorf("without links for 22 hours: %s", s)
		}
		if s := why(); s != "no page links to it any more" {
			t.Errorf("without links for 22 hours: %s", s)
		}
		r.n.pages["a.test/"] = home
		again(time.Hour)
		again(time.Hour) // it became due when its link was seen
		if s := status(page); s.String() != "db_notmodified" {
			t.Errorf("linked again: %s", s)
		}
		r.n.pages["a.test/"] = strings.ReplaceAll(home, `<a href="/same">same</a>`, "")
		again(time.Hour)
		again(21 * time.Hour)
		if s := status(page); s.String() != "db_orphan" {
			t.Errorf("without links for 21 hours: %s", s)
		}
		mustClose(t, r.e)
		r.o.PurgeOrphans = true
		r.e = open(t, r.o)
		again(time.Hour)
		if got := r.known(page, twin, "a.test/"); !slices.Equal(got, []bool{false, true, true}) {
			t.Errorf("known after the purge: %v", got)
		}
	})
}

// TestOrphansRedirected: a page that only a redirect leads to is none, though links to it came and went.
func TestOrphansRedirected(t *testing.T) {
	const home = `<a href="/old">old</a>`
	n := newNames(t, map[string]string{
		"a.test/": home + `<a href="/new">new</a> <a href="/lost">lost</a>`, "a.test/old": "-> HOST:a.test/new",
		"a.test/new": "<p>the new page", "a.test/lost": "<p>a page that is lost later",
	})
	var now time.Duration
	o := n.options(dataDir(t))
	o.Now = func() time.Time { return time.UnixMilli(1_800_000_000_000).Add(now) }
	o.GoneUnlinked = 10 * time.Hour
	e := open(t, o)
	defer mustClose(t, e)
	crawl := engine.CrawlOptions{Inject: n.seeds("a.test/")}
	for i, after := range []time.Duration{0, time.Hour, 11 * time.Hour} {
		now += after
		if i > 0 {
			n.pages["a.test/"] = home
			if _, err := e.Recrawl(t.Context(), n.spell("HOST:a.test/")); err != nil {
				t.Fatal(err)
			}
			crawl.Inject = engine.InjectOptions{}
		}
		if _, err := e.Crawl(t.Context(), crawl); err != nil {
			t.Fatal(err)
		}
	}
	for page, want := range map[string]storage.Status{"new": storage.StatusFetched, "lost": storage.StatusGone} {
		r, err := e.Inspect().Record(n.spell("HOST:a.test/" + page))
		if err != nil || r.Status != want {
			t.Errorf("%s is %s, want %s: %v", page, r.Status, want, err)
		}
	}
	for row, err := range e.Inspect().Report(t.Context(), engine.ReportFailures, 0) {
		t.Errorf("a page that nothing links to counts as a failure: %v, %v", row, err)
	}
	if s, err := e.Inspect().Stats(t.Context(), false); err != nil || len(s.Failures) > 0 {
		t.Errorf("failures %v, %v", s.Failures, err)
	}
}

// TestPurgeGone: with the option, what is gone is not known after the next run; a page that links to it, and is fetched
// later, makes it known again, until the fetch after that.
func TestPurgeGone(t *testing.T) {
	removalWays(t, func(t *testing.T, fill func(*engine.Engine, engine.InjectOptions)) {
		r := newRemoval(t, nil)
		defer func() { mustClose(t, r.e) }()
		fill(r.e, r.n.seeds("a.test/"))
		if got := r.known("a.test/missing", "a.test/docs/1"); !slices.Equal(got, []bool{true, true}) {
			t.Fatalf("known: %v", got)
		}
		mustClose(t, r.e)
		delete(r.n.pages, "a.test/docs/1")
		r.o.PurgeGone = true
		r.e = open(t, r.o)
		r.finds(map[string]int{"breakwater": 2})
		if _, err := r.e.Recrawl(context.Background(), r.url("a.test/docs/1")); err != nil {
			t.Fatal(err)
		}
		fill(r.e, engine.InjectOptions{})
		verify(t, r.e)
		known := r.known("a.test/missing", "a.test/docs/1", "a.test/docs/2")
		if !slices.Equal(known, []bool{false, false, true}) {
			t.Errorf("known after the purge: %v", known)
		}
		r.finds(map[string]int{"breakwater": 1})
		if _, err := r.e.Recrawl(context.Background(), r.url("a.test/secret")); err != nil {
			t.Fatal(err)
		}
		r.n.again("", 0)
		fill(r.e, engine.InjectOptions{})
		r.n.wantRequests(t, map[string]int{"a.test/missing": 1, "a.test/docs/1": 0})
		if got := r.known("a.test/missing"); got[0] {
			t.Error("it is known for longer than until its fetch")
		}
	})
}

// TestPurgeGoneLinks: linkdb keeps no link to what is purged, in batches as in a crawl: also none of a page that was
// fetched in one segment with it.
func TestPurgeGoneLinks(t *testing.T) {
	removalWays(t, func(t *testing.T, fill func(*engine.Engine, engine.InjectOptions)) {
		n := newNames(t, map[string]string{
			"a.test/":  `<p>home <a href="/gone">gone</a> <a href="/p">p</a>`,
			"a.test/p": `<p>p <a href="/gone">gone</a>`,
		})
		o := n.options(dataDir(t))
		o.PurgeGone = true
		e := open(t, o)
		defer mustClose(t, e)
		fill(e, n.seeds("a.test/"))
		verify(t, e)
		if _, err := e.Inspect().Record(n.spell("HOST:a.test/gone")); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("what is gone is known: %v", err)
		}
		var got []string
		for l, err := range e.Inspect().Links(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, l.From+" "+l.To)
		}
		if want := []string{n.spell("HOST:a.test/ HOST:a.test/p")}; !slices.Equal(got, want) {
			t.Errorf("links: %v, want %v", got, want)
		}
	})
}
