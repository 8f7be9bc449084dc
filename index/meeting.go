// SPDX-License-Identifier: Apache-2.0

package index

import "math/bits"

// meetDocs is the number of documents of a window: whole blocks of values, as valueIter.mark wants them.
const meetDocs = normDocs

// meeting finds the documents that several iterators mark, window by window: where each has about as many documents,
// words of bits are faster than seeking from one to the next. Nobody else uses the iterators.
type meeting struct {
	parts      []iterator
	docs       uint32 // of the index segment
	work       *budget
	places     *places // of a phrase that what meets must have; nil: none
	from       uint32  // the window in bits; end before the first
	bits, more [meetDocs / 64]uint64
}

func newMeeting(parts []iterator, docs uint32, work *budget) *meeting {
	return &meeting{parts: parts, docs: docs, work: work, from: end}
}

// meetsDensely reports whether a meeting finds what iterators have in common faster than seeking does. It does not if
// there is nothing to meet, if a rare part leads, or if a part reads positions to mark.
func meetsDensely[I iterator](its []I, docs uint32) bool {
	if len(its) < 2 {
		return false
	}
	rarest, sum := its[0].cost(), uint64(0)
	for _, it := range its {
		if !marksCheaply(it) {
			return false
		}
		rarest = min(rarest, it.cost())
		sum += it.cost()
	}
	return rarest*seekPrice >= sum-rarest && rarest*meetDocs >= uint64(docs)*windowPrice
}

// windowPrice is how many documents must be marked in a window to be worth one.
const windowPrice = 16

// meetAt is meet by a meeting, if there is one.
func meetAt[I iterator](m *meeting, its []I, doc uint32) uint32 {
	if m != nil {
		return m.seek(doc)
	}
	return meet(its, doc)
}

// seek returns the first document that is at least doc and marked by all, or end. doc never falls.
func (m *meeting) seek(doc uint32) uint32 {
	for doc < m.docs && !m.work.over {
		if m.from == end || doc-m.from >= meetDocs {
			first, _ := shallowAll(m.parts, doc)
			if first == end || !m.work.spend(1) {
				return end
			}
			doc = first
			m.load(doc &^ (meetDocs - 1))
		}
		at := doc - m.from
		w := m.bits[at>>6] &^ (1<<(at&63) - 1)
		for i := at >> 6; ; w = m.bits[i] {
			if w != 0 {
				return m.from + i*64 + uint32(bits.TrailingZeros64(w))
			}
			if i++; i == uint32(len(m.bits)) {
				break
			}
		}
		doc = m.from + meetDocs
	}
	return end
}

func (m *meeting) load(from uint32) {
	m.from = from
	clear(m.bits[:])
	m.parts[0].mark(&window{from, m.bits[:]})
	for _, p := range m.parts[1:] {
		clear(m.more[:])
		p.mark(&window{from, m.more[:]})
		for i, b := range m.more {
			m.bits[i] &= b
		}
	}
	if m.places != nil {
		m.places.keep(&window{from, m.bits[:]})
	}
}
