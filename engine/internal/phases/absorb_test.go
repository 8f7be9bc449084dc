// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestImportRecords: of two records of a URL the one that was fetched last counts, contents stay where they are, and
// doing it again changes nothing.
func TestImportRecords(t *testing.T) {
	const day = msPerDay
	field := func(name, value string) storage.Field { return storage.Field{Name: name, Value: value} }
	content := storage.Signature{10}
	here, there := newWorld(t, admission.Options{Scope: policy.ScopeAny}), newWorld(t, admission.Options{})
	defer here.close()
	defer there.close()
	here.update(page{url: "http://a.example/content", content: 10}, page{url: "http://a.example/gone", content: 11})
	there.update(page{url: "http://a.example/content", content: 12}, page{url: "http://a.example/only", content: 13},
		page{url: "http://refused.example/", content: 14})
	at := func(s storage.Status, fetched, due int64, score float64, meta ...storage.Field) storage.Record {
		r := storage.Record{Status: s, Interval: policy.DefaultInterval, Score: score, FetchTime: firstMS + due*day,
			Depth: 2, Meta: meta}
		if fetched != 0 {
			r.LastFetch = firstMS + fetched*day
		}
		return r
	}
	with := func(r storage.Record, segment uint32, signature storage.Signature) storage.Record {
		r.Segment, r.Signature, r.ETag = segment, signature, "tag"
		return r
	}
	seed, only := at(storage.StatusUnfetched, 0, 0, 1), at(storage.StatusFetched, -2, 28, 2)
	seed.Depth, only.Voted = 0, true
	here.place(func(put func(string, storage.Record)) {
		put("http://a.example/content", with(at(storage.StatusNotModified, -9, 21, 1, field("a", "here")), 1, content))
		put("http://a.example/gone", with(at(storage.StatusFetched, -9, 21, 1), 1, storage.Signature{11}))
		put("http://a.example/older", at(storage.StatusFetched, -1, 29, 1, field("a", "here")))
	})
	there.place(func(put func(string, storage.Record)) {
		put("http://a.example/content", with(at(storage.StatusFetched, -2, 28, 2, field("a", "there"), field("b", "b")),
			1, storage.Signature{12}))
		put("http://a.example/gone", at(storage.StatusGone, -2, 43, 2))
		put("http://a.example/older", at(storage.StatusGone, -5, 40, 2, field("a", "there"), field("b", "b")))
		put("http://a.example/only", with(at(storage.StatusDuplicate, -2, 28, 2), 1, storage.Signature{13}))
		put("http://a.example/seed", seed)
	})
	accept := func(key []byte) ([]byte, bool) { return key, !bytes.Contains(key, []byte("refused")) }
	for _, want := range []Absorbed{{New: 2, Newer: 2, Refused: 1}, {Refused: 1}} {
		got, err := here.p.ImportRecords(context.Background(), there.store, ImportOptions{Accept: accept})
		if err != nil || got != want {
			t.Fatalf("%+v, want %+v, %v", got, want, err)
		}
		here.check()
		records := here.records()
		for url, want := range map[string]storage.Record{
			"content": with(at(storage.StatusNotModified, -2, 28, 2, field("a", "there"), field("b", "b")), 1, content),
			"gone":    with(at(storage.StatusGone, -2, 43, 2), 1, storage.Signature{11}),
			"older":   at(storage.StatusFetched, -1, 29, 1, field("a", "here"), field("b", "b")),
			"only":    only,
			"seed":    seed,
		} {
			got := records[here.key("http://a.example/"+url)]
			same := slices.Equal(got.Meta, want.Meta)
			if got.Meta, want.Meta = nil, nil; !same ||
				!bytes.Equal(storage.AppendRecord(nil, &got), storage.AppendRecord(nil, &want)) {
				t.Errorf("%s: %+v, want %+v; metadata %t", url, got, want, same)
			}
		}
	}
	if v := here.adm.VerdictKey(here.key("http://a.example/x"), admission.Facts{}); !v.OK() {
		t.Errorf("a seed's host is not in scope: %+v", v)
	}
}

// TestImportSpent: what fetching a host has cost comes along where it is more there, also if no record of it changes.
func TestImportSpent(t *testing.T) {
	here, there := newWorld(t, admission.Options{Scope: policy.ScopeAny}), newWorld(t, admission.Options{
		Scope: policy.ScopeAny,
	})
	defer here.close()
	defer there.close()
	more, less := "http://more.example/", "http://less.example/"
	there.update(page{url: more, content: 1, bytes: 50, took: 70}, page{url: less, content: 2, bytes: 5, took: 7})
	here.update(page{url: more, content: 1, bytes: 4, took: 6, at: 9},
		page{url: less, content: 2, bytes: 8, took: 9, at: 9})
	before := here.dump()
	for range 2 {
		got, err := here.p.ImportRecords(context.Background(), there.store, ImportOptions{})
		if err != nil || got != (Absorbed{}) || here.dump() != before {
			t.Fatalf("%+v, %v", got, err)
		}
		here.check()
		for url, want := range map[string][2]uint64{more: {50, 70}, less: {8, 9}} {
			var c storage.HostCounts
			known, err := here.store.HostCounts(here.key(url).HostKey(), &c)
			if err != nil || !known || c.Bytes != want[0] || c.TookMS != want[1] {
				t.Errorf("%s: %d bytes in %d ms, want %v, %v", url, c.Bytes, c.TookMS, want, err)
			}
		}
	}
}

// TestRenameKeepsLines: a seed that is known by another spelling keeps what its line said.
func TestRenameKeepsLines(t *testing.T) {
	w := newWorld(t, admission.Options{})
	defer w.close()
	w.inject("a.example/old\tnutch.fetchInterval.fixed=60\tcolor=red")
	old, to := w.key("https://a.example/old"), w.key("https://a.example/new")
	was := w.records()[old]
	var keys Keys
	keys.add([]byte(old))
	n, err := w.p.Rename(t.Context(), &keys, func([]byte) ([]byte, bool) { return []byte(to), true })
	r := w.records()[to]
	if err != nil || n != 1 || r.Interval != 60 || !r.SchemeAssumed() || !slices.Equal(r.Meta, was.Meta) {
		t.Errorf("%d, %v: %+v, was %+v", n, err, r, was)
	}
	w.check()
}

// TestImportFailing: a page that another store fetched last, and that failed there for the moment, stays found here, or
// not, as it is; one that is gone there leaves the index, also where it failed here.
func TestImportFailing(t *testing.T) {
	here, there := newWorld(t, admission.Options{Scope: policy.ScopeAny}), newWorld(t, admission.Options{
		Scope: policy.ScopeAny,
	})
	defer here.close()
	defer there.close()
	const url = "http://a.example/"
	gone, retry := storage.FetchGone, storage.FetchRetry
	var want []urlkey.Key
	for name, c := range map[string]struct {
		here, there []storage.FetchStatus // after the first success; those there are later
		found, goes bool
	}{
		"fails":             {nil, []storage.FetchStatus{retry}, true, false},
		"fails-here":        {[]storage.FetchStatus{retry}, []storage.FetchStatus{retry}, true, false},
		"gone":              {nil, []storage.FetchStatus{gone}, false, true},
		"gone-fails":        {nil, []storage.FetchStatus{gone, retry}, false, true},
		"fails-here-gone":   {[]storage.FetchStatus{retry}, []storage.FetchStatus{gone}, false, true},
		"gone-here-fails":   {[]storage.FetchStatus{gone}, []storage.FetchStatus{retry}, false, false},
		"gone-here-fetched": {[]storage.FetchStatus{gone}, nil, true, false},
	} {
		for w, statuses := range map[*world][]storage.FetchStatus{here: c.here, there: c.there} {
			at := int64(1)
			if w == there {
				at = 10
			}
			w.update(page{url: url + name, content: 1, at: at})
			for i, status := range statuses {
				w.update(page{url: url + name, status: status, at: at + int64(i) + 1})
			}
		}
		if c.goes {
			want = append(want, here.key(url+name))
		}
		defer func() {
			r := here.records()[here.key(url+name)]
			if c.found != r.Findable() {
				t.Errorf("%s: %+v", name, r)
			}
		}()
	}
	here.deleted = nil
	if _, err := here.p.ImportRecords(t.Context(), there.store, ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	if slices.Sort(want); !slices.Equal(here.deleted, want) {
		t.Errorf("deleted %q, want %q", here.deleted, want)
	}
	before := here.dump()
	if r, err := here.p.ImportRecords(t.Context(), there.store, ImportOptions{}); err != nil || r != (Absorbed{}) ||
		here.dump() != before {
		t.Errorf("again: %+v, %v", r, err)
	}
	here.check()
}
