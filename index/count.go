// SPDX-License-Identifier: Apache-2.0

package index

import "math/bits"

// countDocs is the number of documents that are counted together, a bit each: 8 KiB.
const countDocs = 1 << 16

// counter counts matches without scoring them.
type counter struct {
	work *budget
	bits []uint64
}

// count returns how many documents of a part match, deleted ones left out; it may stop when it has counted enough of
// them. A word's documents are known from its list; else the matches are marked window by window, in which and, or and
// not are operations on whole words of bits.
func (c *counter) count(it iterator, p *part, enough uint64) (n uint64) {
	if t, ok := it.(*termIter); ok && t.fields == 0 && p.dead == nil {
		return t.cursor.l.df()
	}
	if c.bits == nil {
		c.bits = make([]uint64, countDocs/64)
	}
	for from := uint32(0); n < enough && c.work.spend(1); {
		at, _ := it.shallow(from)
		if at >= p.docs {
			break
		}
		w := window{at &^ (countDocs - 1), c.bits}
		clear(w.bits)
		it.mark(&w)
		n += w.alive(p.dead)
		if w.last() >= p.docs-1 {
			break
		}
		from = w.last() + 1
	}
	return n
}

// alive counts the window's documents that are not among the deleted ones.
func (w *window) alive(dead []uint64) (n uint64) {
	if at := int(w.from / 64); at < len(dead) {
		for i, d := range dead[at:min(at+len(w.bits), len(dead))] {
			w.bits[i] &^= d
		}
	}
	for _, b := range w.bits {
		n += uint64(bits.OnesCount64(b))
	}
	return n
}

// marksCheaply reports whether it is cheaper to mark the matches in windows of their own than to count them where they
// are ranked. It is not if positions are read for each, nor if a rare part leads from one to the next.
func marksCheaply(it iterator) bool {
	all := func(its []iterator) bool {
		for _, p := range its {
			if !marksCheaply(p) {
				return false
			}
		}
		return true
	}
	switch it := it.(type) {
	case *phraseIter:
		return false
	case *orIter:
		return all(it.parts)
	case *boolIter:
		return it.rarest*seekPrice >= it.others && all(it.must) && all(it.not)
	}
	return true
}

// freqCacheTerms is how many terms a generation of part.freqs has: about 128 bytes each.
const freqCacheTerms = 4096

// newFreqCache remembers in how many documents of a segment that are not deleted a term occurs, where that had to be
// counted.
func newFreqCache() *recent[uint64] { return &recent[uint64]{most: freqCacheTerms} }
