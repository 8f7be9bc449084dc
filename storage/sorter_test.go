// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"
)

func diffPairs(a, b []Pair) string {
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(a):
			return fmt.Sprintf("%d: extra %q", i, b[i].Key)
		case i >= len(b):
			return fmt.Sprintf("%d: missing %q", i, a[i].Key)
		case !bytes.Equal(a[i].Key, b[i].Key) || !bytes.Equal(a[i].Value, b[i].Value):
			return fmt.Sprintf("%d: want %q=%.60x, got %q=%.60x", i, a[i].Key, a[i].Value, b[i].Key, b[i].Value)
		}
	}
	return ""
}

// appendValues joins values with commas: it is associative and shows the order.
func appendValues(dst, a, b []byte) []byte { return append(append(append(dst, a...), ','), b...) }

// TestSorterAgainstModel sorts random pairs, spills at random intervals, and compares with a stable sort
// in memory.
func TestSorterAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fs := NewMemFS()
		combine := rapid.Bool().Draw(t, "combine")
		o := SorterOptions{Dir: "sort", FS: fs, MemoryBytes: 1}
		if combine {
			o.Combine = appendValues
		}
		s := NewSorter(o)
		// Few distinct keys that share long prefixes, are prefixes of each other, and contain zeros.
		key := rapid.Custom(func(t *rapid.T) []byte {
			k := bytes.Repeat([]byte{'a'}, rapid.SampledFrom([]int{0, 1, 6, 7, 8, 14, 21, 500}).Draw(t, "a"))
			return append(k, rapid.SliceOfN(rapid.SampledFrom([]byte{0, 'a', 'b', 0xff}), 0, 4).Draw(t, "tail")...)
		})
		value := rapid.SampledFrom([]int{0, 1, 3, 300, 40_000})
		var want []Pair
		for i := range rapid.IntRange(0, 300).Draw(t, "pairs") {
			v := bytes.Repeat([]byte{byte(i)}, value.Draw(t, "value"))
			p := Pair{key.Draw(t, "key"), v}
			want = append(want, p)
			if err := s.Add(p.Key, p.Value); err != nil {
				t.Fatal(err)
			}
		}
		if s.Len() != len(want) {
			t.Fatalf("Len %d of %d", s.Len(), len(want))
		}
		slices.SortStableFunc(want, func(a, b Pair) int { return bytes.Compare(a.Key, b.Key) })
		if combine {
			var folded []Pair
			for _, p := range want {
				if n := len(folded); n > 0 && bytes.Equal(folded[n-1].Key, p.Key) {
					folded[n-1].Value = appendValues(nil, folded[n-1].Value, p.Value)
				} else {
					folded = append(folded, p)
				}
			}
			want = folded
		}
		run, err := s.Sort()
		if err != nil {
			t.Fatal(err)
		}
		var got []Pair
		for run.Next() {
			got = append(got, Pair{bytes.Clone(run.Key()), bytes.Clone(run.Value())})
		}
		if err := errors.Join(run.Close(), s.Close()); err != nil {
			t.Fatal(err)
		}
		if d := diffPairs(want, got); d != "" {
			t.Fatal(d)
		}
		if names, err := fs.List("sort"); err == nil && len(names) > 0 {
			t.Fatalf("files left: %v", names)
		}
	})
}

// TestKeySort sorts keys in each of the ways that a group may take, and compares with a stable sort: few and many, with
// common beginnings, equal ones, prefixes of each other, and more than radix takes at a time.
func TestKeySort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		n := rapid.SampledFrom([]int{0, 1, 2, fewKeys, fewWords, manyWords - 1, manyWords, 1000}).Draw(t, "keys")
		distinct := rapid.SampledFrom([]int{1, 2, 30, 1 << 30}).Draw(t, "distinct")
		s := keySort{arena: &arena{chunkBytes: 1 << 10}}
		s.scratch = make([]sortEntry, rapid.SampledFrom([]int{1, manyWords, 1 << 10}).Draw(t, "scratch"))
		var entries []sortEntry
		var want []uint64
		for range n {
			k := rng.IntN(distinct)
			key := fmt.Appendf(nil, "com,example%d,%.*s%d", k%7, k%23, "\x00aaaaaaaaaaaaaaaaaaaaaaa\xff", k/7)
			key = key[k%2*(k%11) : len(key)-k%3]
			ref := s.arena.add(key, []byte{byte(n)})
			entries, want = append(entries, sortEntry{keyWord(key), ref}), append(want, ref)
		}
		slices.SortStableFunc(want, func(x, y uint64) int { return bytes.Compare(s.arena.key(x), s.arena.key(y)) })
		s.sort(entries, 0)
		for i, e := range entries {
			if e.ref != want[i] {
				t.Fatalf("place %d has %q, want %q", i, s.arena.key(e.ref), s.arena.key(want[i]))
			}
		}
	})
}

// TestSorterLevels spills more files than one merge takes.
func TestSorterLevels(t *testing.T) {
	fs := NewMemFS()
	s := NewSorter(SorterOptions{Dir: "sort", FS: fs, MemoryBytes: SorterMinBytes})
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 250_000
	var key [4]byte
	var value [16]byte
	most := 0
	for i := range n {
		binary.BigEndian.PutUint32(key[:], rng.Uint32N(n/4))
		binary.BigEndian.PutUint64(value[:], uint64(i))
		if err := s.Add(key[:], value[:]); err != nil {
			t.Fatal(err)
		}
		if i%1000 == 0 {
			names, _ := fs.List("sort")
			most = max(most, len(names))
		}
	}
	if len(s.levels) < 2 || most > 2*runFanIn {
		t.Errorf("%d levels, at most %d files", len(s.levels), most)
	}
	run, err := s.Sort()
	if err != nil {
		t.Fatal(err)
	}
	count, lastKey, lastValue := 0, []byte(nil), uint64(0)
	for ; run.Next(); count++ {
		v := binary.BigEndian.Uint64(run.Value())
		if c := bytes.Compare(lastKey, run.Key()); c > 0 || c == 0 && v <= lastValue {
			t.Fatalf("pair %d out of order", count)
		}
		lastKey, lastValue = append(lastKey[:0], run.Key()...), v
	}
	if err := errors.Join(run.Close(), s.Close()); err != nil || count != n {
		t.Fatalf("%d pairs, %v", count, err)
	}
}

func TestSorterMisuse(t *testing.T) {
	s := NewSorter(SorterOptions{Dir: "sort", FS: NewMemFS()})
	if run, err := s.Sort(); err != nil || run.Next() || run.Close() != nil {
		t.Errorf("an empty sorter: %v", err)
	}
	if err := s.Add([]byte("a"), nil); !errors.Is(err, ErrClosed) {
		t.Errorf("Add after Sort: %v", err)
	}
	if _, err := s.Sort(); !errors.Is(err, ErrClosed) {
		t.Errorf("Sort after Sort: %v", err)
	}
	big := NewSorter(SorterOptions{Dir: "sort", FS: NewMemFS()})
	if err := big.Add(make([]byte, KeyMaxBytes+1), nil); err == nil {
		t.Error("key above KeyMaxBytes accepted")
	}
	if _, err := big.Sort(); err == nil {
		t.Error("Sort after a failed Add lost a pair silently")
	}
	for _, s := range []*Sorter{s, big} {
		if err := errors.Join(s.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestSorterDamagedRun flips every byte of a spilled run in turn. The reader must return an error, or the
// same pairs if the byte has no meaning, but never other pairs.
func TestSorterDamagedRun(t *testing.T) {
	fs := vfs.NewMem()
	var pairs []Pair
	for i := range 200 {
		pairs = append(pairs, Pair{fmt.Appendf(nil, "com,example,)/%04d http", i), fmt.Appendf(nil, "%d", i)})
	}
	f := &runFile{fs: fs, name: "run"}
	if err := f.write(NewSliceRun(pairs).src); err != nil {
		t.Fatal(err)
	}
	data, err := fs.UnsafeGetFileDataBuffer("run")
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		data[i] ^= 0x10
		src, err := f.open()
		if err != nil {
			t.Fatal(err)
		}
		run := &Run{src: src}
		for n := 0; run.Next(); n++ {
			if !bytes.Equal(run.Key(), pairs[n].Key) || !bytes.Equal(run.Value(), pairs[n].Value) {
				t.Fatalf("byte %d: pair %d is %q", i, n, run.Key())
			}
		}
		if run.Close() == nil {
			t.Errorf("byte %d of the run was damaged without notice", i)
		}
		data[i] ^= 0x10
	}
}

func TestSorterAddDoesNotAllocate(t *testing.T) {
	s := NewSorter(SorterOptions{Dir: "sort", FS: NewMemFS(), MemoryBytes: 64 << 20})
	key, value := []byte("com,example,www,)/some/path https"), []byte("value")
	for range 100_000 { // let arena and index grow
		_ = s.Add(key, value)
	}
	if n := testing.AllocsPerRun(10_000, func() { _ = s.Add(key, value) }); n != 0 {
		t.Errorf("Add allocates %v times", n)
	}
	_ = s.Close()
}

// urlKeys returns n keys like those of a crawl: hosts with some hundred pages.
func urlKeys(n int) [][]byte {
	rng := rand.New(rand.NewPCG(3, 4))
	keys := make([][]byte, n)
	for i := range keys {
		h := rng.IntN(n/200 + 1)
		keys[i] = fmt.Appendf(nil, "com,example%d,www,)/articles/2026/%06d/index.html https", h, rng.IntN(1<<20))
	}
	return keys
}

func benchmarkSorter(b *testing.B, memory int64) {
	const n = 200_000
	keys, value := urlKeys(n), make([]byte, 20)
	b.ReportAllocs()
	for b.Loop() {
		s := NewSorter(SorterOptions{Dir: "sort", FS: NewMemFS(), MemoryBytes: memory})
		for _, k := range keys {
			if err := s.Add(k, value); err != nil {
				b.Fatal(err)
			}
		}
		run, err := s.Sort()
		if err != nil {
			b.Fatal(err)
		}
		for run.Next() {
		}
		if err := errors.Join(run.Close(), s.Close()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/key")
}

// BenchmarkSorterMemory sorts 200,000 URL keys with 20-byte values that fit into memory.
func BenchmarkSorterMemory(b *testing.B) { benchmarkSorter(b, 256<<20) }

// BenchmarkSorterSpill sorts the same keys in a tenth of the memory that they need.
func BenchmarkSorterSpill(b *testing.B) { benchmarkSorter(b, 2<<20) }

// BenchmarkSorterFloor sorts the same keys with slices.SortFunc over slices in memory.
func BenchmarkSorterFloor(b *testing.B) {
	const n = 200_000
	keys := urlKeys(n)
	work := make([][]byte, n)
	for b.Loop() {
		copy(work, keys)
		slices.SortFunc(work, bytes.Compare)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/key")
}

// TestSorterIndexRoom: from a quarter of the memory on the index moves at most once until memory is full, and then has
// room for few more pairs than there are. A pair that is larger than the memory, and comes first, does no harm.
func TestSorterIndexRoom(t *testing.T) {
	const memory = 8 << 20
	for _, length := range []int{0, 1, 20, 60, 300, 5_000} {
		s := NewSorter(SorterOptions{Dir: "sort", FS: NewMemFS(), MemoryBytes: memory})
		value := make([]byte, length)
		moves, room, held := 0, 0, 0
		for i := uint64(0); s.files == 0; i++ {
			held = len(s.index)
			if err := s.Add(binary.BigEndian.AppendUint64(nil, i), value); err != nil {
				t.Fatal(err)
			}
			quarter := s.arena.used+int64(len(s.index))*sortEntryBytes > memory/4
			if s.files == 0 && quarter && cap(s.index) != room {
				moves++
			}
			room = cap(s.index)
		}
		// A chunk of the arena is counted as soon as it is begun, so early estimates may be too small by one.
		if moves > 2 || room > held+held/4+2*indexRoomMin {
			t.Errorf("values of %d bytes: the index moved %d times, and has room for %d of %d pairs",
				length, moves, room, held)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s := NewSorter(SorterOptions{Dir: "sort", FS: NewMemFS(), MemoryBytes: SorterMinBytes})
	defer s.Close()
	if err := s.Add([]byte("a"), make([]byte, 2*SorterMinBytes)); err != nil {
		t.Fatal(err)
	}
	if cap(s.index) > 3*indexRoomMin {
		t.Errorf("room for %d pairs beside one that is larger than the memory", cap(s.index))
	}
}

// TestSorterGivesWay: who adds pairs, and who reads a run, parts of one or merged ones, gives way again and again.
func TestSorterGivesWay(t *testing.T) {
	const pairs, each = 10_000, 64
	gave, worked, start := 0, time.Duration(0), time.Now()
	calls := func(what string, least int) {
		t.Helper()
		if gave < least || gave > least+least/4+2 {
			t.Errorf("%s gives way %d times, want about %d", what, gave, least)
		}
		gave = 0
	}
	filled := func() *Sorter {
		s := NewSorter(SorterOptions{Dir: "sort", FS: NewMemFS(), GiveWay: func(d time.Duration) {
			gave, worked = gave+1, worked+d
		}})
		for i := range pairs {
			if err := s.Add(fmt.Appendf(nil, "%d", i), nil); err != nil {
				t.Fatal(err)
			}
		}
		return s
	}
	read := func(r *Run) {
		for r.Next() {
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s, other := filled(), filled()
	calls("adding", 2*(pairs/each))
	run, err := s.Sort()
	if err != nil {
		t.Fatal(err)
	}
	read(MergeRuns(run))
	calls("a merged run", pairs/each)
	parts, err := SortParts(4, nil, other)
	if err != nil || len(parts) < 2 {
		t.Fatal(len(parts), err)
	}
	for _, p := range parts {
		read(p.Run)
	}
	calls("parts", pairs/each-len(parts))
	last := filled()
	gave = 0
	if run, err = last.Sort(); err != nil {
		t.Fatal(err)
	}
	read(run)
	calls("a run", pairs/each)
	if took := time.Since(start); worked > took || worked <= 0 {
		t.Errorf("it worked for %v of %v", worked, took)
	}
	if err := errors.Join(s.Close(), other.Close(), last.Close()); err != nil {
		t.Error(err)
	}
}
