// SPDX-License-Identifier: Apache-2.0

// Package parse turns bytes into a Page: links, text, and what the page says of itself.
//
// # What it is
//
// Parsers by media type behind one door, with the HTML parser as the one that matters: a single
// streaming pass over a lexer, without a tree, so that no page costs more than its length.
//
// # Picture
//
//	Input ─▶ media type ─▶ charset ─▶ lexer ─▶ text, title, anchors ─▶ resolve links ─▶ signature ─▶ Page
//	                                    └────▶ raw links, base, meta ──────┘
//
// # Life
//
// A Page belongs to one goroutine, which hands it to Parse again and again; each parse resets it
// and reuses its memory. What a Page holds is valid until then, but strings may be kept.
//
// # Invariants
//
//   - Text, title and anchors are valid UTF-8 with white space folded; a line feed separates blocks.
//   - Links are canonical URLs, each pair of target and anchor once, at most MaxLinks.
//   - Time and memory are linear in the input.
//   - The input's bytes are not written to.
//
// # Who runs it
//
// Parsers is safe for concurrent use; scratch memory comes from a pool.
//
// # Bounds
//
// limits.go.
//
// # Deliberately absent
//
// Scripts are not run, so noscript is markup like any other. The content of template elements is
// inert, as in a browser. Style is not evaluated: text hidden by it is text.
//
// # Read first
//
// page.go, then html.go.
package parse
