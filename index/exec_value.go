// SPDX-License-Identifier: Apache-2.0

package index

import (
	"math/bits"
	"slices"
	"strings"
)

// valueIter walks the documents whose value in a column fits a filter. It reads a block of the column when it comes to
// it, and makes bits of it. It scores 0.
type valueIter struct {
	n       *node
	part    *part
	work    *budget
	letter  byte
	block   int64 // of bits; -1: none
	bits    [normDocs / 64]uint64
	decoded columnBlock
}

// valueUnits is the price of a block of a column: a read from the store and 8,192 values.
const valueUnits = 16

func newValueIter(n *node, p *part, work *budget) *valueIter {
	letter := map[valueKind]byte{
		valueLanguage: columnLanguage, valueType: columnType, valueDate: columnDate,
		valueFetched: columnFetched, valueSize: columnSize,
	}[n.value]
	return &valueIter{n: n, part: p, work: work, letter: letter, block: -1}
}

// load makes the bits of a block; false means that the search is to end.
func (it *valueIter) load(block int64) bool {
	if it.block == block {
		return true
	}
	if !it.work.spend(valueUnits) {
		return false
	}
	if err := it.part.column(it.letter, uint32(block), &it.decoded); err != nil {
		it.work.fail(err)
		return false
	}
	it.block, it.bits = block, [normDocs / 64]uint64{}
	fits := make([]bool, len(it.decoded.texts)) // texts[0] is that of documents without
	for i, t := range it.decoded.texts {
		fits[i] = i > 0 && slices.ContainsFunc(it.n.texts, func(want string) bool {
			return t == want || strings.HasSuffix(want, "/") && strings.HasPrefix(t, want)
		})
	}
	for i, v := range it.decoded.numbers {
		if it.fits(v, fits) {
			it.bits[i/64] |= 1 << (i % 64)
		}
	}
	return true
}

func (it *valueIter) fits(v uint64, texts []bool) bool {
	switch it.n.value {
	case valueLanguage, valueType:
		return texts[v]
	case valueDate, valueFetched:
		ms, ok := columnTimeMS(v)
		s := ms / 1000
		if ms%1000 < 0 {
			s-- // down, before 1970 too
		}
		return ok && it.n.lo <= s && s <= it.n.hi
	}
	return v > 0 && it.n.lo <= int64(v) && int64(v) <= it.n.hi
}

func (it *valueIter) seek(doc uint32) uint32 {
	for ; doc < it.part.docs; doc = (doc/normDocs + 1) * normDocs {
		if !it.load(int64(doc / normDocs)) {
			return end
		}
		at := doc % normDocs
		if w := it.bits[at/64] >> (at % 64); w != 0 {
			return doc + uint32(bits.TrailingZeros64(w))
		}
		for i := at/64 + 1; i < uint32(len(it.bits)); i++ {
			if w := it.bits[i]; w != 0 {
				return doc - at + i*64 + uint32(bits.TrailingZeros64(w))
			}
		}
	}
	return end
}

func (*valueIter) matches() bool            { return true }
func (*valueIter) score() points            { return 0 }
func (*valueIter) bound(_, _ uint32) points { return 0 }
func (*valueIter) most() points             { return 0 }
func (it *valueIter) cost() uint64          { return uint64(it.part.docs) }
func (it *valueIter) fill(s *sums)          { fillEach(it, s) }
func (*valueIter) look(*sums)               {}

func (it *valueIter) shallow(doc uint32) (from, upTo uint32) {
	if doc >= it.part.docs {
		return end, end
	}
	return doc, min((doc/normDocs+1)*normDocs, it.part.docs) - 1
}

// mark relies on windows of whole blocks.
func (it *valueIter) mark(w *window) {
	for from := w.from; from < it.part.docs && from <= w.last(); from += normDocs {
		if !it.load(int64(from / normDocs)) {
			return
		}
		for i, b := range it.bits {
			w.bits[int(from-w.from)/64+i] |= b
		}
	}
}
