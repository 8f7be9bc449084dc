// SPDX-License-Identifier: Apache-2.0

// Package policy holds what a user of seine may replace: which URLs are wanted, how they are
// spelled, how much they matter, when they are fetched again and what becomes of a document on
// its way into the index.
//
// # What it is
//
// Five small interfaces, their defaults, and function adapters for each. An engine takes them as
// fields of its options; nil means the default, and slices are ordered chains.
//
// # Picture
//
//	seed line, outlink ─▶ URLNormalizer… ─▶ URLFilter… ─▶ crawldb record ─▶ Scorer.Inject / Update
//	                                                           │
//	generate, refill   ◀── FetchSchedule.Due ◀─────────────────┤
//	updatedb           ──▶ FetchSchedule.Reschedule ──────────▶┘
//	page + record      ──▶ IndexFilter… ─▶ document
//
// # Life
//
// A policy is made by the caller before the engine opens and lives as long as the engine. It
// holds no reference to the store: everything it may look at is handed to it, and everything it
// decides is returned or written into the record it was given.
//
// # Invariants
//
//   - A policy is a pure function of its arguments: the same URL, record and time give the same
//     answer. Phases rely on it to be repeatable after a crash. (A TrapFilter without a year asks the clock.)
//   - URLNormalizer is idempotent: normalising a normalised URL changes nothing.
//   - A filter that refuses a URL says why in a few words; reasons are counted, so they come
//     from a small set and never contain the URL.
//
// The laws are callable: package policytest checks an implementation against them.
//
// # Who runs it
//
// Every method may be called from many goroutines at once. None may block, do I/O or keep the
// slices it is handed.
//
// # Bounds
//
// A filter or normalizer costs at most about a microsecond per URL, a scorer or schedule a tenth
// of that; they run once per link. A list of a million hosts takes 16 MB (HostsFilter).
//
// # Deliberately absent
//
// No registry of names, no configuration by reflection, no scripting language: a policy is a Go
// value. The command line offers the few defaults by flags.
//
// # Read first
//
// policy.go for the interfaces, score.go for why the default score does not depend on the order
// in which pages are fetched.
package policy
