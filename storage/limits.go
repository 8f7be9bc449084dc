// SPDX-License-Identifier: Apache-2.0

package storage

import "time"

// Bounds of everything that could grow. Exported ones are part of the format or of the contract
// with callers; raising an exported one needs no format change, lowering one does, since records
// beyond it stop decoding.
const (
	// KeyMaxBytes is the longest relative key. A URL key is at most some 2,100 bytes (a URL has at
	// most 2,048); the rest is room for what is appended to it. Longer keys are refused.
	KeyMaxBytes = 8 << 10
	// ValueMaxBytes is the longest value. Pebble puts a value into one block; longer ones are refused.
	ValueMaxBytes = 64 << 20
	// BatchMaxBytes is the most that one Apply may write. More belongs into an Ingestion; Pebble
	// itself fails at 4 GiB.
	BatchMaxBytes = 1 << 30

	// AnchorMaxBytes is the longest anchor text kept with a link; longer ones are cut at a rune.
	// Nutch cuts at 100 characters; 256 bytes are 85 to 256 of them.
	AnchorMaxBytes = 256
	// PreferencesMaxBytes bounds FetchOutcome.Preferences.
	PreferencesMaxBytes = 1 << 10
	// OutlinksMax is the most links kept of one page, far above any page for people. Links beyond
	// it are dropped when the record is encoded, first come first kept.
	OutlinksMax = 50_000
	// RobotsMaxBytes is the most kept of a robots.txt (RFC 9309 asks for at least 500 KiB).
	RobotsMaxBytes = 512 << 10
	// MetaFieldsMax is the most user fields of a record.
	MetaFieldsMax = 64

	// DefaultCacheBytes is the block cache when Options.CacheBytes is 0.
	DefaultCacheBytes = 64 << 20
	// DefaultMemTableBytes is the memtable when Options.MemTableBytes is 0. Bulk data goes round it
	// by ingestion, so it only holds small synchronous writes.
	DefaultMemTableBytes = 8 << 20
	// DefaultSorterBytes is a Sorter's memory when SorterOptions.MemoryBytes is 0.
	DefaultSorterBytes = 64 << 20
	// SorterMinBytes is the least memory a Sorter works with; less would make a file per few keys.
	SorterMinBytes = 64 << 10
)

const (
	// tableTargetBytes is where an ingestion starts its next table: Pebble moves and compacts whole
	// tables, so this bounds the temporary disk space of a compaction.
	tableTargetBytes = 64 << 20
	// tableSizeCheckKeys is how many keys pass between two looks at a table's size, which are not
	// free. Values above tableSizeCheckBytes are looked at at once.
	tableSizeCheckKeys  = 256
	tableSizeCheckBytes = 64 << 10

	// blockBytes is the size of a table block. Most reading here is sequential; a larger block
	// compresses better and a smaller one makes a random Get cheaper. 16 KiB zstd decode in ~15 µs.
	blockBytes = 16 << 10
	// parseBlockBytes is the same for parse records: neighbouring pages of a host share much of
	// their text and links, and 64 KiB hold several of them (limits measured for pages: zstd 3.5
	// one by one, 4.9 in 256 KiB blocks).
	parseBlockBytes = 64 << 10
	// indexBlockBytes bounds a table's first-level index block.
	indexBlockBytes = 64 << 10
	// filterBitsPerKey makes about 1% false positives.
	filterBitsPerKey = 10
	// maxOpenFiles is Pebble's share of the process's file descriptors.
	maxOpenFiles = 1024
	// walBytesPerSync starts writing back the log in the background, so that a sync has less to do.
	walBytesPerSync = 512 << 10
	// walMinSyncInterval lets writers that arrive together share one fsync.
	walMinSyncInterval = 500 * time.Microsecond
	// l0StopWrites is the number of overlapping tables above which small writes wait for compaction.
	// Ingestions land in level 0 when their range is already populated.
	l0StopWrites = 24
	// l0Compaction is the number of overlapping tables in level 0 from which it is compacted, and
	// lbaseBytes the size from which the level below is merged into the last. Every ingestion of a
	// crawl overlaps all of crawldb and linkdb: the later these are rewritten, the fewer times. A read
	// of a key looks at one table more for each, by way of its Bloom filter.
	l0Compaction = 8
	lbaseBytes   = 512 << 20

	// errorLogInterval is the least time between two log lines about background errors: on a full
	// disk Pebble reports about 18,000 a second.
	errorLogInterval = 10 * time.Second
	// errorPause slows that loop down. It sleeps under Pebble's big lock, where only writers wait,
	// and they have nothing to wait for but the disk.
	errorPause = 20 * time.Millisecond
	// slowDisk is how long one disk write may take before it is logged.
	slowDisk = 5 * time.Second

	// joinStepMax is the most Next calls MergeJoin tries before it seeks. A seek costs 10 to 20
	// steps, so more could never pay.
	joinStepMax = 16
	// joinProbeEvery is how many seeks pass before a sparse join tries stepping again.
	joinProbeEvery = 32
	// ctxCheckKeys is how many keys pass between two looks at a context.
	ctxCheckKeys = 1024

	// runBlockBytes is the raw size of a block of a spilled run.
	runBlockBytes = 64 << 10
	// runFanIn is how many spilled runs are merged at once; each costs two block buffers of memory
	// and one file descriptor.
	runFanIn = 64

	// verifyProblemsMax is how many problems a VerifyReport spells out; all are counted.
	verifyProblemsMax = 100
)
