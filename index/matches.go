// SPDX-License-Identifier: Apache-2.0

package index

import "sync"

// matches are the documents that match a query, by part, where their values are counted too: as ranking finds them, so
// that nothing is looked for twice. Finding those of a phrase again was nearly half of a search for one. Goroutines
// that rank parts, or windows of one, write words of their own.
type matches struct {
	bits []uint64
	from []int // in bits, of each part
}

var matchesPool = sync.Pool{New: func() any { return new(matches) }}

// newMatches returns matches without any.
func newMatches(parts []*part) *matches {
	m := matchesPool.Get().(*matches)
	m.from = m.from[:0]
	words := 0
	for _, p := range parts {
		m.from = append(m.from, words)
		words += int((uint64(p.docs) + countDocs - 1) / countDocs * (countDocs / 64))
	}
	m.from = append(m.from, words)
	m.bits = resize(m.bits, uint64(words))
	clear(m.bits)
	return m
}

// of returns the bits of a part: whole windows of countDocs.
func (m *matches) of(p *part) bitset {
	if m == nil {
		return nil
	}
	return m.bits[m.from[p.number]:m.from[p.number+1]]
}

// note keeps the matches of a window, deleted ones left out, if they are wanted.
func (r *ranker) note(lo uint32, of []uint64) {
	if r.matched != nil {
		copy(r.matched[lo/64:], of)
	}
}

// sweepFound is sweep of a part whose matches ranking found.
func (x *execution) sweepFound(p *part, fn func(w *window)) (n uint64) {
	all := x.matches.of(p)
	for from := 0; from < len(all) && x.work.spend(1); from += countDocs / 64 {
		w := window{uint32(from) * 64, all[from : from+countDocs/64]}
		if some := w.alive(nil); some > 0 {
			n += some
			fn(&w)
		}
	}
	return n
}
