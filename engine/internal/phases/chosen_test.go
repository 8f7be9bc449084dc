// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
)

// TestKeysScan: a scan by keys finds the rows that a walk through the range finds, in its order.
func TestKeysScan(t *testing.T) {
	w := newWorld(t, admission.Options{Scope: policy.ScopeAny})
	defer w.close()
	var stored [][]byte
	ing := w.store.NewIngestion()
	table := ing.Table(storage.CDXRange())
	for i := range 40 {
		key := w.key(fmt.Sprintf("http://%c.example/%02d", 'a'+i/20, i%20))
		for at := range i % 4 { // some keys have no row
			row := storage.AppendCDXKey(nil, []byte(key), int64(at))
			stored = append(stored, row)
		}
	}
	slices.SortFunc(stored, bytes.Compare)
	for _, row := range stored {
		if err := table.Set(row, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := ing.Commit(); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		var keys Keys
		for i := range 50 {
			if rapid.Bool().Draw(rt, "chosen") {
				keys.add([]byte(w.key(fmt.Sprintf("http://%c.example/%02d", 'a'+i/25, i%25))))
			}
		}
		var want, got [][]byte
		for _, row := range stored {
			if url, _ := capturedURL(row); keys.Has(url) {
				want = append(want, row)
			}
		}
		err := keys.scan(w.store, storage.CDXRange(), capturedURL, func(_, key, _ []byte) error {
			got = append(got, bytes.Clone(key))
			return nil
		})
		if err != nil || !slices.EqualFunc(got, want, bytes.Equal) {
			rt.Fatalf("%q, want %q, %v", got, want, err)
		}
	})
}

// TestUnwanted: a scan in small parts finds every unwanted URL once: by status, and by filters also those of which only
// links are known.
func TestUnwanted(t *testing.T) {
	w := newWorld(t, admission.Options{Scope: policy.ScopeAny})
	defer w.close()
	var gone, links []string
	var pages []page
	for i := range 30 {
		p := page{url: fmt.Sprintf("http://%c.example/%02d", 'a'+i/10, i)}
		if i%3 == 0 {
			p.status = storage.FetchGone
			gone = append(gone, p.url)
		} else if i%3 == 1 {
			links = append(links, fmt.Sprintf("http://c.example/x/%d", i))
			p.links = links[len(links)-1:]
		}
		pages = append(pages, p)
	}
	w.update(pages...)
	if _, err := w.p.InvertLinks(context.Background(), w.segment); err != nil {
		t.Fatal(err)
	}
	w.remove(links[0]) // from crawldb and linkdb
	w.tableBytes = 64
	w.restart()
	find := func(what Unwanted) (urls []string, parts int) {
		t.Helper()
		for scan := w.p.Unwanted(what); ; parts++ {
			keys, err := scan.Next(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if keys.Len() == 0 {
				return urls, parts
			}
			for i := range keys.Len() {
				urls = append(urls, string(keys.at(i)))
			}
		}
	}
	keysOf := func(urls []string) (list []string) {
		for _, u := range urls {
			list = append(list, string(w.key(u)))
		}
		slices.Sort(list)
		return list
	}
	got, parts := find(Unwanted{Statuses: []storage.Status{storage.StatusGone, storage.StatusOrphan}})
	if !slices.Equal(got, keysOf(gone)) || parts < 4 {
		t.Errorf("gone: %q in %d parts", got, parts)
	}
	got, _ = find(Unwanted{Accept: func(key []byte) ([]byte, bool) { return key, !bytes.Contains(key, []byte("/x/")) }})
	slices.Sort(got)
	if got = slices.Compact(got); !slices.Equal(got, keysOf(links[1:])) {
		t.Errorf("refused: %q", got)
	}
}

// TestUnwantedElsewhere: a scan in small parts finds what no record, withheld link or inlink names, once: pages of
// other directories that link here, and URLs of fetchlists that were made of lists. Once deleted, they are nowhere.
func TestUnwantedElsewhere(t *testing.T) {
	there, w := newWorld(t, admission.Options{Scope: policy.ScopeAny}), newWorld(t, admission.Options{
		Scope: policy.ScopeAny,
	})
	defer there.close()
	defer w.close()
	ctx := context.Background()
	var pages []page
	var want []string
	for i := range 12 {
		p := page{url: fmt.Sprintf("http://%c.example/%02d", 'a'+i%3, i), links: []string{hostA, hostB}}
		if pages = append(pages, p); i%3 == 0 {
			want = append(want, string(w.key(p.url)))
		}
	}
	there.update(pages...)
	if _, err := there.p.InvertLinks(ctx, there.segment); err != nil {
		t.Fatal(err)
	}
	if _, err := w.p.ImportLinks(ctx, there.store, ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	listed := "http://a.example/listed"
	free, err := w.p.FreeGenerate(ctx, FreeList{Lines: []string{listed, "http://b.example/listed"}})
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, string(w.key(listed)))
	slices.Sort(want)
	w.tableBytes = 64
	w.restart()
	what := Unwanted{Accept: func(key []byte) ([]byte, bool) {
		return key, !bytes.HasPrefix(key, []byte("example,a,"))
	}}
	find := func(each func(*Keys)) (found []string) {
		for scan := w.p.Unwanted(what); ; {
			keys, err := scan.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if keys.Len() == 0 {
				return found
			}
			for i := range keys.Len() {
				found = append(found, string(keys.at(i)))
			}
			each(keys)
		}
	}
	got := find(func(*Keys) {})
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	var relinked []string
	find(func(keys *Keys) {
		_, err := w.p.Delete(ctx, DeleteOptions{Keys: keys, Relinked: func(key []byte) error {
			relinked = append(relinked, string(key))
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
	})
	w.check()
	if got := find(func(*Keys) {}); len(got) > 0 {
		t.Errorf("after they were deleted: %q", got)
	}
	links, _ := w.linkdb()
	if left := 2 * (len(pages) - len(pages)/3); len(links) != left || !slices.Contains(relinked, string(w.key(hostA))) {
		t.Errorf("%d links are left, want %d; links were lost by %q", len(links), left, relinked)
	}
	if got := w.fetchlist(free.Segment); !slices.Equal(got, []string{"http://b.example/listed"}) {
		t.Errorf("the fetchlist has %q", got)
	}
}

// TestMarkOrphans: the cells of what a page is by its links, the note of its record and the time.
func TestMarkOrphans(t *testing.T) {
	const hour = int64(time.Hour / time.Millisecond)
	both := OrphanOptions{GoneAfter: time.Hour, OrphanAfter: 2 * time.Hour}
	var full []storage.Field
	for i := range storage.MetaFieldsMax {
		full = append(full, storage.Field{Name: fmt.Sprintf("m%02d", i), Value: "v"})
	}
	for _, c := range []struct {
		name    string
		was     storage.Record
		since   int64 // hours for which the note says that nothing links to it; 0: no note
		linked  bool
		options OrphanOptions
		want    storage.Status
		noted   bool
		due     bool // now
	}{
		{name: "no link since now", was: storage.Record{Status: storage.StatusFetched, Depth: 1},
			options: OrphanOptions{GoneAfter: time.Hour}, want: storage.StatusFetched, noted: true},
		{name: "not for long enough", was: storage.Record{Status: storage.StatusFetched, Depth: 1}, since: 1,
			options: OrphanOptions{GoneAfter: time.Hour}, want: storage.StatusFetched, noted: true},
		{name: "long enough to be gone", was: storage.Record{Status: storage.StatusFetched, Depth: 1}, since: 2,
			options: OrphanOptions{GoneAfter: time.Hour}, want: storage.StatusGone, noted: true},
		{name: "gone, not yet an orphan", was: storage.Record{Status: storage.StatusDuplicate, Depth: 1}, since: 2,
			options: both, want: storage.StatusGone, noted: true},
		{name: "an orphan", was: storage.Record{Status: storage.StatusGone, Depth: 1}, since: 3,
			options: both, want: storage.StatusOrphan, noted: true},
		{name: "an orphan stays one", was: storage.Record{Status: storage.StatusOrphan, Depth: 1}, since: 3,
			options: OrphanOptions{GoneAfter: time.Hour}, want: storage.StatusOrphan, noted: true},
		{name: "never fetched", was: storage.Record{Status: storage.StatusUnfetched, Depth: 1}, since: 3,
			options: OrphanOptions{OrphanAfter: time.Hour}, want: storage.StatusOrphan, noted: true},
		{name: "linked again", was: storage.Record{Status: storage.StatusFetched, Depth: 1}, since: 3, linked: true,
			options: OrphanOptions{OrphanAfter: time.Hour}, want: storage.StatusFetched},
		{name: "an orphan is linked again", was: storage.Record{Status: storage.StatusOrphan, Depth: 1}, since: 3,
			linked: true, options: OrphanOptions{OrphanAfter: time.Hour}, want: storage.StatusOrphan, due: true},
		{name: "linked", was: storage.Record{Status: storage.StatusFetched, Depth: 1}, linked: true,
			options: OrphanOptions{OrphanAfter: time.Hour}, want: storage.StatusFetched},
		{name: "a seed", was: storage.Record{Status: storage.StatusFetched},
			options: OrphanOptions{OrphanAfter: time.Hour}, want: storage.StatusFetched},
		{name: "gone is linked again", was: storage.Record{Status: storage.StatusGone, Depth: 1}, since: 3,
			linked: true, options: both, want: storage.StatusGone, due: true},
		{name: "never gone, not yet an orphan", was: storage.Record{Status: storage.StatusFetched, Depth: 1}, since: 3,
			options: OrphanOptions{OrphanAfter: 3 * time.Hour}, want: storage.StatusFetched, noted: true},
		{name: "no room for a note", was: storage.Record{Status: storage.StatusFetched, Depth: 1, Meta: full},
			options: both, want: storage.StatusFetched},
		{name: "a note that cannot be read", was: storage.Record{Status: storage.StatusFetched, Depth: 1,
			Meta: slices.Concat(full[2:], []storage.Field{{Name: policy.MetaUnlinked, Value: "long ago"}})},
			options: both, want: storage.StatusFetched, noted: true},
		{name: "behind a redirect", was: storage.Record{Status: storage.StatusFetched, Depth: 1, Hops: 1},
			options: OrphanOptions{OrphanAfter: time.Hour}, want: storage.StatusFetched},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, admission.Options{Scope: policy.ScopeAny})
			defer w.close()
			const url = "http://a.example/page"
			if c.linked {
				w.update(page{url: "http://a.example/", links: []string{url}})
				if _, err := w.p.InvertLinks(context.Background(), w.segment); err != nil {
					t.Fatal(err)
				}
			}
			c.was.Interval, c.was.FetchTime = policy.DefaultInterval, firstMS+1000*hour
			if c.since > 0 {
				c.was.Meta = []storage.Field{{Name: policy.MetaUnlinked,
					Value: fmt.Sprint((firstMS - c.since*hour) / 1000)}}
			}
			w.place(func(put func(string, storage.Record)) { put(url, c.was) })
			for range 2 { // the second time changes nothing
				if _, err := w.p.MarkOrphans(context.Background(), c.options); err != nil {
					t.Fatal(err)
				}
				w.check()
				r := w.records()[w.key(url)]
				_, noted := unlinkedSince(&r)
				if r.Status != c.want || noted != c.noted || c.due != (r.FetchTime == firstMS) {
					t.Errorf("%s, noted %t, due %d", r.Status, noted, r.FetchTime)
				}
			}
			left := c.want != c.was.Status
			if got := len(w.deleted) > 0; got != left {
				t.Errorf("its document left the index: %t", got)
			}
		})
	}
}
