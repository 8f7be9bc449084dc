// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"slices"
)

// places finds a phrase in all candidates of a window at once, word by word, where all of them are to be counted
// anyway: each list is walked once, and nothing is looked up by document. It keeps where the phrase could begin in each
// document, which the first word says and each further one thins out; of two words pair compares the lists as they are.
type places struct {
	words     []placedWord // the rarest first
	fields    uint8
	now, next *placeRuns
	pair      *pair // does the work instead; nil: none
}

// placedWord is a word of a phrase: the lists of its forms, and its place.
type placedWord struct {
	forms []*cursor
	at    int
	cost  uint64
}

// placeRuns are ascending places, a run for each form of a word that a document has. A place is a number of a field and
// a position there; see placeOf.
type placeRuns struct {
	last   [meetDocs]uint32 // run of each document of the window that was added last; 0: none
	runs   []placeRun       // the first is none's
	places []uint64
}

type placeRun struct {
	from, to uint32 // in places
	before   uint32 // the document's run that was added before; 0: none
}

// placeOf returns the place where a phrase begins of which the word at a place is at position 0 of a field: what
// precedes the field's begin is still a place of it.
func placeOf(field, at int) uint64 { return uint64(field)<<40 + 1<<32 - uint64(at) }

func (r *placeRuns) reset() {
	clear(r.last[:])
	r.runs, r.places = append(r.runs[:0], placeRun{}), r.places[:0]
}

// add makes the places from the given one on a run of a document.
func (r *placeRuns) add(doc uint32, from int) {
	if from < len(r.places) {
		r.runs = append(r.runs, placeRun{uint32(from), uint32(len(r.places)), r.last[doc]})
		r.last[doc] = uint32(len(r.runs) - 1)
	}
}

// any reports whether any of some documents of the window from a document on has a run.
func (r *placeRuns) any(docs []uint32, from uint32) bool {
	some := uint32(0)
	for _, doc := range docs {
		some |= r.last[doc-from]
	}
	return some != 0
}

// newPlaces opens the words of a phrase; nil if the part lacks one.
func (x *execution) newPlaces(p *part, n *node) *places {
	if x.placed == nil {
		x.placed = &[2]placeRuns{}
	}
	pl := &places{now: &x.placed[0], next: &x.placed[1]}
	fields := n.fields
	for i, c := range n.children {
		w := placedWord{at: n.at[i]}
		c = n.phraseWord(c)
		switch it := x.open(p, c, 1).(type) {
		case *termIter:
			w.forms, w.cost = []*cursor{it.cursor}, it.cost()
		case *anyIter:
			w.forms, w.cost = it.forms, it.cost()
		default:
			return nil
		}
		pl.words = append(pl.words, w)
		if fields == 0 {
			fields = c.fields
		}
	}
	pl.fields = fields.cut(1<<fieldCount - 1)
	slices.SortStableFunc(pl.words, func(a, b placedWord) int { return cmp.Compare(a.cost, b.cost) })
	pl.pair = newPair(pl.words, pl.fields)
	return pl
}

// keep leaves the bits of a window's documents that have the phrase. Windows come in order.
func (pl *places) keep(w *window) {
	if pl.pair != nil {
		pl.pair.keep(w)
		return
	}
	pl.now.reset()
	for _, c := range pl.words[0].forms {
		pl.begin(c, &pl.words[0], w)
	}
	for i := range pl.words[1:] {
		word := &pl.words[1+i]
		var found [meetDocs / 64]uint64
		have := window{w.from, found[:]}
		pl.next.reset()
		for _, c := range word.forms {
			pl.follow(c, word, w, &have, i+2 == len(pl.words))
		}
		copy(w.bits, have.bits)
		pl.now, pl.next = pl.next, pl.now
	}
}

func (w *window) has(doc uint32) bool { return w.bits[(doc-w.from)>>6]&(1<<(doc&63)) != 0 }

// begin adds the places of a form of the first word.
func (pl *places) begin(c *cursor, word *placedWord, w *window) {
	r := pl.now
	for doc := c.seek(w.from); doc <= w.last() && doc != end; doc = c.leave() {
		if !c.freqs() {
			return
		}
		n, in := c.within(w.last()), c.allGaps()
		for i := c.i; i < n; i++ {
			if !w.has(c.docs[i]) {
				continue
			}
			c.i = i
			from := len(r.places)
			for f, have := 0, c.freq.mask[i]&pl.fields; have != 0; f, have = f+1, have>>1 {
				if have&1 == 0 {
					continue
				}
				at := placeOf(f, word.at)
				for _, gap := range in.of(c, f) {
					at += uint64(gap)
					r.places = append(r.places, at)
				}
			}
			r.add(c.docs[i]-w.from, from)
		}
		if !c.skip(n) {
			return
		}
	}
}

// follow sets the bits of the documents in which a form of a further word is at a place that the words before allow.
// For the last word one place is enough.
func (pl *places) follow(c *cursor, word *placedWord, w, found *window, last bool) {
	for doc := c.seek(w.from); doc <= w.last() && doc != end; doc = c.leave() {
		n := c.within(w.last())
		if !pl.now.any(c.docs[c.i:n], w.from) { // a block of a frequent word takes longest
			if !c.skip(n) {
				return
			}
			continue
		}
		if !c.freqs() {
			return
		}
		in := c.allGaps()
		for i := c.i; i < n; i++ {
			doc := c.docs[i]
			run := pl.now.last[doc-w.from]
			if run == 0 || last && found.has(doc) {
				continue
			}
			c.i = i
			for f, have := 0, c.freq.mask[i]&pl.fields; have != 0; f, have = f+1, have>>1 {
				if have&1 != 0 && pl.followIn(in.of(c, f), placeOf(f, word.at), run, doc-w.from, last) {
					found.set(doc)
				}
			}
		}
		if !c.skip(n) {
			return
		}
	}
}

// followIn reports whether any of the places that gaps lead to is one of a document's runs; if the word is not the
// last, it keeps them.
func (pl *places) followIn(gaps []uint32, at uint64, run, doc uint32, last bool) (found bool) {
	for run != 0 {
		r := pl.now.runs[run]
		of := pl.now.places[r.from:r.to]
		if run = r.before; last {
			if meets(of, gaps, at) {
				return true
			}
			continue
		}
		from := len(pl.next.places)
		pl.next.places = appendMet(pl.next.places, of, gaps, at)
		pl.next.add(doc, from)
		found = found || len(pl.next.places) > from
	}
	return found
}

// blockGaps are the positions of all documents of a cursor's block: numbers[starts[i]:starts[i+1]] are those of
// document i, as list.gaps has them. They are nil where documents have several fields.
type blockGaps struct{ numbers, starts []uint32 }

// allGaps decodes the positions of the current block; freqs has been called.
func (c *cursor) allGaps() (in blockGaps) {
	l, ok := c.l.(*listReader)
	if all := c.freq.all; !ok || all&(all-1) != 0 {
		return in
	}
	var err error
	if in.numbers, in.starts, err = l.blockNumbers(c.decoded, &c.freq); err != nil {
		c.work.fail(err)
		return blockGaps{}
	}
	c.work.spend(len(in.numbers) / positionsUnit)
	return in
}

// of returns the gaps of the cursor's document in a field that it has.
func (in *blockGaps) of(c *cursor, field int) []uint32 {
	if in.starts == nil {
		return c.gaps(field)
	}
	return in.numbers[in.starts[c.i]:in.starts[c.i+1]]
}

// meets reports whether a place is among ascending places; it is one that gaps lead to from at.
func meets(places []uint64, gaps []uint32, at uint64) bool {
	i := 0
	for _, gap := range gaps {
		at += uint64(gap)
		for i < len(places) && places[i] < at {
			i++
		}
		if i == len(places) {
			return false
		}
		if places[i] == at {
			return true
		}
	}
	return false
}

// appendMet appends the places that meets finds, all of them.
func appendMet(dst, places []uint64, gaps []uint32, at uint64) []uint64 {
	i := 0
	for _, gap := range gaps {
		at += uint64(gap)
		for i < len(places) && places[i] < at {
			i++
		}
		if i == len(places) {
			break
		}
		if places[i] == at {
			dst = append(dst, at)
		}
	}
	return dst
}
