// SPDX-License-Identifier: Apache-2.0

// Command content writes the data on which the model of main content is trained.
//
// # What it is
//
// For each page of a folder of WCXB (NNNN.html with NNNN.json beside it) it prints a line of JSON: the page's blocks,
// the features of the page and of the blocks' groups, and the words of its gold text, as seine's parser sees them.
// train.py learns from it. README.md has the commands and the figures.
//
// # Picture
//
//	WCXB ─▶ go run ./bench/training/content ─▶ pages.jsonl ─▶ train.py ─▶ engine/parse/content/model.bin
//	                                                    └─▶ word F1 by type, of sites that were set aside
//
// # Life
//
// People train the model again when features change. Neither the data nor Python is needed to build seine.
//
// # Invariants
//
// Features are computed by the code that will use the model.
//
// # Who runs it
//
// People who change engine/parse/content.
//
// # Bounds
//
// The parser's.
//
// # Deliberately absent
//
// The pages: they belong to WCXB (CC-BY-4.0).
//
// # Read first
//
// main.go, train.py.
package main
