// SPDX-License-Identifier: Apache-2.0

// Package bench is the map of the folders that measure, test and train seine from the outside. It holds no code.
//
// # What it is
//
// Six kinds of things that use seine and that seine does not use:
//
//   - bench/measure: benchmarks of each layer and of whole crawls, and the report that becomes BENCHMARKS.md.
//   - bench/relevance: judged collections, known items and questions, and the measures of trec_eval.
//   - bench/simweb and bench/hostile: the worlds. simweb is a synthetic web of any size that knows the truth about
//     itself; hostile is a web of servers that break the rules, one case at a time. Both are packages for anybody.
//   - bench/acceptance: whole jobs with a verdict, as scripts: demo, polite, realsites, realweb.
//   - bench/peers: other crawlers and libraries under the same measurements. It is a module of its own.
//   - bench/training: commands that make the models in engine/parse (content, language).
//
// # Picture
//
//	make bench ───▶ measure ──▶ BENCHMARKS.md         make bench-peers ─▶ peers (own module)
//	                  │                                                     │
//	                  ├──▶ relevance ◀──────────────────────────────────────┤
//	                  ├──────────────▶ simweb, hostile ◀────────────────────┘
//	                  │                  ▲         ▲
//	make demo, polite, realsites, realweb ┘         └── tests of engine
//
//	training/content, training/language ──▶ model files in engine/parse
//
// # Life
//
// Everything that a run leaves behind is in bench/out, which git ignores and `make clean` removes. Downloads
// (Debian packages, peers, sentences) are kept there from run to run.
//
// # Invariants
//
//   - Nothing outside cmd/seine and tests imports these packages.
//   - The worlds import nothing of seine, so that a fault of seine cannot hide in the truth that judges it.
//   - Scripts change to the root of the repository first; every path in them starts there.
//
// # Who runs it
//
// People and the CI, through the Makefile. `make help` lists the targets.
//
// # Bounds
//
// `make bench` takes a quarter of an hour, `make bench-full` an hour or two.
//
// # Deliberately absent
//
// Unit tests and micro-benchmarks that belong to one package: they stand beside its code.
//
// # Read first
//
// bench/measure/doc.go for numbers, bench/simweb/doc.go for the synthetic web.
package bench
