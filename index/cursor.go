// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"math"
	"sort"
	"sync"

	"github.com/seine-crawler/seine/storage"
)

// cursor walks a list in the order of documents. It decodes the documents of a block when it enters the block, their
// frequencies when they are needed; blocks that it passes are not decoded.
type cursor struct {
	l       list
	work    *budget
	last    []uint32 // last documents of blocks
	codes   []uint16 // impacts; nil: unknown
	block   int      // of doc; len(last) at the end
	near    int      // block that bounds were last wanted for; it moves ahead of block
	i, n    int      // doc is docs[i] of the block's n
	doc     uint32   // the current document; before the first seek 0 with begun false
	begun   bool
	decoded int // block whose documents are in docs, -1 for none
	counted int // block whose frequencies are in freq, -1 for none
	docs    [blockDocs]uint32
	freq    blockFreqs
	tf      [blockDocs]float64 // scratch of weigher.weights
	unpaid  int                // positions read since the budget was charged
}

// cursorPool keeps cursors, which are 6 KiB, between searches; see execution.release.
var cursorPool = sync.Pool{New: func() any { return new(cursor) }}

func newCursor(l list, docs uint32, work *budget) *cursor {
	c := cursorPool.Get().(*cursor)
	c.reset(l, work)
	if n := len(c.last); n > 0 && c.last[n-1] >= docs || c.codes != nil && len(c.codes) != n {
		work.fail(fmt.Errorf("%w: posting list: block directory", storage.ErrCorrupt))
		c.last = nil
	}
	return c
}

// reset begins before the first document of a list. What was decoded before stays, as memory for what will be.
func (c *cursor) reset(l list, work *budget) {
	c.l, c.work, c.last, c.codes = l, work, nil, nil
	if l != nil {
		c.last, c.codes = l.lastDocs(), l.impacts()
	}
	c.block, c.near, c.i, c.n, c.doc, c.begun, c.unpaid = 0, 0, 0, 0, 0, false, 0
	c.decoded, c.counted = -1, -1
}

// firstBlock returns the first block from a given one on whose last document is at least doc.
func firstBlock(last []uint32, from int, doc uint32) int {
	if from >= len(last) || last[from] >= doc {
		return from
	}
	lo, step := from, 1 // last[lo] < doc
	for lo+step < len(last) && last[lo+step] < doc {
		lo += step
		step *= 2
	}
	rest := last[lo+1 : min(lo+step, len(last))]
	return lo + 1 + sort.Search(len(rest), func(i int) bool { return rest[i] >= doc })
}

// seekSteps is how many documents of a block are looked at one after the other before they are searched.
const seekSteps = 6

// seek moves to the first document that is at least doc, never back, and returns it, or end.
func (c *cursor) seek(doc uint32) uint32 {
	if c.begun && c.doc >= doc {
		return c.doc
	}
	if c.begun && c.decoded == c.block && c.docs[(c.n-1)&(blockDocs-1)] >= doc {
		i := c.i + 1
		for most := min(c.n, i+seekSteps); i < most; i++ {
			if at := c.docs[i&(blockDocs-1)]; at >= doc {
				c.i, c.doc = i, at
				return at
			}
		}
		c.i = i
	}
	c.begun = true
	if c.block = firstBlock(c.last, c.block, doc); !c.load() {
		c.doc = end
		return end
	}
	lo, hi := c.i, c.n-1 // docs[hi] >= doc: it is the block's last
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if c.docs[mid] < doc {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	c.i, c.doc = lo, c.docs[lo]
	return c.doc
}

// load decodes the documents of the block; false means that there is none, or that the search is to end.
func (c *cursor) load() bool {
	if c.block >= len(c.last) {
		return false
	}
	if c.decoded == c.block {
		return !c.work.over
	}
	if !c.work.spend(1) {
		return false
	}
	n, err := c.l.docs(c.block, &c.docs)
	if err == nil && (n <= 0 || n > blockDocs || c.docs[n-1] != c.last[c.block]) {
		err = fmt.Errorf("%w: posting list: documents of a block", storage.ErrCorrupt)
	}
	if err != nil {
		c.work.fail(err)
		return false
	}
	c.i, c.n, c.decoded = 0, n, c.block
	return true
}

// freqs decodes the frequencies of the block that load decoded; false means that the search is to end.
func (c *cursor) freqs() bool {
	if c.counted == c.decoded {
		return true
	}
	if !c.work.spend(1) {
		return false
	}
	if err := c.l.freqs(c.decoded, &c.freq); err != nil {
		c.work.fail(err)
		return false
	}
	c.counted = c.decoded
	return true
}

// positions appends the current document's positions in a field; freqs has been called.
func (c *cursor) positions(field int, dst []uint32) []uint32 {
	if !c.pay(int(c.freq.n[field][c.i])) {
		return dst
	}
	dst, err := c.l.positions(c.decoded, c.i, field, &c.freq, dst)
	if err != nil {
		c.work.fail(err)
	}
	return dst
}

// gaps is list.gaps of the current document; freqs has been called. There are none where the search is to end.
func (c *cursor) gaps(field int) []uint32 {
	if !c.pay(int(c.freq.n[field][c.i])) {
		return nil
	}
	gaps, err := c.l.gaps(c.decoded, c.i, field, &c.freq)
	if err != nil {
		c.work.fail(err)
	}
	return gaps
}

// pay pays for a document's positions; false means that there are none, or that the search is to end.
func (c *cursor) pay(count int) bool {
	if count == 0 {
		return false
	}
	if c.unpaid += count + positionsPrice; c.unpaid < positionsUnit {
		return true
	}
	units := c.unpaid / positionsUnit
	c.unpaid %= positionsUnit
	return c.work.spend(units)
}

// shallow returns, without decoding anything, a document that no document from doc on precedes, and the last document
// of the block that may hold it; both are end if there is none. Calls come with rising doc.
func (c *cursor) shallow(doc uint32) (from, upTo uint32) {
	if c.near = firstBlock(c.last, max(c.near, c.block), doc); c.near >= len(c.last) || c.work.over {
		return end, end
	}
	from = doc
	if c.near > 0 {
		from = max(from, c.last[c.near-1]+1)
	}
	if c.begun && c.block == c.near && c.doc > from {
		from = c.doc
	}
	return from, c.last[c.near]
}

// code returns the largest impact of the blocks that may hold documents from lo to hi; ok is false if there is none.
// lo rises from call to call.
func (c *cursor) code(lo, hi uint32) (code uint16, ok bool) {
	from, _ := c.shallow(lo)
	if from == end || from > hi {
		return 0, false
	}
	if c.codes == nil {
		return math.MaxUint16, true
	}
	code = c.codes[c.near]
	for b := c.near; b+1 < len(c.last) && c.last[b] < hi; {
		b++
		code = max(code, c.codes[b])
	}
	return code, true
}
