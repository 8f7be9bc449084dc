// SPDX-License-Identifier: Apache-2.0

package index

import "sort"

// listCursor walks all documents of a list in order, block by block, for merges and digests.
type listCursor struct {
	r     *listReader
	block int // of documents; -1 before the first
	n, i  int
	docs  [blockDocs]uint32
	err   error
}

// reset begins before the first document of a list.
func (c *listCursor) reset(r *listReader) {
	c.r, c.block, c.n, c.i, c.err = r, -1, 0, 0, nil
}

// seek moves to the first document that is at least doc, never back, and returns it; end after the last and on errors.
func (c *listCursor) seek(doc uint32) uint32 {
	if c.r == nil || c.err != nil || doc == end {
		return end
	}
	if c.block < 0 || c.n == 0 || c.docs[c.n-1] < doc {
		last := c.r.lastDocs()
		from := c.block + 1
		block := from + sort.Search(len(last)-from, func(i int) bool { return last[from+i] >= doc })
		if block == len(last) {
			c.r = nil
			return end
		}
		if c.n, c.err = c.r.docs(block, &c.docs); c.err != nil {
			return end
		}
		c.block, c.i = block, 0
	}
	for c.docs[c.i] < doc { // the last one is not
		c.i++
	}
	return c.docs[c.i]
}

// readPositions reads the positions of the current document, by field.
func (c *listCursor) readPositions(into *[fieldCount][]uint32) bool {
	for f := range into {
		if c.err == nil {
			into[f], c.err = c.r.positions(c.block, c.i, f, nil, into[f][:0])
		}
	}
	return c.err == nil
}
