// SPDX-License-Identifier: Apache-2.0

// Package pdf reads text, links and what else is said of PDF files, in processes that are bounded in memory and time.
//
// # What it is
//
// A PDF file is a program that puts glyphs at places. github.com/ledongthuc/pdf reads the objects, streams and fonts
// of files; this package follows where text is shown, to find words, lines and paragraphs, and the links.
//
// A file of a kilobyte can be made such that reading it takes all memory there is, or for ever, and no library in the
// same process can be kept from it. So each file is read by a process of its own, which gives up the right to more
// memory and time before it begins: what happens to it happens to nobody else.
//
// # Picture
//
//	Reader.Read(body) ──stdin──▶ Command: Serve ── Extract ── canvas ── library
//	     Document     ◀──JSON──  (512 MB, 10 s)
//
// # Life
//
// A process lives for one file, some 20 ms and the time of its pages. The Reader kills it when its time is over.
//
// # Invariants
//
//   - Read returns within its timeout and a second.
//   - Whatever the file, all of a Document's strings are valid UTF-8 within their bounds.
//
// # Who runs it
//
// Any number of goroutines; as many processes run at once as there are processors.
//
// # Bounds
//
// 64 MiB a file, 512 MiB of memory (on Linux), 10 seconds, 10,000 pages, 1 MiB of text, 2,000 links.
//
// # Deliberately absent
//
// Text in pictures; columns that are written line by line across both; files with a password.
//
// # Read first
//
// Extract, then canvas.go.
package pdf
