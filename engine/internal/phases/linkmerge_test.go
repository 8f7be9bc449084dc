// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// storedLink is a link as linkdb has it.
type storedLink struct {
	to, from urlkey.Key
	segment  uint32
}

// linkdb reads all of linkdb. rows counts the rows of each target.
func (w *world) linkdb() (links map[storedLink]bool, rows map[urlkey.Key]int) {
	w.t.Helper()
	links, rows = map[storedLink]bool{}, map[urlkey.Key]int{}
	sc := w.store.Scan(storage.Linkdb(), nil, nil)
	defer sc.Close()
	for sc.Next() {
		target, segment, err := storage.SplitLinkdbKey(sc.Key())
		if err != nil {
			w.t.Fatal(err)
		}
		to, last := urlkey.Key(target), []byte(nil)
		rows[to]++
		err = storage.VisitLinks(sc.Value(), segment, func(from, _ []byte, of uint32) bool {
			if bytes.Compare(from, last) < 0 {
				w.t.Fatalf("%s: %s comes after %s", to, from, last)
			}
			last = append(last[:0], from...)
			links[storedLink{to, urlkey.Key(from), of}] = true
			return true
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
	if err := sc.Err(); err != nil {
		w.t.Fatal(err)
	}
	return links, rows
}

// TestMergeLinks fetches random pages again and again, deletes some, and merges linkdb now and then, as a whole or a
// few rows at a time. What is left are the links of the newest versions, in at most two rows of a target.
func TestMergeLinks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, admission.Options{Scope: policy.ScopeAny})
		defer w.close()
		w.p.captureSteps = rapid.SampledFrom([]uint64{0, 1, 2, captureSteps}).Draw(t, "steps") // 0: all are looked up
		urls := make([]string, rapid.IntRange(1, 12).Draw(t, "pages"))
		for i := range urls {
			urls[i] = fmt.Sprintf("http://h%d.d%d.example/%d", i%5, i%3, i)
		}
		one := rapid.SampledFrom(urls)
		w.inject(one.Draw(t, "seed"))
		want := map[urlkey.Key][]storedLink{} // by source
		ctx := context.Background()
		for part := range rapid.IntRange(1, 8).Draw(t, "segments") {
			pages := map[string]page{}
			for range rapid.IntRange(1, 8).Draw(t, "fetches") {
				p := page{url: one.Draw(t, "url"), at: int64(part)}
				if rapid.IntRange(0, 5).Draw(t, "gone") == 0 {
					p.status = storage.FetchGone
				} else {
					p.links = rapid.SliceOfN(one, 0, 12).Draw(t, "links")
				}
				pages[p.url] = p
			}
			segment := w.seal(slices.Collect(maps.Values(pages))...)
			if _, err := w.p.UpdateDB(ctx, segment); err != nil {
				t.Fatal(err)
			}
			if _, err := w.p.InvertLinks(ctx, segment); err != nil {
				t.Fatal(err)
			}
			for _, p := range pages {
				if p.status == storage.FetchGone {
					continue
				}
				from := w.key(p.url)
				want[from] = nil
				for _, l := range p.links {
					if l != p.url {
						want[from] = append(want[from], storedLink{w.key(l), from, segment})
					}
				}
			}
			if rapid.IntRange(0, 3).Draw(t, "merge") == 0 {
				if _, err := w.p.MergeLinks(ctx, rapid.IntRange(0, 5).Draw(t, "most"), nil); err != nil {
					t.Fatal(err)
				}
				w.check()
			}
			if rapid.IntRange(0, 5).Draw(t, "delete") == 0 {
				gone := w.key(one.Draw(t, "deleted"))
				u, err := gone.URL()
				if err != nil {
					t.Fatal(err)
				}
				w.remove(u.String())
				delete(want, gone)
				for from, links := range want {
					want[from] = slices.DeleteFunc(links, func(l storedLink) bool { return l.to == gone })
				}
			}
		}
		lost := []string{}
		r, err := w.p.MergeLinks(ctx, 0, func(target []byte) error {
			lost = append(lost, string(target))
			return nil
		})
		if err != nil || !r.Done || !slices.IsSorted(lost) || len(lost) > int(r.Dropped) {
			t.Fatalf("%v: %+v, lost %q", err, r, lost)
		}
		w.check()
		links, rows := w.linkdb()
		all := map[storedLink]bool{}
		for _, list := range want {
			for _, l := range list {
				all[l] = true
			}
		}
		if !maps.Equal(links, all) {
			t.Fatalf("linkdb has\n%v\nwant\n%v", links, all)
		}
		for target, n := range rows {
			if n > rowsLeft {
				t.Fatalf("%s has %d rows", target, n)
			}
		}
		if r, err := w.p.MergeLinks(ctx, 0, nil); err != nil || r.Dropped+r.Targets > 0 {
			t.Fatalf("merging again: %v, %+v", err, r)
		}
	})
}

// TestMergeLinksPart: with a bound, MergeLinks looks at about as many rows as it says, goes on where it ended, and
// leaves targets of a few rows alone, which it does not without one. Once it has looked at all of them at once it does
// so again only when linkdb changed, or when fewer rows are to be left.
func TestMergeLinksPart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, admission.Options{Scope: policy.ScopeAny})
	defer w.close()
	ctx := context.Background()
	ended, cancel := context.WithCancel(ctx)
	cancel()
	const targets = 4
	var links []string
	for i := range targets {
		links = append(links, fmt.Sprintf("http://to.example/%d", i))
	}
	w.inject("http://from.example/")
	linking := 0
	link := func(segments int) {
		for range segments {
			linking++
			segment := w.seal(page{url: fmt.Sprintf("http://from.example/%d", linking), links: links})
			if _, err := w.p.UpdateDB(ctx, segment); err != nil {
				t.Fatal(err)
			}
			if _, err := w.p.InvertLinks(ctx, segment); err != nil {
				t.Fatal(err)
			}
		}
	}
	merge := func(step string, ctx context.Context, most int, want LinksMerged) {
		t.Helper()
		r, err := w.p.MergeLinks(ctx, most, nil)
		if err != nil || r != want {
			t.Errorf("%s: %+v (%v), want %+v", step, r, err, want)
		}
		links, rows := w.linkdb()
		if len(links) != targets*linking || len(rows) != targets {
			t.Fatalf("%s: %d links of %d targets", step, len(links), len(rows))
		}
	}
	const few, many = rowsSettled, rowsSettled + 1
	link(many)
	merge("the first half", ctx, many+1, LinksMerged{Targets: 2, Rows: 2 * many})
	if _, rows := w.linkdb(); rows[w.key(links[1])] != 1 || rows[w.key(links[2])] != many {
		t.Errorf("after the first half: %v", rows)
	}
	merge("the second half", ctx, many+1, LinksMerged{Targets: 2, Rows: 2 * many, Ended: true})
	merge("all at once", ctx, targets+1, LinksMerged{Done: true, Ended: true})
	merge("nothing to look at", ended, targets+1, LinksMerged{Done: true, Ended: true})
	if _, err := w.p.MergeLinks(ended, 0, nil); err == nil {
		t.Error("fewer rows are to be left, and nobody looks")
	}
	link(few - 1) // a merged row and these
	merge("few rows", ctx, targets*few+1, LinksMerged{Done: true, Ended: true})
	merge("without a bound", ctx, 0, LinksMerged{Targets: targets, Rows: targets * few, Done: true, Ended: true})
	merge("fewer are left", ended, targets+1, LinksMerged{Done: true, Ended: true})
	link(many - 1)
	merge("linkdb changed", ctx, many, LinksMerged{Targets: 1, Rows: many})
	merge("without a bound, from the first on", ctx, 0,
		LinksMerged{Targets: targets - 1, Rows: (targets - 1) * many, Done: true, Ended: true})
}

// TestMergeLinksParts: where tables of linkdb begin makes no difference, be it at any row of a target or at a host, as
// tables with the tombstone of a part do (Excise).
func TestMergeLinksParts(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	merged := func(processors int, bounds func(w *world, rows [][]byte) [][]byte) (
		links map[storedLink]bool, rows map[urlkey.Key]int, r LinksMerged,
	) {
		w := newWorld(t, admission.Options{Scope: policy.ScopeAny})
		defer w.close()
		w.processors = processors
		w.restart()
		w.inject("http://from.example/")
		pages := []string{"http://a.example/", "http://a.example/b", "http://b.example/", "http://c.example/"}
		for i := range rowsLeft + 3 {
			segment := w.seal(page{url: fmt.Sprintf("http://from.example/%d", i), links: pages[:len(pages)-i%2]})
			if _, err := w.p.UpdateDB(ctx, segment); err != nil {
				t.Fatal(err)
			}
			if _, err := w.p.InvertLinks(ctx, segment); err != nil {
				t.Fatal(err)
			}
		}
		w.p.share.partsOf = func(r storage.Range, n int) ([][]byte, error) {
			var rows [][]byte
			sc := w.store.Scan(r, nil, nil)
			for sc.Next() {
				rows = append(rows, bytes.Clone(sc.Key()))
			}
			return append([][]byte{nil}, bounds(w, rows)...), sc.Close()
		}
		r, err := w.p.MergeLinks(ctx, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		links, rows = w.linkdb()
		return links, rows, r
	}
	links, rows, report := merged(1, func(*world, [][]byte) [][]byte { return nil })
	if report.Targets == 0 {
		t.Fatalf("%+v: nothing to merge", report)
	}
	for name, bounds := range map[string]func(w *world, rows [][]byte) [][]byte{
		"a row":       func(_ *world, rows [][]byte) [][]byte { return rows[2:3] },
		"rows of one": func(_ *world, rows [][]byte) [][]byte { return rows[1:3] },
		"all rows":    func(_ *world, rows [][]byte) [][]byte { return rows[1:] },
		"a host": func(w *world, _ [][]byte) [][]byte {
			return [][]byte{[]byte(w.key("http://b.example/").HostKey())}
		},
		"behind all":   func(*world, [][]byte) [][]byte { return [][]byte{[]byte("zz")} },
		"within a key": func(w *world, _ [][]byte) [][]byte { return [][]byte{[]byte(w.key("http://a.example/b"))} },
	} {
		gotLinks, gotRows, got := merged(3, bounds)
		if !maps.Equal(gotLinks, links) || !maps.Equal(gotRows, rows) || got != report {
			t.Errorf("%s: %+v, rows %v, want %+v, rows %v", name, got, gotRows, report, rows)
		}
	}
}

// TestMergeLinksBeside: a fetchlist that nobody fetches does not make MergeLinks look at later segments again and
// again, and when it is fetched all the same, its pages replace their versions of later segments.
func TestMergeLinksBeside(t *testing.T) {
	t.Parallel()
	w := newWorld(t, admission.Options{Scope: policy.ScopeAny})
	defer w.close()
	ctx := context.Background()
	ended, cancel := context.WithCancel(ctx)
	cancel()
	w.inject(hostA)
	next := func(pages ...page) {
		t.Helper()
		segment := w.seal(pages...)
		if _, err := w.p.UpdateDB(ctx, segment); err != nil {
			t.Fatal(err)
		}
		if _, err := w.p.InvertLinks(ctx, segment); err != nil {
			t.Fatal(err)
		}
	}
	w.segment++ // the fetchlist's
	list := storage.Segment{Number: w.segment, State: storage.SegmentOpen, Batch: true}
	if err := w.store.PutSegment(list); err != nil {
		t.Fatal(err)
	}
	next(page{url: hostA, links: []string{hostB}})
	for _, ctx := range []context.Context{ctx, ended} { // the second time there is nothing to look at
		if r, err := w.p.MergeLinks(ctx, 0, nil); err != nil || !r.Done {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	w.segment = list.Number - 1 // it is fetched
	next(page{url: hostA, links: []string{other}, at: 1})
	if r, err := w.p.MergeLinks(ctx, 0, nil); err != nil || r.Dropped != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	links, _ := w.linkdb()
	if want := (storedLink{w.key(other), w.key(hostA), list.Number}); len(links) != 1 || !links[want] {
		t.Errorf("%v", links)
	}
	w.check()
}
