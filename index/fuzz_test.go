// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"context"
	"errors"
	"math"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Fuzz targets of the format. Whatever bytes a decoder gets, it returns a storage.ErrCorrupt or something that it also
// decodes from the encoding of it, and takes no more memory than a multiple of the bytes. FuzzGroup, FuzzList,
// FuzzForms and FuzzDocumentBlocks are beside the tests of what they decode; FuzzDamagedIndex sees to the rest.

// allocated returns the bytes that the process has allocated so far.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// inBounds fails if decode, of some bytes, allocates more than a number of bytes for each and a MiB.
func inBounds(t *testing.T, b []byte, each uint64, decode func() error) (ok bool) {
	t.Helper()
	before := allocated()
	err := decode()
	if got, most := allocated()-before, 1<<20+each*uint64(len(b)); got > most {
		t.Fatalf("%d bytes take %d of memory, want at most %d", len(b), got, most)
	}
	if err != nil && !errors.Is(err, storage.ErrCorrupt) {
		t.Fatalf("not a storage.ErrCorrupt: %v", err)
	}
	return err == nil
}

// FuzzBlock: the documents and frequencies of a block, as lists have them.
func FuzzBlock(f *testing.F) {
	for _, n := range []uint32{1, 2, 9, blockDocs} {
		for _, gap := range []uint32{1, 3, 1000} {
			var w blockWriter
			for i := range n {
				freqs := [fieldCount]uint32{fieldBody: 1 + i%3}
				freqs[i%fieldCount] += i % 40
				w.add(i*gap+5, &freqs)
			}
			f.Add(w.append(nil, 4), int64(4), (n-1)*gap+5, int(n))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, before int64, last uint32, n int) {
		before, n = min(max(before, -1), end-1), min(max(n, 1), blockDocs)
		if int64(last) <= before || last == end {
			return // a directory has no such block
		}
		var docs [blockDocs]uint32
		var freqs blockFreqs
		ok := inBounds(t, b, 1, func() error {
			rest, err := readBlockDocs(b, before, last, docs[:n])
			if err == nil {
				err = readBlockFreqs(rest, n, &freqs)
			}
			return err
		})
		if !ok {
			return
		}
		var w blockWriter
		for i := range n {
			if i > 0 && docs[i] <= docs[i-1] || int64(docs[i]) <= before || docs[i] > last {
				t.Fatalf("documents %v after %d, last %d", docs[:n], before, last)
			}
			var one [fieldCount]uint32
			for field := range one {
				one[field] = freqs.n[field][i]
			}
			w.add(docs[i], &one)
		}
		var docs2 [blockDocs]uint32
		var freqs2 blockFreqs
		again := w.append(nil, before)
		rest, err := skipBlockDocs(again, before, last, n)
		if err := errors.Join(err, readBlockFreqs(rest, n, &freqs2)); err != nil {
			t.Fatalf("after encoding: %v", err)
		}
		if _, err := readBlockDocs(again, before, last, docs2[:n]); err != nil || docs != docs2 {
			t.Fatalf("documents %v, again %v: %v", docs[:n], docs2[:n], err)
		}
		if freqs != freqs2 {
			t.Fatalf("frequencies %v, again %v", freqs, freqs2)
		}
	})
}

// FuzzPositions: the numbers of a block's positions.
func FuzzPositions(f *testing.F) {
	for _, n := range []int{0, 1, 128, 129, 300} {
		numbers := make([]uint32, n)
		for i := range numbers {
			numbers[i] = uint32(i * i * i)
		}
		f.Add(appendPositions(nil, numbers), uint64(n))
	}
	f.Fuzz(func(t *testing.T, b []byte, count uint64) {
		count %= blockDocs*fieldCount*freqMax + 1
		var r positionReader
		var numbers []uint32
		if !inBounds(t, b, 1024, func() (err error) {
			if err = r.reset(b, count); err == nil {
				numbers, err = r.read(0, count)
			}
			return err
		}) {
			return
		}
		var again positionReader
		if err := again.reset(appendPositions(nil, numbers), count); err != nil && count > 0 {
			t.Fatal(err)
		}
		for _, from := range []uint64{count / 2, 0} { // the groups in another order
			if got, err := again.read(from, count-from); err != nil || !slices.Equal(got, numbers[from:]) {
				t.Fatalf("%v, want %v: %v", got, numbers[from:], err)
			}
		}
	})
}

// FuzzStored: what hits show.
func FuzzStored(f *testing.F) {
	f.Add(appendStored(nil, &Document{ShowTitle: "Net", Stored: []storage.Field{{Name: "price", Value: "5"}}}, nil))
	early := Document{Author: "A", ShowText: "text", Date: time.UnixMilli(-1)}
	f.Add(appendStored(nil, &early, wordSteps{400, 390 << 1}))
	f.Fuzz(func(t *testing.T, b []byte) {
		var s stored
		if !inBounds(t, b, 64, func() (err error) {
			s, err = decodeStored(b)
			return err
		}) {
			return
		}
		encode := func(s stored) []byte {
			return appendStored(nil, &Document{
				Stored: s.fields, Date: s.date, ShowTitle: s.title, ShowText: s.text, Author: s.author,
			}, s.steps)
		}
		again := encode(s)
		if again == nil {
			return
		}
		twice, err := decodeStored(again)
		if err != nil || !bytes.Equal(encode(twice), again) {
			t.Fatalf("%+v, again %+v: %v", s, twice, err)
		}
	})
}

// FuzzLocated: entries of the directory.
func FuzzLocated(f *testing.F) {
	f.Add(appendLocated(nil, Location{1, 2, 3}))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := DecodeLocated(b)
		if err == nil && !bytes.Equal(appendLocated(nil, l), b) || err != nil && !errors.Is(err, storage.ErrCorrupt) {
			t.Fatalf("%+v, %v", l, err)
		}
	})
}

// FuzzKeys: the keys and stamps of a block of documents.
func FuzzKeys(f *testing.F) {
	s := memoryStore(f)
	defer s.Close()
	in := s.NewIngestion()
	defer in.Abort()
	w := keyWriter{w: in.Table(storage.IndexSegmentRange(1, kindDocs))}
	for i := range 70 {
		if err := w.add(urlkey.Key("com,example)/"+strings.Repeat("a", i%9)), uint64(i)<<(i%60)); err != nil {
			f.Fatal(err)
		}
		if i == 1 || i == 30 {
			f.Add(bytes.Clone(w.value))
		}
	}
	f.Add([]byte{1, 0, 4, 'a', ')', '/', 'b', 3, 1, 'c', 1, 1, 2})
	f.Fuzz(func(t *testing.T, b []byte) {
		var k keyBlock
		if !inBounds(t, b, 2*keyDocs, func() error { return k.decode(b) }) {
			return
		}
		for i := range k.count {
			if n := len(k.key(i)); n > len(b) {
				t.Fatalf("a key of %d bytes in %d", n, len(b))
			}
		}
	})
}

// FuzzLexicon: whatever terms come, in order, the lexicon has those that are not too long, and seeks find their places.
func FuzzLexicon(f *testing.F) {
	f.Add("net\nnets\nnetz\nx", "net")
	f.Add(strings.Repeat("a", 300)+"\nb\n\xff", "\xff")
	f.Fuzz(func(t *testing.T, text, from string) {
		terms := strings.Split(text, "\n")
		slices.Sort(terms)
		terms = slices.Compact(terms)
		l := &lexicon{}
		for i, term := range terms {
			l.add([]byte(term), uint64(i)<<(i%60)+1)
		}
		near := newNearWalk(from, 2)
		c := lexiconCursor{l: l}
		c.seek([]byte(from))
		for i, term := range terms {
			if len(term) > math.MaxUint8 || term < from {
				continue
			}
			if !c.next(256) || string(c.term) != term || c.df != uint64(i)<<(i%60)+1 {
				t.Fatalf("%q in %d, want %q", c.term, c.df, term)
			}
			if near != nil {
				near.step(c.term, 0)
			}
		}
		if c.next(256) {
			t.Fatalf("%q is too many", c.term)
		}
	})
}

// indexEntry is a key and its value in a range of the index.
type indexEntry struct {
	r          storage.Range
	key, value []byte
}

// indexEntries returns what a store has of an index of two segments, by ranges, each in the order of its keys.
func indexEntries(t fataler, s *storage.Store) (out []indexEntry) {
	read := func(r storage.Range) {
		sc := s.Scan(r, nil, nil)
		for sc.Next() {
			out = append(out, indexEntry{r, bytes.Clone(sc.Key()), bytes.Clone(sc.Value())})
		}
		if err := sc.Close(); err != nil {
			t.Fatalf("%v", err)
		}
	}
	for kind := byte('a'); kind <= 'z'; kind++ {
		read(storage.IndexRange(kind))
	}
	for number := uint32(1); number <= 2; number++ {
		for kind := byte('a'); kind <= 'z'; kind++ {
			read(storage.IndexSegmentRange(number, kind))
		}
	}
	return out
}

// exampleEntries makes an index of two segments that uses every part of the format, and returns its entries.
func exampleEntries(t fataler) []indexEntry {
	s := memoryStore(t)
	defer s.Close()
	x, err := Open(s, Options{FS: storage.NewMemFS()})
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer x.Close()
	page := func(n int) Document {
		d := numbered(t, n, strings.Repeat("net mended ", n%5+1)+[]string{"boat", "mending", "北京大学", "fog"}[n%4])
		d.Title, d.Anchors, d.Headings = "Nets", []string{"torn mesh"}, []string{"mended"}
		d.Language, d.Type = []string{"en", "de"}[n%2], "text/html"
		d.Size, d.Group, d.Date = int64(n)*1000, uint64(n)<<50, time.UnixMilli(int64(n)<<32).UTC()
		if n%3 == 0 {
			d.Fetched = time.UnixMilli(int64(n) << 33).UTC()
		}
		if n%7 == 0 {
			d.Boost, d.ShowTitle = 1.5+float64(n), "shown"
			d.Stored = []storage.Field{{Name: "price", Value: "5"}}
		}
		d.URL = "http://h.example/"
		return d
	}
	var first, second []Document
	for n := range 300 { // lists of several blocks
		first = append(first, page(n))
		if n%30 == 0 {
			second = append(second, page(n))
		}
	}
	addDocuments(t, s, x, first)
	addDocuments(t, s, x, second)
	return indexEntries(t, s)
}

// FuzzDamagedIndex: with any value in place of any one of an index, or also under any other key, the index answers
// whatever it is asked, or with a storage.ErrCorrupt or ErrFormat.
func FuzzDamagedIndex(f *testing.F) {
	entries := exampleEntries(f)
	count := map[storage.Range]int{}
	most := 20
	if testing.Short() {
		most = 2
	}
	for i, e := range entries {
		if count[e.r]++; count[e.r] <= most {
			f.Add(uint16(i), []byte(nil), e.value)
		}
		if count[e.r] == 1 {
			f.Add(uint16(i), append(e.key, 0), e.value)
		}
	}
	f.Fuzz(func(t *testing.T, which uint16, key, value []byte) {
		if len(key) > storage.KeyMaxBytes || len(value) > 1<<20 {
			return
		}
		all := slices.Clone(entries)
		bad := &all[int(which)%len(all)]
		if bad.value = value; len(key) > 0 {
			bad.key = key
		}
		s := memoryStore(t)
		defer s.Close()
		in := s.NewIngestion()
		defer in.Abort()
		for len(all) > 0 {
			same := 1
			for same < len(all) && all[same].r == all[0].r {
				same++
			}
			part, table := all[:same], in.Table(all[0].r)
			slices.SortStableFunc(part, func(a, b indexEntry) int { return bytes.Compare(a.key, b.key) })
			for i, e := range part {
				if i > 0 && bytes.Equal(e.key, part[i-1].key) {
					continue
				}
				if err := table.Set(e.key, e.value); err != nil {
					t.Fatal(err)
				}
			}
			all = all[same:]
		}
		if err := in.Commit(); err != nil {
			t.Fatal(err)
		}
		ask(t, s)
	})
}

// ask asks a damaged index for all that it does.
func ask(t *testing.T, s *storage.Store) {
	check := func(err error) {
		if err != nil && !errors.Is(err, storage.ErrCorrupt) && !errors.Is(err, ErrFormat) {
			t.Fatalf("%v", err)
		}
	}
	x, err := Open(s, Options{FS: storage.NewMemFS(), MemoryBytes: 1 << 20})
	if check(err); err != nil {
		return
	}
	defer x.Close()
	ctx := context.Background()
	for _, q := range []string{
		"net mended boat", `"net mended" fog`, `"mended mending"~4`, "ne* mendin~1 -fog", "title:nets site:example",
		"lang:en type:html size:>10k date:>1971 fetched:>1971 net", "北京大学",
	} {
		r, err := x.Search(ctx, q, SearchOptions{Limit: 400, Deadline: time.Minute})
		check(err)
		if len(r.Hits) > 600 || uint64(r.Total) > 1<<33 {
			t.Fatalf("%q: %d hits of %d", q, len(r.Hits), r.Total)
		}
	}
	for range 2 { // from the store, and perhaps from memory
		_, err = x.Complete(ctx, "n", 10)
		check(err)
		_, err = x.Suggest(ctx, "mendad", time.Minute)
		check(err)
	}
	_, err = x.Digest(ctx)
	check(err)
	x.Stats()
	in := s.NewIngestion()
	defer in.Abort()
	b := x.NewBuilder(in)
	defer b.Abort()
	again := numbered(t, 7, "net")
	check(b.Add(&again))
	if _, err = b.Finish(); err == nil {
		check(in.Commit())
		check(x.Refresh())
	}
	check(err)
	_, err = x.DropDeleted(ctx)
	check(err)
	_, err = x.Digest(ctx)
	check(err)
}

// TestNoBoosts: a block of boosts that has none is damage, not the end of a search that asks for the largest.
func TestNoBoosts(t *testing.T) {
	if block, _, err := decodeBoosts([]byte{0, 0, 0}, 3); err == nil {
		t.Errorf("a block of no factors: the largest of them is %v", boosts{block}.most())
	}
}
