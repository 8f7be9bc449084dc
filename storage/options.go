// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"fmt"
	"runtime"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// FS is the filesystem under a store: nil in Options means the disk; NewMemFS and NewCrashableFS
// make others for tests. An alias, so that nobody else needs to import Pebble.
type FS = vfs.FS

// Options of Open. The zero value opens a store on disk, for writing, and makes it if there is none.
type Options struct {
	// FS is where the store lives; nil is the disk.
	FS FS
	// CacheBytes is the block cache; 0 is DefaultCacheBytes. May change at every open.
	CacheBytes int64
	// MemTableBytes is the memory for small writes; 0 is DefaultMemTableBytes. May change at every open.
	MemTableBytes int64
	// Logger is told of what needs attention and has no caller to return to: background errors
	// (rate-limited), slow disks, damaged files. It is called on any goroutine, sometimes under
	// Pebble's locks: it must not block and must not call the store. nil drops the messages.
	Logger func(format string, args ...any)
	// Now is the clock for times that are stored or compared; nil is time.Now.
	Now func() time.Time
	// ReadOnly refuses writes and changes no file but LOCK. Implies MustExist.
	ReadOnly bool
	// MustExist makes Open fail with ErrNoStore where there is none.
	MustExist bool
	// Identity holds the settings that shape the data (key format, parser version …). They are
	// stored when the store is made and compared when it is opened; see IdentityError. nil skips
	// the comparison: for tools that only look. Settings that the store has and Identity lacks are
	// not compared.
	Identity map[string]string
	// Initial are settings that a new store is made with. One that is there keeps its own: Setting reads them.
	Initial map[string]string
	// OnFatal is called when the store can't go on: a sync failed, or the log can't be written.
	// It should end the process (the promise is: nothing after this is acknowledged, and opening
	// again recovers what was). If it returns, every later write fails with ErrFatal. It is called
	// under Pebble's locks and must not call the store. nil panics.
	OnFatal func(error)
}

// withDefaults fills in the zero fields and reports the first impossible one.
func (o Options) withDefaults() (Options, error) {
	if o.CacheBytes < 0 || o.MemTableBytes < 0 {
		return o, fmt.Errorf("options of the store: CacheBytes %d and MemTableBytes %d must not be negative", o.CacheBytes, o.MemTableBytes)
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = DefaultCacheBytes
	}
	if o.MemTableBytes == 0 {
		o.MemTableBytes = DefaultMemTableBytes
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

// pebbleOptions translates. Everything that the promises of this package rest on is set here and
// nowhere else.
func (o *Options) pebbleOptions(fs vfs.FS, h *health) *pebble.Options {
	p := &pebble.Options{
		FS:                          fs,
		FormatMajorVersion:          pebbleFormat,
		CacheSize:                   o.CacheBytes,
		MemTableSize:                uint64(o.MemTableBytes),
		MemTableStopWritesThreshold: 4,
		L0StopWritesThreshold:       l0StopWrites,
		MaxOpenFiles:                maxOpenFiles,
		WALBytesPerSync:             walBytesPerSync,
		WALMinSyncInterval:          func() time.Duration { return walMinSyncInterval },
		ReadOnly:                    o.ReadOnly,
		Logger:                      h,
		EventListener:               h.listener(),
		L0CompactionThreshold:       l0Compaction,
		LBaseMaxBytes:               lbaseBytes,
		CompactionConcurrencyRange:  func() (int, int) { return 1, max(1, runtime.GOMAXPROCS(0)/2) },
	}
	// An ingestion that overlaps the memtable could be made durable by a log record. Pebble 2.1's
	// detector of damaged logs misses the last log's tail, so ours waits for the flush (some
	// milliseconds) and is made durable by the MANIFEST, whose records are checksummed.
	p.Experimental.DisableIngestAsFlushable = func() bool { return true }
	p.Experimental.ValidateOnIngest = false // tables were written by this process moments ago
	// Tables hold keys of one range only. One that held the end of one range and the begin of a later one would cover
	// those between, and every ingestion into them would have to stay above it, to be written again level by level: parse
	// records, which are written once and in order, would be that.
	p.Experimental.SpanPolicyFunc = func(start []byte) (pebble.SpanPolicy, []byte, error) {
		if len(start) == 0 || start[0] == 0xff {
			return pebble.SpanPolicy{}, nil, nil
		}
		return pebble.SpanPolicy{}, []byte{start[0] + 1}, nil
	}
	for i := range p.Levels {
		l := &p.Levels[i]
		l.BlockSize = blockBytes
		l.IndexBlockSize = indexBlockBytes
		l.FilterPolicy = bloom.FilterPolicy(filterBitsPerKey)
		// Upper levels are rewritten soon; the last one holds nearly everything and is read most.
		l.Compression = func() *sstable.CompressionProfile { return sstable.FastCompression }
	}
	p.Levels[len(p.Levels)-1].Compression = func() *sstable.CompressionProfile { return sstable.BalancedCompression }
	p.EnsureDefaults()
	return p
}

// tableOptions are the options of a table that an ingestion writes into r. Comparer, table format
// and filters must be the store's own, so they come from its options.
func (s *Store) tableOptions(r Range) sstable.WriterOptions {
	// Level 0: the writer must not assume that nothing lies below its tombstones.
	w := s.popts.MakeWriterOptions(0, s.db.TableFormat())
	// Fast here, well only where compactions write the last level: the other way round costs a crawl 25 µs a
	// page more and saves a ninth of the store.
	w.Compression = sstable.FastCompression
	if r.prefix[0] == tagCrawldb || r.prefix[0] == tagLinkdb {
		w.Compression = sstable.NoCompression
	}
	if r.prefix[0] == tagParse {
		// Parse ranges are written once, in segment order, and dropped whole: no compaction will
		// cut these blocks smaller, nor compress them better. For some ten µs a page the store of manuals becomes a
		// fifth smaller.
		w.BlockSize = parseBlockBytes
		w.Compression = sstable.BalancedCompression
	}
	return w
}
