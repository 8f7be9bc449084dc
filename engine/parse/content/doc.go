// SPDX-License-Identifier: Apache-2.0

// Package content separates a page's main content from its surroundings: menus, footers, lists of other articles,
// cookie notices.
//
// # What it is
//
// An Outline, which the HTML parser fills with elements and text while it reads the page, and a model that judges the
// outline at the page's end. There is no tree, and no page is read twice.
//
// # Picture
//
//	<div class="post">            Start ─▶ box ◀┐ parent
//	  <p>some text</p>            Start ─▶ box ─┘
//	                              Cut ───▶ block: bytes, words, links, …
//	  <p>more</p>                          └▶ joined: it is in similar boxes
//	</div>
//	<ul class="menu"><li>…        Start ─▶ boxes, blocks
//	                                         │ page's end
//	                     groups ◀────────────┘ blocks of one sign: kinds and classes of the five
//	                       │ measure           boxes around them
//	                       ▼
//	                     page ─▶ its type ─┐
//	                     features ─────────┴▶ trees ─▶ chance ─▶ threshold ─▶ Block.Content
//
// # Life
//
// Reset begins a page. Start and End open and close boxes. They are as lenient with tag soup as browsers: an end tag
// closes the innermost box of its kind, or nothing. Cut, called wherever a line of text ends, makes a block of the text
// since the last one. A box has sums over its content. It also has, for each kind of element and each group of words
// in class, id and role ("nav navbar menu", "sidebar aside", "related more", …), the distance to the nearest box around
// it of that kind or group. Consecutive blocks in similar boxes are joined. All blocks of a page in similar boxes are a
// group, unless many others are between them, and the models judge groups: judging blocks takes three times as long. A
// group of many words ends there, and the next one knows how much is before it: of a long thread, often only the
// first posts are content. Boxes of one parent with the same kind and class are a list (lists.go): posts, cards,
// entries. A group's features tell how long the lists around it are, in how many of their boxes it is, and where it is
// beside the largest list. Select applies the models.
//
// The models (model.go) are gradient-boosted trees: one predicts the page's type, which is a feature of the other. That
// judges each group by itself, its place, its names, its surroundings and the page. Then the groups are content that
// together have the best F1 measure that can be expected (score.go). bench/training/content/train.py trains the models
// on the 1,497 pages of WCXB's development half. Word F1 on pages of unseen sites is 0.873 (articles .952,
// documentation .936, services .857, forums .816, listings .748, collections .687, products .656). Taking all of the
// text has .70; README.md there has more. Nearly all of the pages are English; the features do not depend on a
// language.
//
// # Invariants
//
//   - Blocks divide the text: they are in order, do not overlap, and cover everything but white space.
//   - Time and memory are linear in the page.
//   - The same page has the same content, whatever was read before it.
//
// # Who runs it
//
// An Outline belongs to one goroutine; the parser keeps one in each of its pooled passes. The models are read once,
// when the program starts, and are immutable.
//
// # Bounds
//
// 65,536 boxes and as many blocks, 256 open boxes, 256 bytes of an attribute. Elements beyond that belong to the box
// around them; blocks beyond that are joined to the last one.
//
// # Deliberately absent
//
// Style is not evaluated and scripts are not run. What a page declares about itself (JSON-LD types, og:type) is a
// feature like any other. The model does not learn during a crawl.
//
// # Read first
//
// outline.go, features.go, lists.go, score.go, model.go.
package content
