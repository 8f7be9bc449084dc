// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// drawShown gives half of the documents something for hits to show, and some of them a boost.
func drawShown(t *rapid.T, d *index.Document) {
	what := rapid.IntRange(0, 63).Draw(t, "what")
	if what&1 != 0 {
		return
	}
	if what&2 != 0 {
		field := rapid.Custom(func(t *rapid.T) storage.Field {
			return storage.Field{Name: rapid.StringN(0, 5, 20).Draw(t, "name"), Value: rapid.String().Draw(t, "value")}
		})
		d.Stored = rapid.SliceOfN(field, 1, 4).Draw(t, "fields")
	}
	if what&4 != 0 {
		ms := rapid.Int64Range(-62135596800000+1, 253402300799999).Draw(t, "date") // years 1 to 9999
		d.Date = time.UnixMilli(ms).UTC()
	}
	if what&6 == 6 {
		d.Fetched = time.UnixMilli(rapid.Int64Range(1, 1<<42).Draw(t, "fetched")).UTC()
	}
	if what&8 != 0 {
		d.ShowTitle = rapid.StringN(1, 10, 40).Draw(t, "title")
	}
	if what&16 != 0 {
		d.ShowText = rapid.StringN(1, 10, 40).Draw(t, "text")
	}
	if what&24 == 24 {
		d.Author = rapid.StringN(1, 10, 40).Draw(t, "author")
	}
	if what&32 != 0 {
		d.Boost = rapid.OneOf(rapid.SampledFrom([]float64{0.5, 1, 2, index.LeastBoost, math.MaxFloat64}),
			rapid.Float64Range(0.01, 100)).Draw(t, "boost")
	}
}

// shows reports whether a hit has what its document says.
func shows(h *index.Hit, d *index.Document) bool {
	return h.Key == d.Key && slices.Equal(h.Stored, d.Stored) && h.Date.Equal(d.Date) && h.Fetched.Equal(d.Fetched) &&
		h.Author == d.Author && h.ShowTitle == d.ShowTitle && h.ShowText == d.ShowText
}

// keys counts what an index segment has of a kind.
func keys(t testing.TB, s *storage.Store, segment uint32, kind byte) (n int) {
	t.Helper()
	sc := s.Scan(storage.IndexSegmentRange(segment, kind), nil, nil)
	for sc.Next() {
		n++
	}
	if err := sc.Close(); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestBoosts: pages of hits under random boosts, over random index segments, deletions and merges, are those of a
// ranking of all documents by score without boosts times boost.
func TestBoosts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		open := func(dir string) (*storage.Store, *index.Index) {
			s, err := storage.Open(dir, storage.Options{FS: storage.NewMemFS()})
			if err != nil {
				t.Fatal(err)
			}
			x, err := index.Open(s, index.Options{FS: storage.NewMemFS()})
			if err != nil {
				t.Fatal(err)
			}
			return s, x
		}
		boosted, x := open("/boosted")
		defer boosted.Close()
		defer x.Close()
		plain, y := open("/plain")
		defer plain.Close()
		defer y.Close()
		live := map[urlkey.Key]index.Document{}
		for range rapid.IntRange(1, 10).Draw(t, "segments") {
			batch := map[urlkey.Key]index.Document{}
			for range rapid.IntRange(1, 20).Draw(t, "docs") {
				words := rapid.SliceOfN(rapid.SampledFrom(vocabulary), 1, 12).Draw(t, "words")
				d := doc(rapid.IntRange(0, 60).Draw(t, "number"), "", strings.Join(words, " "))
				drawShown(t, &d)
				batch[d.Key], live[d.Key] = d, d
			}
			put(t, boosted, x, documents(batch))
			if _, err := x.Merge(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		unboosted := documents(live)
		for i := range unboosted {
			unboosted[i].Boost = 0
		}
		put(t, plain, y, unboosted)
		for range 8 {
			q := rapid.SampledFrom(vocabulary).Draw(t, "a") + rapid.SampledFrom([]string{" OR ", " -"}).Draw(t, "op") +
				rapid.SampledFrom(vocabulary).Draw(t, "b")
			want := search(t, y, q).Hits
			for i := range want {
				if b := live[want[i].Key].Boost; b != 0 {
					want[i].Score = min(want[i].Score*b, math.MaxFloat64)
				}
			}
			slices.SortFunc(want, func(a, b index.Hit) int {
				return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Key, b.Key))
			})
			o := index.SearchOptions{
				Limit:    rapid.IntRange(1, 70).Draw(t, "limit"),
				Offset:   rapid.IntRange(0, 20).Draw(t, "offset"),
				Deadline: 1e12,
			}
			got, err := x.Search(context.Background(), q, o)
			if err != nil {
				t.Fatal(err)
			}
			if got.Total != len(want) {
				t.Fatalf("%q: %d found, want %d", q, got.Total, len(want))
			}
			want = want[min(o.Offset, len(want)):]
			want = want[:min(o.Limit, len(want))]
			if !slices.EqualFunc(got.Hits, want, func(a, b index.Hit) bool { return reflect.DeepEqual(a, b) }) {
				t.Fatalf("%q, %+v:\n%v, want\n%v", q, o, got.Hits, want)
			}
			for i := range got.Hits {
				if d := live[got.Hits[i].Key]; !shows(&got.Hits[i], &d) {
					t.Fatalf("%q: hit %+v of document %+v", q, got.Hits[i], d)
				}
			}
		}
	})
}

func documents(m map[urlkey.Key]index.Document) (list []index.Document) {
	for _, d := range m {
		list = append(list, d)
	}
	return list
}

// TestShown: what a document shows comes back with its hits and nowhere else, is part of the digest, goes with the
// document, and documents without it take no place.
func TestShown(t *testing.T) {
	s, x := newStore(t)
	plain := doc(0, "net", "net of the crew")
	put(t, s, x, []index.Document{plain})
	for _, kind := range []byte{'s', 'b'} {
		if n := keys(t, s, 1, kind); n != 0 {
			t.Errorf("%d keys of kind %c without a document that needs one", n, kind)
		}
	}
	info, ok, err := s.Get(storage.IndexRange('g'), []byte{0, 0, 0, 1}, nil)
	if err != nil || !ok || strings.Contains(string(info), "stored") || strings.Contains(string(info), "boosts") {
		t.Errorf("an index segment without them is not as it was in format version 5: %s, %v", info, err)
	}
	without := mustDigest(t, x)

	rich := plain
	rich.Stored = []storage.Field{{Name: "price", Value: "5"}, {Name: "price", Value: "6"}, {Name: "", Value: ""}}
	rich.Date = time.Date(2024, 2, 29, 12, 0, 0, 1234567, time.FixedZone("", 3600))
	rich.ShowTitle, rich.ShowText = "A <b>title</b>", "text to show"
	digests := map[uint64]string{without: "nothing"}
	for what, change := range map[string]func(d *index.Document){
		"Stored":    func(d *index.Document) { d.Stored = rich.Stored },
		"Date":      func(d *index.Document) { d.Date = rich.Date },
		"ShowTitle": func(d *index.Document) { d.ShowTitle = rich.ShowTitle },
		"ShowText":  func(d *index.Document) { d.ShowText = rich.ShowText },
		"Boost":     func(d *index.Document) { d.Boost = 2 },
		"all":       func(d *index.Document) { *d = rich; d.Boost = 3 },
	} {
		d := plain
		change(&d)
		put(t, s, x, []index.Document{d})
		digest := mustDigest(t, x)
		if same, ok := digests[digest]; ok {
			t.Errorf("the digest with %s is that with %s", what, same)
		}
		digests[digest] = what
		hits := search(t, x, "net").Hits
		d.Date = d.Date.Truncate(time.Millisecond)
		if len(hits) != 1 || !shows(&hits[0], &d) || hits[0].Date.Location() != time.UTC {
			t.Errorf("%s: %+v", what, hits)
		}
		for _, q := range []string{"price", "title", "show"} {
			if n := search(t, x, q).Total; n != 0 {
				t.Errorf("%q finds what is only shown", q)
			}
		}
	}
	put(t, s, x, nil, plain.Key)
	plain.Fetched = time.UnixMilli(1.7e12) // digests compare crawls, whenever they were
	put(t, s, x, []index.Document{plain})
	if d := mustDigest(t, x); d != without {
		t.Error("a digest remembers what a document showed before")
	}
	one := plain
	one.Boost = 1
	put(t, s, x, []index.Document{one})
	if d := mustDigest(t, x); d != without {
		t.Error("a boost of 1 is not the same as none")
	}
}

// TestShownMerge: merges keep what documents show, and leave out that of deleted ones.
func TestShownMerge(t *testing.T) {
	s, x := newStore(t)
	want := map[urlkey.Key]index.Document{}
	for segment := range 8 {
		var docs []index.Document
		for n := segment; n < 64; n += 8 {
			d := doc(n, "", "net")
			d.Stored = []storage.Field{{Name: "n", Value: fmt.Sprint(n)}}
			d.Boost = float64(n + 2)
			docs, want[d.Key] = append(docs, d), d
		}
		put(t, s, x, docs)
	}
	var gone []urlkey.Key
	for n := 0; n < 64; n += 5 {
		d := doc(n, "", "")
		gone = append(gone, d.Key)
		delete(want, d.Key)
	}
	put(t, s, x, nil, gone...)
	before, digest := search(t, x, "net"), mustDigest(t, x)
	r, err := x.Merge(context.Background())
	if err != nil || r.Merged != 8 {
		t.Fatal(r, err)
	}
	after := search(t, x, "net")
	if !reflect.DeepEqual(before.Hits, after.Hits) || mustDigest(t, x) != digest || len(after.Hits) != len(want) {
		t.Fatalf("after the merge %+v, before %+v", after.Hits, before.Hits)
	}
	for i, h := range after.Hits {
		if d := want[h.Key]; !shows(&h, &d) {
			t.Errorf("%+v, want %+v", h, d)
		}
		if i > 0 && want[h.Key].Boost > want[after.Hits[i-1].Key].Boost {
			t.Errorf("hit %d has a higher boost than hit %d", i, i-1)
		}
	}
	if n := keys(t, s, 9, 's'); n != len(want) {
		t.Errorf("%d stored values, want %d", n, len(want))
	}
}

// TestBoostBlocks: boosts of more documents than one value holds, dense and sparse, reach the documents that they are
// of.
func TestBoostBlocks(t *testing.T) {
	s, x := newStore(t)
	rng := rand.New(rand.NewPCG(1, 2))
	var docs []index.Document
	of := map[urlkey.Key]index.Document{}
	for n := range 9000 {
		d := doc(n, "", []string{"net", "net", "boat"}[rng.IntN(3)])
		if n < 2000 || rng.IntN(500) == 0 {
			d.Boost = float64(2 + rng.IntN(100))
		}
		docs, of[d.Key] = append(docs, d), d
	}
	put(t, s, x, docs)
	for _, q := range []string{"net", "boat"} {
		r, err := x.Search(context.Background(), q, index.SearchOptions{Limit: 10_000, Deadline: 1e12})
		if err != nil || r.Total != len(r.Hits) {
			t.Fatal(r.Total, len(r.Hits), err)
		}
		base := map[bool]float64{} // all nets are alike, and all boats
		for _, h := range r.Hits {
			d := of[h.Key]
			score := h.Score / max(d.Boost, 1)
			one := cmp.Or(base[d.Text == "net"], score)
			base[d.Text == "net"] = one
			if math.Abs(score-one) > 1e-12 {
				t.Fatalf("%q: %s scores %v with boost %v, others %v without", q, h.Key, h.Score, d.Boost, one)
			}
		}
	}
}

// TestBoundsOfDocuments: what is beyond a bound is an ErrDocument that names document and bound, and the Builder goes
// on.
func TestBoundsOfDocuments(t *testing.T) {
	s, x := newStore(t)
	ing := s.NewIngestion()
	defer ing.Abort()
	b := x.NewBuilder(ing)
	fields := func(n, bytes int) (list []storage.Field) {
		for range n {
			list = append(list, storage.Field{Name: "n", Value: strings.Repeat("v", bytes-1)})
		}
		return list
	}
	most := index.StoredBytesMax / index.StoredFieldsMax
	d := doc(0, "", "net")
	for reason, change := range map[string]func(d *index.Document){
		`its key "" is not`:    func(d *index.Document) { d.Key = "" },
		`its key "doc-1" is`:   func(d *index.Document) { d.Key = "doc-1" },
		"65 stored fields":     func(d *index.Document) { d.Stored = fields(65, 1) },
		"stored fields have":   func(d *index.Document) { d.Stored = fields(1, index.StoredBytesMax+1) },
		"title to show":        func(d *index.Document) { d.ShowTitle = strings.Repeat("t", index.ShowTitleMax+1) },
		"boost is NaN":         func(d *index.Document) { d.Boost = math.NaN() },
		"boost is +Inf":        func(d *index.Document) { d.Boost = math.Inf(1) },
		"boost is 1e-300":      func(d *index.Document) { d.Boost = 1e-300 },
		"boost is -1":          func(d *index.Document) { d.Boost = -1 },
		"fetch time is in":     func(d *index.Document) { d.Fetched = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) },
		"in the year 10000":    func(d *index.Document) { d.Date = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) },
		"in the year -1":       func(d *index.Document) { d.Date = time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC) },
		"content from 2 to 90": func(d *index.Document) { d.Content = []storage.TextRange{{From: 2, To: 90}} },
	} {
		bad := d
		change(&bad)
		err := b.Add(&bad)
		if !errors.Is(err, index.ErrDocument) || !strings.Contains(err.Error(), reason) ||
			!strings.Contains(err.Error(), d.URL) || bad.Check() == nil {
			t.Errorf("%s: %v", reason, err)
		}
	}
	d.Stored = fields(index.StoredFieldsMax, most)
	d.ShowTitle = strings.Repeat("t", index.ShowTitleMax)
	d.ShowText = "x" + strings.Repeat("ü", index.ShowTextMax)
	d.Boost = math.MaxFloat64
	if err := errors.Join(d.Check(), b.Add(&d)); err != nil {
		t.Fatal(err)
	}
	if r, err := b.Finish(); err != nil || r.Added != 1 {
		t.Fatal(r, err)
	}
	if err := errors.Join(ing.Commit(), x.Refresh()); err != nil {
		t.Fatal(err)
	}
	h := search(t, x, "net").Hits[0]
	if !slices.Equal(h.Stored, d.Stored) || h.ShowTitle != d.ShowTitle || math.IsInf(h.Score, 0) {
		t.Errorf("at the bounds: score %v, %d fields", h.Score, len(h.Stored))
	}
	kept := h.ShowText
	if len(kept) != index.ShowTextMax-1 || !utf8.ValidString(kept) || !strings.HasPrefix(d.ShowText, kept) {
		t.Errorf("%d bytes of a text are kept", len(kept))
	}
}

// TestShownDamage: damaged stored values and boosts are storage.ErrCorrupt, never a panic or another document's.
func TestShownDamage(t *testing.T) {
	s, x := newStore(t)
	d := doc(0, "", "net")
	d.Stored, d.Date, d.Boost = []storage.Field{{Name: "a", Value: "b"}}, time.Unix(1e9, 0), 2
	d.ShowTitle, d.ShowText = "title", "text"
	put(t, s, x, []index.Document{d})
	set := func(kind byte, key, value []byte) {
		ing := s.NewIngestion()
		defer ing.Abort()
		if err := errors.Join(ing.Table(storage.IndexSegmentRange(1, kind)).Set(key, value), ing.Commit()); err != nil {
			t.Fatal(err)
		}
	}
	zero := []byte{0, 0, 0, 0}
	good, _, err := s.Get(storage.IndexSegmentRange(1, 's'), zero, nil)
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(good) + 1 {
		bad := good[:n]
		if n == len(good) {
			bad = append(slices.Clip(good), 0)
		}
		set('s', zero, bad)
		if err := x.Refresh(); err != nil {
			t.Fatal(err)
		}
		if _, err := x.Search(context.Background(), "net", index.SearchOptions{}); !errors.Is(err, storage.ErrCorrupt) {
			t.Errorf("%d of %d bytes of stored values: %v", n, len(good), err)
		}
	}
	for _, bad := range []string{
		"", "\x00", // lengths
		"\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01",                                 // factor 0
		"\x01\x00\x00\x00\x00\x00\x00\xf0\x7f\x00\x01",                                 // factor infinite
		"\x01\x00\x00\x00\x00\x00\x00\x00\xc0\x00\x01",                                 // factor -2
		"\x01\x00\x00\x00\x00\x00\x00\x00\x40\x00\x00",                                 // of no document
		"\x01\x00\x00\x00\x00\x00\x00\x00\x40\x00\x02",                                 // factor 2 of 1
		"\x01\x00\x00\x00\x00\x00\x00\x00\x40\x00\x01\x00",                             // a byte more
		"\x02\x00\x00\x00\x00\x00\x00\x00\x40\x00\x00\x00\x00\x00\x00\x00\x40\x00\x01", // more factors than documents
		"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00",                                 // factors beyond all bounds
	} {
		set('b', zero, []byte(bad))
		if y, err := index.Open(s, index.Options{}); !errors.Is(err, storage.ErrCorrupt) {
			t.Errorf("boosts %q: %v, %v", bad, y, err)
		}
	}
}
