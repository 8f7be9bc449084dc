// SPDX-License-Identifier: Apache-2.0

package index

import "math"

// weigher computes weighted frequencies (the tf of BM25F) of one segment's documents.
type weigher struct {
	table *impactTable
	norms *[fieldCount][]byte
	ratio float64 // of bounds: see bound
}

// weight returns the weighted frequency of document i of the cursor's block in the fields of a mask. The fields are
// added in their order, so that the sum is the same wherever it is computed.
func (w *weigher) weight(c *cursor, fields fieldMask) (tf float64) {
	i, doc := c.i, c.docs[c.i]
	have := fields.cut(c.freq.mask[i])
	for f := 0; have != 0; f, have = f+1, have>>1 {
		if have&1 != 0 {
			tf += float64(float64(c.freq.n[f][i]) * w.table[f][w.norms[f][doc]])
		}
	}
	return tf
}

// weights returns weight of the current document of the cursor's block and of those that follow it up to the n-th,
// which is left out: 0 for documents without the fields. The slice is valid until the next call for the cursor.
func (w *weigher) weights(c *cursor, fields fieldMask, n int) []float64 {
	docs := c.docs[c.i:n]
	tf := c.tf[:len(docs)]
	clear(tf)
	for f, have := 0, fields.cut(c.freq.all); have != 0; f, have = f+1, have>>1 {
		if have&1 == 0 {
			continue
		}
		freqs, table, norms := c.freq.n[f][c.i:n], &w.table[f], w.norms[f]
		freqs = freqs[:len(docs)]
		for i, doc := range docs {
			tf[i] += float64(float64(freqs[i]) * table[norms[doc]])
		}
	}
	return tf
}

// bound returns an upper bound of weight for blocks with this impact. The segment's writer took impacts with the
// averages of its time: ratio is how much larger a weight can be with those of today. The last factor covers rounding.
func (w *weigher) bound(c *cursor, code uint16) float64 {
	if c.codes == nil {
		return math.Inf(1)
	}
	return impactBound(code) * w.ratio * (1 + 1e-9)
}

// seekAbove moves to the first document from doc to hi in a block that may have one whose weight, times a factor, is
// above least. It returns end if there is none, and then may leave the cursor where it is.
func (w *weigher) seekAbove(c *cursor, doc, hi uint32, factor, least float64) uint32 {
	if least <= 0 || c.codes == nil {
		return c.seek(doc)
	}
	for doc <= hi {
		from, upTo := c.shallow(doc)
		if from == end {
			return end
		}
		if factor*w.bound(c, c.codes[c.near]) > least {
			return c.seek(doc)
		}
		doc = upTo + 1
	}
	return end
}

// termIter walks one list.
type termIter struct {
	cursor *cursor
	fields fieldMask
	gain   gain
	weigher
	best     points
	lastCode uint16 // whose bound is lastMost
	lastMost points
	pos      []uint32 // scratch of occurrences
}

func newTermIter(c *cursor, fields fieldMask, g gain, w weigher) *termIter {
	it := &termIter{cursor: c, fields: fields, gain: g, weigher: w}
	code := uint16(0)
	for _, v := range c.codes {
		code = max(code, v)
	}
	it.lastCode, it.lastMost = code, g.points(it.weigher.bound(c, code))
	it.best = it.lastMost
	return it
}

func (it *termIter) seek(doc uint32) uint32 { return it.cursor.seek(doc) }

func (it *termIter) matches() bool {
	return it.fields == 0 || it.cursor.freqs() && it.fields.allows(it.cursor.freq.mask[it.cursor.i])
}

func (it *termIter) score() points {
	if !it.cursor.freqs() {
		return 0
	}
	return it.gain.points(it.weight(it.cursor, it.fields))
}

func (it *termIter) shallow(doc uint32) (from, upTo uint32) { return it.cursor.shallow(doc) }
func (it *termIter) most() points                           { return it.best }
func (it *termIter) cost() uint64                           { return it.cursor.l.df() }

func (it *termIter) bound(lo, hi uint32) points {
	code, ok := it.cursor.code(lo, hi)
	if !ok {
		return 0
	}
	if code != it.lastCode && it.cursor.codes != nil {
		it.lastCode, it.lastMost = code, it.gain.points(it.weigher.bound(it.cursor, code))
	}
	return it.lastMost
}

func (it *termIter) mark(w *window) {
	c, last := it.cursor, w.last()
	for doc := c.seek(w.from); doc <= last && doc != end; doc = c.leave() {
		if it.fields != 0 && !c.freqs() {
			return
		}
		i, n := c.i, c.within(last)
		if it.fields == 0 {
			for _, doc := range c.docs[i:n] {
				w.set(doc)
			}
		} else {
			for ; i < n; i++ {
				if it.fields.allows(c.freq.mask[i]) {
					w.set(c.docs[i])
				}
			}
		}
		if !c.skip(n) {
			return
		}
		if it.fields == 0 {
			c.markBlocks(w)
		}
	}
}

// markBlocks sets the bits of the blocks after the current one that are in the window, as long as none of them has to
// be decoded, and moves to the last document of the last.
func (c *cursor) markBlocks(w *window) {
	l, ok := c.l.(blockMarker)
	for last := w.last(); ok && c.block+1 < len(c.last) && c.last[c.block+1] <= last && c.work.spend(1); {
		marked, err := l.markBlock(c.block+1, w)
		if err != nil {
			c.work.fail(err)
		}
		if !marked || err != nil {
			return
		}
		c.block++
		c.doc = c.last[c.block]
	}
}

func (it *termIter) fill(s *sums) {
	c, least := it.cursor, it.gain.frequency(s.least)
	next := func(doc uint32) uint32 { return it.seekAbove(c, doc, s.hi, 1, least) }
	for doc := next(s.lo); doc <= s.hi; doc = next(c.doc + 1) {
		if !c.freqs() {
			return
		}
		n := c.within(s.hi)
		docs := c.docs[c.i:n]
		for i, tf := range it.weights(c, it.fields, n) {
			if tf > least {
				s.add(docs[i], it.gain.points(tf))
			}
		}
		if !c.skip(n) {
			return
		}
	}
}

func (it *termIter) look(s *sums) {
	it.lookUp(it.cursor, it.fields, 1, s)
	s.lookedUp(it.gain)
}

// lookUp adds the weighted frequencies of a list, times a factor, in the documents that take left. It goes from one
// to the next, or if they are many for the list, through its blocks.
func (w *weigher) lookUp(c *cursor, fields fieldMask, factor float64, s *sums) {
	if n := len(c.last); n > 0 {
		postings := c.l.df() * uint64(s.hi-s.lo+1) / (uint64(c.last[n-1]) + 1)
		if uint64(s.count)*seekPrice > postings {
			of := window{s.lo, s.taken[:(s.hi-s.lo)>>6+1]}
			w.weighListAt(c, fields, factor, s, &of)
			clear(s.touched[:len(of.bits)])
			return
		}
	}
	for _, doc := range s.docs[:s.count] {
		if c.seek(doc) == doc && c.freqs() {
			s.tf[doc-s.lo] += float64(factor * w.weight(c, fields))
		}
	}
}

// lookedUp adds the points of the weighted frequencies that lookUp found to the scores and leaves no frequency.
func (s *sums) lookedUp(g gain) {
	for _, doc := range s.docs[:s.count] {
		i := doc - s.lo
		s.score[i] += g.points(s.tf[i])
		s.tf[i] = 0
	}
}

// within returns the index behind the block's last document that is at most last.
func (c *cursor) within(last uint32) int {
	n := c.n
	if c.docs[n-1] <= last {
		return n
	}
	lo := c.i
	for lo < n {
		mid := int(uint(lo+n) >> 1)
		if c.docs[mid] <= last {
			lo = mid + 1
		} else {
			n = mid
		}
	}
	return lo
}

// skip moves to document i of the block. If the block ends before, it stays at the block's last one and returns true:
// leave goes on.
func (c *cursor) skip(i int) (left bool) {
	if i < c.n {
		c.i, c.doc = i, c.docs[i]
		return false
	}
	c.i, c.doc = c.n-1, c.docs[c.n-1]
	return true
}

// leave moves to the first document of the next block.
func (c *cursor) leave() uint32 { return c.seek(c.doc + 1) }
