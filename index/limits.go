// SPDX-License-Identifier: Apache-2.0

package index

import "time"

// Bounds of a Document: every hit carries this much. Raising one needs no new format; lowering StoredFieldsMax does,
// since more fields stop decoding.
const (
	StoredFieldsMax = 64       // stored fields of a document
	StoredBytesMax  = 16 << 10 // bytes of their names and values
	ShowTitleMax    = 4 << 10  // bytes of a title to show
	ShowTextMax     = 32 << 10 // bytes kept of a text to show
	AuthorMax       = 1 << 10  // bytes of an author
	ValueBytesMax   = 128      // bytes of a language, and of a type
	HeadingsMax     = 10_000   // headings of a document
	FieldNameMax    = 32       // bytes of the name of a stored field that queries can name
	FieldValueMax   = 128      // bytes of a stored field's value that queries can ask for as a whole
)

// HitsMax bounds SearchOptions.Limit and Offset together.
const HitsMax = 10_000

// Bounds of index segments.
const (
	// blockDocs is the number of documents in a block of postings.
	blockDocs = 128
	// normDocs is the number of documents whose field lengths share a value, and whose boosts do.
	normDocs = 8 << 10
	// maxLength is the largest field length that is stored, in words; longer fields count as this long.
	maxLength = 1<<16 - 1
	// partGap separates the positions of two anchor texts, and of two parts of the text, so that no phrase runs from
	// one into the other.
	partGap = 16
	// docBytes is about what a document without its key costs a Builder.
	docBytes = 160
	// cacheShare is the part of a Builder's memory that its cache of words may take: a sixteenth.
	cacheShare = 16
	// arenaMost is the most blocks of 64 KiB that a Builder fills, since addresses there have 32 bits.
	arenaMost = 60_000
	// reclaimPart of an index segment's documents, deleted, have it written again: one in five.
	reclaimPart = 5
	// mergeFactor is how many index segments of a size class are merged into one of the next.
	mergeFactor = 8
	// mergeSourcesMost is the most index segments that become one at once.
	mergeSourcesMost = 16
	// defaultMem is Options.MemoryBytes when it is 0.
	defaultMem = 128 << 20
	// defaultHeldBytes is Options.HeldBytes when it is 0.
	defaultHeldBytes = 64 << 20
	// defaultMergeBytes is Options.MergeBytes when it is 0.
	defaultMergeBytes = 16 << 20
)

// Bounds of a search.
const (
	// maxTerms is the most terms of a query and maxQuery the most bytes; the rest is ignored. filterTerms is how many
	// of the terms words leave to the filters behind them.
	maxTerms    = 64
	maxQuery    = 4 << 10
	filterTerms = maxTerms / 2
	// maxDepth is the most groups in each other. maxSlop and maxEdits bound the numbers behind ~.
	maxDepth = 16
	maxSlop  = 1000
	maxEdits = 2
	// maxForms is the most words that a prefix or a fuzzy word stands for: the nearest, then the most frequent.
	maxForms = 64
	// defaultDeadline is SearchOptions.Deadline when it is 0.
	defaultDeadline = time.Second
	// pageGrace is how much longer than its deadline a search may read what its hits show.
	pageGrace = 4 * time.Millisecond
	// ExplainTime is how much longer than its deadline a search may explain its hits.
	ExplainTime = time.Second
	// defaultFacetValues is SearchOptions.FacetValues when it is 0.
	defaultFacetValues = 10
	// snippetBytes is the length of a snippet, snippetText how much of a text is searched for it, and snippetStep how
	// much of that until what was found may be enough.
	snippetBytes = 220
	snippetText  = 128 << 10
	snippetStep  = 8 << 10
)
