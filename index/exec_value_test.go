// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
)

// TestValueFilters: filters on languages, media types, dates and sizes find their documents, alone and beside words,
// and exclude them behind a minus.
func TestValueFilters(t *testing.T) {
	s, x := newStore(t)
	with := func(number int, language, kind string, size int64, date string) index.Document {
		d := doc(number, "", "net")
		d.Language, d.Type, d.Size = language, kind, size
		if date != "" {
			var err error
			if d.Date, err = time.Parse(time.DateTime, date); err != nil {
				t.Fatal(err)
			}
		}
		return d
	}
	docs := []index.Document{
		with(0, "de-CH", "text/html", 100, "2024-03-01 00:00:00"),
		with(1, "EN", "application/pdf", 20<<10, "2024-06-30 23:59:59"),
		with(2, "fr", "text/html", 10<<10, "1969-12-31 23:59:59"),
		with(3, "", "", 0, ""),
	}
	for n := 4; n < 9000; n++ { // more than a block of a column
		docs = append(docs, doc(n, "", "boat"))
	}
	docs = append(docs, with(9000, "de_AT", "image/png", 11<<10, "2025-01-01 00:00:00"))
	put(t, s, x, docs)
	f := func(q string, want ...int) {
		t.Helper()
		r := search(t, x, q)
		var got []int
		for _, h := range r.Hits {
			for i := range docs {
				if docs[i].Key == h.Key {
					got = append(got, int(docs[i].Stamp)-1)
				}
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) || r.Total != len(want) {
			t.Errorf("%q finds %v of %d, want %v", q, got, r.Total, want)
		}
	}
	f("lang:de", 0, 9000)
	f("lang:de,fr", 0, 2, 9000)
	f("lang:en-GB", 1)
	f("lang:de lang:fr", 0, 2, 9000)
	f("net lang:de", 0, 9000)
	f("net -lang:de", 1, 2, 3)
	f("boat lang:de")
	f("type:pdf", 1)
	f("type:text/html", 0, 2)
	f("type:image", 9000)
	f("date:2024-03..2024-06", 0, 1)
	f("date:1969", 2)
	f("date:>=2024-07-01", 9000)
	f("size:>10k", 1, 9000)
	f("net size:<=10k", 0, 2)
	r, err := x.Search(context.Background(), "net", index.SearchOptions{
		Facets: []string{index.FacetLanguage}, Deadline: slow,
	})
	if want := "[{lang [{de 2} {en 1} {fr 1}] 3}]"; err != nil || fmt.Sprint(r.Facets) != want {
		t.Errorf("counts %v, want %s: %v", r.Facets, want, err)
	}
}

// TestFetched: documents are found by when they were fetched, and ordered by it. Those of an index segment without the
// column, as older versions wrote it, fit no range and come last; a merge with others keeps what each has.
func TestFetched(t *testing.T) {
	s, x := newStore(t)
	at := func(number int, fetched string) index.Document {
		d := doc(number, "", "net")
		if fetched != "" {
			var err error
			if d.Fetched, err = time.Parse(time.RFC3339Nano, fetched); err != nil {
				t.Fatal(err)
			}
		}
		return d
	}
	put(t, s, x, []index.Document{at(0, ""), at(4, "")})
	sc := s.Scan(storage.IndexSegmentRange(1, 'v'), nil, nil)
	for sc.Next() {
		if key := sc.Key(); key[len(key)-1] == 'f' {
			t.Error("an index segment without times of fetches has a column of them")
		}
	}
	if err := sc.Close(); err != nil {
		t.Fatal(err)
	}
	put(t, s, x, []index.Document{
		at(1, "2026-01-31T23:59:59.999Z"), at(2, "2026-02-28T12:00:00+01:00"), at(3, ""),
		at(5, "2026-03-01T00:00:00.5Z"),
	})
	find := func(q string, want string) {
		t.Helper()
		r, err := x.Search(context.Background(), q, index.SearchOptions{
			Order: index.OrderFetched, Strict: true, Deadline: slow,
		})
		var got []string
		for _, h := range r.Hits {
			shown := string(h.Key)
			if !h.Fetched.IsZero() {
				shown = h.Fetched.Format(time.RFC3339Nano)
			}
			got = append(got, shown)
		}
		if fmt.Sprint(got) != want || err != nil || r.Total != len(got) {
			t.Errorf("%s: %v of %d, want %s: %v", q, got, r.Total, want, err)
		}
	}
	check := func() {
		t.Helper()
		find("net", fmt.Sprint([]string{
			"2026-03-01T00:00:00.5Z", "2026-02-28T11:00:00Z", "2026-01-31T23:59:59.999Z",
			string(doc(0, "", "").Key), string(doc(3, "", "").Key), string(doc(4, "", "").Key),
		}))
		find("fetched:2026-01-01..2026-02", "[2026-02-28T11:00:00Z 2026-01-31T23:59:59.999Z]")
		find("net fetched:>=2026-03", "[2026-03-01T00:00:00.5Z]")
		find("fetched:<2026", "[]")
		find("net -fetched:>=2026 -fetched:<2026", fmt.Sprint([]string{
			string(doc(0, "", "").Key), string(doc(3, "", "").Key), string(doc(4, "", "").Key),
		}))
	}
	check()
	if r, err := x.MergeTo(context.Background(), 1); err != nil || r.Merged != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	check()
}
