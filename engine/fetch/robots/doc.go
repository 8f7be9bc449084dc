// SPDX-License-Identifier: Apache-2.0

// Package robots parses and matches robots.txt by RFC 9309.
//
// # What it is
//
// A parser that never fails, and a matcher that never backtracks.
//
// # Picture
//
//	bytes ──Parse──▶ File ──Rules(agent)──▶ Rules ──Allowed(path?query)──▶ yes or no
//
// # Life
//
// A File is parsed once per fetch of robots.txt. The Rules of one agent are taken from it, and kept as long as
// the file counts as current. Both are immutable.
//
// Beyond the rules of RFC 9309 a File keeps Crawl-delay, Sitemap and License lines, and preferences about the use
// of pages (preferences.go).
//
// # Invariants
//
//   - /robots.txt itself is always allowed.
//   - The longest matching pattern wins; Allow wins a tie.
//   - A Disallow line added to a group never allows more.
//
// # Who runs it
//
// Everything here is safe for concurrent use.
//
// # Bounds
//
// The lines that end within the first 512 KiB of a file are read, and 50,000 rules kept. The time to match a path
// is at most proportional to its length times the number of '*' in a pattern.
//
// # Deliberately absent
//
// Fetching, caching, and the meaning of HTTP statuses: package engine.
//
// # Read first
//
// match.go.
package robots
