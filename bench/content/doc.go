// SPDX-License-Identifier: Apache-2.0

// Command content writes what the model of main content is trained on.
//
// # What it is
//
// For each page of a folder of WCXB (NNNN.html with NNNN.json beside it) a line of JSON: its blocks, the features of
// their groups, and the words of its gold text, as the parser that crawls sees them. train.py learns from it.
//
// # Picture
//
//	WCXB ─▶ go run ./bench/content ─▶ pages.jsonl ─▶ train.py ─▶ engine/parse/content/model.bin
//	                                                    └─▶ word F1 by type, of pages that were kept aside
//
// # Life
//
// The model is trained anew when features change, by hand: data and Python are not needed to build.
//
// # Invariants
//
// Features are computed by the code that will use the model.
//
// # Who runs it
//
// Who changes engine/parse/content.
//
// # Bounds
//
// Those of the parser.
//
// # Deliberately absent
//
// The pages: they belong to WCXB (CC-BY-4.0).
//
// # Read first
//
// main.go, train.py.
package main
