// SPDX-License-Identifier: Apache-2.0

// Package admission answers one question, and is the only place that does: may this URL be crawled,
// and why not?
//
// # What it is
//
// An Admission combines everything that can refuse a URL: filters given as values, live filters
// (files that an operator edits during a crawl), the scope around the seeds, closed traps, depth,
// the length of a redirect chain, and the verdict of robots.txt as an input. It also keeps the
// budgets of hosts and domains, which delay a URL and never refuse it.
//
// # Picture
//
//	                 values        edited files     found by dedup    seeds and what they redirect to
//	                    │               │                 │                  │
//	URL, Facts ──▶ 1. filters ──▶ 2. live filters ──▶ 3. traps ──▶ 4. scope ──▶ 5. depth, chain, robots ──▶ Verdict
//	                 final          may change          final       may change        of this URL alone
//
// Verdict.Later marks a refusal that may end: by the scope or by a live filter. Links refused in
// that way are withheld in a key range of their own, and admitted when the refusal ends.
//
// # Life
//
// Load reads what earlier runs admitted and closed from the meta range. A phase that learns of a new
// seed, a redirect of a seed, or a trap collects it in Changes, writes it with Changes.WriteTo in
// the same ingestion as its own tables, and calls Changes.Commit once that ingestion is durable:
// only then does the answer change. What came into reach by it is in Pending until the phase that
// readmits withheld links has committed Changes.Readmitted.
//
// # Invariants
//
//   - Nothing else in the engine asks a filter, the scope or the traps.
//   - The answer changes between ingestions, never within one: it does not depend on the order of
//     the pages of a segment.
//   - What a later scope or filter permits is found: a refusal with Later set is withheld, and every
//     change of the answer makes the affected prefixes pending, also across processes.
//
// # Who runs it
//
// Any goroutine may ask. Load comes first. Refresh belongs to one goroutine at a time; the trap
// counts belong to Dedup, which runs once at a time.
//
// # Bounds
//
// The scope takes about 100 bytes a seed host. Traps count at most trapPrefixesMax prefixes; domains'
// budgets are remembered for domainsRemembered domains.
//
// # Deliberately absent
//
// The filters themselves (engine/policy), robots.txt rules (engine/fetch/robots), and any write of
// its own: callers own ingestions.
//
// # Read first
//
// admission.go, then changes.go.
package admission
