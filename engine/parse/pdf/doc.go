// SPDX-License-Identifier: Apache-2.0

// Package pdf reads text, links and metadata of PDF files, in processes that are bounded in memory and time.
//
// # What it is
//
// A PDF file is a program that puts glyphs at places. github.com/ledongthuc/pdf reads the objects, streams and fonts
// of files. This package tracks where text is shown, to find words, lines, paragraphs and links.
//
// A file of a kilobyte can be made such that reading it takes all memory, or never ends, and nothing protects a program
// from a library in its own process. So a process of its own reads each file. It limits its memory and time before it
// begins, and its failure affects no other file.
//
// # Picture
//
//	Reader.Read(body) ──stdin──▶ Command: Serve ── Extract ── canvas ── library
//	     Document     ◀──JSON──  (512 MB, 10 s)
//
// # Life
//
// A process reads one file and ends. It takes some 20 ms and the time of the file's pages. The Reader kills it
// when the timeout has passed.
//
// # Invariants
//
//   - Read returns at most one second after its timeout, not counting the wait for a free process.
//   - All strings of a Document are valid UTF-8 within their bounds, whatever the file.
//
// # Who runs it
//
// Any number of goroutines. At most GOMAXPROCS processes run at once, for all Readers together.
//
// # Bounds
//
// 64 MiB a file, 512 MiB of memory (on Linux), 10 seconds, 10,000 pages, 1 MiB of text, 2,000 links of
// 1 MiB together.
//
// # Deliberately absent
//
// Text in images; columns that the file writes line by line across both; files with a password.
//
// # Read first
//
// Extract, then canvas.go.
package pdf
