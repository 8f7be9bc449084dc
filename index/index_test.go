// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

func newStore(t testing.TB) (*storage.Store, *index.Index) {
	t.Helper()
	s, err := storage.Open("/index", storage.Options{FS: storage.NewMemFS()})
	if err != nil {
		t.Fatal(err)
	}
	x, err := index.Open(s, index.Options{FS: storage.NewMemFS(), MemoryBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, x
}

// newStoreOf is newStore for a property; the caller closes both.
func newStoreOf(t fataler) (*storage.Store, *index.Index) {
	s, err := storage.Open("/index", storage.Options{FS: storage.NewMemFS()})
	if err != nil {
		t.Fatalf("%v", err)
	}
	x, err := index.Open(s, index.Options{FS: storage.NewMemFS(), MemoryBytes: 1 << 20})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return s, x
}

// doc makes a document; number orders it among others.
func doc(number int, title, text string, anchors ...string) index.Document {
	u, err := urlkey.Parse(fmt.Sprintf("http://h%d.example/%04d", number%3, number))
	if err != nil {
		panic(err)
	}
	return index.Document{
		Key: u.Key(), URL: u.String(), Title: title, Text: text, Anchors: anchors, Stamp: uint64(number) + 1,
	}
}

// put indexes documents and deletions as one index segment.
func put(t fataler, s *storage.Store, x *index.Index, docs []index.Document, gone ...urlkey.Key) {
	ing := s.NewIngestion()
	defer ing.Abort()
	b := x.NewBuilder(ing)
	defer b.Abort()
	slices.SortFunc(docs, func(a, b index.Document) int { return strings.Compare(string(a.Key), string(b.Key)) })
	slices.Sort(gone)
	for len(docs)+len(gone) > 0 {
		var err error
		if len(gone) == 0 || len(docs) > 0 && docs[0].Key < gone[0] {
			err = b.Add(&docs[0])
			docs = docs[1:]
		} else {
			err = b.Delete(gone[0])
			gone = gone[1:]
		}
		if err != nil {
			t.Fatalf("%v", err)
		}
	}
	if _, err := b.Finish(); err != nil {
		t.Fatalf("%v", err)
	}
	if err := ing.Commit(); err != nil {
		t.Fatalf("%v", err)
	}
	if err := x.Refresh(); err != nil {
		t.Fatalf("%v", err)
	}
}

type fataler interface{ Fatalf(string, ...any) }

func mustDigest(t fataler, x *index.Index) uint64 {
	d, err := x.Digest(context.Background())
	if err != nil {
		t.Fatalf("%v", err)
	}
	return d
}

func search(t fataler, x *index.Index, q string) index.Result {
	r, err := x.Search(context.Background(), q, index.SearchOptions{Limit: 100, Deadline: 1e12})
	if err != nil {
		t.Fatalf("%q: %v", q, err)
	}
	return r
}

// strict searches with the query language for programs, which relaxes nothing.
func strict(t fataler, x *index.Index, q string) index.Result {
	r, err := x.Search(context.Background(), q, index.SearchOptions{Limit: 100, Deadline: 1e12, Strict: true})
	if err != nil {
		t.Fatalf("%q: %v", q, err)
	}
	return r
}

// TestContentFirst: a word around the main content finds its page, behind those whose content has it.
func TestContentFirst(t *testing.T) {
	s, x := newStore(t)
	part := func(number int, text, content string) index.Document {
		d := doc(number, "", text)
		from := uint32(strings.Index(text, content))
		d.Content = []storage.TextRange{{From: from, To: from + uint32(len(content))}}
		return d
	}
	put(t, s, x, []index.Document{
		part(0, "nets home\nA page about boats and their crew.\nnews", "A page about boats and their crew."),
		part(1, "boats crew\nA page about nets and what they catch.\nnews", "A page about nets and what they catch."),
		doc(2, "", "Neither of the two, whatever is around."),
	})
	for q, first := range map[string]string{"nets": "/0001", "boats": "/0000"} {
		hits := search(t, x, q).Hits
		if len(hits) != 2 {
			t.Fatalf("%q: %d hits", q, len(hits))
		}
		if u, _ := hits[0].Key.URL(); u.Path() != first {
			t.Errorf("%q finds %s first", q, u)
		}
	}
	if hits := strict(t, x, `"nets A page"`).Hits; len(hits) != 0 {
		t.Errorf("a phrase runs from a menu into the content: %v", hits)
	}
	if hits := strict(t, x, `"boats crew"`).Hits; len(hits) != 1 {
		t.Errorf("a phrase of a menu: %v", hits)
	}
}

// TestPhraseEnds: no phrase runs from one anchor text, or one heading, into the next.
func TestPhraseEnds(t *testing.T) {
	s, x := newStore(t)
	d := doc(0, "", "", "red net", "boat house")
	d.Headings = []string{"small crew", "long journey"}
	put(t, s, x, []index.Document{d})
	for q, want := range map[string]int{
		`"red net"`: 1, `"boat house"`: 1, `"net boat"`: 0, `"small crew"`: 1, `"long journey"`: 1, `"crew long"`: 0,
	} {
		if r := strict(t, x, q); r.Total != want {
			t.Errorf("%s: %d documents are found, want %d", q, r.Total, want)
		}
	}
}

// TestContentFits: content that does not fit the text is an error that names the document.
func TestContentFits(t *testing.T) {
	s, x := newStore(t)
	for _, parts := range [][]storage.TextRange{
		{{From: 0, To: 5}},
		{{From: 3, To: 2}},
		{{From: 0, To: 3}, {From: 2, To: 4}},
	} {
		ing := s.NewIngestion()
		b := x.NewBuilder(ing)
		d := doc(0, "", "nets")
		d.Content = parts
		if err := b.Add(&d); err == nil || !strings.Contains(err.Error(), d.URL) {
			t.Errorf("%v: %v", parts, err)
		}
		b.Abort()
		ing.Abort()
	}
}

// TestOldFormat: an index of a version that stated no format is an ErrFormat that says what to do, not a damage.
func TestOldFormat(t *testing.T) {
	s, err := storage.Open("/old", storage.Options{FS: storage.NewMemFS()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ing := s.NewIngestion()
	defer ing.Abort()
	info := `{"docs":1,"terms":1,"totals":[1,0,0,0,0],"fields":5}` // as seine 0.7 wrote it
	term, norms := storage.IndexSegmentRange(1, 't'), storage.IndexSegmentRange(1, 'n')
	err = errors.Join(
		ing.Table(storage.IndexRange('g')).Set([]byte{0, 0, 0, 1}, []byte(info)),
		ing.Table(term).Set([]byte("net\x00\x00\x00\x00\x00"), []byte{1, 0, 3, 1, 1, 1, 1, 1}),
		ing.Table(norms).Set([]byte{0, 0, 0, 0}, []byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0}),
		ing.Table(storage.IndexSegmentRange(1, 'd')).Set([]byte{0, 0, 0, 0}, []byte("stamp of1k")),
		ing.Table(index.Located()).Set([]byte("k"), make([]byte, 16)),
		ing.Commit(),
	)
	if err != nil {
		t.Fatal(err)
	}
	_, err = index.Open(s, index.Options{})
	if !errors.Is(err, index.ErrFormat) || errors.Is(err, storage.ErrCorrupt) ||
		!strings.Contains(err.Error(), "seine index --rebuild") {
		t.Fatalf("an old index: %v", err)
	}
	if err := index.Clear(s); err != nil {
		t.Fatal(err)
	}
	x, err := index.Open(s, index.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if st := x.Stats(); st != (index.Stats{}) || keys(t, s, 1, 't') > 0 {
		t.Errorf("after Clear: %+v", st)
	}
	put(t, s, x, []index.Document{doc(0, "", "net")})
	if n := search(t, x, "net").Total; n != 1 {
		t.Errorf("after Clear, %d found", n)
	}
}

// TestQueries shows what each part of the query language finds.
func TestQueries(t *testing.T) {
	s, x := newStore(t)
	put(t, s, x, []index.Document{
		doc(0, "Coroutines and Tasks", "Awaitable asyncio.gather(*aws) runs tasks concurrently. "+
			"See os.path.join and pg_dump.", "asyncio tasks"),
		doc(1, "CREATE INDEX", "CREATE INDEX CONCURRENTLY builds the index without locking. "+
			"shared_buffers is in 3.11 and C++ and C#."),
		doc(2, "Bücher über Straßen", "Die Bücher stehen in der Straße. naïve café ΑΘΗΝΑ Афины"),
		doc(3, "北京大学", "北京大学是一所大学。東京タワー 서울대학교 ภาษาไทย"),
		doc(4, "Seines", "A seine is a net. The crew mends nets; a torn mesh is mended with a needle. can't stop"),
	})
	f := func(q string, want ...int) {
		t.Helper()
		var got []int
		for _, h := range search(t, x, q).Hits {
			var n int
			u, _ := h.Key.URL()
			fmt.Sscanf(u.Path(), "/%d", &n)
			got = append(got, n)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%q finds %v, want %v", q, got, want)
		}
	}
	f("asyncio gather", 0)
	f("gather index", 0, 1)
	f("+gather index", 0)
	f("gather AND index")
	f("gather OR index", 0, 1)
	f("os.path.join", 0)
	f("pg_dump", 0)
	f("dump", 0)
	f("shared_buffers", 1)
	f("3.11", 1)
	f("c++", 1)
	f("C#", 1)
	f(`"index concurrently"`, 1)
	f(`"concurrently index"`, 0, 1) // relaxed
	f(`"concurrently index"~2`, 1)
	f("nets", 4)
	f("mending", 4)
	f("net -torn")
	f("index -torn", 1)
	f("-torn", 0, 1, 2, 3)
	f("bucher strasse", 2)
	f("BÜCHER", 2)
	f("naive cafe", 2)
	f("αθηνα", 2)
	f("афины", 2)
	f("北京", 3)
	f("大学", 3)
	f("京", 3)
	f("京北")
	f("タワー", 3)
	f("대학", 3)
	f("ภาษา", 3)
	f("what is a seine", 4)
	f("how do I run tasks", 0)
	f("intitle:index", 1)
	f("intitle:gather")
	f("inanchor:asyncio", 0)
	f("site:h0.example", 0, 3)
	f("site:h1.example index", 1)
	f("site:example net", 4)
	f("site:nowhere.example net")
	f("(gather OR index) -create", 0)
	f("")
	f("OR")
	f("( ) -")
	f("\"")
	f(strings.Repeat("net ", 500), 4)
	f("can't", 4)
}

// TestScore: BM25F written out, for one term in two fields.
func TestScore(t *testing.T) {
	s, x := newStore(t)
	put(t, s, x, []index.Document{doc(0, "net", "net of the crew"), doc(1, "boat", "a boat")})
	got := search(t, x, "net").Hits[0].Score
	// Lengths: titles 1 and 1, bodies 4 and 2.
	idf := math.Log(1 + (2-1+0.5)/(1+0.5))
	tf := 1/(1-0.45+0.45*4/3) + 6/(1-0.5+0.5*1/1)
	if want := idf * tf * 3 / (2 + tf); math.Abs(got-want) > 1e-8 {
		t.Errorf("score %v, want %v", got, want)
	}
}

var vocabulary = []string{"net", "boat", "crew", "tide", "salt", "fog", "rope", "gull"}

// TestAgainstNaive: random documents, replaced and deleted, over random index segments and merges, are found exactly as
// by a scan of all documents; scores and digest depend only on the documents that are left.
func TestAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		store, err := storage.Open("/a", storage.Options{FS: storage.NewMemFS()})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		x, err := index.Open(store, index.Options{FS: storage.NewMemFS(), MemoryBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		live := map[urlkey.Key]index.Document{}
		for range rapid.IntRange(1, 14).Draw(t, "segments") {
			batch := map[urlkey.Key]index.Document{}
			for range rapid.IntRange(0, 6).Draw(t, "docs") {
				words := rapid.SliceOfN(rapid.SampledFrom(vocabulary), 0, 12).Draw(t, "words")
				number, title := rapid.IntRange(0, 30).Draw(t, "number"), rapid.SampledFrom(vocabulary).Draw(t, "title")
				d := doc(number, title, strings.Join(words, " "))
				drawShown(t, &d)
				batch[d.Key] = d
			}
			var docs []index.Document
			for k, d := range batch {
				docs, live[k] = append(docs, d), d
			}
			var gone []urlkey.Key
			for k := range live {
				if _, new := batch[k]; !new && rapid.IntRange(0, 5).Draw(t, "gone") == 0 {
					gone = append(gone, k)
				}
			}
			for _, k := range gone {
				delete(live, k)
			}
			put(t, store, x, docs, gone...)
			if _, err := x.Merge(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		for range 8 {
			a, b := rapid.SampledFrom(vocabulary).Draw(t, "a"), rapid.SampledFrom(vocabulary).Draw(t, "b")
			checkQuery(t, x, live, a+" "+b, func(w string) bool { return has(w, a) || has(w, b) })
			checkQuery(t, x, live, "+"+a+" +"+b, func(w string) bool { return has(w, a) && has(w, b) })
			checkQuery(t, x, live, a+" OR "+b, func(w string) bool { return has(w, a) || has(w, b) })
			checkQuery(t, x, live, a+" -"+b, func(w string) bool { return has(w, a) && !has(w, b) })
			if a != b {
				inRow := func(w string) bool { return strings.Contains(w, " "+a+" "+b+" ") }
				checkQuery(t, x, live, `"`+a+" "+b+`"`, inRow)
			}
		}
		sameAsOne(t, x, live)
	})
}

// has looks for a word in "| title | text |".
func has(words, w string) bool { return strings.Contains(words, " "+w+" ") }

func checkQuery(t *rapid.T, x *index.Index, live map[urlkey.Key]index.Document, q string, match func(string) bool) {
	var want []string
	for k, d := range live {
		if match(" " + d.Title + " | " + d.Text + " ") {
			want = append(want, string(k))
		}
	}
	r := strict(t, x, q)
	var got []string
	for i, h := range r.Hits {
		got = append(got, string(h.Key))
		if i > 0 && (h.Score > r.Hits[i-1].Score || h.Score == r.Hits[i-1].Score && h.Key < r.Hits[i-1].Key) {
			t.Fatalf("%q: hits %d and %d are out of order", q, i-1, i)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || r.Total != len(want) {
		t.Fatalf("%q finds %v (%d), want %v", q, got, r.Total, want)
	}
}

// sameAsOne builds one new index segment of the live documents: digest and hits are the same.
func sameAsOne(t *rapid.T, x *index.Index, live map[urlkey.Key]index.Document) {
	store, err := storage.Open("/b", storage.Options{FS: storage.NewMemFS()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	y, err := index.Open(store, index.Options{FS: storage.NewMemFS()})
	if err != nil {
		t.Fatal(err)
	}
	defer y.Close()
	var docs []index.Document
	for _, d := range live {
		docs = append(docs, d)
	}
	put(t, store, y, docs)
	a, err1 := x.Digest(context.Background())
	b, err2 := y.Digest(context.Background())
	if err1 != nil || err2 != nil || a != b {
		t.Fatalf("digest %x, of one segment %x (%v, %v)", a, b, err1, err2)
	}
	for _, w := range vocabulary {
		p, q := search(t, x, w).Hits, search(t, y, w).Hits
		if !reflect.DeepEqual(p, q) {
			t.Fatalf("%q: %v, of one segment %v", w, p, q)
		}
	}
	if s := x.Stats(); s.Documents != uint64(len(live)) || s.Segments > 16 {
		t.Fatalf("%+v, want %d documents", s, len(live))
	}
}

func BenchmarkBuild(b *testing.B) {
	s, x := newStore(b)
	text := strings.Repeat("The crew mends nets by lantern light while the tide runs out "+
		"and gulls wait on the quay for what is left of the catch. ", 50)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	ing := s.NewIngestion()
	defer ing.Abort()
	builder := x.NewBuilder(ing)
	defer builder.Abort()
	for i := 0; b.Loop(); i++ {
		u, _ := urlkey.Parse(fmt.Sprintf("http://h.example/%09d", i))
		d := index.Document{Key: u.Key(), URL: u.String(), Title: "Nets", Text: text}
		if err := builder.Add(&d); err != nil {
			b.Fatal(err)
		}
	}
}
