// SPDX-License-Identifier: Apache-2.0

package index

import "time"

// Bounds of a Document: what a search must carry for each of its hits. Raising one needs no new format; lowering
// StoredFieldsMax does, since more fields stop decoding.
const (
	StoredFieldsMax = 64       // stored fields of a document
	StoredBytesMax  = 16 << 10 // bytes of their names and values
	ShowTitleMax    = 4 << 10  // bytes of a title to show
	ShowTextMax     = 32 << 10 // bytes kept of a text to show
)

// Bounds of the index.
const (
	// blockDocs is the number of documents in a block of postings.
	blockDocs = 128
	// chunkBytes is about the largest value of a posting list; longer lists go on under the next key.
	chunkBytes = 48 << 10
	// normDocs is the number of documents whose field lengths share a value.
	normDocs = 8 << 10
	// maxLength caps a stored field length, in words.
	maxLength = 1<<16 - 1
	// partGap keeps phrases from running from one anchor text, or part of the text, into the next.
	partGap = 16
	// mergeFactor is how many index segments of a size class become one of the next.
	mergeFactor = 8

	// maxTerms bounds a query; more are left out. maxQuery is the bytes of it that are read.
	maxTerms = 64
	maxQuery = 4 << 10
	// defaultDeadline ends a search with what it has.
	defaultDeadline = 200 * time.Millisecond
	// maxHits bounds limit plus offset.
	maxHits = 10_000

	// snippetBytes is the length of a snippet, snippetText the part of a text it is looked for in.
	snippetBytes = 220
	snippetText  = 128 << 10
	defaultMem   = 128 << 20
)
