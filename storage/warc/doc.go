// SPDX-License-Identifier: Apache-2.0

// Package warc writes and reads WARC files (ISO 28500, version 1.1), the archive format of the web.
//
// # What it is
//
// The store of every exchange of a crawl, byte for byte. Any WARC tool can read it, and a crashed crawl recovers from
// it: the WARC is the redo log of a segment. One record is one gzip member; a Location (file, offset, length) is enough
// to read one record back.
//
// # Picture
//
//	Prefix-00000.warc.gz                        one member
//	┌──────────┬─────────┬──────────┬───┐       ┌───────────────────────────────────────────────────┐
//	│ warcinfo │ request │ response │ … │       │ gzip header with the Writer's mark (resync.go)    │
//	└──────────┴─────────┴──────────┴───┘       │  WARC/1.1                                         │
//	            ╰── one exchange ──╯            │  WARC-Type: response                              │
//	                                            │  WARC-Record-ID: <urn:uuid:…>                     │
//	goroutine A: build, compress ──╮            │  WARC-Date: 2026-01-02T03:04:05.678Z              │
//	goroutine B: build, compress ──┼─▶ append   │  WARC-Target-URI: https://example.org/            │
//	goroutine C: build, compress ──╯   (lock)   │  …                                                │
//	                                            │  Content-Length: 12345                            │
//	                                 Sync ──▶   │                                                   │
//	                                 (shared)   │  HTTP head, one empty line, body                  │
//	                                            │  CR LF CR LF                                      │
//	                                            └───────────────────────────────────────────────────┘
//
// # Life
//
// A fetcher calls WriteExchange. It builds a request and a response record, each with its own id; the request refers to
// the response (WARC-Concurrent-To). It compresses them in memory and appends them next to each other. The Writer
// writes appended records to the file when it has collected a quarter of a megabyte, or with the next Sync. Records are
// durable when a Sync that began after their append has returned. Then they leave the system's page cache, because they
// are not read again soon.
//
// The first record creates a file with the next free number: the warcinfo record is written first, and the file's name
// is synced into the directory. When an exchange would make the file longer than MaxFileBytes, or when the file is
// older than MaxFileAge, the next file replaces it, and the full one is synced and closed. What belongs together is a
// part, which may begin in the middle of a file, with a warcinfo record of its own, and go on in others: BeginPart and
// EndPart. After a crash Mend or Cut takes off the torn tail, and a Reader reads the rest.
// Scan reads a file for its own sake and finds every changed bit; Mend makes a damaged file sound by leaving out what
// is not.
//
// The body of a response is stored without transfer coding, and with content coding (gzip, br) as received. The head is
// stored line by line as received, up to its first empty line, with these changes:
//   - lines without a visible character are dropped, line ends are CR LF, and exactly one empty line ends the head;
//   - a head without any field gets a Content-Length;
//   - Transfer-Encoding is renamed X-Crawler-Transfer-Encoding, because the stored body has none;
//   - a Content-Length that differs from the length of the stored body is renamed X-Crawler-Content-Length, and the
//     correct one is added. It is kept in responses that by definition have no body (1xx, 204, 304) and in revisit
//     records.
//
// So the head describes the block correctly, and readers that know nothing of this crawler (Python's and npm's warcio)
// split and decode it correctly. Responses have a WARC-Payload-Digest, the small records a WARC-Block-Digest. A block
// digest for responses too would hash every body twice (6 µs more for a 12 KB page) and detect only what the gzip
// checksum, which covers header and block, already detects (TestScanFlips). A faster hash than SHA-1 is no way out:
// warcio reports every algorithm that it does not know as a fault of the record.
//
// # Invariants
//
//   - Nothing from outside can end a header line: URIs are visible ASCII or refused, values are escaped.
//   - Nothing follows a record that was not written completely: after a failed write or sync a Writer never writes
//     again.
//   - An existing file is never opened for writing, except by Repair and Cut, which only shorten it. Mend shortens it
//     too, or puts a new file in its place.
//   - The parts of a Writer's files do not overlap, and each begins with a warcinfo record.
//   - The request and the response of one exchange are adjacent, in this order, in one file.
//   - A Reader allocates memory for bytes that it has read, not for lengths that a header announces.
//   - What a Writer accepts, a Reader with default options reads.
//   - Damage is never counted or returned as a record: Next returns either a record or an error.
//
// # Who runs it
//
// The package starts no goroutine. A Writer is safe for concurrent use. The caller's goroutine builds and compresses
// records with a pooled encoder. mu is held for one Write call. Goroutines that wait for the disk hold syncMu, which is
// locked before mu: appends continue during a Sync, and concurrent callers of Sync share one. A Reader belongs to one
// goroutine.
//
// # Bounds
//
// All in limits.go. A Writer holds the compressed exchanges being built, one per calling goroutine, and up to a quarter
// of a megabyte of appended records. A Reader holds one record (DefaultMaxBlockBytes) and 100 KB of buffers.
//
// # Deliberately absent
//
//   - ARC, WARC in zstd, and writing continuation records: users of crawlers do not need them.
//   - Pebble, and every other package of this project: a WARC file must outlive the store.
//   - Appending to a file of an earlier Writer: a new file costs nothing, and its warcinfo record says who wrote it.
//   - Retrying a failed sync: the second result may be wrong.
//   - Protecting the X-Crawler- names: a server may send such a field too, so treat it as a note, never as evidence.
//
// # Read first
//
// Writer.append and Sync in writer.go, part.go, appendHead in head.go, Reader.next and Reader.verdict in reader.go,
// resync.go.
package warc
