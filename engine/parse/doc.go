// SPDX-License-Identifier: Apache-2.0

// Package parse turns the body of a response into a Page: links, text, and what the page declares about itself.
//
// # What it is
//
// Parsers chooses a Parser by media type. The HTML parser matters most. It reads a page in one streaming pass and
// builds no tree, so its time and memory are linear in the page's length. A fast path reads 19 of 20 tokens; a
// lexer reads the rest.
//
// # Picture
//
//	            media type          charset            fast path, then lexer and its corrections
//	Input ─────▶ mediatype.go ─────▶ charset.go ──────▶ html_plain.go, html.go
//	  │         header, magic       BOM, header,        │ start and end tags, text
//	  │                             prescan.go, guess   ▼
//	  │                                               html_tag.go ──▶ html_text.go    visible text, anchors
//	  │                                                 ├───────────▶ content         which text is main content
//	  │ X-Robots-Tag                                    ├───────────▶ html_links.go   references as written
//	  ▼                                                 └───────────▶ html_meta.go    robots, base, refresh, facts
//	robots.go ─▶ Page ◀── finish: references resolved ◀──┘
//	               └────▶ language ─▶ Filters ─▶ Signer ─▶ simhash.go
//
// # Life
//
// A Page belongs to one goroutine, which passes the same Page to Parse for one document after another. Each Parse
// resets the Page and reuses its memory. During a pass, references and texts of one page are collected in an arena.
// At the end the arena becomes one string; title, anchors and, where they were canonical already, URLs are substrings
// of it. The scratch memory of a pass (copy of the page, arena, lists) returns to a pool.
//
// # Invariants
//
//   - Text, title, headings and anchors are valid UTF-8 without control characters. White space is folded; a line
//     feed separates blocks.
//   - Links are canonical URLs. Each pair of target and anchor occurs once, and there are at most MaxLinks pairs
//     (MaxSitemapLinks in a sitemap).
//   - Time and memory are linear in the input: the lexer reads no byte more than three times, and every list is
//     bounded. Nesting depth costs nothing, since there is no tree.
//   - The input's bytes are never written to.
//
// # Who runs it
//
// Parsers is immutable and safe for concurrent use; a Page is not. The package starts no goroutines and holds no
// locks except those of its pools. Parser, Filter and Signer run on the goroutine that called Parsers.Parse.
//
// # Bounds
//
// limits.go.
//
// # Deliberately absent
//
//   - Scripts are not run, so noscript is ordinary markup, except that a refresh inside it is only a link, and
//     raw text inside it does not go on behind it.
//   - The content of template elements is inert, as in a browser, unless the template is a declarative shadow root.
//   - Style is not evaluated. Only the hidden attribute hides text (not links), and so does a dialog that is not open.
//     It does not hide what readers come to see: a tab's panel, or a part of a page that React's server streamed.
//     The content of video, audio and canvas is fallback and is not read. So is noframes; frames are links here.
//   - Images, scripts, style sheets and forms are links only if Options requests them. URLs inside style sheets
//     are never links.
//   - The standard's tree rules for misplaced markup (foster parents, adoption) change where text appears, not which
//     text appears. They are left out.
//   - Sitemaps and feeds give links and are not indexed (xml.go, sitemap.go, feed.go).
//   - PDF files are read only where a pdf.Reader is plugged in (PDF), because reading them needs a program to run.
//
// # Read first
//
// page.go, parser.go, then html.go.
package parse
