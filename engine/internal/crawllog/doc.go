// SPDX-License-Identifier: Apache-2.0

// Package crawllog writes the log of a crawl: one line for each fetch.
//
// # What it is
//
// A file that grows by whole lines, and older files beside it. A line is a JSON object, or has the layout of Heritrix's
// crawl.log, so that the tools of its operators read it.
//
// # Picture
//
//	Entry ─▶ appendJSON, appendHeritrix ─▶ crawl.log ──full──▶ crawl.log.00001, crawl.log.00002, …
//	                                          └──▶ Since: what is in it, for who must not write it twice
//
// # Life
//
// Open cuts off what a crash left of a line, and begins a new file if the old one has the other format. Write appends
// lines with one write to the file; a file that would become longer than MaxBytes is renamed first, to the next number.
// Before a write it looks whether somebody else renamed or removed the file, as logrotate does, and then begins a new
// one. After a failure the next use opens the file again. Sync makes the lines durable. Close ends it.
//
// # Invariants
//
//   - A line has one line feed, its last byte, and no other control character, whatever servers send.
//   - A line in the layout of Heritrix has twelve fields, and no space within one.
//   - A line is written whole or, after a crash, cut off by the next Open.
//   - A file never changes after Write renamed it.
//
// # Who runs it
//
// A Log is safe for concurrent use. One process at a time may have a file open: who opens it holds the lock of a data
// directory.
//
// # Bounds
//
// One batch of lines is in memory. Keep bounds the number of files.
//
// # Deliberately absent
//
// Where the fields come from, and which fetches are written: package engine.
//
// # Read first
//
// line.go, then log.go.
package crawllog
