// SPDX-License-Identifier: Apache-2.0

// Package robots reads robots.txt as RFC 9309 says.
//
// # What it is
//
// A parser that never fails and a matcher that never backtracks further than its pattern is long.
//
// # Picture
//
//	bytes ──Parse──▶ File ──Rules(agent)──▶ Rules ──Allowed(path?query)──▶ yes or no
//
// # Life
//
// A File is parsed once per fetch of robots.txt; the Rules of one agent are cut out of it and kept
// as long as the decision is valid. Both are immutable.
//
// What the file says beside that is kept as it stands: Crawl-delay, Sitemap lines, and preferences about
// uses of pages (preferences.go).
//
// # Invariants
//
//   - /robots.txt itself is always allowed.
//   - The longest matching pattern wins, Allow wins a tie.
//   - Adding a Disallow line never allows more.
//
// # Who runs it
//
// Everything here is safe for concurrent use.
//
// # Bounds
//
// The first 512 KiB of a file are read. Matching a path takes at most its length times the number
// of '*' in a pattern.
//
// # Deliberately absent
//
// Fetching, caching and what HTTP statuses mean: package engine.
//
// # Read first
//
// match.go.
package robots
