// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"strings"
)

// valueIter walks the documents whose value in a column fits a filter. It reads a block of the column when it comes to
// it, and makes bits of it, unless the bits of all are held. It scores 0.
type valueIter struct {
	n      *node
	part   *part
	work   *budget
	letter byte
	lo, hi int64 // of numbers, or of milliseconds
	block  int64 // of bits; -1: none
	bits   [normDocs / 64]uint64
	held   bitset       // of all blocks; nil: they are not held
	kept   filterBlocks // nil: none are kept
	// The documents from asked to found, that one left out, do not fit.
	asked, found uint32
	decoded      columnBlock
}

// valueUnits is the price of a block of a column: a read from the store and 8,192 values.
const valueUnits = 16

func newValueIter(n *node, p *part, work *budget) *valueIter {
	it := &valueIter{n: n, part: p, work: work, lo: n.lo, hi: n.hi, block: -1, asked: 1}
	switch n.value {
	case valueLanguage:
		it.letter = columnLanguage
	case valueType:
		it.letter = columnType
	case valueDate, valueFetched: // whole seconds
		it.lo, it.hi = clampSeconds(n.lo)*1000, clampSeconds(n.hi)*1000+999
		if it.letter = columnDate; n.value == valueFetched {
			it.letter = columnFetched
		}
	case valueSize:
		it.letter = columnSize
	}
	return it
}

// clampSeconds bounds seconds to those that have milliseconds.
func clampSeconds(s int64) int64 { return min(max(s, math.MinInt64/1000), math.MaxInt64/1000-1) }

// filter opens the filter of a value.
func (x *execution) filter(p *part, n *node) *valueIter {
	known := x.ranges[p.number]
	held, ok := known[n]
	if !ok && p.held != nil {
		held = x.heldFilter(p, n)
		known[n] = held
	}
	it := newValueIter(n, p, x.work)
	if it.held = held; held == nil && x.matches != nil { // counting may read again what ranking read
		kept := x.blocks[p.number]
		if kept[n] == nil {
			kept[n] = filterBlocks{}
		}
		it.kept = kept[n]
	}
	return it
}

// filterBlocks are the bits of the blocks of a filter that a search has read.
type filterBlocks map[int64]*[normDocs / 64]uint64

// heldFilter returns the documents of a part that fit a filter, as bits, if they are held, and holds those of a filter
// that was used before: nil if they are not held.
func (x *execution) heldFilter(p *part, n *node) bitset {
	blocks := int64(p.docs+normDocs-1) / normDocs
	key, size := n.filterKey(), blocks*normDocs/8
	u, hold := p.held.use(key, size)
	if u != nil {
		return u.filter
	}
	if !hold || !p.held.making(key) {
		return nil
	}
	defer p.held.made(key)
	defer x.making()()
	held := x.filterBits(p, n)
	if held == nil {
		p.held.forget(key)
		return nil
	}
	p.held.keep(key, &heldUse{filter: held, size: size})
	return held
}

// filterBits returns the documents of a part that fit a filter, as bits: of whole blocks. It is nil if the search is to
// end.
func (x *execution) filterBits(p *part, n *node) bitset {
	blocks := int64(p.docs+normDocs-1) / normDocs
	it, all := newValueIter(n, p, x.work), make(bitset, 0, blocks*(normDocs/64))
	for block := range blocks {
		if !it.load(block) {
			return nil
		}
		all = append(all, it.bits[:]...)
	}
	return all
}

// filterKey is the key of a filter of a value among what is held: longer than that of a column.
func (n *node) filterKey() string {
	key := append([]byte(heldColumns), byte(n.value))
	key = binary.BigEndian.AppendUint64(key, uint64(n.lo))
	key = binary.BigEndian.AppendUint64(key, uint64(n.hi))
	return string(append(key, strings.Join(n.texts, "\x00")...))
}

// load makes the bits of a block; false means that the search is to end.
func (it *valueIter) load(block int64) bool {
	if it.block == block {
		return true
	}
	if it.held != nil {
		it.block = block
		copy(it.bits[:], it.held[block*(normDocs/64):])
		return true
	}
	if b := it.kept[block]; b != nil {
		it.block, it.bits = block, *b
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
	fits := make([]uint8, len(it.decoded.texts)) // texts[0] is that of documents without
	for i, t := range it.decoded.texts {
		if i > 0 && slices.ContainsFunc(it.n.texts, func(want string) bool {
			return t == want || strings.HasSuffix(want, "/") && strings.HasPrefix(t, want)
		}) {
			fits[i] = 1
		}
	}
	for i := range it.bits {
		if some := it.decoded.numbers[min(i*64, len(it.decoded.numbers)):]; len(some) > 0 {
			it.bits[i] = it.fit(some[:min(64, len(some))], fits)
		}
	}
	if it.kept != nil {
		b := it.bits
		it.kept[block] = &b
	}
	return true
}

// fit returns a bit for each of at most 64 numbers that fits. Which do nobody can foresee, so there is no branch.
func (it *valueIter) fit(numbers []uint64, texts []uint8) (w uint64) {
	if it.n.value == valueLanguage || it.n.value == valueType {
		for i, v := range numbers {
			w |= uint64(texts[v]) << (i & 63)
		}
		return w
	}
	if it.lo > it.hi {
		return 0
	}
	span, isTime := uint64(it.hi-it.lo), it.n.value != valueSize
	for i, v := range numbers {
		_, is := bits.Sub64(0, v, 0) // 1: there is a value
		if isTime {
			ms, _ := columnTimeMS(v)
			v = uint64(ms)
		}
		_, out := bits.Sub64(span, v-uint64(it.lo), 0) // 1: it is outside
		w |= (is &^ out) << (i & 63)
	}
	return w
}

// seek remembers what it found: a document that does not fit asks for the next one that does, which may be many blocks
// away, and the one after it must not read these again. For a filter of one document in 24,577 and a word of all, a
// search took 1.3 s without.
func (it *valueIter) seek(doc uint32) uint32 {
	if it.asked <= doc && doc <= it.found {
		return it.found
	}
	found := it.next(doc)
	if !it.work.over {
		it.asked, it.found = doc, found
	}
	return found
}

// next returns the first document from doc on that fits; end: there is none, or the search is to end.
func (it *valueIter) next(doc uint32) uint32 {
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
