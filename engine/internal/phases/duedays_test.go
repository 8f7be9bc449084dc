// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
)

// askedSchedule is FixedSchedule, but one that must see each record: nothing is chosen by day.
type askedSchedule struct{ policy.FixedSchedule }

// chosenBy returns what Generate chooses, in key order, its counts, and whether it read by day.
func (w *world) chosenBy(s policy.FetchSchedule, o GenerateOptions) (keys []string, r Generated, byDay bool) {
	w.t.Helper()
	env := w.p.env
	env.Schedule = s
	p := New(env)
	o.DryRun, o.Top, o.Lists = true, max(o.Top, 1), 1
	g := generation{
		p: p, o: o, now: w.now + int64(o.AddDays)*86_400_000, result: Generated{Held: map[string]uint64{}},
	}
	if err := g.choose(context.Background()); err != nil {
		w.t.Fatal(err)
	}
	for _, c := range g.best.list {
		keys = append(keys, string(c.Key))
	}
	slices.Sort(keys)
	r, err := p.Generate(context.Background(), o)
	if err != nil || r.Selected != uint64(len(keys)) {
		w.t.Fatalf("%+v %v, want %d", r, err, len(keys))
	}
	return keys, r, g.days != nil
}

// TestGenerateByDay: after a random history, what is chosen by day is what is chosen record by record, and so are all
// counts, whatever the bounds, budgets and earlier fetchlists. Mostly everything was fetched: else nothing is read by
// day.
func TestGenerateByDay(t *testing.T) {
	ran, read := 0, 0
	checkFew(t, func(t *rapid.T) {
		ran++
		o := admission.Options{MaxDepth: rapid.IntRange(0, 2).Draw(t, "max depth")}
		o.Host.URLs = int64(rapid.SampledFrom([]int{0, 0, 20, 40}).Draw(t, "host pages"))
		o.Domain.URLs = int64(rapid.SampledFrom([]int{0, 0, 30, 60}).Draw(t, "domain pages"))
		w := newWorld(t, o)
		defer w.close()
		w.inject(hostA, hostB)
		h := newHistory(w)
		for range rapid.IntRange(1, 8).Draw(t, "phases") {
			h.change(t)
			w.now += rapid.SampledFrom([]int64{0, 20, 86_400_000, 40 * 86_400_000}).Draw(t, "later")
		}
		if rapid.IntRange(0, 3).Draw(t, "something is new") > 0 {
			w.fetchNew(t)
		}
		w.check()
		if rapid.Bool().Draw(t, "earlier fetchlist") {
			_, _ = w.p.Generate(context.Background(), GenerateOptions{Top: 5}) // there may be nothing
		}
		for range 20 {
			g := GenerateOptions{
				Top:        rapid.SampledFrom([]int{1, 10, 1000, 1000}).Draw(t, "top"),
				MaxPerHost: rapid.SampledFrom([]int{0, 0, 2, 9}).Draw(t, "per host"),
				AddDays:    rapid.SampledFrom([]int{0, 10, 29, 30, 31, 90}).Draw(t, "days"),
				MinScore:   rapid.SampledFrom([]float64{0, 0, 1}).Draw(t, "least score"),
			}
			switch rapid.IntRange(0, 7).Draw(t, "another bound") { // what the keys of a day do not say
			case 0:
				g.MaxPerDomain = 2
			case 1:
				g.MaxPerAddress = 2
			case 2:
				g.Status = storage.StatusNotModified
			case 3:
				g.MaxInterval = policy.DefaultInterval*time.Second - 1
			}
			keys, counts, days := w.chosenBy(w.schedule, g)
			if days && len(keys) > 0 {
				read++
			}
			want, wantCounts, byDay := w.chosenBy(askedSchedule{}, g)
			if byDay || !slices.Equal(keys, want) || !reflect.DeepEqual(counts, wantCounts) {
				t.Fatalf("%+v: %q\n%+v, want %q\n%+v", g, keys, counts, want, wantCounts)
			}
		}
	})
	if read == 0 && ran >= 20 { // of a few none may be
		t.Errorf("nothing was ever chosen by day, in %d worlds", ran)
	}
}

// fetchNew fetches all that was never fetched.
func (w *world) fetchNew(t *rapid.T) {
	var pages []page
	for key, r := range w.records() {
		if u, err := key.URL(); err == nil && r.LastFetch == 0 {
			pages = append(pages, page{url: u.String(), content: rapid.ByteRange(0, 3).Draw(t, "content")})
		}
	}
	w.update(pages...)
}

// TestGenerateReadsDays: where everything was fetched and all that is due comes into the fetchlist, no record is read,
// and entries have their depth and the least score of their class; with a smaller fetchlist, records are read.
func TestGenerateReadsDays(t *testing.T) {
	w := newWorld(t, admission.Options{})
	defer w.close()
	const n = 40
	var pages []page
	var urls []string
	for i := range n {
		u := fmt.Sprintf("%sp%02d", []string{hostA, hostB}[i%2], i)
		urls = append(urls, fmt.Sprintf("%s\tnutch.score=%d", u, 3+i/2%2))
		pages = append(pages, page{url: u, at: int64(i) * 86_400_000})
	}
	w.inject(urls...)
	w.update(pages...)
	for _, c := range []struct {
		top, days int
		byDay     bool
		want      int
	}{
		{n, 31, true, 2}, {n, 90, true, n}, {n - 1, 90, false, n - 1}, {1000, 90, true, n},
	} {
		keys, r, byDay := w.chosenBy(w.schedule, GenerateOptions{Top: c.top, AddDays: c.days})
		if byDay != c.byDay || len(keys) != c.want {
			t.Errorf("%+v: %d chosen, by day: %t, %+v", c, len(keys), byDay, r)
		}
	}
	g, err := w.p.Generate(context.Background(), GenerateOptions{AddDays: 90})
	if err != nil || g.Selected != n || g.Hosts != 2 {
		t.Fatalf("%+v %v", g, err)
	}
	sc := w.store.Scan(storage.Fetchlist(g.Segment), nil, nil)
	defer sc.Close()
	for sc.Next() {
		want := storage.FetchlistEntry{Score: 2}
		if got, err := storage.DecodeFetchlistEntry(sc.Value()); err != nil || got.Depth != 0 ||
			got.Score != want.Score && got.Score != 2*want.Score {
			t.Errorf("%s: %+v %v", sc.Key(), got, err)
		}
	}
}

// TestGenerateDepthsByDay: what was fetched when a crawl went deeper is not chosen by day either, and the entries of
// the others have their depths.
func TestGenerateDepthsByDay(t *testing.T) {
	w := newWorld(t, admission.Options{})
	defer w.close()
	w.inject(hostA)
	w.update(page{url: hostA, links: []string{hostA + "1"}})
	w.update(page{url: hostA + "1", links: []string{hostA + "2"}})
	w.update(page{url: hostA + "2"})
	w.options.MaxDepth = 1
	w.restart()
	o := GenerateOptions{Top: 10, AddDays: 31}
	keys, counts, byDay := w.chosenBy(w.schedule, o)
	want := []string{string(w.key(hostA)), string(w.key(hostA + "1"))}
	if !byDay || !slices.Equal(keys, want) || counts.Held[admission.ReasonDepth] != 1 || counts.Due != 2 {
		t.Errorf("by day: %t, chosen: %q, %+v", byDay, keys, counts)
	}
	g, err := w.p.Generate(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for depth, key := range want {
		value, _, err := w.store.Get(storage.Fetchlist(g.Segment), []byte(key), nil)
		if err != nil {
			t.Fatal(err)
		}
		if e, err := storage.DecodeFetchlistEntry(value); err != nil || int(e.Depth) != depth {
			t.Errorf("%s: %+v, want a depth of %d, %v", key, e, depth, err)
		}
	}
}

// TestGenerateListsOfKnown: several fetchlists of URLs that were all fetched get the best ones first, and so does one
// with a bound of domains, by scores that the keys of a day do not tell apart.
func TestGenerateListsOfKnown(t *testing.T) {
	w := newWorld(t, admission.Options{})
	defer w.close()
	var pages []page
	for i := range 6 {
		u := fmt.Sprintf("%s%d", hostA, i)
		w.inject(fmt.Sprintf("%s\tnutch.score=%g", u, 2+float64(i)/8))
		pages = append(pages, page{url: u})
	}
	w.update(pages...)
	g, err := w.p.Generate(t.Context(), GenerateOptions{Top: 4, Lists: 2, AddDays: 31})
	if err != nil || len(g.Segments) != 2 {
		t.Fatalf("%+v %v", g, err)
	}
	best := []string{hostA + "2", hostA + "3", hostA + "4", hostA + "5"}
	for i, want := range [][]string{best, {hostA + "0", hostA + "1"}} {
		if got := w.fetchlist(g.Segments[i]); !slices.Equal(got, want) {
			t.Errorf("fetchlist %d: %q, want %q", i, got, want)
		}
	}
	g, err = w.p.Generate(t.Context(), GenerateOptions{MaxPerDomain: 4, AddDays: 31, IgnoreMarked: true})
	if got := w.fetchlist(g.Segment); err != nil || !slices.Equal(got, best) {
		t.Errorf("of one domain: %q, want %q, %v", got, best, err)
	}
}

// TestGenerateManyDays: beyond dueDaysMax days, hosts are read one by one.
func TestGenerateManyDays(t *testing.T) {
	w := newWorld(t, admission.Options{})
	defer w.close()
	var pages []page
	for i := range dueDaysMax + 1 {
		pages = append(pages, page{url: fmt.Sprintf("%sp%d", hostA, i), at: int64(i) * 86_400_000})
	}
	w.inject(pages[0].url)
	w.update(pages...)
	for _, days := range []int{dueDaysMax, dueDaysMax + 60} {
		keys, _, byDay := w.chosenBy(w.schedule, GenerateOptions{Top: 1000, AddDays: days})
		want, _, _ := w.chosenBy(askedSchedule{}, GenerateOptions{Top: 1000, AddDays: days})
		if byDay != (days == dueDaysMax) || !slices.Equal(keys, want) {
			t.Errorf("%d days: by day: %t, %d of %d", days, byDay, len(keys), len(want))
		}
	}
}
