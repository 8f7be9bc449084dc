// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
)

// catalog makes documents with stored fields.
func catalog() (docs []index.Document) {
	for n, fields := range [][]storage.Field{
		{{Name: "color", Value: "Deep red"}, {Name: "price", Value: "9.5"}, {Name: "Shop_no", Value: "7"}},
		{{Name: "color", Value: "red"}, {Name: "price", Value: "10"}},
		{{Name: "color", Value: "blue"}, {Name: "color", Value: "red wine"}, {Name: "price", Value: "-3"}},
		{{Name: "price", Value: "1e3"}, {Name: "title", Value: "shadowed"}, {Name: "_hidden", Value: "red"}},
		{},
	} {
		d := doc(n, "", "net red")
		d.Stored = fields
		docs = append(docs, d)
	}
	return docs
}

// TestStoredFields: queries find words, whole values and numbers of stored fields, in both parsers, alone and beside
// words; names that no document has are words; and all is the same after a merge.
func TestStoredFields(t *testing.T) {
	s, x := newStore(t)
	docs := catalog()
	for i := range docs {
		put(t, s, x, docs[i:i+1])
	}
	find := func(q string, want ...int) {
		t.Helper()
		for _, strict := range []bool{false, true} {
			r, err := x.Search(context.Background(), q, index.SearchOptions{Strict: strict, Deadline: time.Minute})
			if err != nil {
				t.Fatalf("%s: %v", q, err)
			}
			var got []int
			for _, h := range r.Hits {
				got = append(got, slices.IndexFunc(docs, func(d index.Document) bool { return d.Key == h.Key }))
			}
			if slices.Sort(got); !slices.Equal(got, want) || r.Total != len(want) {
				t.Errorf("%q (strict: %v) finds %v of %d, want %v", q, strict, got, r.Total, want)
			}
			again, err := x.Search(context.Background(), r.Query.String(), index.SearchOptions{
				Strict: strict, Deadline: time.Minute,
			})
			if err != nil || again.Query.String() != r.Query.String() || again.Total != r.Total {
				t.Errorf("%q is %q, and that %q: %v", q, r.Query, again.Query, err)
			}
		}
	}
	all := func() {
		t.Helper()
		find("color:red", 0, 1, 2)
		find("color:RED -color:deep", 1, 2)
		find(`color:"deep red"`, 0)
		find(`color:"blue red"`) // two values
		find("color:re*", 0, 1, 2)
		find("color:rod~1", 0, 1, 2)
		find("color:(blue wine)", 2)
		find("color:=red", 1)
		find(`color:="Deep red"`, 0)
		find(`color:="deep red"`) // a whole value is compared as it is
		find("net color:blue", 2)
		find("net -color:red", 3, 4)
		find("price:9..10", 0, 1)
		find("price:>9.5", 1, 3)
		find("price:>=9.5 color:red", 0, 1)
		find("price:<0", 2)
		find("price:-3..1000", 0, 1, 2, 3)
		find("price:>9 price:<100", 0, 1)
		find("net price:>=9.5 price:<10 -price:7 color:red", 0)
		find("price:>9 price:<9")
		find("price:=10", 1)
		find("net -price:..10", 3, 4)
		find("shop_no:7", 0)
		find("red", 0, 1, 2, 3, 4) // plain words are not those of fields
		find("wine")
		find("title:shadowed")
	}
	all()
	for n := len(docs); n < 9; n++ { // enough index segments for a merge
		put(t, s, x, []index.Document{doc(n, "", "boat")})
	}
	before := x.Stats().Segments
	if _, err := x.Merge(context.Background()); err != nil || x.Stats().Segments >= before {
		t.Fatalf("%d index segments, %d before: %v", x.Stats().Segments, before, err)
	}
	all()
	if r := search(t, x, "hidden:red"); strings.Contains(r.Query.String(), "hidden:") {
		t.Errorf("a name that is no field is %q", r.Query)
	}
	for q, column := range map[string]int{
		"colour:red": 1, "price:9..x": 7, "net price:": 11, "color:=": 8, `color:="Deep red"^2`: 8, "price:>9^2": 7,
	} {
		_, err := x.Search(context.Background(), q, index.SearchOptions{Strict: true})
		var wrong *index.QueryError
		if !errors.As(err, &wrong) || wrong.Column != column {
			t.Errorf("%s: %v, want an error at column %d", q, err, column)
		}
	}
	list, err := x.Complete(context.Background(), "", 100)
	for _, c := range list {
		if strings.Contains(c.Text, "color") || strings.HasPrefix(c.Text, "\xff") {
			t.Errorf("completion %q: %v", c.Text, err)
		}
	}
}

// TestStoredFieldsLimits: values that are too long to ask for as a whole are found by their words, names that queries
// cannot have are stored only.
func TestStoredFieldsLimits(t *testing.T) {
	s, x := newStore(t)
	long := strings.Repeat("word ", index.FieldValueMax/5) + "last"
	d := doc(1, "", "net")
	d.Stored = []storage.Field{
		{Name: "note", Value: long}, {Name: strings.Repeat("n", index.FieldNameMax+1), Value: "x"},
		{Name: "two words", Value: "x"}, {Name: "", Value: "x"},
	}
	put(t, s, x, []index.Document{d})
	if r := search(t, x, "note:last"); r.Total != 1 {
		t.Errorf("a word of a long value: %d found", r.Total)
	}
	if r := search(t, x, "note:=last"); r.Total != 0 {
		t.Errorf("a part of a long value as a whole: %d found", r.Total)
	}
	for _, q := range []string{strings.Repeat("n", index.FieldNameMax+1) + ":x", "two:x"} {
		if r := search(t, x, q); r.Total != 0 {
			t.Errorf("%s: %d found", q, r.Total)
		}
	}
}

// TestValuesOfStore: over several index segments with deletes, orders, limits and counts are those of the documents.
func TestValuesOfStore(t *testing.T) {
	s, x := newStore(t)
	rng := rand.New(rand.NewPCG(3, 4))
	docs := map[int]index.Document{}
	for range 6 {
		var batch []index.Document
		for n := range 40 {
			if n = n*50 + rng.IntN(50); rng.IntN(4) == 0 {
				n = n / 50 * 50 // the same ones again: deletes
			}
			d := doc(n, "", strings.Repeat("net ", 1+rng.IntN(3)))
			d.Size, d.Group = int64(1+rng.IntN(9)), uint64(rng.IntN(30))
			d.Language, d.Type = []string{"de", "en", ""}[rng.IntN(3)], "text/html"
			d.Stored = []storage.Field{{Name: "shelf", Value: strconv.Itoa(rng.IntN(5))}}
			docs[n] = d
			batch = append(batch, d)
		}
		slices.SortFunc(batch, func(a, b index.Document) int { return cmp.Compare(a.Key, b.Key) })
		batch = slices.CompactFunc(batch, func(a, b index.Document) bool { return a.Key == b.Key })
		for _, d := range batch {
			docs[number(t, docs, d)] = d
		}
		put(t, s, x, batch)
	}
	for _, o := range []index.SearchOptions{
		{Order: index.OrderLargest},
		{Order: index.OrderSmallest, PerHost: 3},
		{Order: index.OrderLargest, Collapse: true},
	} {
		o.Limit, o.Deadline = 1000, time.Minute
		o.Facets, o.FacetValues = []string{index.FacetLanguage, index.FacetHost, "Shelf"}, 100
		r, err := x.Search(context.Background(), "net", o)
		if err != nil || r.Total != len(docs) || r.Partial {
			t.Fatalf("%d found, want %d: %v", r.Total, len(docs), err)
		}
		hosts, groups := map[string]int{}, map[uint64]int{}
		for i, h := range r.Hits {
			d := byKey(docs, h)
			if h.Size != d.Size || h.Language != d.Language || h.Type != d.Type {
				t.Fatalf("%s: %+v, want %+v", h.Key, h, d)
			}
			if i > 0 && cmp.Compare(r.Hits[i-1].Size, h.Size) == map[bool]int{true: 1, false: -1}[o.Order == 4] {
				t.Fatalf("size %d before %d, %s", r.Hits[i-1].Size, h.Size, o.Order)
			}
			if hosts[string(h.Key.HostKey())]++; d.Group != 0 {
				groups[d.Group]++
			}
		}
		most := 0
		for _, n := range hosts {
			most = max(most, n)
		}
		if o.PerHost > 0 && most != o.PerHost {
			t.Errorf("%d hits of a host", most)
		}
		for g, n := range groups {
			if o.Collapse && n > 1 {
				t.Errorf("%d hits of group %d", n, g)
			}
		}
		counts := make([]map[string]int, 3)
		for i := range counts {
			counts[i] = map[string]int{}
		}
		for _, d := range docs {
			counts[0][d.Language]++
			counts[1][d.Key.HostKey().String()]++
			counts[2][d.Stored[0].Value]++
		}
		delete(counts[0], "")
		for i, want := range counts {
			if len(r.Facets[i].Values) != len(want) {
				t.Errorf("%v, want %v", r.Facets[i], want)
			}
			for _, v := range r.Facets[i].Values {
				if want[v.Value] != v.Count {
					t.Errorf("%s %s: %d, want %d", r.Facets[i].Name, v.Value, v.Count, want[v.Value])
				}
			}
		}
	}
}

// TestFacetOfAllValues: who wants all values of a facet may say so with any number.
func TestFacetOfAllValues(t *testing.T) {
	s, x := newStore(t)
	put(t, s, x, catalog())
	o := index.SearchOptions{Facets: []string{"color", index.FacetHost}, FacetValues: math.MaxInt, Deadline: slow}
	r, err := x.Search(context.Background(), "net", o)
	if err != nil || len(r.Facets[0].Values) != 4 || len(r.Facets[1].Values) != 3 {
		t.Errorf("%+v: %v", r.Facets, err)
	}
}

// TestFacetNames: a name that is no value and no field of a document is an error that says which there are. Without
// documents, no field is known, and none is wrong.
func TestFacetNames(t *testing.T) {
	s, x := newStore(t)
	count := func(names ...string) (index.Result, error) {
		return x.Search(context.Background(), "net", index.SearchOptions{Facets: names, Deadline: time.Minute})
	}
	if r, err := count("none"); err != nil || len(r.Facets) != 1 || r.Facets[0].Values == nil {
		t.Errorf("an empty index: %+v: %v", r, err)
	}
	d := doc(1, "", "net")
	d.Stored = []storage.Field{{Name: "shelf", Value: "5"}, {Name: "Größe", Value: "1"}}
	put(t, s, x, []index.Document{d})
	if r, err := count(index.FacetYear, "SHELF"); err != nil || r.Facets[1].Distinct != 1 {
		t.Errorf("a field: %+v: %v", r, err)
	}
	for _, name := range []string{"language", "", "Größe", strings.Repeat("n", index.FieldNameMax+1)} {
		var wrong *index.FacetError
		_, err := count(index.FacetHost, name)
		known := "lang, type, host, year, shelf"
		if !errors.As(err, &wrong) || wrong.Name != name || !strings.HasSuffix(err.Error(), known) {
			t.Errorf("facet %q: %v", name, err)
		}
	}
}

func number(t *testing.T, docs map[int]index.Document, d index.Document) int {
	t.Helper()
	for n, other := range docs {
		if other.Key == d.Key {
			return n
		}
	}
	t.Fatal("unknown document")
	return 0
}

func byKey(docs map[int]index.Document, h index.Hit) index.Document {
	for _, d := range docs {
		if d.Key == h.Key {
			return d
		}
	}
	panic(fmt.Sprintf("unknown hit %s", h.Key))
}
