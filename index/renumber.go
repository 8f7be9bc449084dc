// SPDX-License-Identifier: Apache-2.0

package index

import "math/bits"

// renumbering says which numbers the documents of a source have in the index segment that a merge writes. Numbers rise
// with the old ones, so they are kept as a sequence of Elias and Fano (S. Vigna, "Quasi-succinct indices", 2013): of
// each number the low bits as they are, and the high ones as a unary code of their differences. That is 2 bits and the
// logarithm of the share that the source has in the whole, 5 bits where eight sources have equal shares, beside half a
// bit to find the place. A deleted document has the number of the one before it.
//
// Where there is memory for them, the numbers are a plain array: finding each in the sequence took a fifth of a merge.
type renumbering struct {
	plain []uint32 // by document; nil: what follows
	count uint32   // documents that have a number
	width int      // of the low bits
	low   []uint64
	high  []uint64 // bit (number >> width) + document is set
	every []uint64 // place in high of each rankStep-th document

	first uint32 // number of document 0
	even  bool   // each number is one above that before it, as where no other source has keys between this one's

	// The document of the last call and its place in high: the next one is mostly near.
	last  uint32
	place uint64
}

// rankStep documents share a sample of the places.
const rankStep = 128

// plainBytes is what a plain renumbering takes of each document.
const plainBytes = 4

// newRenumbering makes room for the numbers of docs documents, none above most, in a plain array or not.
func newRenumbering(docs, most uint32, plain bool) *renumbering {
	r := &renumbering{even: true, last: end}
	if docs == 0 {
		return r
	}
	if plain {
		r.plain = make([]uint32, 0, docs)
		return r
	}
	r.width = max(bits.Len32(most/docs)-1, 0)
	r.low = make([]uint64, (uint64(docs)*uint64(r.width)+63)/64)
	r.high = make([]uint64, (uint64(docs)+uint64(most>>r.width)+64)/64)
	r.every = make([]uint64, 0, (uint64(docs)+rankStep-1)/rankStep)
	return r
}

// renumberingBits is more than the bits that renumberings take of each document of a merge of mergeSourcesMost sources.
const renumberingBits = 8

// add adds the number of the next document, which is not below the one before.
func (r *renumbering) add(number uint32) {
	if r.plain != nil {
		r.plain = append(r.plain, number)
		return
	}
	if r.count == 0 {
		r.first = number
	}
	r.even = r.even && number == r.first+r.count
	place := uint64(number>>r.width) + uint64(r.count)
	r.high[place>>6] |= 1 << (place & 63)
	if r.count%rankStep == 0 {
		r.every = append(r.every, place)
	}
	if r.width > 0 {
		v := uint64(number) & (1<<r.width - 1)
		at := uint64(r.count) * uint64(r.width)
		r.low[at>>6] |= v << (at & 63)
		if over := int(at&63) + r.width - 64; over > 0 {
			r.low[at>>6+1] |= v >> (r.width - over)
		}
	}
	r.count++
}

// of returns the number of a document, which must have been added. It is fastest where documents come in order.
func (r *renumbering) of(doc uint32) uint32 {
	if r.plain != nil {
		return r.plain[doc]
	}
	if r.even {
		return r.first + doc
	}
	from, place := doc/rankStep*rankStep, r.every[doc/rankStep]
	if from <= r.last && r.last <= doc {
		from, place = r.last, r.place
	}
	word := place >> 6
	rest := r.high[word] &^ (1<<(place&63) - 1) // its lowest bit is that of document from
	skip := int(doc - from)
	for n := bits.OnesCount64(rest); n <= skip; n = bits.OnesCount64(rest) {
		skip -= n
		word++
		rest = r.high[word]
	}
	r.last, r.place = doc, word<<6+uint64(selectBit(rest, skip))
	number := uint32(r.place-uint64(doc)) << r.width
	if r.width > 0 {
		at := uint64(doc) * uint64(r.width)
		v := r.low[at>>6] >> (at & 63)
		if over := int(at&63) + r.width - 64; over > 0 {
			v |= r.low[at>>6+1] << (r.width - over)
		}
		number |= uint32(v & (1<<r.width - 1))
	}
	return number
}

// selectBit returns the place of the set bit of w that has n set bits below it.
func selectBit(w uint64, n int) int {
	if n < 8 {
		for ; n > 0; n-- {
			w &= w - 1
		}
		return bits.TrailingZeros64(w)
	}
	place := 0
	for half := 32; half > 0; half /= 2 {
		below := bits.OnesCount64(w & (1<<half - 1))
		if n >= below {
			n -= below
			w >>= half
			place += half
		}
	}
	return place
}
