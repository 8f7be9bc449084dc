// SPDX-License-Identifier: Apache-2.0

// Package storage keeps everything durable except the bytes of the WARC files: the key ranges of one
// Pebble store, the records in them, and the few ways in which phases read and write them.
//
// # What it is
//
// The only door to Pebble. A Store is one directory. A Range is a part of its key space that holds one
// kind of record; code outside this package uses ranges and relative keys (keyrange.go). Phases do not
// read and write single keys. They sort what is new (Sorter → Run), walk it beside a range in key order
// (MergeJoin), and write the result as sorted tables that become visible all at once (Ingestion). A
// small result goes into the memtable instead and becomes a table together with others (gather.go).
// Pebble's costs are the reason: a random Get costs 5 to 25 µs and a random write 4 to 7, a key of a
// merge-join 0.03 to 1.5, a key of a sorted table 0.25.
//
// # Picture
//
//	 what is new          what is known
//	┌───────────┐        ┌─────────────┐
//	│ Add … Add │        │ range       │
//	│  Sorter   │        │ (Scan, Get) │
//	└─────┬─────┘        └──────┬──────┘
//	      │ Sort                │
//	      ▼                     ▼
//	     Run ───────────▶ MergeJoin ──▶ fn(key, values, old) ──▶ TableWriter ┐
//	                                                             TableWriter ├─▶ Ingestion.Commit
//	                                                             PutSegment  ┘   all or nothing
//
// Where there is much, several goroutines do this side by side, each with a part of the keys (parts.go).
//
// # Life
//
// An ingestion of inject or updatedb creates a crawldb record, as one value of one table. MergeJoin
// hands the record to later phases. A phase that changes it writes the whole record into a newer table,
// which hides the older one until a compaction removes that.
//
// PutSegment creates a segment in state open. The ingestion of each phase carries the phase's tables
// together with the segment's next state: open → sealed → updated → linked → indexed. The state
// therefore says which tables exist. A crash leaves a phase either done or not begun, and running it
// again is harmless: each phase takes effect exactly once.
//
// A range that belongs to one segment (fetchlist, parse) or to one index segment is deleted with one
// tombstone (Ingestion.DeleteRange), in the ingestion that replaces it or makes it unnecessary.
//
// A phase over everything leaves a mark (marks.go), and the next one has nothing to do while the mark is there. Whoever
// changes crawldb or linkdb deletes it in the same ingestion, or notes which documents it changes (stale.go).
//
// Open creates a store. The store carries a format version and the settings that shaped its data
// (format.go). Newer programs open it; an older program refuses it and leaves it untouched.
//
// # Invariants
//
//   - What Apply, PutSegment or Commit has acknowledged survives any crash. What was not acknowledged
//     is there completely or not at all. There is no unsynced write.
//   - Only this package builds and reads keys; a relative key never crosses the bounds of its range.
//   - A segment's state never goes back, and never changes without its data.
//   - The sum of HostCounts equals crawldb: both change in the same ingestion. The phases that write
//     them are responsible for this; Verify checks it.
//   - After a failed sync or detected damage no further write is acknowledged (health.go). After a failed log what
//     is on disk stays as a crash would leave it (freeze.go).
//   - What Pebble would take for the end of a log, or for a new store, and is damage, Open refuses (damage.go). Verify
//     reads every block. Salvage reads what is left.
//   - Decoding accepts any bytes. It returns a value or an error, never panics, and never allocates
//     more than a small multiple of its input.
//
// # Who runs it
//
// A Store, a Snapshot and an Ingestion are safe for concurrent use. A Scanner, Run, Sorter or
// TableWriter belongs to one goroutine at a time, but different TableWriters of one Ingestion may be
// used at the same time. A Store's goroutines end in Close: Pebble's (flush, compaction, log), and
// those that close iterators which a compaction has overtaken (closing.go). Readers never wait.
// Commits of ingestions wait for each other. Writers that call Apply at the same time share one fsync,
// and wait some milliseconds while an overlapping ingestion commits.
//
// # Bounds
//
// All in limits.go. A Sorter uses the memory it is given, then disk. A MergeJoin holds one key with its
// values. An Ingestion holds the table blocks being built, or all of it while it is at most a quarter
// of a memtable. Disk: an ingestion's tables once, and
// the temporary space of compactions; the caller watches DiskFree.
//
// # Deliberately absent
//
//   - Pebble's merge operator: folding while sorting is ten times cheaper (4 µs against 0.3 a key).
//   - Transactions, secondary indexes, caches of records: the merge-join replaces all three.
//   - Writes without sync: Pebble loses them on kill -9.
//   - Retrying an operation that failed on disk.
//   - Knowledge of what the index keeps in its ranges.
//
// # Read first
//
// keyrange.go for the map; store.go Open; ingestion.go; join.go; record.go for what a codec looks like.
package storage
