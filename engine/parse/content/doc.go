// SPDX-License-Identifier: Apache-2.0

// Package content tells a page's main content from what stands around it: menus, footers, lists of what else there
// is to read, notices about cookies.
//
// # What it is
//
// An Outline, which the HTML parser tells of elements and text as they come, and a model that judges what the
// outline holds at the page's end. There is no tree, and no page is read twice.
//
// # Picture
//
//	<div class="post">            Start ─▶ box ◀┐ parent
//	  <p>some text</p>            Start ─▶ box ─┘
//	                              Cut ───▶ block: bytes, words, links, …
//	  <p>more</p>                          └▶ joined: it stands in boxes alike
//	</div>
//	<ul class="menu"><li>…        Start ─▶ boxes, blocks
//	                                         │ page's end
//	                     groups ◀────────────┘ all blocks of one sign: kinds and classes of the five
//	                       │ measure           boxes around them
//	                       ▼
//	                     features ─▶ model.bin: 320 trees of 6 questions ─▶ score ─▶ Block.Content
//
// # Life
//
// Reset begins a page. Start and End open and close boxes; tag soup is read as leniently as browsers do: an end tag
// closes the innermost box of its kind, or nothing. Cut, wherever a line of text ends, makes a block of what was
// written since the last one. Boxes know sums of what is in them and, for each kind of element and each group of
// words in class, id and role ("nav navbar menu", "sidebar aside", "related more", …), how far away the next box
// around is that has it. Blocks that follow each other in boxes alike are one; all blocks in boxes alike, wherever
// they stand, are a group, and groups are what is judged: as good as judging blocks to a hundredth, at a sixth of
// the time. Select asks the model.
//
// The model is gradient-boosted trees, trained by bench/content/train.py on the 350 pages of the WCXB sample
// (articles, forums, products, listings, collections, documentation, services, 50 each) to tell each group's share of
// words that are in the gold text. Word F1 on pages that the model had not seen, five parts kept aside in turns, is
// 0.80 (articles .95, documentation .91, services .84, listings .79, forums .76, collections .69, products .67), where
// all of the text has .61. Nearly all of the pages are English; the features do not depend on a language.
//
// # Invariants
//
//   - Blocks part the text: they are in order, do not overlap, and hold all that is not white space.
//   - Time and memory are linear in the page.
//   - The same page has the same content, whatever was read before it.
//
// # Who runs it
//
// An Outline belongs to one goroutine; the parser keeps one in each of its pooled passes. The model is read once,
// when the program starts, and is immutable.
//
// # Bounds
//
// 65,536 boxes and blocks, 256 open boxes; of an attribute 256 bytes are looked at. What is beyond belongs to the box
// around it, or joins the block before it.
//
// # Deliberately absent
//
// Style is not evaluated and scripts are not run. What a page says of itself (JSON-LD types, og:type) is a
// feature like any other. Nothing is learnt while crawling.
//
// # Read first
//
// outline.go, features.go, score.go.
package content
