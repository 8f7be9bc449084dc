// SPDX-License-Identifier: Apache-2.0

// The command seine: parse flags, call the engine, print.
//
// # What it is
//
// One file per group of commands. A program that embeds the engine misses nothing that is here.
//
// # Picture
//
//	args, SEINE_…, seine.toml ─▶ flags ─▶ engine.Options ─▶ engine.Engine ─▶ report ─▶ stdout
//	                                                             progress ─▶ stderr
//
// # Life
//
// A command opens the engine, calls it once and closes it. The first SIGINT or SIGTERM cancels its context, the second
// ends the process.
//
// # Invariants
//
//   - Results go to stdout, everything else to stderr; an error is one line there.
//   - Exit status: 0 done, 1 failed, 2 wrong usage, 3 nothing is due, 74 the store failed.
//   - Text from pages is printed without control characters.
//
// # Who runs it
//
// The main goroutine, and one that waits for signals.
//
// # Bounds
//
// Lists are printed while they are read, so memory does not grow with them.
//
// # Deliberately absent
//
// Decisions about the crawl.
//
// # Read first
//
// command.go, then cmd_crawl.go. settings.go is the table of settings, sources.go says which source of one wins.
package main
