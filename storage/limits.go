// SPDX-License-Identifier: Apache-2.0

package storage

import "time"

// Bounds of everything that could grow. Exported ones are part of the format or of the contract with
// callers. Raising an exported one needs no format change. Lowering one does, because records beyond it
// would no longer decode.
const (
	// KeyMaxBytes is the longest relative key. A URL key is at most some 2,100 bytes (a URL has at
	// most 2,048), or 6,200 if its host has commas, of which each takes three; the rest is room for what is
	// appended to it, such as another URL key. Writes of longer keys fail.
	KeyMaxBytes = 16 << 10
	// ValueMaxBytes is the longest value, because Pebble puts a value into one block. Writes of longer
	// values fail.
	ValueMaxBytes = 64 << 20
	// BatchMaxBytes is the most that one Apply may write. Write more through an Ingestion; Pebble itself
	// fails at 4 GiB.
	BatchMaxBytes = 1 << 30

	// AnchorMaxBytes is the longest anchor text kept with a link; longer ones are cut at a rune boundary.
	// Nutch cuts at 100 characters; 256 bytes hold 85 to 256 characters.
	AnchorMaxBytes = 256
	// PreferencesMaxBytes bounds FetchOutcome.Preferences.
	PreferencesMaxBytes = 1 << 10
	// OutlinksMax is the most links kept of one page, far more than pages made for people have. Encoding
	// keeps the first OutlinksMax links and drops the rest.
	OutlinksMax = 50_000
	// RobotsMaxBytes is how much of a robots.txt is kept (RFC 9309 requires at least 500 KiB).
	RobotsMaxBytes = 512 << 10
	// HostAddrsMax is how many addresses of a host are kept.
	HostAddrsMax = 4
	// MetaFieldsMax is the most user fields in a record. Encoding drops what comes behind metaEncoded, which has room
	// for MetaBefore beside them.
	MetaFieldsMax = 64
	metaEncoded   = MetaFieldsMax + 1

	// DefaultCacheBytes is the block cache when Options.CacheBytes is 0.
	DefaultCacheBytes = 64 << 20
	// DefaultMemTableBytes is the memtable when Options.MemTableBytes is 0. It holds small synchronous
	// writes and small ingestions; large ones bypass it.
	DefaultMemTableBytes = 8 << 20
	// DefaultSorterBytes is a Sorter's memory when SorterOptions.MemoryBytes is 0.
	DefaultSorterBytes = 16 << 20
	// SorterMinBytes is the least memory a Sorter works with; less would spill a file every few keys.
	SorterMinBytes = 64 << 10
	// SpoolItemMax is the longest item of a Spool, in bytes. Longer ones are refused; its writers split theirs.
	SpoolItemMax = 256 << 10
)

const (
	// tableTargetBytes is the size at which an ingestion starts its next table. Pebble moves and compacts
	// whole tables, so this bounds the temporary disk space of a compaction.
	tableTargetBytes = 64 << 20
	// memTableShare is the part of a memtable, one in so many, that one ingestion may fill, and gatherMost the most
	// that it may be, in bytes. Larger ingestions make tables. With 8 MiB, the segments of a crawl without delays went
	// through memtables too: sealing one cost half as much again, and the process took 150 MB more.
	memTableShare = 4
	gatherMost    = 4 << 20
	// tableSizeCheckKeys is how many keys are written between two checks of a table's size, because a
	// check is not free. A value of tableSizeCheckBytes or more is followed by a check at once.
	tableSizeCheckKeys  = 256
	tableSizeCheckBytes = 64 << 10

	// blockBytes is the size of a table block. Most reads here are sequential. A larger block compresses
	// better, a smaller one makes a random Get cheaper. Decoding 16 KiB of zstd takes ~15 µs.
	blockBytes = 16 << 10
	// parseBlockBytes is the block size for the links of parse records, which are read in order. Neighbouring pages of
	// a host share much, and 64 KiB hold several pages. (Compression ratios measured for pages: zstd 3.5 one by one,
	// 4.9 in 256 KiB blocks.)
	parseBlockBytes = 64 << 10
	// textBlockBytes is that for the texts of parse records, which are compressed one by one (packed.go). Each hit of a
	// search reads one, so the smaller a block, the less is read in vain.
	textBlockBytes = 8 << 10
	// indexBlockBytes bounds a table's first-level index block.
	indexBlockBytes = 64 << 10
	// filterBitsPerKey gives about 1% false positives.
	filterBitsPerKey = 10
	// maxOpenFiles is the default of Options.OpenFiles.
	maxOpenFiles = 1024
	// closingTables is how many tables Pebble lets wait to be closed, for each shard of the cache of open tables.
	closingTables = 100
	// readTables is how many tables, about, are read that the cache of open tables no longer keeps, or has opened once
	// more since: those of level 0 that are over one another, which whoever reads crawldb or linkdb shares. A crawl at
	// full speed of 1,500 hosts, with level 0 full, had five.
	readTables = l0StopWrites
	// walBytesPerSync is how much of the log is written before background writeback starts, so that a sync
	// has less to do.
	walBytesPerSync = 512 << 10
	// walMinSyncInterval is the least time between two fsyncs of the log: concurrent writers share one.
	walMinSyncInterval = 500 * time.Microsecond
	// l0StopWrites is the number of overlapping tables in level 0 above which small writes wait for
	// compaction. Ingested tables go into level 0 when their range already has data.
	l0StopWrites = 48
	// l0Compaction is twice the number of overlapping tables at which level 0 is compacted. lbaseBytes is the
	// size at which the level below is merged into the last one. Every ingestion of a crawl overlaps all
	// of crawldb and linkdb, so compacting later rewrites these fewer times. In return, each overlapping
	// table makes a read of a key check one more Bloom filter. With 4 tables a crawl of 4,000 hosts, each visited
	// every 15 s, with 230,000 pages in the store, merged 1 MB after 1 MB into 60: it wrote 98 KB and spent 950 µs
	// on compactions a page. With 16 it is 39 KB and 310 µs; a crawl without delays is as fast (2026-11-24).
	l0Compaction = 32
	lbaseBytes   = 512 << 20

	// denseBlockTombstones is the number of tombstones from which a block counts as full of them, or denseBlockRatio
	// the length of their keys by that of the block, and denseTableShare the share of such blocks from which a table is
	// merged away at once. In a block, the common beginnings of keys take no room: of the due range it holds 370 short
	// keys or 220 long ones, which have 1.2 to 2 times its length. Where every other key is a tombstone, they have
	// half.
	denseBlockTombstones = 300
	denseBlockRatio      = 1.1
	denseTableShare      = 0.3

	// errorLogInterval is the least time between two log lines about background errors. On a full disk
	// Pebble reports about 18,000 a second.
	errorLogInterval = 10 * time.Second
	// errorPause slows down Pebble's retry loop. The pause holds Pebble's main lock, for which only
	// writers wait, and these can't continue before the disk recovers anyway.
	errorPause = 20 * time.Millisecond
	// slowDisk is how long one disk write may take before it is logged.
	slowDisk = 5 * time.Second

	// flushTimeout is how long Close waits for the log to be written into a table.
	flushTimeout = 5 * time.Second

	// joinStepMax is the most Next calls MergeJoin makes before it seeks. A seek costs as much as 10 to 20
	// steps, so more steps would never pay off.
	joinStepMax = 16
	// joinProbeEvery is how many seeks a sparse join makes before it tries stepping again.
	joinProbeEvery = 32
	// ctxCheckKeys is how many keys a loop processes between two checks of its context.
	ctxCheckKeys = 1024

	// ownSorters is how many sorters the store itself fills at once, when it verifies. ownSorterMost is the most that
	// one of them takes: more would make it no faster.
	ownSorters    = 4
	ownSorterMost = 64 << 20
	// runBlockBytes is the raw size of a block of a spilled run.
	runBlockBytes = 64 << 10
	// runStartsMax is the most places of a spilled run from which on it can be read.
	runStartsMax = 256
	// runFanIn is how many spilled runs are merged at once. Each costs two block buffers of memory and one
	// file descriptor.
	runFanIn = 64

	// spoolBlockBytes is the size at which a block of a Spool is written. It fits into the processor's second cache.
	spoolBlockBytes = 256 << 10

	// verifyProblemsMax is how many problems of one range a VerifyReport lists; all are counted.
	verifyProblemsMax = 10_000
)
