// SPDX-License-Identifier: Apache-2.0

// Package policy holds what a user of seine may replace: which URLs belong to a crawl, how they are spelled, how much
// they matter, when they are fetched again, what differs for one host, what the index holds of a page, and which other
// search engines get its documents.
//
// # What it is
//
// Small interfaces, their defaults, and function adapters. An engine takes policies as fields of its options: nil means
// the default, and slices are ordered chains. DefaultFilters and DefaultNormalizers return the defaults, for you to
// append to.
//
// # Picture
//
//	seed line, outlink ─▶ URLNormalizer… ─▶ URLFilter… ─▶ crawldb record ─▶ Scorer.Inject / Update
//	                                                           │
//	generate, refill   ◀── FetchSchedule.Due ◀─────────────────┤
//	request            ◀── HostPolicy.Settings                 │
//	updatedb           ──▶ FetchSchedule.Reschedule ──────────▶┘
//	page + record      ──▶ IndexFilter… ─▶ document ─▶ index
//	what changed there ──▶ IndexWriter ─▶ another search engine, or a file
//
// # Life
//
// The caller makes policies before the engine opens; they live as long as the engine. A policy has no access to the
// store: it sees its arguments only, and returns its decision or writes it into the record that it was given.
//
// A policy is a value made of Go values or of a text (ParseRules, ParseDeniedHosts, …). The caller reads the text from
// a file, an option or elsewhere, and adds the source to errors. To follow a file while a crawl runs, make a
// WatchedFilter with WatchFile: it reads the file again when it has changed, and replaces the whole filter at once.
//
// # Invariants
//
//   - A policy is a pure function of its arguments: the same URL, record and time give the same answer. Phases rely on
//     this to be repeatable after a crash. There are three exceptions: a TrapFilter without a year uses the clock,
//     a LiveFilter also depends on its rules, which Fingerprint identifies, and an IndexWriter changes another engine.
//   - A URLNormalizer is idempotent: normalizing a normalized URL changes nothing.
//   - A filter that refuses a URL says why in a few words. Reasons are counted, so they come from a small set and never
//     contain the URL.
//   - An IndexWriter lets no older version replace a newer one, as far as the other engine can promise that, and
//     writing twice is as good as once.
//   - A URL is never due before its fetch time.
//   - The text of settings never shows a password, or the value of a header or cookie.
//
// Package policytest checks an implementation against the laws of its interface.
//
// # Who runs it
//
// Any goroutine may call any method of a policy at any time, except LiveFilter.Refresh and those of IndexWriter: one
// goroutine at a time. No method but these may block or do I/O, and none may keep the slices that it is given. No phase
// waits for an IndexWriter, only the call that sends and the end of a crawl do; Write and Commit end when their context
// does.
//
// # Bounds
//
// A filter or normalizer takes at most about a microsecond per URL, a scorer or schedule a tenth of that; they run once
// per link. A list of a million hosts takes 16 MB (HostsFilter). WatchFile reads at most 1 GiB. One error lists at most
// ten wrong lines of a text. IndexWriter.Write gets at most IndexChangesMax changes.
//
// # Deliberately absent
//
// There is no registry of names, no configuration by reflection and no scripting language: a policy is a Go value. File
// names and flags belong to the command line.
//
// # Read first
//
// policy.go for the interfaces, watch.go for filters that change while a crawl runs, host.go for settings of one host,
// score.go for why the default score does not depend on the order in which pages are fetched, indexwriter.go for other
// search engines.
package policy
