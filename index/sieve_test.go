// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// sized gives the documents of a world sizes: some none, the others from 1 to 99.
func (w *world) sized() {
	for _, p := range w.parts {
		docs := p.docs
		p.column = func(_ byte, block uint32, dst *columnBlock) error {
			dst.numbers, dst.texts = dst.numbers[:0], dst.texts[:0]
			for doc := block * normDocs; doc < min((block+1)*normDocs, docs); doc++ {
				dst.numbers = append(dst.numbers, uint64(doc*7919%100))
			}
			return nil
		}
	}
}

// TestHeldSieve: with filters and exclusions too, held words, any or all of several or in a row, find and count what a
// search without held words and without pruning does, in windows of many documents and of few. The bits of a filter
// that is used again are held.
func TestHeldSieve(t *testing.T) {
	worlds := []*world{newSparseWorld(1, sumDocs+2000), windowsWorld(true, 300)}
	for _, w := range worlds {
		w.sized()
	}
	rapid.Check(t, func(t *rapid.T) {
		i := rapid.IntRange(0, 1).Draw(t, "world")
		w := worlds[i]
		words := func(label string, least int) (nodes []*node) {
			for _, c := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "x"}), least, 3,
				rapid.ID).Draw(t, label) {
				nodes = append(nodes, &node{kind: nodeTerm, term: c})
			}
			return nodes
		}
		key := func(doc int) string {
			if i == 0 {
				return fmt.Sprintf("%06d", doc)
			}
			return string([]byte{byte(doc >> 16), byte(doc >> 8), byte(doc), '0'})
		}
		root := &node{kind: nodeBool, not: words("not", 0)}
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			root.must, root.should = words("must", 1), words("should", 0)
		case 1:
			phrase := &node{kind: nodePhrase, children: words("phrase", 1), boost: 3}
			for i := range phrase.children {
				phrase.at = append(phrase.at, i)
			}
			root.must = []*node{phrase}
		default:
			root.must = []*node{{kind: nodeBool, should: words("any", 1), boost: 2}}
		}
		if rapid.Bool().Draw(t, "keys") {
			from := rapid.IntRange(0, sumDocs+3000).Draw(t, "from")
			to := from + rapid.SampledFrom([]int{10, 1000, 30_000, sumDocs}).Draw(t, "span")
			root.must = append(root.must, &node{kind: nodeKeys, from: key(from), to: key(to)})
		}
		size := &node{kind: nodeValue, value: valueSize}
		size.lo = rapid.Int64Range(0, 99).Draw(t, "from size")
		size.hi = size.lo + rapid.Int64Range(0, 99).Draw(t, "sizes")
		sized := rapid.Bool().Draw(t, "sized")
		if sized {
			root.must = append(root.must, size)
		}
		k := rapid.IntRange(1, 40).Draw(t, "k")
		w.hold(0)
		x := w.execution(k)
		x.exhaustive = true
		want, total := x.run(root), x.total
		w.hold(rapid.SampledFrom([]int64{100_000, 1 << 20}).Draw(t, "bytes held"))
		for run := range 4 { // words and filters are held from the second search on
			x = w.execution(k)
			x.side = []int{1, 2}[run%2]
			x.enough = rapid.SampledFrom([]uint64{1, 500, math.MaxUint64}).Draw(t, "enough")
			sameCandidates(t, x.run(root), want)
			if x.total > total || x.total < min(total, x.enough) {
				t.Fatalf("%d matches of %d, %d are enough", x.total, total, x.enough)
			}
		}
		h := w.parts[0].held
		if u := h.words[size.filterKey()]; (u != nil) != sized && h.index.Load() == 1<<20 {
			t.Fatalf("the bits of the filter are held: %v, want %v", u != nil, sized)
		}
	})
}

// TestFilterBlocks: a search with facets reads a block of a filter's column once, and only where other words match.
func TestFilterBlocks(t *testing.T) {
	const blocks = 40
	w := newSparseWorld(1, blocks*normDocs)
	w.sized()
	reads, p := map[uint32]int{}, w.parts[0]
	column := p.column
	p.column = func(letter byte, block uint32, dst *columnBlock) error {
		reads[block]++
		return column(letter, block, dst)
	}
	size := &node{kind: nodeValue, value: valueSize, lo: 10, hi: 60}
	key := func(doc int) string { return fmt.Sprintf("%06d", doc) }
	some := &node{kind: nodeKeys, from: key(9 * normDocs), to: key(10*normDocs + 1000)}
	any := &node{kind: nodeBool, should: []*node{{kind: nodeTerm, term: "a"}, {kind: nodeTerm, term: "c"}}}
	for _, root := range []*node{
		{kind: nodeBool, must: []*node{{kind: nodeTerm, term: "a"}, some, size}},
		{kind: nodeBool, must: []*node{any, some, size}},
		{kind: nodeBool, must: []*node{some, size}},
		{kind: nodeBool, must: []*node{any, size}},
	} {
		w.hold(0)
		x := w.execution(10)
		x.run(root)
		total := x.total
		clear(reads)
		x = w.execution(10)
		x.facets = &facetCounter{}
		x.run(root)
		most := countDocs / normDocs // that are counted together
		if !slices.Contains(root.must, some) {
			most = blocks
		}
		if x.total != total || total == 0 || len(reads) > most {
			t.Errorf("%d matches, without facets %d; %d blocks are read, at most %d have matches", x.total, total,
				len(reads), most)
		}
		for block, n := range reads {
			if n > 1 {
				t.Errorf("block %d is read %d times", block, n)
			}
		}
	}
}

// TestTimeFilter: a filter of seconds takes all milliseconds of its first and last second, before 1970 too, and the
// ends of time.
func TestTimeFilter(t *testing.T) {
	for _, c := range []struct {
		lo, hi, ms int64
		fits       bool
	}{
		{5, 6, 5000, true}, {5, 6, 6999, true}, {5, 6, 4999, false}, {5, 6, 7000, false},
		{-6, -5, -6000, true}, {-6, -5, -4001, true}, {-6, -5, -6001, false}, {-6, -5, -4000, false},
		{math.MinInt64, 0, -62135596800000, true}, {0, math.MaxInt64, 253402300799999, true},
		{math.MinInt64, math.MinInt64, 0, false}, {math.MaxInt64, math.MaxInt64, 0, false},
	} {
		it := newValueIter(&node{value: valueDate, lo: c.lo, hi: c.hi}, nil, nil)
		if got := it.fit([]uint64{uint64(c.ms<<1^c.ms>>63) + 1}, nil) == 1; got != c.fits {
			t.Errorf("%d ms from %d to %d s: %t", c.ms, c.lo, c.hi, got)
		}
	}
	if newValueIter(&node{value: valueDate, lo: math.MinInt64, hi: math.MaxInt64}, nil, nil).fit([]uint64{0}, nil) > 0 {
		t.Error("a document without a date fits")
	}
}
