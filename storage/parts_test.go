// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"
)

// TestSortParts: the parts of any number of sorters, read at the same time, are one after another what a stable sort of
// all pairs gives, spilled or not; no part has a key of another, nor what begins as one of its keys.
func TestSortParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := SorterOptions{Dir: "sort", FS: NewMemFS()}
		o.MemoryBytes = rapid.SampledFrom([]int64{1, 1 << 20}).Draw(t, "memory")
		if rapid.Bool().Draw(t, "combine") {
			o.Combine = appendValues
		}
		// A host is what precedes the first slash, if there is one.
		whole := func(key []byte) int {
			if i := bytes.IndexByte(key, '/'); i >= 0 {
				return i + 1
			}
			return len(key)
		}
		cut := whole
		if rapid.Bool().Draw(t, "single keys") {
			cut = nil
		}
		sorters := make([]*Sorter, rapid.IntRange(1, 3).Draw(t, "sorters"))
		hosts := rapid.SampledFrom([]int{1, 3, 40}).Draw(t, "hosts")
		size := rapid.SampledFrom([]int{3, 300, 8000})
		var want []Pair
		for i := range sorters {
			sorters[i] = NewSorter(o)
			for n := range rapid.IntRange(0, 300).Draw(t, "pairs") {
				key := fmt.Appendf(nil, "com,example%d,)/%d", rapid.IntRange(0, hosts-1).Draw(t, "host"),
					rapid.IntRange(0, 30).Draw(t, "page"))
				p := Pair{key, bytes.Repeat([]byte{byte(n)}, size.Draw(t, "size"))}
				want = append(want, p)
				if err := sorters[i].Add(p.Key, p.Value); err != nil {
					t.Fatal(err)
				}
			}
		}
		want = sortedPairs(want, o.Combine)
		most := rapid.IntRange(1, 6).Draw(t, "parts")
		parts, err := SortParts(most, cut, sorters...)
		if err != nil || len(parts) < 1 || len(parts) > most {
			t.Fatalf("%d parts of at most %d, %v", len(parts), most, err)
		}
		var got []Pair
		for i, read := range readParts(t, parts) {
			from, to := boundsOfPart(Froms(parts)[1:], i)
			for _, p := range read {
				if bytes.Compare(p.Key, from) < 0 || to != nil && bytes.Compare(p.Key, to) >= 0 {
					t.Fatalf("%q is in the part from %q to %q", p.Key, from, to)
				}
			}
			if got == nil || len(read) == 0 || cut == nil {
				got = append(got, read...)
				continue
			}
			last, first := got[len(got)-1].Key, read[0].Key
			if bytes.Equal(last[:whole(last)], first[:whole(first)]) {
				t.Fatalf("%q and %q are in two parts", last, first)
			}
			got = append(got, read...)
		}
		if d := diffPairs(want, got); d != "" {
			t.Fatal(d)
		}
		if _, err := sorters[0].Sort(); !errors.Is(err, ErrClosed) {
			t.Fatalf("sorted once more: %v", err)
		}
		for _, s := range sorters {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if names, err := o.FS.List("sort"); err == nil && len(names) > 0 {
			t.Fatalf("files left: %v", names)
		}
	})
}

// sortedPairs sorts pairs and folds those of equal keys.
func sortedPairs(pairs []Pair, combine func(dst, a, b []byte) []byte) (sorted []Pair) {
	slices.SortStableFunc(pairs, func(a, b Pair) int { return bytes.Compare(a.Key, b.Key) })
	for _, p := range pairs {
		if n := len(sorted); combine != nil && n > 0 && bytes.Equal(sorted[n-1].Key, p.Key) {
			sorted[n-1].Value = combine(nil, sorted[n-1].Value, p.Value)
		} else {
			sorted = append(sorted, p)
		}
	}
	return sorted
}

// readParts reads all parts at once, and closes them.
func readParts(t *rapid.T, parts []Part) [][]Pair {
	read := make([][]Pair, len(parts))
	var group errgroup.Group
	for i, p := range parts {
		group.Go(func() error {
			for p.Run.Next() {
				read[i] = append(read[i], Pair{bytes.Clone(p.Run.Key()), bytes.Clone(p.Run.Value())})
			}
			return p.Run.Err()
		})
	}
	if err := errors.Join(group.Wait(), CloseParts(parts)); err != nil {
		t.Fatal(err)
	}
	return read
}

// TestSortPartsEven: parts are of about the same size, also when most of the pairs are on disk.
func TestSortPartsEven(t *testing.T) {
	for _, memory := range []int64{2 << 20, 64 << 20} {
		s := NewSorter(SorterOptions{Dir: "sort", FS: NewMemFS(), MemoryBytes: memory})
		const keys, n = 30_000, 4
		for i := range keys {
			key := fmt.Appendf(nil, "com,example,)/%05d", i*7919%keys)
			if err := s.Add(key, bytes.Repeat([]byte{1}, 100)); err != nil {
				t.Fatal(err)
			}
		}
		parts, err := SortParts(n, nil, s)
		if err != nil || len(parts) != n {
			t.Fatalf("memory %d: %d parts, %v", memory, len(parts), err)
		}
		for i, p := range parts {
			found := 0
			for p.Run.Next() {
				found++
			}
			if found < keys/n*3/4 || found > keys/n*5/4 {
				t.Errorf("memory %d: part %d has %d of %d keys", memory, i, found, keys)
			}
		}
		if err := errors.Join(CloseParts(parts), s.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestTableParts: what several goroutines write into parts of a range replaces it as one writer would, as a batch and
// as tables, also where a part has no key.
func TestTableParts(t *testing.T) {
	from := [][]byte{nil, []byte("b"), []byte("c"), []byte("d")}
	for _, size := range []int{10, 300_000} {
		for _, replaced := range []bool{false, true} {
			t.Run(fmt.Sprintf("size=%d replaced=%v", size, replaced), func(t *testing.T) {
				s := openTest(t)
				want := map[string]byte{}
				commit := func(written map[byte]string, keys int) {
					in := s.NewIngestion()
					defer in.Abort()
					if replaced {
						clear(want)
						if err := in.DeleteRange(Crawldb()); err != nil {
							t.Fatal(err)
						}
					}
					writers := in.TableParts(Crawldb(), from)
					var group errgroup.Group
					for i, w := range writers {
						letter := byte('a' + i)
						for n := range keys {
							if written[letter] != "" {
								want[fmt.Sprintf("%c%03d", letter, n)] = written[letter][0]
							}
						}
						group.Go(func() error {
							for n := 0; n < keys && written[letter] != ""; n++ {
								key := fmt.Appendf(nil, "%c%03d", letter, n)
								if err := w.Set(key, bytes.Repeat([]byte(written[letter]), size)); err != nil {
									return err
								}
							}
							return nil
						})
					}
					if err := errors.Join(group.Wait(), in.Commit()); err != nil {
						t.Fatal(err)
					}
				}
				commit(map[byte]string{'a': "1", 'b': "1", 'c': "1", 'd': "1"}, 40)
				commit(map[byte]string{'b': "2", 'd': "2"}, 20)
				commit(map[byte]string{'a': "3"}, 300)
				got := map[string]byte{}
				sc := s.Scan(Crawldb(), nil, nil)
				for sc.Next() {
					got[string(sc.Key())] = sc.Value()[0]
				}
				if err := sc.Close(); err != nil {
					t.Fatal(err)
				}
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("got %v, want %v", got, want)
				}
			})
		}
	}
}

// TestPartsOf: a range that was written in parts has these parts, or fewer on request.
func TestPartsOf(t *testing.T) {
	s := openTest(t)
	from := [][]byte{nil, []byte("b"), []byte("c"), []byte("d")}
	for _, segment := range []uint32{1, 2} {
		in := s.NewIngestion()
		for i, w := range in.TableParts(ParseLinks(segment), from) {
			for n := range 10 {
				if err := w.Set(fmt.Appendf(nil, "%c%d", 'a'+i, n), bytes.Repeat([]byte{1}, 300_000)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := in.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	for n, want := range map[int]string{0: "a", 1: "a", 2: "a c", 4: "a b c d", 9: "a b c d"} {
		parts, err := s.PartsOf(ParseLinks(2), n)
		got := "a"
		for _, key := range parts[1:] {
			got += " " + string(key[:1])
		}
		if got != want || err != nil || parts[0] != nil {
			t.Errorf("at most %d: %q, %v, want %s", n, parts, err, want)
		}
	}
	if parts, err := s.PartsOf(ParseLinks(3), 4); len(parts) != 1 || err != nil {
		t.Errorf("an empty range has the parts %q, %v", parts, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.PartsOf(ParseLinks(2), 4); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// TestPartsOfFewTables: a range of fewer tables than parts has parts of about equal size, which begin with keys of it.
// A small one has one part, and one with most of its bytes in one host is cut within that.
func TestPartsOfFewTables(t *testing.T) {
	t.Parallel()
	value := make([]byte, 1000)
	random := rand.New(rand.NewPCG(1, 2))
	keysOf := map[string]func(i int) string{
		"hosts alike":    func(i int) string { return fmt.Sprintf("com,example,host%05d,)/ http", i) },
		"one giant host": func(i int) string { return fmt.Sprintf("org,example,www,)/a/long/path?page=%07d http", i) },
		"any bytes":      func(i int) string { return fmt.Sprintf("%c%c%06d", i>>4, i<<4, i) },
	}
	for name, key := range keysOf {
		s := openTest(t)
		keys := make([]string, 12_000)
		for i := range keys {
			keys[i] = key(i)
		}
		slices.Sort(keys)
		in := s.NewIngestion()
		for i, key := range keys {
			for j := range value {
				value[j] = byte(random.Uint32())
			}
			if i == 1000 || i == 11_000 { // tables that are not of equal size
				if err := in.Table(Crawldb()).CloseFile(); err != nil {
					t.Fatal(err)
				}
			}
			if err := in.Table(Crawldb()).Set([]byte(key), value); err != nil {
				t.Fatal(err)
			}
		}
		for _, key := range keys[:800] { // less than a part
			if err := in.Table(Linkdb()).Set([]byte(key), value); err != nil {
				t.Fatal(err)
			}
		}
		if err := in.Commit(); err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{4, 7, 100} {
			parts, err := s.PartsOf(Crawldb(), n)
			want := min(n, len(keys)*len(value)/partLeast)
			if err != nil || len(parts) < want-1 || len(parts) > want || parts[0] != nil {
				t.Fatalf("%s: %d parts, %v, want %d", name, len(parts), err, want)
			}
			last := 0
			for i := 1; i <= len(parts); i++ {
				next := len(keys)
				if i < len(parts) {
					var found bool
					if next, found = slices.BinarySearch(keys, string(parts[i])); !found {
						t.Errorf("%s: a part begins at %q", name, parts[i])
					}
				}
				if size, even := next-last, len(keys)/len(parts); size < even*4/5 || size > even*6/5 {
					t.Errorf("%s: part %d of %d has %d keys of %d", name, i, len(parts), size, len(keys))
				}
				last = next
			}
		}
		if parts, err := s.PartsOf(Linkdb(), 4); err != nil || len(parts) != 1 {
			t.Errorf("%s: what is small has the parts %q, %v", name, parts, err)
		}
	}
}

// TestTablePartsBounds: a key outside of its part is refused, and so are two ways to part one range.
func TestTablePartsBounds(t *testing.T) {
	s := openTest(t)
	for _, key := range []string{"a", "c", "d"} {
		in := s.NewIngestion()
		w := in.TableParts(Crawldb(), [][]byte{nil, []byte("b"), []byte("c")})[1]
		if err := w.Set([]byte(key), nil); !errors.Is(err, ErrOrder) {
			t.Errorf("%q is taken, %v", key, err)
		}
		if err := in.Commit(); err == nil {
			t.Errorf("%q: what failed was committed", key)
		}
	}
	for _, other := range [][][]byte{{nil}, {nil, []byte("c")}, {nil, []byte("b"), []byte("c")}} {
		in := s.NewIngestion()
		defer in.Abort()
		_ = in.TableParts(Crawldb(), [][]byte{nil, []byte("b")})
		if err := in.TableParts(Crawldb(), other)[0].Set([]byte("a"), nil); err == nil {
			t.Errorf("a range is written in parts from b and from %q", other[1:])
		}
	}
	in := s.NewIngestion()
	defer in.Abort()
	_ = in.TableParts(Crawldb(), [][]byte{nil, []byte("b")})
	if err := in.TableParts(Crawldb(), [][]byte{nil, []byte("b")})[1].Set([]byte("b"), nil); err != nil {
		t.Errorf("the same parts again: %v", err)
	}
}
