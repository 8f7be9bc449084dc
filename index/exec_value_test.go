// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/seine-crawler/seine/index"
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
	r, err := x.Search(context.Background(), "net", index.SearchOptions{Facets: []string{index.FacetLanguage}})
	if want := "[{lang [{de 2} {en 1} {fr 1}] 3}]"; err != nil || fmt.Sprint(r.Facets) != want {
		t.Errorf("counts %v, want %s: %v", r.Facets, want, err)
	}
}
