// SPDX-License-Identifier: Apache-2.0

package index

// list is the postings of one term in one index segment, as execution sees them: blocks of at most blockDocs documents
// in ascending order. A list belongs to one goroutine. Methods that decode return a storage.ErrCorrupt for damaged
// bytes.
type list interface {
	// df is the number of documents, deleted ones included.
	df() uint64
	// lastDocs has the last document of each block, ascending. It is decoded once, when the list is opened.
	lastDocs() []uint32
	// impacts has for each block the code of an upper bound on the weighted frequency of its documents; nil means that
	// no bound is known. See impactBound.
	impacts() []uint16
	// docs decodes the documents of a block and returns their number.
	docs(block int, dst *[blockDocs]uint32) (n int, err error)
	// freqs decodes the frequencies of a block's documents.
	freqs(block int, dst *blockFreqs) error
	// positions appends the positions of document i of a block in a field, ascending.
	positions(block, i int, field int, dst []uint32) ([]uint32, error)
}

// blockFreqs are the frequencies of a block's documents by field, 0 where the field lacks the term; bit f of mask says
// whether field f has it.
type blockFreqs struct {
	mask [blockDocs]uint8
	n    [fieldCount][blockDocs]uint32
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
