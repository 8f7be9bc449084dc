// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/storage"
)

// TestGroup: groups of all lengths and widths, with and without exceptions, come back, and take the room that their
// width says.
func TestGroup(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := make([]uint32, rapid.IntRange(0, groupSize).Draw(t, "n"))
		width, most := rapid.IntRange(0, 32).Draw(t, "width"), rapid.IntRange(0, 32).Draw(t, "most")
		rare := rapid.IntRange(1, 100).Draw(t, "rare")
		rng := rand.New(rand.NewPCG(uint64(rapid.Int().Draw(t, "seed")), 0))
		for i := range v {
			bits := width
			if rng.IntN(rare) == 0 {
				bits = most
			}
			v[i] = uint32(rng.Uint64() & (1<<bits - 1))
		}
		b := appendGroup([]byte("before"), v)[len("before"):]
		if most := 1 + packedBytes(len(v), uint(max(width, most))); len(b) > most {
			t.Fatalf("%d bytes, more than %d", len(b), most)
		}
		checkGroup(t, b, v)
		tight := appendTightGroup([]byte("before"), v)[len("before"):]
		if len(tight) > len(b) {
			t.Fatalf("a tight group has %d bytes, another %d", len(tight), len(b))
		}
		checkGroup(t, tight, v)
	})
}

// checkGroup checks that a group has the numbers, and no part of it is one.
func checkGroup(t *rapid.T, b []byte, v []uint32) {
	got := make([]uint32, len(v))
	for _, tail := range []string{"", "after", "a tail of more than thirty-two bytes"} {
		rest, ok := readGroup(append(slices.Clone(b), tail...), got)
		if !ok || string(rest) != tail || !slices.Equal(got, v) {
			t.Fatalf("%v, rest %q, %v; want %v", ok, rest, got, v)
		}
	}
	for n := range b {
		if _, ok := readGroup(b[:n], got); ok {
			t.Fatalf("%d of %d bytes are a group", n, len(b))
		}
	}
}

// TestTightGroup: numbers with a geometric distribution take about what information theory asks of them.
func TestTightGroup(t *testing.T) {
	if g := appendTightGroup(nil, []uint32{1, 0, 3, 2}); !slices.Equal(g, []byte{2, 0xb1}) {
		t.Errorf("four numbers: %x", g)
	}
	four := make([]uint32, 4)
	if _, ok := readGroup([]byte{0x81, 5, 1, 0x2b}, four); !ok || !slices.Equal(four, []uint32{1, 0, 3, 2}) {
		t.Errorf("the example of a unary group: %v", four)
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for _, mean := range []float64{1, 5, 20, 300, 1e5} {
		var v [groupSize]uint32
		tight, plain := 0, 0
		for range 100 {
			for i := range v {
				v[i] = uint32(rng.ExpFloat64() * mean)
			}
			tight += len(appendTightGroup(nil, v[:]))
			plain += len(appendGroup(nil, v[:]))
		}
		least := 100 * groupSize / 8 * (math.Log2(mean+.5) + math.Log2E) // about the entropy
		if got := float64(tight); got > 1.06*least+100*3 || got > .97*float64(plain) {
			t.Errorf("mean %v: %v bytes, about %.0f possible, %d without high bits apart", mean, got, least, plain)
		}
	}
}

func FuzzGroup(f *testing.F) {
	f.Add([]byte{2, 0xb1}, 4)
	f.Add(appendGroup(nil, []uint32{1, 2, 1 << 31, 4, 5, 6, 7, 8, 9, 10, 11}), 11)
	f.Add([]byte{0x81, 5, 1, 0x2b}, 4)
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		v := make([]uint32, min(max(n, 0), groupSize))
		rest, ok := readGroup(b, v)
		if !ok {
			return
		}
		again := make([]uint32, len(v))
		for _, g := range [][]byte{appendGroup(nil, v), appendTightGroup(nil, v)} {
			if _, ok := readGroup(g, again); !ok || !slices.Equal(v, again) || len(rest) >= len(b) {
				t.Fatalf("%v, again %v", v, again)
			}
		}
	})
}

type fataler interface{ Fatalf(string, ...any) }

// memoryChunks are the chunks of lists under test.
type memoryChunks map[string][]byte

func (memoryChunks) inBuffer() bool { return false }

func (m memoryChunks) chunk(kind byte, list, chunk uint32, _ []byte) ([]byte, bool, error) {
	b, ok := m[string(appendChunkKey([]byte{kind}, list, chunk))]
	return b, ok, nil
}

// testPosting is one document of a list under test.
type testPosting struct {
	doc       uint32
	positions [fieldCount][]uint32
	tf        float64
}

// drawPostings draws a list: dense, sparse or in runs, with one field mostly or many, short positions or long.
func drawPostings(t *rapid.T) (list []testPosting) {
	n := rapid.OneOf(rapid.IntRange(1, 20), rapid.SampledFrom([]int{127, 128, 129, 256, 1000, 5000})).Draw(t, "n")
	gap := rapid.SampledFrom([]uint32{1, 2, 5, 100, 100_000}).Draw(t, "gap")
	fields := rapid.SampledFrom([]uint32{1, 2, 1 << fieldCount}).Draw(t, "fields")
	many := rapid.SampledFrom([]int{1, 2, 30}).Draw(t, "many")
	far := rapid.SampledFrom([]uint32{1, 2, 300, 1 << 20}).Draw(t, "far")
	rng := rand.New(rand.NewPCG(uint64(rapid.Int().Draw(t, "seed")), 0))
	doc := uint32(0)
	for range n {
		doc += 1 + rng.Uint32N(gap)
		p := testPosting{doc: doc - 1, tf: rng.Float64() * 300}
		mask := 1 + rng.Uint32N(fields)
		for f := range fieldCount {
			if mask&(1<<f) == 0 && (mask != 1<<fieldCount || f > 0) {
				continue
			}
			at := uint32(0)
			for range 1 + rng.IntN(many) {
				at += rng.Uint32N(far)
				p.positions[f] = append(p.positions[f], at)
			}
		}
		list = append(list, p)
	}
	return list
}

// writeList writes a list and returns its row and its chunks.
func writeList(t fataler, s *storage.Store, list []testPosting) (row []byte, m memoryChunks) {
	ing := s.NewIngestion()
	defer ing.Abort()
	w := listWriter{
		postings:  ing.Table(storage.IndexSegmentRange(1, kindPostings)),
		positions: ing.Table(storage.IndexSegmentRange(1, kindPositions)),
	}
	w.begin()
	var numbers []uint32
	for _, p := range list {
		var freqs [fieldCount]uint32
		numbers = numbers[:0]
		for f, positions := range p.positions {
			freqs[f] = uint32(len(positions))
			last := uint32(0)
			for _, at := range positions {
				numbers = append(numbers, at-last)
				last = at
			}
		}
		if err := w.add(p.doc, &freqs, numbers, p.tf); err != nil {
			t.Fatalf("%v", err)
		}
	}
	row, err := w.finish()
	if err != nil {
		t.Fatalf("%v", err)
	}
	if err := ing.Commit(); err != nil {
		t.Fatalf("%v", err)
	}
	m = memoryChunks{}
	for _, kind := range []byte{kindPostings, kindPositions} {
		sc := s.Scan(storage.IndexSegmentRange(1, kind), nil, nil)
		for sc.Next() {
			m[string(kind)+string(sc.Key())] = bytes.Clone(sc.Value())
		}
		if err := sc.Close(); err != nil {
			t.Fatalf("%v", err)
		}
	}
	return row, m
}

func memoryStore(t fataler) *storage.Store {
	s, err := storage.Open("/lists", storage.Options{FS: storage.NewMemFS()})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return s
}

// TestLists: random lists come back block by block, in any order of reading, with a bound for each block that no
// impact exceeds.
func TestLists(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := drawPostings(t)
		s := memoryStore(t)
		defer s.Close()
		row, m := writeList(t, s, list)
		r, err := newListReader(m, row)
		if err != nil {
			t.Fatal(err)
		}
		if r.df() != uint64(len(list)) || len(r.lastDocs()) != (len(list)+blockDocs-1)/blockDocs {
			t.Fatalf("%d documents in %d blocks, want %d", r.df(), len(r.lastDocs()), len(list))
		}
		for range 3 + len(r.lastDocs()) {
			block := rapid.IntRange(0, len(r.lastDocs())-1).Draw(t, "block")
			checkBlock(t, r, block, list[block*blockDocs:min((block+1)*blockDocs, len(list))])
		}
	})
}

func checkBlock(t *rapid.T, r list, block int, want []testPosting) {
	var docs [blockDocs]uint32
	var freqs blockFreqs
	n, err := r.docs(block, &docs)
	if err != nil || n != len(want) {
		t.Fatalf("block %d has %d documents, want %d: %v", block, n, len(want), err)
	}
	if err := r.freqs(block, &freqs); err != nil {
		t.Fatal(err)
	}
	if r.lastDocs()[block] != want[n-1].doc {
		t.Fatalf("block %d ends with %d, not %d", block, r.lastDocs()[block], want[n-1].doc)
	}
	for i, p := range want {
		if docs[i] != p.doc || p.tf > impactBound(r.impacts()[block]) {
			t.Fatalf("document %d of block %d is %d with impact %v <= %v, want %d",
				i, block, docs[i], p.tf, impactBound(r.impacts()[block]), p.doc)
		}
		for f := range fieldCount {
			if int(freqs.n[f][i]) != len(p.positions[f]) || freqs.mask[i]>>f&1 == 1 != (len(p.positions[f]) > 0) {
				t.Fatalf("document %d has frequency %d in field %d, want %v", p.doc, freqs.n[f][i], f, p.positions[f])
			}
		}
	}
	for _, i := range []int{0, n - 1, n / 2} {
		for f := range fieldCount {
			got, err := r.positions(block, i, f, &freqs, nil)
			if err != nil || !slices.Equal(got, want[i].positions[f]) {
				t.Fatalf("positions %v, want %v: %v", got, want[i].positions[f], err)
			}
		}
	}
}

// readAll reads everything of a list and returns its first error.
func readAll(m chunks, row []byte) error {
	r, err := newListReader(m, row)
	if err != nil {
		return err
	}
	var docs [blockDocs]uint32
	var freqs blockFreqs
	var positions []uint32
	for block := range r.lastDocs() {
		n, err := r.docs(block, &docs)
		if err != nil {
			return err
		}
		if err := r.freqs(block, &freqs); err != nil {
			return err
		}
		for i := range n {
			for f := range fieldCount {
				if positions, err = r.positions(block, i, f, nil, positions[:0]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// FuzzList: damaged rows, blocks and positions are storage.ErrCorrupt.
func FuzzList(f *testing.F) {
	s := memoryStore(f)
	defer s.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 7, 8, 300, 4000} {
		var list []testPosting
		for doc := range uint32(n) {
			p := testPosting{doc: doc * 3}
			p.positions[rng.IntN(2)] = []uint32{4, 9}
			p.positions[2] = []uint32{rng.Uint32N(1000)}
			list = append(list, p)
		}
		row, m := writeList(f, s, list)
		first := appendChunkKey(nil, 0, 0)
		f.Add(row, m[string(kindPostings)+string(first)], m[string(kindPositions)+string(first)])
	}
	f.Fuzz(func(t *testing.T, row, postings, positions []byte) {
		m := memoryChunks{}
		for list := range uint32(2) {
			m[string(appendChunkKey([]byte{kindPostings}, list, 0))] = postings
			m[string(appendChunkKey([]byte{kindPositions}, list, 0))] = positions
		}
		if err := readAll(m, row); err != nil && !errors.Is(err, storage.ErrCorrupt) {
			t.Fatal(err)
		}
	})
}

// TestListDamage: each byte of a list, changed, is found or gives another list, and every cut is found.
func TestListDamage(t *testing.T) {
	s := memoryStore(t)
	defer s.Close()
	for _, n := range []uint32{1, 5, 40, 600} {
		var list []testPosting
		for doc := range n {
			p := testPosting{doc: doc * doc, tf: 1}
			p.positions[doc%fieldCount] = []uint32{doc, 2 * doc, 1 << 20}
			list = append(list, p)
		}
		row, m := writeList(t, s, list)
		if err := readAll(m, row); err != nil {
			t.Fatal(err)
		}
		damage := func(b []byte, read func([]byte) error) {
			for i := range b {
				if err := read(b[:i]); !errors.Is(err, storage.ErrCorrupt) {
					t.Errorf("list of %d: %d of %d bytes: %v", n, i, len(b), err)
				}
				for _, flip := range []byte{1, 0x40, 0x80, 0xff} {
					bad := bytes.Clone(b)
					bad[i] ^= flip
					if err := read(bad); err != nil && !errors.Is(err, storage.ErrCorrupt) {
						t.Errorf("list of %d: byte %d changed by %x: %v", n, i, flip, err)
					}
				}
			}
		}
		damage(row, func(b []byte) error { return readAll(m, b) })
		for key, value := range m {
			damage(value, func(b []byte) error {
				m[key] = b
				defer func() { m[key] = value }()
				return readAll(m, row)
			})
		}
	}
	huge := binary.AppendUvarint(nil, math.MaxUint32<<2|rowLong)
	if err := readAll(memoryChunks{}, append(huge, 200, 0, 0, 0)); !errors.Is(err, storage.ErrCorrupt) {
		t.Errorf("a row that claims 2^32 documents: %v", err)
	}
}

// TestNorms: codes are monotone, exact where they should be, and within 3.5% above.
func TestNorms(t *testing.T) {
	for n := range maxLength + 1 {
		got := normLength[normOf(n)]
		if got > float64(n) || n <= exactLength && got != float64(n) || got < float64(n)/1.036 {
			t.Fatalf("length %d is kept as %v", n, got)
		}
		if c := normOf(int(got)); normLength[c] != got {
			t.Fatalf("coded length %v is kept as %v", got, normLength[c])
		}
	}
	for _, tf := range []float64{0, 1e-9, 0.1, 1, 2, 3, 1000} {
		if impactBound(uint16(impactCode(tf))) < tf {
			t.Errorf("an impact of %v is above its bound", tf)
		}
	}
	if impactCode(1) != impactOne+1 && impactCode(1) != impactOne {
		t.Errorf("an impact of 1 has code %d", impactCode(1))
	}
}

func BenchmarkUnpack(b *testing.B) {
	for _, width := range []uint{1, 4, 7, 11, 15, 20, 32} {
		var v [groupSize]uint32
		for i := range v {
			v[i] = uint32(rand.Uint64() & (1<<width - 1))
		}
		g := append(appendGroup(nil, v[:]), make([]byte, 64)...)
		b.Run(fmt.Sprint(width), func(b *testing.B) {
			for b.Loop() {
				readGroup(g, v[:])
			}
		})
	}
}

// BenchmarkReadBlockFreqs decodes the frequencies of blocks of a word that some documents have in their title or in a
// heading too, as most words are. ns/op is of a block.
func BenchmarkReadBlockFreqs(b *testing.B) {
	rng := rand.New(rand.NewPCG(3, 4))
	var blocks [][]byte
	for range 4096 { // more than a processor foresees the branches of
		w := &blockWriter{}
		for doc := range uint32(blockDocs) {
			freqs := [fieldCount]uint32{}
			freqs[fieldBody] = 1 + uint32(rng.ExpFloat64())
			for f, chance := range map[int]float64{fieldTitle: .1, fieldAround: .15, fieldHeadings: .2} {
				if rng.Float64() < chance {
					freqs[f] = 1
				}
			}
			w.add(doc, &freqs)
		}
		rest, err := skipBlockDocs(w.append(nil, -1), -1, blockDocs-1, blockDocs)
		if err != nil {
			b.Fatal(err)
		}
		blocks = append(blocks, rest)
	}
	var freqs blockFreqs
	for n := 0; b.Loop(); n++ {
		if err := readBlockFreqs(blocks[n%len(blocks)], blockDocs, &freqs); err != nil {
			b.Fatal(err)
		}
	}
}

// newListReader reads a term's row, which must not change while the reader is used.
func newListReader(from chunks, row []byte) (*listReader, error) {
	r := &listReader{from: from}
	if err := r.reset(row); err != nil {
		return nil, err
	}
	return r, nil
}
