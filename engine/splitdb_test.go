// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// splitWeb crawls some pages of a synthetic web whose scope is any host, on a file system.
func splitWeb(t *testing.T, fs storage.FS, pages int64) (equalWeb, func(dir string) engine.Options) {
	t.Helper()
	w := anyHostWeb(t, 6, 12)
	options := func(dir string) engine.Options {
		o := w.options(dir)
		o.FS, o.Scope = fs, policy.ScopeAny
		return o
	}
	e := open(t, options("/crawl"))
	defer mustClose(t, e)
	limits := engine.Limits{MaxPages: pages}
	if _, err := e.Crawl(context.Background(), engine.CrawlOptions{Inject: w.seeds, Limits: limits}); err != nil {
		t.Fatal(err)
	}
	return w, options
}

// plan is what crawldb says of each URL, but for contents.
func plan(t *testing.T, e *engine.Engine) map[string]string {
	t.Helper()
	all := map[string]string{}
	for r, err := range e.Inspect().Records(context.Background(), engine.RecordFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		status := strings.Replace(r.Status.String(), "db_duplicate", "db_fetched", 1)
		all[r.URL] = fmt.Sprintf("%s score %g depth %d due %s, fetched %s", status, r.Score, r.Depth, r.FetchTime,
			r.LastFetch)
	}
	return all
}

// largestDomain is the number of records of the domain that has the most.
func largestDomain(t *testing.T, plan map[string]string) (most int) {
	t.Helper()
	of := map[string]int{}
	for text := range plan {
		u, err := urlkey.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		domain := u.Key().HostKey().DomainKey()
		of[domain]++
		most = max(most, of[domain])
	}
	return most
}

// planDiff lists the URLs of which two plans differ.
func planDiff(got, want map[string]string) string {
	both, b := maps.Clone(got), strings.Builder{}
	maps.Copy(both, want)
	for _, url := range slices.Sorted(maps.Keys(both)) {
		if got[url] != want[url] {
			fmt.Fprintf(&b, "\n%s: %q, want %q", url, got[url], want[url])
		}
	}
	return b.String()
}

func splitInto(t *testing.T, e *engine.Engine, o engine.SplitDBOptions) engine.SplitDBReport {
	t.Helper()
	r, err := e.SplitDB(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestSplitDB copies a crawl in three parts, each of which then says of its URLs what the crawl says, and merges them
// into an empty directory: that says what the crawl says.
func TestSplitDB(t *testing.T) {
	t.Parallel()
	fs := storage.NewMemFS()
	_, options := splitWeb(t, fs, 40)
	e := open(t, options("/crawl"))
	defer mustClose(t, e)
	want, before, parts := plan(t, e), digest(t, e), map[string]string{}
	for n := 1; n <= 3; n++ {
		dir := fmt.Sprintf("/part%d", n)
		r := splitInto(t, e, engine.SplitDBOptions{Dir: dir, Part: n, Parts: 3})
		part := open(t, options(dir))
		verify(t, part)
		got := plan(t, part)
		most := len(want)/3 + largestDomain(t, want) // a cut goes through no domain: half of one more at each end
		if int(r.Records) != len(got) || r.Links == 0 || r.LeftOut != 0 || r.Moved || len(got) > most {
			t.Errorf("part %d has %d of %d records: %s", n, len(got), len(want), r)
		}
		for url, record := range got {
			if parts[url] != "" {
				t.Errorf("%s is in two parts", url)
			}
			parts[url] = record
		}
		mustClose(t, part)
	}
	if !maps.Equal(parts, want) {
		t.Errorf("the parts differ from the crawl: %s", planDiff(parts, want))
	}
	if now := digest(t, e); now != before {
		t.Error("a copy changed the crawl")
	}
	merged := open(t, options("/merged"))
	defer mustClose(t, merged)
	dirs := []string{"/part2", "/part1", "/part3"}
	if _, err := merged.MergeDB(context.Background(), engine.MergeDBOptions{Dirs: dirs}); err != nil {
		t.Fatal(err)
	}
	if _, err := merged.Linkdb().Merge(context.Background(), engine.MergeLinksOptions{Dirs: dirs}); err != nil {
		t.Fatal(err)
	}
	verify(t, merged)
	if got := plan(t, merged); !maps.Equal(got, want) {
		t.Errorf("merged again: %s", planDiff(got, want))
	}
	if got, want := inlinksOf(t, merged, want), inlinksOf(t, e, want); !slices.Equal(got, want) {
		t.Errorf("links merged again:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// inlinksOf lists the links to some URLs.
func inlinksOf(t *testing.T, e *engine.Engine, urls map[string]string) (list []string) {
	t.Helper()
	for url := range urls {
		for l, err := range e.Inspect().Inlinks(context.Background(), url, 100_000) {
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, url+" <- "+l.From+" "+l.Anchor)
		}
	}
	slices.Sort(list)
	return list
}

// TestSplitDBMove moves a part, crawls both directories to their ends, each on its own, and merges them again: the
// URLs of the part are refused meanwhile where they were, and together the two have found what one crawl finds.
func TestSplitDBMove(t *testing.T) {
	t.Parallel()
	fs := storage.NewMemFS()
	w, options := splitWeb(t, fs, 25)
	whole := options("/whole")
	crawlInTurns(t, whole, w.seeds, 0)
	e := open(t, whole)
	all := plan(t, e)
	mustClose(t, e)

	e = open(t, options("/crawl"))
	before := plan(t, e)
	r := splitInto(t, e, engine.SplitDBOptions{Dir: "/part", Part: 1, Parts: 2, Move: true})
	verify(t, e)
	rest := plan(t, e)
	if !r.Moved || int(r.Records)+len(rest) != len(before) || r.Records == 0 || len(rest) == 0 {
		t.Fatalf("%s; of %d records %d are left", r, len(before), len(rest))
	}
	for url := range before {
		if _, here := rest[url]; here {
			continue
		}
		c, err := e.Inspect().Check(url, policy.NormalizeInject)
		if err != nil || c.Reason != "split" {
			t.Errorf("check of %s: %+v, %v", url, c, err)
		}
	}
	again := splitInto(t, e, engine.SplitDBOptions{Dir: "/part", Part: 1, Parts: 2, Move: true})
	if !again.Moved || again.Part != r.Part || again.Records != 0 {
		t.Errorf("again: %s", again)
	}
	mustClose(t, e)

	part := open(t, options("/part"))
	verify(t, part)
	moved := plan(t, part)
	mustClose(t, part)
	maps.Copy(moved, rest)
	if !maps.Equal(moved, before) {
		t.Errorf("both directories: %s", planDiff(moved, before))
	}
	crawlInTurns(t, options("/part"), engine.InjectOptions{}, 0)
	crawlInTurns(t, options("/crawl"), engine.InjectOptions{}, 0)

	e = open(t, options("/crawl"))
	defer mustClose(t, e)
	for url := range plan(t, e) {
		if _, here := rest[url]; !here && before[url] != "" {
			t.Errorf("%s came back while it is elsewhere", url)
		}
	}
	if _, err := e.MergeDB(context.Background(), engine.MergeDBOptions{Dirs: []string{"/part"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Linkdb().Merge(context.Background(), engine.MergeLinksOptions{Dirs: []string{"/part"}}); err != nil {
		t.Fatal(err)
	}
	verify(t, e)
	got := plan(t, e)
	for url, record := range all {
		if now := got[url]; strings.Fields(now + " ?")[0] != strings.Fields(record)[0] {
			t.Errorf("%s is %q in the end, one crawl has %q", url, now, record)
		}
		if c, err := e.Inspect().Check(url, policy.NormalizeInject); err != nil || c.Reason == "split" {
			t.Errorf("check of %s when it is back: %+v, %v", url, c, err)
		}
	}
	if len(got) != len(all) {
		t.Errorf("%d URLs, one crawl has %d", len(got), len(all))
	}
}

// TestSplitDBPowerLoss moves a part on a file system that can lose what was not synced, and takes snapshots meanwhile.
// Whenever that ended, every URL is in one of the directories at least; the same call again makes it exactly one.
func TestSplitDBPowerLoss(t *testing.T) {
	t.Parallel()
	fs := storage.NewCrashableFS()
	_, options := splitWeb(t, fs, 25)
	o := engine.SplitDBOptions{Dir: "/part", Part: 2, Parts: 2, Move: true}
	e := open(t, options("/crawl"))
	want := plan(t, e)
	var losses []*storage.CrashableFS
	rng := rand.New(rand.NewPCG(1, 2))
	ended, snapshots := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(snapshots)
		for {
			losses = append(losses, fs.Crash([]int{0, 50, 100}[rng.IntN(3)], rng.Uint64()))
			select {
			case <-ended:
				return
			default:
			}
		}
	}()
	splitInto(t, e, o)
	close(ended)
	<-snapshots
	losses = append(losses, fs.Crash(0, 0)) // all that is acknowledged, and nothing else
	mustClose(t, e)
	step := max(len(losses)/30, 1)
	for i := len(losses) - 1; i >= 0; i -= step {
		with := func(dir string) engine.Options {
			o := options(dir)
			o.FS = losses[i]
			return o
		}
		e := open(t, with("/crawl"))
		here := plan(t, e)
		if moved := len(here) < len(want); !moved && !maps.Equal(here, want) || !moved && i == len(losses)-1 {
			t.Fatalf("moment %d of %d: %s", i, len(losses), planDiff(here, want))
		}
		splitInto(t, e, o)
		verify(t, e)
		got := plan(t, e)
		mustClose(t, e)
		part := open(t, with("/part"))
		verify(t, part)
		for url, record := range plan(t, part) {
			if got[url] != "" {
				t.Fatalf("moment %d of %d: %s is in both directories", i, len(losses), url)
			}
			got[url] = record
		}
		mustClose(t, part)
		if !maps.Equal(got, want) {
			t.Fatalf("moment %d of %d: %s", i, len(losses), planDiff(got, want))
		}
	}
}

// TestSplitDBRefused: what cannot be split, and where a part cannot go.
func TestSplitDBRefused(t *testing.T) {
	t.Parallel()
	_, options := splitWeb(t, storage.NewMemFS(), 10)
	e := open(t, options("/crawl"))
	defer mustClose(t, e)
	mustClose(t, open(t, options("/other")))
	splitInto(t, e, engine.SplitDBOptions{Dir: "/first", Part: 1, Parts: 2})
	for want, o := range map[string]engine.SplitDBOptions{
		"is the directory that is to be split": {Dir: "/crawl/", Part: 1, Parts: 2},
		"/other has a store":                   {Dir: "/other", Part: 1, Parts: 2, Move: true},
		"/first has a store":                   {Dir: "/first", Part: 1, Parts: 2},
		"/first has another part":              {Dir: "/first", Part: 2, Parts: 2, Move: true},
		"part 0 of 2":                          {Dir: "/new", Part: 0, Parts: 2},
		"part 3 of 2":                          {Dir: "/new", Part: 3, Parts: 2},
		"not a registered domain":              {Dir: "/new", Domain: "www.example.com"},
	} {
		_, err := e.SplitDB(context.Background(), o)
		if err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, engine.ErrNoPart) != (o.Domain == "") {
			t.Errorf("%+v: %v, want %s", o, err, want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := e.SplitDB(ctx, engine.SplitDBOptions{Dir: "/new", Part: 1, Parts: 2})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

// TestSplitDBUnknownDomain: a domain of which crawldb has nothing is not moved: it is not refused from then on, and no
// directory is made. Nor is one that is elsewhere already moved again.
func TestSplitDBUnknownDomain(t *testing.T) {
	t.Parallel()
	fs := storage.NewMemFS()
	_, options := splitWeb(t, fs, 10)
	e := open(t, options("/crawl"))
	defer mustClose(t, e)
	refused := func(o engine.SplitDBOptions) {
		t.Helper()
		before := digest(t, e)
		r, err := e.SplitDB(ctx, o)
		if !errors.Is(err, engine.ErrNoPart) || !strings.Contains(err.Error(), o.Domain) || r.Moved {
			t.Errorf("%s, %v; want an error that names %s", r, err, o.Domain)
		}
		sameDigest(t, digest(t, e), before)
		if _, err := fs.Stat(o.Dir); err == nil {
			t.Errorf("%s was made", o.Dir)
		}
	}
	refused(engine.SplitDBOptions{Dir: "/unknown", Domain: "nowhere.example", Move: true})
	c, err := e.Inspect().Check("http://nowhere.example/", policy.NormalizeInject)
	if err != nil || c.Reason != "" {
		t.Errorf("check of the domain that was not moved: %+v, %v", c, err)
	}
	domain := ""
	for url := range plan(t, e) {
		c, err := e.Inspect().Check(url, policy.NormalizeInject)
		if err != nil {
			t.Fatal(err)
		}
		domain = c.Domain
	}
	splitInto(t, e, engine.SplitDBOptions{Dir: "/first", Domain: domain, Move: true})
	splitInto(t, e, engine.SplitDBOptions{Dir: "/first", Domain: domain, Move: true}) // as after a crash
	refused(engine.SplitDBOptions{Dir: "/second", Domain: domain, Move: true})
}

// TestSplitDBAgain moves the domain of a page that has a copy elsewhere, and ends at any moment: the same call again
// also makes the copy a page. Of another domain it does not say that it has moved.
func TestSplitDBAgain(t *testing.T) {
	t.Parallel()
	fs := storage.NewCrashableFS()
	var splits atomic.Bool
	var mu sync.Mutex
	var losses []*storage.CrashableFS
	r := newRemoval(t, func(o *engine.Options) {
		o.Dir, o.FS = "/crawl", fs
		o.Now = func() time.Time {
			if splits.Load() {
				mu.Lock()
				defer mu.Unlock()
				losses = append(losses, fs.Crash(0, 0))
			}
			return time.Now()
		}
	})
	seeds := engine.CrawlOptions{Inject: r.n.seeds("a.test/", "b.test/")}
	if _, err := r.e.Crawl(context.Background(), seeds); err != nil {
		t.Fatal(err)
	}
	moves, stays, twin := "a.test", "b.test", "b.test/same/too"
	if rec, err := r.e.Inspect().Record(r.url(twin)); err != nil || rec.Status != storage.StatusDuplicate {
		moves, stays, twin = stays, moves, "a.test/same"
	}
	o := engine.SplitDBOptions{Dir: "/part", Domain: moves, Move: true}
	splits.Store(true)
	splitInto(t, r.e, o)
	splits.Store(false)
	mustClose(t, r.e)
	moved := 0
	for i, fs := range losses {
		r.o.FS, r.o.Now = fs, nil
		r.e = open(t, r.o)
		again := splitInto(t, r.e, o)
		if again.Records == 0 {
			moved++
		}
		rec, err := r.e.Inspect().Record(r.url(twin))
		if err != nil || rec.Status != storage.StatusFetched || !again.Moved {
			t.Errorf("moment %d of %d: the copy is %v, %v; %s", i, len(losses), rec.Status, err, again)
		}
		r.finds(map[string]int{"lighthouse": 1})
		verify(t, r.e)
		other := engine.SplitDBOptions{Dir: "/part", Domain: stays, Move: true}
		if x, err := r.e.SplitDB(context.Background(), other); !errors.Is(err, engine.ErrNoPart) {
			t.Errorf("moment %d of %d: another domain: %s, %v", i, len(losses), x, err)
		}
		mustClose(t, r.e)
	}
	if moved < 2 || moved == len(losses) {
		t.Errorf("%d of %d moments are after the move", moved, len(losses))
	}
}

// TestSplitDBHalf: a directory in which SplitDB was interrupted is neither opened nor repaired, but made again.
func TestSplitDBHalf(t *testing.T) {
	t.Parallel()
	fs := storage.NewMemFS()
	_, options := splitWeb(t, fs, 10)
	e := open(t, options("/crawl"))
	defer mustClose(t, e)
	o := engine.SplitDBOptions{Dir: "/part", Part: 1, Parts: 2}
	want := splitInto(t, e, o)
	if err := storage.Move(fs, "/part/store", "/part/store.rebuild"); err != nil { // as it is before the end
		t.Fatal(err)
	}
	_, err := engine.Open(options("/part"))
	_, repaired := engine.Repair(ctx, options("/part"))
	for did, err := range map[string]error{"opened": err, "repaired": repaired} {
		if !errors.Is(err, engine.ErrNoStore) || !strings.Contains(err.Error(), "splitdb") {
			t.Errorf("%s: %v", did, err)
		}
	}
	if got := splitInto(t, e, o); got.Records != want.Records || got.Links != want.Links {
		t.Errorf("again: %s, want %s", got, want)
	}
	part := open(t, options("/part"))
	defer mustClose(t, part)
	verify(t, part)
}
