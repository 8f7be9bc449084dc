// SPDX-License-Identifier: Apache-2.0

// Package storage keeps everything durable but the WARC files' bytes: the key ranges of one Pebble
// store, the records in them, and the few ways in which phases read and write them.
//
// # What it is
//
// The only door to Pebble. A Store is one directory; a Range is a part of its key space that holds one
// kind of record; everybody outside this package speaks of ranges and relative keys (keyrange.go).
// Phases do not read and write single keys: they sort what is new (Sorter → Run), walk it beside a
// range in key order (MergeJoin), and write the result as sorted tables that appear at once
// (Ingestion). Pebble's costs say why: a random Get costs 5 to 25 µs and a random write 4 to 7, a key
// of a merge-join 0.03 to 1.5, a key of a sorted table 0.25.
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
// # Life
//
// A record of crawldb is born in an ingestion of inject or updatedb, as one value of one table.
// MergeJoin hands it to the next phase that has something to say about its key; what the phase returns
// is written whole, in a newer table, and hides it. Compactions throw the older one away.
//
// A segment is born by PutSegment in state open; each phase's ingestion carries its tables together
// with the state they lead to: open → sealed → updated → linked → indexed. So the state tells which
// tables are there, a crash leaves a phase done or not begun, and running it again is harmless:
// exactly once.
//
// A range that belongs to one segment (fetchlist, parse) or index segment goes with one tombstone
// (Ingestion.DeleteRange), in the ingestion that makes it superfluous or replaces it.
//
// A store is born by Open, carries a format version and the settings that shaped its data (format.go),
// and is opened by every later program; a newer one is refused untouched.
//
// # Invariants
//
//   - What Apply, PutSegment or Commit acknowledged is there after any crash; what was not is there
//     whole or not at all. There is no unsynced write.
//   - Keys are built and read here only; a relative key never crosses a range's bounds.
//   - A segment's state never goes back, and never changes without its data.
//   - The sum of HostCounts equals crawldb: both change in the same ingestion. (Callers' part; Verify
//     checks it.)
//   - After a failed sync or the sight of damage nothing is acknowledged any more (health.go).
//   - Decoding takes any bytes: a value, an error, never a panic, never memory out of proportion.
//
// # Who runs it
//
// A Store, a Snapshot and an Ingestion are safe for concurrent use; a Scanner, Run, Sorter or
// TableWriter belongs to one goroutine at a time, but different TableWriters of one Ingestion may be
// used at once. This package starts no goroutine; Pebble's own (flush, compaction, log) end in Close.
// Readers never wait. Commits of ingestions wait for each other; writers that Apply at the same time
// share one fsync, and wait while an ingestion that overlaps them is put in order, some milliseconds.
//
// # Bounds
//
// All in limits.go. A Sorter uses the memory that it is given and then disk. A MergeJoin holds one key
// with its values. An Ingestion holds nothing but the table blocks being built. Disk: an ingestion's
// tables once, and what compactions need for a while; the caller watches DiskFree.
//
// # Deliberately absent
//
//   - Pebble's merge operator: folding while sorting is ten times cheaper (4 µs against 0.3 a key).
//   - Transactions, secondary indexes, caches of records: the merge-join replaces all three.
//   - Writes without sync, and a way to ask for one: Pebble loses them on kill -9.
//   - Retry of anything that failed on disk.
//   - Knowledge of what the index keeps in its ranges.
//
// # Read first
//
// keyrange.go for the map; store.go Open; ingestion.go; join.go; record.go for what a codec looks like.
package storage
