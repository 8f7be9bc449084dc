// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"fmt"
	"runtime"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// FS is the filesystem under a store. nil in Options means the disk; NewMemFS and NewCrashableFS return
// filesystems for tests. It is an alias, so that no other package needs to import Pebble.
type FS = vfs.FS

// Options of Open. The zero value opens a store on disk, for writing, and creates it if there is none.
type Options struct {
	// FS is the filesystem that holds the store; nil is the disk.
	FS FS
	// CacheBytes is the size of the block cache; 0 is DefaultCacheBytes. It may differ at every open. What Verify sorts
	// takes half as much beside it.
	CacheBytes int64
	// IdleCacheBytes is the size of the block cache while Store.SetIdle(true) holds; less than CacheBytes changes
	// nothing.
	IdleCacheBytes int64
	// MemTableBytes is the memory for small writes; 0 is DefaultMemTableBytes. It may differ at every open.
	MemTableBytes int64
	// OpenFiles bounds the tables that are kept open; 0 is 1024, the least is 74. More may be open for some time:
	// FilesAtMost says how many files in all. It may differ at every open.
	OpenFiles int
	// Processors is how many processors Pebble's work may count with: half of them may compact. 0 means GOMAXPROCS.
	Processors int
	// Logger receives problems that can't be returned to a caller: background errors (rate-limited) and slow
	// disks. It is called on any goroutine, sometimes under Pebble's locks: it must not
	// block and must not call the store. nil drops the messages.
	Logger func(format string, args ...any)
	// Now is the clock for a new store's creation time and for the rate limit of log lines; nil is
	// time.Now. It is called on any goroutine.
	Now func() time.Time
	// ReadOnly makes every write fail with ErrReadOnly; no file but LOCK changes, and a directory that this process
	// may not write to needs no lock. Implies MustExist.
	ReadOnly bool
	// Salvage opens a damaged store for reading: Open finds no fault with damaged logs, and reads see what is left.
	// Implies ReadOnly.
	Salvage bool
	// MustExist makes Open fail with ErrNoStore when the directory contains no store.
	MustExist bool
	// Identity holds the settings that shape the data (key format, parser version …). Open stores them
	// in a new store and compares them with those of an existing one; see IdentityError. Settings that
	// the store has and Identity lacks are not compared. nil skips the comparison, for tools that only
	// read.
	Identity map[string]string
	// Initial holds further settings to store in a new store. An existing store keeps its own. Setting
	// reads them.
	Initial map[string]string
	// OnFatal is called when the store can't continue: a sync failed, or the log can't be written. It
	// should end the process: no later write is acknowledged, and opening the store again recovers what
	// was acknowledged before. If it returns, every later write fails with ErrFatal. It is called on any
	// goroutine, under Pebble's locks, and must not call the store. nil panics.
	OnFatal func(error)
}

// withDefaults fills in the zero fields and refuses negative sizes.
func (o Options) withDefaults() (Options, error) {
	if o.CacheBytes < 0 || o.MemTableBytes < 0 {
		return o, fmt.Errorf("options of the store: CacheBytes %d and MemTableBytes %d must not be negative",
			o.CacheBytes, o.MemTableBytes)
	}
	o.ReadOnly = o.ReadOnly || o.Salvage
	if o.CacheBytes == 0 {
		o.CacheBytes = DefaultCacheBytes
	}
	if o.OpenFiles <= 0 {
		o.OpenFiles = maxOpenFiles
	}
	if o.MemTableBytes == 0 {
		o.MemTableBytes = DefaultMemTableBytes
	}
	if o.Processors <= 0 {
		o.Processors = runtime.GOMAXPROCS(0)
	}
	if o.Logger == nil {
		o.Logger = func(string, ...any) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.OnFatal == nil {
		o.OnFatal = func(err error) { panic(err) }
	}
	return o, nil
}

// cacheShards is the number of parts of the cache of open tables, as far as there are processors.
func cacheShards(openFiles int) int { return max(openFiles/256, 1) }

// FilesAtMost returns how many files a store with Options.OpenFiles has open, about, when most are. It is without those
// that ingestions and sorters write and read, and without what Finders beside one another read of many ranges.
//
//	openFiles        tables that are kept open, the log, MANIFEST, LOCK and directories
//	closingTables    of each shard, tables that are no longer kept and wait to be closed
//	readTables       tables that are no longer kept and are still read
//	openFiles        if they are maxOpenFiles or more: tables that are read in order are opened once more
func FilesAtMost(openFiles int) int {
	n := openFiles + closingTables*cacheShards(openFiles) + readTables
	if openFiles >= maxOpenFiles {
		n += openFiles
	}
	return n
}

// pebbleOptions returns Pebble's options. Every option that this package's promises depend on is set
// here and nowhere else.
func (o *Options) pebbleOptions(fs vfs.FS, h *health) *pebble.Options {
	p := &pebble.Options{
		FS:                          fs,
		FormatMajorVersion:          pebbleFormat,
		MemTableSize:                uint64(o.MemTableBytes),
		MemTableStopWritesThreshold: 4,
		L0StopWritesThreshold:       l0StopWrites,
		MaxOpenFiles:                o.OpenFiles,
		WALBytesPerSync:             walBytesPerSync,
		WALMinSyncInterval:          func() time.Duration { return walMinSyncInterval },
		ReadOnly:                    o.ReadOnly,
		// A missing or shorter table reads as damaged then, and Store.Salvage goes on behind it.
		DisableConsistencyCheck:    o.Salvage,
		Logger:                     h,
		EventListener:              h.listener(),
		L0CompactionThreshold:      l0Compaction,
		LBaseMaxBytes:              lbaseBytes,
		CompactionConcurrencyRange: func() (int, int) { return 1, max(1, o.Processors/2) },
	}
	// Pebble can make an ingestion that overlaps the memtable durable by a log record. But Pebble 2.1's
	// check for damaged logs misses the tail of the last log. So ingestions of tables wait for the flush (some
	// milliseconds) and become durable through the MANIFEST, whose records are checksummed. Small ones are in the
	// log (gather.go): if its tail is damaged too, an earlier state of their segments remains, and their phases
	// run again.
	// Each shard of the cache of open tables may have closingTables more that wait to be closed. By default there is
	// one for each processor, whatever the number of tables that may be open.
	p.Experimental.FileCacheShards = min(cacheShards(o.OpenFiles), o.Processors)
	// By default each iterator that reads a table in order opens it once more, to tell the system so. Told of each
	// piece that comes next instead, it reads ahead as well.
	p.Local.ReadaheadConfig = objstorageprovider.NewReadaheadConfig()
	if o.OpenFiles < maxOpenFiles {
		p.Local.ReadaheadConfig.Set(objstorageprovider.SysReadahead, objstorageprovider.SysReadahead)
	}
	p.Experimental.DisableIngestAsFlushable = func() bool { return true }
	p.Experimental.ValidateOnIngest = false // tables were written by this process moments ago
	p.Experimental.SpanPolicyFunc = func(start []byte) (pebble.SpanPolicy, []byte, error) {
		for i := range tableBounds {
			if len(start) > 0 && start[0] < tableBounds[i] {
				return pebble.SpanPolicy{}, []byte{tableBounds[i]}, nil
			}
		}
		return pebble.SpanPolicy{}, nil, nil
	}
	// A record that moves in the due range leaves a tombstone where it was, so nearly half of what a segment writes
	// there are tombstones, between keys that are new. By its defaults Pebble takes such tables for full of tombstones
	// and merges each at once with the whole range: a cost of each segment that grew with crawldb, and all compactions
	// there were between two of level 0 (2026-11-24: 1,210 bytes written for each new or fetched record, 690 without).
	// What does slow reads down are long runs of tombstones, as fetching leaves where one host has nearly all URLs.
	// Tables with many blocks that are little else are still merged at once.
	p.Experimental.NumDeletionsThreshold = denseBlockTombstones
	p.Experimental.DeletionSizeRatioThreshold = denseBlockRatio
	p.Experimental.TombstoneDenseCompactionThreshold = denseTableShare
	for i := range p.Levels {
		l := &p.Levels[i]
		l.BlockSize = blockBytes
		l.IndexBlockSize = indexBlockBytes
		l.FilterPolicy = bloom.FilterPolicy(filterBitsPerKey)
		// Upper levels are soon rewritten; the last one holds nearly everything and is read most.
		l.Compression = func() *sstable.CompressionProfile { return sstable.FastCompression }
	}
	p.Levels[len(p.Levels)-1].Compression = func() *sstable.CompressionProfile { return sstable.BalancedCompression }
	p.EnsureDefaults()
	return p
}

// tableOptions returns the options of a table that an ingestion writes into r. Comparer, table format
// and filters must equal the store's, so they come from its options. first says that the store has nothing in r yet;
// that of parts of a kind of range is not asked.
func (s *Store) tableOptions(r Range, first bool) sstable.WriterOptions {
	// Level 0: the writer must not assume that there are no older keys below its tombstones.
	w := s.popts.MakeWriterOptions(0, s.db.TableFormat())
	// Compress fast here; compactions compress well when they write the last level. The reverse costs a
	// crawl 25 µs a page more and saves a ninth of the store.
	w.Compression = sstable.FastCompression
	if r.prefix[0] == tagParse {
		// Parse ranges are written once, in segment order, and dropped as a whole: no compaction will
		// split these blocks or compress them better. This makes a store of manuals a fifth smaller, for some
		// ten µs a page (sealing took 14 µs a page on 2026-11-22, and takes 28). Fast compression would seal in half
		// the time and take a fifth more; MinLZ's second level takes as long as this.
		w.BlockSize = parseBlockBytes
		w.Compression = sstable.BalancedCompression
		if r.isText() {
			w.BlockSize = textBlockBytes
			w.Compression = sstable.NoCompression // each text is packed
		}
		return w
	}
	if first {
		// The tables overlap nothing, so they go to the last level at once, and no compaction comes by until something
		// overlaps them: seeds that are injected, or the first batch, would stay as they are for ever.
		w.Compression = sstable.BalancedCompression
	}
	return w
}
