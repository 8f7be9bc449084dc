// SPDX-License-Identifier: Apache-2.0

// Package admission answers one question, and is the only place that does: may this URL be crawled,
// and why not?
//
// # What it is
//
// An Admission combines everything that can refuse a URL: filters given as values, parts of the keys that were moved to
// other directories, hosts that the operator has blocked, live filters (files that an operator edits during a crawl),
// closed traps, the scope around the seeds, depth, the length of a redirect chain, and the verdict of robots.txt, which
// the caller supplies. It also computes the budgets of hosts and domains, which delay a URL and never refuse it.
//
// # Picture
//
//	                 values     moved, blocks, files   found by dedup   seeds and what they redirect to
//	                    │               │                 │                  │
//	URL, Facts ──▶ 1. filters ──▶ 2. live filters ──▶ 3. traps ──▶ 4. scope ──▶ 5. depth, chain, robots ──▶ Verdict
//	                 final          may change          final       may change        of this URL alone
//
// The first refusal counts, with one exception: a final refusal by depth, chain or robots.txt comes before one that may
// change. Verdict.Later marks a refusal that may change. Links that are refused so are withheld in a key range of their
// own, and admitted when the refusal ends.
//
// # Life
//
// Load reads from the meta range what earlier runs admitted and closed. A phase that finds a new seed, a redirect of a
// seed, or a trap collects it in Changes, writes it with Changes.WriteTo in the ingestion of its own tables, and calls
// Changes.Commit once that ingestion is durable. Only then does the answer change. What came into reach is in Pending
// until the phase that readmits withheld links has committed Changes.Readmitted.
//
// # Invariants
//
//   - Nothing else in the engine calls a filter, the scope or the traps.
//   - A block is in meta before it counts. The write that ends it makes the host's withheld links pending.
//   - A part that was moved is refused from the ingestion on that takes it out, until that which brings it back, after
//     which all withheld links are pending.
//   - Scope and traps change between ingestions, never within one, so the answer does not depend on the order of the
//     pages of a segment. Live filters change at Refresh, blocks at any time.
//   - What a later scope or filter permits is found: a link that is refused with Later set is withheld, and every
//     change of the answer makes the affected prefixes pending, across processes too.
//
// # Who runs it
//
// Load comes first; after that any goroutine may call the methods that only read. Refresh belongs to one
// goroutine at a time, and so do the trap counts: Dedup runs once at a time.
//
// # Bounds
//
// The scope takes about 100 bytes for each seed host, and for each seed if a scope is narrower than hosts. Traps count
// at most trapPrefixesMax prefixes. Budgets of at most domainsRemembered domains are remembered.
//
// # Deliberately absent
//
// The filters themselves (engine/policy), robots.txt rules (engine/fetch/robots), and writes: callers own ingestions
// and batches.
//
// # Read first
//
// admission.go, then changes.go.
package admission
