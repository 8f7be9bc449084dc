// SPDX-License-Identifier: Apache-2.0

// Package parse turns bytes into a Page: links, text, and what the page says of itself.
//
// # What it is
//
// Parsers by media type behind one door, with the HTML parser as the one that matters: a single
// streaming pass, without a tree, so that no page costs more than its length. What is written plainly, 19 tokens
// of 20, is taken as it stands; a lexer takes the rest.
//
// # Picture
//
//	            media type          charset            what is plain, and a lexer, mended
//	Input ─────▶ mediatype.go ─────▶ charset.go ──────▶ html_plain.go, html.go
//	  │         header, magic       mark, header,       │ start and end tags, text
//	  │                             prescan.go, guess   ▼
//	  │                                               html_tag.go ──▶ html_text.go    visible text, anchors
//	  │                                                 ├───────────▶ content         what of the text is main content
//	  │ X-Robots-Tag                                    ├───────────▶ html_links.go   references as written
//	  ▼                                                 └───────────▶ html_meta.go    title, robots, base, refresh, facts
//	robots.go ─▶ Page ◀── finish: references resolved ◀──┘
//	               └────▶ language ─▶ Filters ─▶ Signer ─▶ simhash.go
//
// # Life
//
// A Page belongs to one goroutine, which hands it to Parse again and again; each Parse resets it
// and reuses its memory. Of one page, references and texts are gathered in an arena, which becomes
// one string at the end; title, anchors and (where they were canonical already) URLs are cut from
// it. The scratch of a pass (copy of the page, arena, lists) goes back to a pool.
//
// # Invariants
//
//   - Text, title, headings and anchors are valid UTF-8 without control characters; white space is
//     folded, a line feed separates blocks.
//   - Links are canonical URLs, each pair of target and anchor once, at most MaxLinks.
//   - Time and memory are linear in the input: the lexer sees no byte more than three times, every
//     list is bounded. No page is too deep, since there is no tree.
//   - The input's bytes are only read.
//
// # Who runs it
//
// Parsers is immutable and safe for concurrent use; a Page is not. No goroutines, no locks but the
// pools'.
//
// # Bounds
//
// limits.go.
//
// # Deliberately absent
//
// Scripts are not run, so noscript is markup like any other (except that a refresh inside it is only
// a link). The content of template elements is inert, as in a browser, unless it is a declarative
// shadow root. Style is not evaluated: of what is hidden, only the hidden attribute counts, for text
// but not for links, and dialogs that are not open; what stands in video, audio and canvas is not
// seen. Frames' content (noframes) is for browsers without frames, and frames are links here.
// Images, scripts and style sheets are links, and forms, only if they are asked for; what style sheets
// name is not. The tree's rules for
// misplaced markup (foster parents, adoption) change where text stands, not which, and are left out.
// Sitemaps and feeds are links and no pages (xml.go, sitemap.go, feed.go). PDF files are read where a
// Reader is plugged in (PDF): that takes a program to call.
//
// # Read first
//
// page.go, parser.go, then html.go.
package parse
