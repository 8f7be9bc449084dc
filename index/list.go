// SPDX-License-Identifier: Apache-2.0

package index

// list is one term in one index segment, as execution sees it: blocks of blockDocs documents. One goroutine at a time
// may use it. Bytes that are damaged are a storage.ErrCorrupt.
type list interface {
	// df returns the number of documents, deleted ones included.
	df() uint64
	// lastDocs returns the last document of each block, ascending.
	lastDocs() []uint32
	// impacts returns an upper bound code for each block; see impactBound.
	impacts() []uint16
	// docs decodes the documents of a block.
	docs(block int, dst *[blockDocs]uint32) (n int, err error)
	// freqs decodes the fields and frequencies of a block's documents.
	freqs(block int, dst *blockFreqs) error
	// positions appends the positions of document i of a block in a field to dst. counts is what freqs decoded of the
	// block, nil if it was not called.
	positions(block, i, field int, counts *blockFreqs, dst []uint32) ([]uint32, error)
	// gaps returns the first of these positions and the gaps between them, valid until the next call.
	gaps(block, i, field int, counts *blockFreqs) ([]uint32, error)
}

// blockMarker is a list that can set the bits of a block's documents without decoding them.
type blockMarker interface {
	// markBlock sets the bits of a block, all of whose documents are in the window. ok is false if it cannot, and has
	// set none.
	markBlock(block int, w *window) (ok bool, err error)
}

// blockFreqs are the fields of a block's documents, a bit each, and the frequencies there.
type blockFreqs struct {
	all  uint8 // the other fields are 0 everywhere; decoding relies on it
	mask [blockDocs]uint8
	n    [fieldCount][blockDocs]uint32 // 0 where absent
}

// allows reports whether fields with the bits of have are among those of m.
func (m fieldMask) allows(have uint8) bool { return m == 0 || uint8(m)&have != 0 }

// cut leaves the fields of have that m allows.
func (m fieldMask) cut(have uint8) uint8 {
	if m == 0 {
		return have
	}
	return uint8(m) & have
}
