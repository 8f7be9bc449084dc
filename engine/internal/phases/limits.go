// SPDX-License-Identifier: Apache-2.0

package phases

import "time"

// Bounds of the phases. Each says what happens past it.
const (
	// retryMax is Nutch's db.fetch.retry.max: temporary failures before a URL is gone.
	retryMax = 3
	// retryDelayMS is the wait after a temporary failure, in ms.
	retryDelayMS = 86_400_000
	// generateDelay is Nutch's crawl.gen.delay: how long the URLs of a fetchlist that was never
	// fetched stay out of later ones.
	generateDelay = 7 * 24 * time.Hour
	// defaultTop bounds a fetchlist when the caller does not: its URLs are held in memory.
	defaultTop = 1_000_000

	// recrawlsMax is the number of calls of Recrawl whose times are remembered, the newest: what was fetched before one
	// of them, and is updated after it, stays due.
	recrawlsMax = 256

	// truncatedByLength is the WARC's word for content that is cut off because there is too much of it.
	truncatedByLength = "length"

	// reasonAddition counts URLs that would be new while additions are not allowed.
	reasonAddition = "addition"

	// seedLineMax bounds one seed line, in bytes; a longer one is reported as malformed.
	seedLineMax = 64 << 10
	// seedBlockBytes is how many bytes of seed lines go to one goroutine at a time; seedReadersMax is the greatest
	// number of these goroutines. Of a line that is too long, seedLineQuoted bytes are quoted.
	seedBlockBytes = 256 << 10
	seedReadersMax = 16
	seedLineQuoted = 64
	// injectSorters is how many sorters' memory Inject takes for seeds; the others are for signatures and what is
	// due.
	injectSorters = 2
	// classifySorters is that of Classify, which needs no other memory. listBufferBytes is the buffer of one of its
	// lists.
	classifySorters = 5
	listBufferBytes = 64 << 10
	// seedExamples is the number of seeds that were not injected that Injected quotes.
	seedExamples = 20
	// redirectDepthCost is what a redirect adds to the depth of its target: nothing, since the
	// visitor did not choose a link.
	redirectDepthCost = 0

	// ctxCheckKeys is how many keys pass between two looks at a context; ctxCheckPages is the same for
	// pages, of which each has some fifty links.
	ctxCheckKeys  = 4096
	ctxCheckPages = 256

	// selectRoom, and between windowRoomMin and windowRoomMax a quarter of what is wanted, is how many more due URLs
	// of a kind are read of a host than wanted, so that the best of a score class are chosen.
	selectRoom    = 256
	windowRoomMin = 32
	windowRoomMax = 1024
	// keysReadMax and four times what is wanted is how many due keys of a host are read at once, so that a host of
	// which filters refuse nearly everything holds up no other; the next call goes on.
	keysReadMax = 1 << 15
	// dueDaysMax is how many days of due URLs are read side by side; beyond it hosts are read one by one. dueDaySteps
	// is how many keys of a day are passed before it seeks, which costs as much.
	dueDaysMax  = 100
	dueDaySteps = 8
	// placesMax is the number of hosts of which it is remembered how far they were read; beyond it all are forgotten.
	placesMax = 1 << 14

	// lowerPages is how many pages pass on their depth together, and lowerSegments how many segments are then read at
	// the same time.
	lowerPages    = 256
	lowerSegments = 64

	// orphanSteps is how many rows of linkdb MarkOrphans walks before it seeks the next page's.
	orphanSteps = 8

	// deletedSignatures is how many signatures Delete returns; beyond it, all pages are compared.
	deletedSignatures = 100_000

	// mergedBytesMin and mergedBytesMax bound the rows of a target that are merged into one, in bytes: some two million
	// links, less with little memory. Rows beyond that stay as they are.
	mergedBytesMin, mergedBytesMax = 1 << 20, 32 << 20

	// captureSteps is how many captures are read in order, beside crawldb, in the time in which those of one page are
	// looked up, about.
	captureSteps = 8

	// sharePages and shareBytes is how many pages of a segment, and how many bytes of what is sorted, are worth a
	// goroutine: some tens of milliseconds, and a table of 1 MB or more.
	sharePages = 2000
	shareBytes = 4 << 20

	// spareFactor is how much more memory than its share what a phase keeps for the next may have: slices that grow get
	// more than they need.
	spareFactor = 2

	// rowLinksMax is how many links of one segment to one target are kept, and rowBytesMax how many bytes of them, so
	// that a row stays far below storage.ValueMaxBytes.
	rowLinksMax = 1 << 20
	rowBytesMax = 32 << 20
	// nearPart is how many fingerprints GroupNear takes at once: each takes some 300 bytes, and so does each of the
	// groups that they come to. nearHeld is how many pairs of neighbors a goroutine holds.
	nearPart = 1 << 18
	nearHeld = 1 << 12
	// nearSteps is how many keys GroupNear walks in vain before it seeks, which costs as much.
	nearSteps = 16
	// nearScanKeys is how many keys of a table are read in the time in which one fingerprint is looked up, about.
	// More than nearCrowd fingerprints with a block in common are searched, fewer are compared.
	nearScanKeys = 200
	nearCrowd    = 256

	// keyTableFull is the size of keys, in bytes, at which a KeyTable must be emptied, however much memory there is.
	keyTableFull = 1 << 30
	// keyTableSlots is the number of slots of a new KeyTable.
	keyTableSlots = 1 << 10
)
