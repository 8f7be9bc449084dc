// SPDX-License-Identifier: Apache-2.0

// Package warc writes and reads WARC files (ISO 28500, version 1.1), the archive format of the web.
//
// # What it is
//
// The bytes of every exchange that a crawl makes, kept so that any tool of the field can read them and so that a
// crashed crawl finds them again: the WARC is the redo log of a segment. One record is one gzip member; a Location
// (file, offset, length) is enough to read one record back.
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
// An exchange is born in a fetcher. WriteExchange builds a request and a response record, each with an id of its own,
// the request pointing at the response (WARC-Concurrent-To), compresses them in memory, and appends both side by side. They
// reach the file with others, by a quarter of a megabyte or with the next Sync.
// They are durable when a Sync that began later has returned, and then leave the system's cache, for they are not
// read again soon. A file is born with the first record, under the next
// free number, its warcinfo record first and its name synced into the directory; when an exchange would make it longer
// than MaxFileBytes the next file takes its place and the full one is synced and closed. After a crash Repair cuts off
// the torn tail and a Reader reads back the rest.
//
// What is stored of a response: the body without transfer coding, with content coding (gzip, br) as it came; the head
// line by line as received up to its first empty line, but
//   - lines without a visible character are dropped, line ends are CR LF, and exactly one empty line ends the head;
//   - a head without any field gets a Content-Length;
//   - Transfer-Encoding is renamed X-Crawler-Transfer-Encoding, since the body has none any more;
//   - a Content-Length that is not the length of the stored body is renamed X-Crawler-Content-Length, and the true one
//     is added; it stays in responses that have no body by definition (1xx, 204, 304) and in revisit records.
//
// So the block is what it says it is, and readers that know nothing of this crawler (Python's and npm's warcio) split
// and decode it rightly. Responses carry WARC-Payload-Digest; the small records carry WARC-Block-Digest. A block digest of
// responses too would hash every body twice (6 µs more for a 12 KB page) to find what the gzip checksum finds.
//
// # Invariants
//
//   - Nothing that comes from outside can end a header line: URIs are visible ASCII or refused, values are escaped.
//   - Nothing follows a record that was not written whole: after a failed write or sync a Writer never writes again.
//   - An existing file is never opened for writing, except by Repair, which only shortens it.
//   - request and response of one exchange are adjacent, in this order, in one file.
//   - A Reader allocates by what it has read, never by what a header announces.
//   - What a Writer accepts, a Reader with default options reads.
//
// # Who runs it
//
// The package starts no goroutine. A Writer is safe for concurrent use: the caller's goroutine builds and compresses
// (with a pooled encoder), mu is held for one Write call, and syncMu, taken before mu, by whoever waits for the disk:
// appends go on during a Sync, and callers of Sync that wait together share one. A Reader belongs to one goroutine.
//
// # Bounds
//
// All in limits.go. A Writer holds the compressed form of the exchanges in the making, one per calling goroutine; a
// Reader holds one record (DefaultMaxBlockBytes) and 100 KB of buffers.
//
// # Deliberately absent
//
//   - ARC, WARC in zstd, continuation records on writing: nobody asked a crawler for them.
//   - Pebble, and every other package of this project: a WARC file must outlive the store.
//   - Appending to a file of an earlier Writer: a new file costs nothing and its head tells who wrote it.
//   - Retrying a failed sync: the second answer may be a lie.
//   - Guarding the X-Crawler- names: a server may send such a field too, so it is a remark and never evidence.
//
// # Read first
//
// Writer.append and Sync in writer.go, appendHead in head.go, Reader.next and Reader.verdict in reader.go, resync.go.
package warc
