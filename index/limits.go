// SPDX-License-Identifier: Apache-2.0

package index

import "time"

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
