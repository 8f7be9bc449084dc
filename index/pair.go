// SPDX-License-Identifier: Apache-2.0

package index

import "math/bits"

// pair finds a phrase of two words in all candidates of a window. All lists of both are read side by side, and gaps are
// compared where they were decoded: writing down where the phrase could begin and looking that up by document, as
// places does for longer phrases, took as long as decoding.
type pair struct {
	sides    [2][]pairList // of the forms of each word
	fields   uint8
	distance int64 // from a position of the first side's word to one of the second's
}

// pairList is the list of a form, which stands in a block.
type pairList struct {
	c      *cursor
	gaps   blockGaps
	places [blockDocs]uint8 // of the window's candidates in the block
	k, n   int              // those that are left: places[k:n]
	doc    uint32           // at places[k]; end: none of the window
}

// pairLazily is the part of a block's documents below which positions are decoded by document rather than all: an
// eighth.
const pairLazily = 8

// newPair returns nil if there are not two words.
func newPair(words []placedWord, fields uint8) *pair {
	if len(words) != 2 {
		return nil
	}
	p := &pair{fields: fields, distance: int64(words[1].at - words[0].at)}
	for i := range p.sides {
		p.sides[i] = make([]pairList, len(words[i].forms))
		for j, c := range words[i].forms {
			p.sides[i][j].c = c
		}
	}
	return p
}

// keep is places.keep.
func (p *pair) keep(w *window) {
	for _, side := range p.sides {
		for i := range side {
			side[i].enter(w, w.from)
		}
	}
	if len(p.sides[0]) == 1 && len(p.sides[1]) == 1 {
		p.keepOne(w, &p.sides[0][0], &p.sides[1][0])
		return
	}
	for at, some := range w.bits {
		kept := uint64(0)
		for ; some != 0; some &= some - 1 {
			if p.at(w, w.from+uint32(at*64+bits.TrailingZeros64(some))) {
				kept |= some & -some
			}
		}
		w.bits[at] &= kept
	}
}

// keepOne is keep where each word has one form: both lists have all candidates, so that they go from one to the next
// together.
func (p *pair) keepOne(w *window, a, b *pairList) {
	for a.doc != end && b.doc != end {
		for n := min(a.n-a.k, b.n-b.k); ; a.k, b.k = a.k+1, b.k+1 {
			if !p.meets(a, b) {
				at := a.c.docs[a.places[a.k&(blockDocs-1)]&(blockDocs-1)] - w.from
				w.bits[at>>6] &^= 1 << (at & 63)
			}
			if n--; n == 0 {
				break
			}
		}
		a.next(w)
		b.next(w)
	}
}

// at reports whether a candidate has the phrase, and goes on to the next one. Where both words have a form, its cursors
// share what is decoded of positions: neither moves before all forms are compared.
func (p *pair) at(w *window, doc uint32) (found bool) {
	for i := range p.sides[0] {
		a := &p.sides[0][i]
		if a.doc != doc {
			continue
		}
		for j := range p.sides[1] {
			if b := &p.sides[1][j]; b.doc == doc && !found {
				found = p.meets(a, b)
			}
		}
	}
	for _, side := range p.sides {
		for i := range side {
			if l := &side[i]; l.doc == doc {
				l.next(w)
			}
		}
	}
	return found
}

// meets reports whether two forms are at the phrase's distance in the document of both.
func (p *pair) meets(a, b *pairList) bool {
	i, j := a.places[a.k&(blockDocs-1)]&(blockDocs-1), b.places[b.k&(blockDocs-1)]&(blockDocs-1)
	if in, of := &a.gaps, &b.gaps; in.starts != nil && of.starts != nil { // one field each
		return a.c.freq.all&b.c.freq.all&p.fields != 0 &&
			follows(in.numbers[in.starts[i]:in.starts[i+1]], of.numbers[of.starts[j]:of.starts[j+1]], p.distance)
	}
	a.c.skip(int(i))
	b.c.skip(int(j))
	have := a.c.freq.mask[i] & b.c.freq.mask[j] & p.fields
	for f := 0; have != 0; f, have = f+1, have>>1 {
		if have&1 != 0 && follows(a.gaps.of(a.c, f), b.gaps.of(b.c, f), p.distance) {
			return true
		}
	}
	return false
}

// next goes on to the list's next candidate. w's bits behind the current one are those of all candidates.
func (l *pairList) next(w *window) {
	if l.k++; l.k < l.n {
		l.doc = l.c.docs[l.places[l.k&(blockDocs-1)]&(blockDocs-1)]
		return
	}
	l.enter(w, l.c.docs[l.c.n-1]+1)
}

// enter goes to the block of the first candidate from a document on that the list has, and finds those of the block.
func (l *pairList) enter(w *window, from uint32) {
	c, last := l.c, w.last()
	l.k, l.n, l.doc = 0, 0, end
	for l.n == 0 {
		doc, ok := uint32(end), from <= last
		if ok {
			doc, ok = w.next(from)
		}
		if !ok || c.seek(doc) > last || !c.freqs() {
			return
		}
		for i := c.i; i < c.n && c.docs[i] <= last; i++ { // without a branch that nobody can foresee
			at := c.docs[i] - w.from
			l.places[l.n] = uint8(i)
			l.n += int(w.bits[at>>6] >> (at & 63) & 1)
		}
		from = c.docs[c.n-1] + 1
	}
	if l.gaps = (blockGaps{}); l.n*pairLazily >= c.n {
		l.gaps = c.allGaps()
	}
	l.doc = c.docs[l.places[0]]
}
