// SPDX-License-Identifier: Apache-2.0

package inspect

const (
	// storyNearMax is how many pages of a group of near-duplicates a URLStory has.
	storyNearMax = 1000

	// quantileSample bounds the scores that Stats holds for quantiles. Of a larger crawldb every nth record
	// counts, which in key order is an even sample. 8 MiB.
	quantileSample = 1 << 20
	// contextEvery is the number of entries of a range between two looks at the context: a fraction of a
	// millisecond.
	contextEvery = 256
	// knownSources is the number of linking pages whose newest segment is remembered: some 20 MB.
	knownSources = 100_000
	// recordsBatchMin and recordsBatchMax bound the records whose outcomes are looked up together, recordsBatchBytes
	// their keys. With 2,000 segments, each record of the largest batch then opens a quarter of a segment.
	recordsBatchMin   = 64
	recordsBatchMax   = 8192
	recordsBatchBytes = 4 << 20
	// problemsMax is the number of problems of one kind that Verify spells out. All are counted.
	problemsMax = 10_000
	// capturesMax is the number of captures of one URL that are shown: a page that is fetched every hour has them in a
	// year. 3 MB.
	capturesMax = 10_000
	// copyBytesMax is the part of a stored body that is shown, in bytes.
	copyBytesMax = 8 << 20
	// storyFetchesMax and storyLinksMax bound the fetches and the links of each kind that the story of a URL tells,
	// storySameMax the pages with the same content. storyInlinksCounted is where counting its inlinks ends: some 10 ms.
	storyFetchesMax     = 1000
	storyLinksMax       = 100
	storySameMax        = 10
	storyInlinksCounted = 10_000
	// hostRecordsMax is the number of records that the story of a host reads: 40 ms. hostFailuresMax is the number of
	// failed URLs that it names.
	hostRecordsMax  = 200_000
	hostFailuresMax = 20
	// trapPages is the number of fetched pages from which Traps judges a host, as admission does.
	trapPages = 200
	// withPortShown is the number of hosts that WithPort names.
	withPortShown = 3
)
