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
// A command opens the engine, serves the socket of the data directory meanwhile, calls the engine once and closes it.
// When another process has the directory open, a command that reads, injects or removes asks that process over the
// socket (store.go), and prints the same. "seine serve" goes on when that process has ended, and opens the engine
// (front.go). The first SIGINT, SIGTERM or SIGHUP cancels the context of a command. A second SIGINT or SIGTERM ends the
// process.
//
// # Invariants
//
//   - Results go to stdout, everything else to stderr; an error is one line there. The setting log also writes messages
//     to a file (logs.go).
//   - exit.go decides the exit status, and has the table of them.
//   - What a person typed is checked before anything is written or sent: options.go asks engine.Options.Validate, and
//     names the setting. A flag or setting without effect is refused.
//   - A terminal is given back as it was: at the end, at a panic, at signals (screen.go).
//   - Text from pages is printed without control characters.
//
// # Who runs it
//
// The main goroutine, one that waits for signals, one that redraws the view of a crawl, and on a terminal one that
// reads keys. Package engine/web has those that serve. They end with the command.
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
// command.go, then cmd_crawl.go. settings.go is the table of settings, sources.go says which source of one wins,
// toml.go reads a file of them.
package main
