// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestOrphans: after any history of fetches, of pages with links, redirects and pages that are gone, MarkOrphans makes
// of each record what a look at all of linkdb and at all redirects makes of it, counts that, and takes out of the index
// what becomes gone or an orphan.
func TestOrphans(t *testing.T) {
	checkFew(t, func(t *rapid.T) {
		w := newWorld(t, admission.Options{Scope: policy.ScopeAny})
		defer w.close()
		urls := []string{hostA, hostB}
		for i := range 10 {
			urls = append(urls, fmt.Sprintf("%sp%d", urls[i%2], i))
		}
		w.inject(hostA)
		one := rapid.SampledFrom(urls)
		redirects := map[urlkey.Key]urlkey.Key{}
		hours := rapid.SampledFrom([]time.Duration{0, time.Hour, 5 * time.Hour, 9 * time.Hour})
		for round := range rapid.IntRange(2, 6).Draw(t, "rounds") {
			var pages []page
			for _, u := range rapid.SliceOfNDistinct(one, 1, 8, rapid.ID).Draw(t, "fetched") {
				p := page{url: u, at: int64(round), near: nearHash(t)}
				p.content = rapid.ByteRange(0, 5).Draw(t, "content")
				delete(redirects, w.key(u))
				switch rapid.IntRange(0, 5).Draw(t, "outcome") {
				case 0, 1:
					p.redirect = one.Draw(t, "to")
					p.status = rapid.SampledFrom([]storage.FetchStatus{storage.FetchRedirPerm, storage.FetchRedirTemp}).
						Draw(t, "kind")
					redirects[w.key(u)] = w.key(p.redirect)
				case 2:
					status := rapid.SampledFrom([]uint16{0, 404}).Draw(t, "answer") // 0: robots.txt denies it
					p.outcome = &storage.FetchOutcome{Status: storage.FetchGone, HTTPStatus: status}
				default:
					p.links = rapid.SliceOfN(one, 0, 3).Draw(t, "links")
				}
				pages = append(pages, p)
			}
			w.update(pages...)
			if _, err := w.p.InvertLinks(t.Context(), w.segment); err != nil {
				t.Fatal(err)
			}
			if _, err := w.p.MergeLinks(t.Context(), 0, nil); err != nil { // without the links that were dropped
				t.Fatal(err)
			}
			w.now += hours.Draw(t, "later").Milliseconds()
			w.orphans(t, redirects, OrphanOptions{
				GoneAfter: hours.Draw(t, "gone after"), OrphanAfter: hours.Draw(t, "orphan after"),
			})
		}
	})
}

// TestOrphanOfEnded: a page is an orphan also where linkdb has links to it, of pages that redirect by now or are gone,
// and is none any more when one of them is what it was.
func TestOrphanOfEnded(t *testing.T) {
	const one, two, kept, orphan = hostA + "one", hostA + "two", hostA + "kept", hostA + "orphan"
	w := newWorld(t, admission.Options{Scope: policy.ScopeAny})
	defer w.close()
	w.inject(hostA)
	w.update(page{url: hostA, links: []string{one, two}})
	w.update(page{url: one, content: 1, links: []string{kept, orphan}},
		page{url: two, content: 2, links: []string{orphan}},
		page{url: kept, content: 3, links: []string{kept}}, page{url: orphan, content: 4})
	w.update(page{url: hostA, at: 1, links: []string{one, two, kept}})
	w.update(page{url: one, redirect: hostA, at: 2},
		page{url: two, at: 2, outcome: &storage.FetchOutcome{Status: storage.FetchGone, HTTPStatus: 410}})
	for segment := range w.segment {
		if _, err := w.p.InvertLinks(t.Context(), segment+1); err != nil {
			t.Fatal(err)
		}
	}
	mark := func(want storage.Status) {
		t.Helper()
		for range 2 {
			if _, err := w.p.MarkOrphans(t.Context(), OrphanOptions{OrphanAfter: time.Hour}); err != nil {
				t.Fatal(err)
			}
			w.now += 2 * time.Hour.Milliseconds()
		}
		records := w.records()
		if a, b := records[w.key(orphan)].Status, records[w.key(kept)].Status; a != want || b != storage.StatusFetched {
			t.Errorf("it is %s, want %s; another page, which is linked to, is %s", a, want, b)
		}
		w.check()
	}
	mark(storage.StatusOrphan)
	w.update(page{url: two, status: storage.FetchNotModified, at: 3})
	if o, err := w.p.MarkOrphans(t.Context(), OrphanOptions{OrphanAfter: time.Hour}); err != nil || o.Linked != 1 {
		t.Errorf("it is linked again: %+v, %v", o, err)
	}
	if r := w.records()[w.key(orphan)]; r.FetchTime > w.now {
		t.Errorf("it is not due: %+v", r)
	}
}

// TestOrphanWithoutRoom: a page whose metadata has no room for the note since when nothing links to it stays as it is,
// and a note that cannot be read leaves room for one.
func TestOrphanWithoutRoom(t *testing.T) {
	for name, gone := range map[string]bool{"m": false, policy.MetaUnlinked: true} {
		w := newWorld(t, admission.Options{Scope: policy.ScopeAny})
		defer w.close()
		w.inject(hostA)
		w.update(page{url: hostA, links: []string{hostA + "1"}})
		key := w.key(hostA + "1")
		full := w.records()[key]
		full.Meta = []storage.Field{{Name: name, Value: "some text"}}
		for i := 1; i < storage.MetaFieldsMax; i++ {
			full.Meta = append(full.Meta, storage.Field{Name: fmt.Sprint("m", i), Value: "1"})
		}
		ing := w.store.NewIngestion()
		defer ing.Abort()
		err := ing.Table(storage.Crawldb()).Set([]byte(key), storage.AppendRecord(nil, &full))
		if err = errors.Join(err, ing.Commit()); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			o, err := w.p.MarkOrphans(t.Context(), OrphanOptions{GoneAfter: time.Hour})
			if err != nil || o.Unlinked != 1 {
				t.Errorf("%s: %+v, %v", name, o, err)
			}
			w.now += 2 * time.Hour.Milliseconds()
		}
		r := w.records()[key]
		if (r.Status == storage.StatusGone) != gone || !gone && !slices.Equal(r.Meta, full.Meta) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// orphans calls MarkOrphans and compares with what each record must become.
func (w *world) orphans(t *rapid.T, redirects map[urlkey.Key]urlkey.Key, o OrphanOptions) {
	records := w.records()
	links, _ := w.linkdb()
	rows := map[urlkey.Key]int{}
	for l := range links {
		r, known := records[l.from]
		redirects := r.Status == storage.StatusRedirTemp || r.Status == storage.StatusRedirPerm
		if !known || !redirects && (r.Status != storage.StatusGone || r.HTTPStatus != 404) {
			rows[l.to]++
		}
	}
	for key, r := range records {
		switch to, ok := redirects[key]; r.Status {
		case storage.StatusRedirTemp, storage.StatusRedirPerm:
			if ok {
				rows[to]++
			}
		}
	}
	want, deleted := Orphaned{Signatures: []storage.Signature{}}, []urlkey.Key(nil)
	for _, key := range slices.Sorted(maps.Keys(records)) {
		r := records[key]
		linked, since := r.Depth == 0 || r.Hops > 0 || rows[key] > 0, int64(-1)
		for _, f := range r.Meta {
			if f.Name == policy.MetaUnlinked {
				since, _ = strconv.ParseInt(f.Value, 10, 64)
			}
		}
		elapsed, was := time.Duration(w.now/1000-since)*time.Second, r.Status
		switch {
		case linked && since >= 0:
			want.Linked++
			r.Meta = nil
			if was == storage.StatusGone || was == storage.StatusOrphan {
				r.FetchTime = min(r.FetchTime, w.now)
			}
		case linked:
		case since < 0:
			want.Unlinked++
			r.Meta = []storage.Field{{Name: policy.MetaUnlinked, Value: fmt.Sprint(w.now / 1000)}}
		default:
			want.Unlinked++
			if o.OrphanAfter > 0 && elapsed > o.OrphanAfter {
				r.Status = storage.StatusOrphan
			} else if o.GoneAfter > 0 && elapsed > o.GoneAfter && was != storage.StatusOrphan {
				r.Status = storage.StatusGone
			}
		}
		records[key] = r
		if r.Status == was {
			continue
		}
		if r.Status == storage.StatusOrphan {
			want.Orphans++
		} else {
			want.Gone++
		}
		want.Documents++
		deleted = append(deleted, key)
		if !r.Signature.IsZero() {
			want.Signatures = append(want.Signatures, r.Signature)
		}
	}
	w.deleted = nil
	got, err := w.p.MarkOrphans(t.Context(), o)
	if err != nil || !reflect.DeepEqual(got, want) || !slices.Equal(w.deleted, deleted) {
		t.Fatalf("%+v: %+v\nwant %+v\nleft the index: %q, want %q, %v", o, got, want, w.deleted, deleted, err)
	}
	for key, r := range w.records() {
		is := records[key]
		if !bytes.Equal(storage.AppendRecord(nil, &r), storage.AppendRecord(nil, &is)) {
			t.Fatalf("%+v: %s is %+v, want %+v", o, key, r, is)
		}
	}
	w.check()
}
