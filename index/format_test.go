// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/index/analysis"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// addDocuments indexes documents as one index segment.
func addDocuments(t fataler, s *storage.Store, x *Index, docs []Document) {
	ing := s.NewIngestion()
	defer ing.Abort()
	b := x.NewBuilder(ing)
	defer b.Abort()
	for i := range docs {
		if err := b.Add(&docs[i]); err != nil {
			t.Fatalf("%v", err)
		}
	}
	_, err := b.Finish()
	if err := errors.Join(err, ing.Commit(), x.Refresh()); err != nil {
		t.Fatalf("%v", err)
	}
}

// memoryIndex opens an index in memory until the end of a test.
func memoryIndex(t *testing.T) (*storage.Store, *Index) {
	t.Helper()
	s := memoryStore(t)
	x, err := Open(s, Options{FS: storage.NewMemFS()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(x.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	})
	return s, x
}

func numbered(t fataler, n int, text string) Document {
	u, err := urlkey.Parse(fmt.Sprintf("http://h%d.example/%06d", n/1000, n))
	if err != nil {
		t.Fatalf("%v", err)
	}
	return Document{Key: u.Key(), URL: u.String(), Text: text, Stamp: uint64(n)}
}

// checkForms compares range m of an index segment with its vocabulary: each term is a form of its stem.
func checkForms(t *testing.T, s *storage.Store, seg *segment) (rows int) {
	var stemmer analysis.Stemmer
	want := map[string][]string{}
	v := seg.vocabulary(s, nil, nil)
	for v.Next() {
		stem := stemmer.Stem(nil, analysis.LanguageOf("en"), v.Term())
		if string(stem) != string(v.Term()) {
			want[string(stem)] = append(want[string(stem)], string(v.Term()))
		}
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	for stem, forms := range want {
		got, err := seg.forms(s, analysis.LanguageOf("en"), []byte(stem), nil)
		if err != nil || !slices.Equal(got, forms) {
			t.Errorf("forms of %q are %q, want %q: %v", stem, got, forms, err)
		}
		if got, err := seg.forms(s, 0, []byte(stem), nil); err != nil || got != nil {
			t.Errorf("in no language, forms of %q are %q: %v", stem, got, err)
		}
	}
	return len(want)
}

// TestForms: every word of an English document is a form of its stem, also after a merge.
func TestForms(t *testing.T) {
	s := memoryStore(t)
	defer s.Close()
	x, err := Open(s, Options{FS: storage.NewMemFS()})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	// Stems of these have stems of their own, so that this needs no analyzer that keeps words whole.
	words := strings.Fields("generalizations oscillators universities internationally sensational rationally " +
		"operational conditionally mending mended mends mend nets netting relational traditional")
	for n := range 8 {
		var docs []Document
		for i := range 10 {
			d := numbered(t, n*10+i, words[(n+i)%len(words)]+" "+words[(n*i)%len(words)])
			d.Language = []string{"en", "en-GB"}[i%2]
			docs = append(docs, d)
		}
		addDocuments(t, s, x, docs)
		checkForms(t, s, x.state.segments[n])
	}
	if _, err := x.Merge(context.Background()); err != nil {
		t.Fatal(err)
	}
	merged := x.state.segments
	if len(merged) != 1 || len(merged[0].info.Languages) != 1 || merged[0].info.Languages["en"] != 80 {
		t.Fatalf("%d index segments, %+v", len(merged), merged[0].info)
	}
	if checkForms(t, s, merged[0]) == 0 {
		t.Error("no word is another's form")
	}
}

// TestColumnsKept: the values of documents come back from columns, over several blocks, before and after a merge.
func TestColumnsKept(t *testing.T) {
	s := memoryStore(t)
	defer s.Close()
	x, err := Open(s, Options{FS: storage.NewMemFS()})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	rng := rand.New(rand.NewPCG(5, 6))
	want := map[string]columns{}
	page := func(n int) Document {
		d := numbered(t, n, "net")
		if n%3 > 0 {
			d.Language = []string{"", "en", "fr", "zh-Hant"}[rng.IntN(4)]
			d.Type = []string{"text/html", ""}[rng.IntN(2)]
			d.Date = time.UnixMilli(rng.Int64N(1e13) - 5e12).UTC()
			d.Fetched = []time.Time{{}, time.UnixMilli(1.7e12 + rng.Int64N(1e11)).UTC()}[rng.IntN(2)]
			d.Size, d.Group = rng.Int64N(1<<40), rng.Uint64()
		}
		want[string(d.Key)] = columnsOf(&d)
		if ms, ok := columnTimeMS(want[string(d.Key)].date); ok == d.Date.IsZero() || ok && ms != d.Date.UnixMilli() {
			t.Fatalf("%s is %d, %v", d.Date, ms, ok)
		}
		return d
	}
	check := func() {
		t.Helper()
		for _, seg := range x.state.segments {
			keys, values := newKeyScanner(s, seg), newColumnCursor(s, seg)
			defer keys.sc.Close()
			var hosts columnBlock
			host, last := -1, ""
			for {
				ok, err := keys.next()
				if err != nil {
					t.Fatal(err)
				}
				if !ok {
					break
				}
				got, err := values.of(keys.doc)
				if err != nil || got != want[string(keys.key())] {
					t.Fatalf("%s: %+v, want %+v: %v", keys.key(), got, want[string(keys.key())], err)
				}
				if h := string(urlkey.Key(keys.key()).HostKey()); h != last {
					host, last = host+1, h
				}
				if err := seg.readColumn(s, columnHost, keys.doc/normDocs, &hosts); err != nil {
					t.Fatal(err)
				}
				if hosts.numbers[keys.doc%normDocs] != uint64(host) {
					t.Fatalf("%s: host %d, want %d", keys.key(), hosts.numbers[keys.doc%normDocs], host)
				}
				if keys.doc > 200 && keys.doc%1000 > 3 {
					continue
				}
				for letter, number := range map[byte]uint64{
					columnDate: got.date, columnFetched: got.fetched, columnGroup: got.group, columnSize: got.size,
				} {
					for range 2 { // the second time it may be one that is kept
						if v, err := seg.readNumber(s, letter, keys.doc); err != nil || v != number {
							t.Fatalf("column %c of document %d is %d, want %d: %v", letter, keys.doc, v, number, err)
						}
					}
				}
				looked, stamp, err := newKeyReader(s, seg).key(keys.doc)
				if err != nil || string(looked) != string(keys.key()) || stamp != keys.stamp() {
					t.Fatalf("document %d is %q (%d), not %q: %v", keys.doc, looked, stamp, keys.key(), err)
				}
			}
		}
	}
	for part := range 8 {
		var docs []Document
		for n := range 1100 {
			docs = append(docs, page(n*8+part))
		}
		slices.SortFunc(docs, func(a, b Document) int { return strings.Compare(string(a.Key), string(b.Key)) })
		addDocuments(t, s, x, docs)
	}
	check()
	before, err := x.Digest(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if r, err := x.Merge(context.Background()); err != nil || r.Merged != 8 {
		t.Fatal(r, err)
	}
	check()
	if after, err := x.Digest(context.Background()); err != nil || after != before {
		t.Errorf("digest %x, before the merge %x: %v", after, before, err)
	}
}

// TestReclaim: an index segment of which a fifth is deleted is written again, one with less is not.
func TestReclaim(t *testing.T) {
	s, x := memoryIndex(t)
	var docs []Document
	for n := range 100 {
		docs = append(docs, numbered(t, n, "net"))
	}
	addDocuments(t, s, x, docs)
	for gone, want := range []int{0: 0, 19: 0, 20: 1} {
		if gone < 19 {
			continue
		}
		ing := s.NewIngestion()
		b := x.NewBuilder(ing)
		for n := range gone {
			if err := b.Delete(docs[n].Key); err != nil {
				t.Fatal(err)
			}
		}
		_, err := b.Finish()
		if err := errors.Join(err, ing.Commit(), x.Refresh()); err != nil {
			t.Fatal(err)
		}
		if r, err := x.Merge(context.Background()); err != nil || r.Merged != want {
			t.Errorf("%d of 100 deleted: %+v, %v", gone, r, err)
		}
	}
	if st := x.Stats(); st.Deleted != 0 || st.Documents != 80 {
		t.Errorf("%+v", st)
	}
}

// TestReclaimAlone: Reclaim leaves index segments alone that only Merge makes one of.
func TestReclaimAlone(t *testing.T) {
	s, x := memoryIndex(t)
	var docs []Document
	for n := range mergeFactor * 20 {
		docs = append(docs, numbered(t, n, "net"))
		if len(docs)%20 == 0 {
			addDocuments(t, s, x, docs[n-19:])
		}
	}
	ing := s.NewIngestion()
	b := x.NewBuilder(ing)
	for _, d := range docs[:10] {
		if err := b.Delete(d.Key); err != nil {
			t.Fatal(err)
		}
	}
	_, err := b.Finish()
	if err := errors.Join(err, ing.Commit(), x.Refresh()); err != nil {
		t.Fatal(err)
	}
	r, err := x.Reclaim(context.Background())
	if st := x.Stats(); err != nil || r.Merged != 1 || st.Segments != mergeFactor || st.Deleted != 0 {
		t.Errorf("reclaimed: %+v, %+v, %v", r, st, err)
	}
	r, err = x.Merge(context.Background())
	left := uint64(len(docs) - 10)
	if st := x.Stats(); err != nil || r.Merged != mergeFactor || st.Segments != 1 || st.Documents != left {
		t.Errorf("merged: %+v, %+v, %v", r, st, err)
	}
}

// TestImpacts: no posting has a larger impact than its block's bound says, with the average lengths of its index
// segment and, by impactFactor, with those of the whole index; also after a merge.
func TestImpacts(t *testing.T) {
	s := memoryStore(t)
	defer s.Close()
	x, err := Open(s, Options{FS: storage.NewMemFS()})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	rng := rand.New(rand.NewPCG(9, 9))
	for segment := range 8 {
		var docs []Document
		for n := range 300 {
			words := func(most int) string {
				return strings.Repeat("net ", rng.IntN(4)) + strings.Repeat("boat ", rng.IntN(most))
			}
			d := numbered(t, n*8+segment, words(20+200*segment))
			d.Title, d.Headings, d.Anchors = words(5), []string{words(9), words(3)}, []string{words(30)}
			docs = append(docs, d)
		}
		slices.SortFunc(docs, func(a, b Document) int { return strings.Compare(string(a.Key), string(b.Key)) })
		addDocuments(t, s, x, docs)
	}
	checkImpacts(t, s, x.state)
	if _, err := x.Merge(context.Background()); err != nil {
		t.Fatal(err)
	}
	checkImpacts(t, s, x.state)
	x.state.segments[0].info.Weights++
	if f := x.state.segments[0].impactFactor(&x.state.segments[0].info.Averages); f != impactNone {
		t.Errorf("with other weights the factor is %v", f)
	}
}

func checkImpacts(t *testing.T, s *storage.Store, st *state) {
	averages := st.all.averages()
	exact := newImpactTable(&averages)
	for _, seg := range st.segments {
		for _, term := range []string{"net", "boat"} {
			l, err := seg.openList(s, term)
			if err != nil || l == nil {
				t.Fatal(term, err)
			}
			var docs [blockDocs]uint32
			var freqs blockFreqs
			for block := range l.lastDocs() {
				n, err := l.docs(block, &docs)
				if err := errors.Join(err, l.freqs(block, &freqs)); err != nil {
					t.Fatal(err)
				}
				bound, most := impactBound(l.impacts()[block])*seg.impactFactor(&averages), 0.0
				for i := range n {
					var one [fieldCount]uint32
					for f := range one {
						one[f] = freqs.n[f][i]
					}
					codes := seg.normsOf(docs[i])
					most = max(most, exact.of(&one, &codes))
				}
				if most > bound {
					t.Fatalf("%q, block %d of segment %d: impact %v above %v", term, block, seg.number, most, bound)
				}
				if len(st.segments) == 1 && most < 900 && bound > most*1.1 {
					t.Errorf("%q, block %d: bound %v is far above %v", term, block, bound, most)
				}
			}
		}
	}
}

func FuzzForms(f *testing.F) {
	f.Add([]byte("\x01mend\x00"), []byte("\x04\x02ed\x04\x03ing"))
	f.Add([]byte("\x01\x00"), []byte{0})
	f.Fuzz(func(t *testing.T, key, row []byte) {
		var again []byte
		var before []byte
		if len(key) > 2 {
			before = key[1 : len(key)-1]
		}
		before = slices.Clone(before)
		var forms, read []string
		err := eachForm(key, row, func(form []byte) {
			again = appendForm(again, before, form)
			before = append(before[:0], form...)
			forms = append(forms, string(form))
		})
		if err != nil {
			if !errors.Is(err, storage.ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		err = eachForm(key, again, func(form []byte) { read = append(read, string(form)) })
		if err != nil || !slices.Equal(forms, read) {
			t.Fatalf("%q, again %q: %v", forms, read, err)
		}
	})
}

// FuzzDocumentBlocks: damaged keys, norms and columns are storage.ErrCorrupt.
func FuzzDocumentBlocks(f *testing.F) {
	s := memoryStore(f)
	defer s.Close()
	x, err := Open(s, Options{FS: storage.NewMemFS()})
	if err != nil {
		f.Fatal(err)
	}
	defer x.Close()
	var docs []Document
	for n := range 70 {
		d := numbered(f, n, strings.Repeat("net ", n))
		d.Language, d.Size = []string{"en", "fr"}[n%2], int64(n)
		d.Group, d.Date = uint64(n)<<60, time.UnixMilli(int64(n))
		docs = append(docs, d)
	}
	addDocuments(f, s, x, docs)
	for _, kind := range []byte{kindDocs, kindNorms, kindColumns} {
		sc := s.Scan(storage.IndexSegmentRange(1, kind), nil, nil)
		for sc.Next() {
			f.Add(slices.Clone(sc.Value()), 70)
		}
		if err := sc.Close(); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		n = min(max(n, 1), normDocs)
		var keys keyBlock
		var codes [fieldCount][]byte
		var column columnBlock
		for what, err := range map[string]error{
			"keys":  keys.decode(b),
			"norms": readNorms(b, n, &codes),
			"texts": column.decode(columnLanguage, b, n), "numbers": column.decode(columnSize, b, n),
		} {
			if err != nil && !errors.Is(err, storage.ErrCorrupt) {
				t.Fatalf("%s: %v", what, err)
			}
		}
		if keys.decode(b) == nil {
			for i := range keys.count {
				keys.key(i)
			}
		}
	})
}
