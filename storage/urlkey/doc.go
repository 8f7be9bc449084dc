// SPDX-License-Identifier: Apache-2.0

// Package urlkey defines the canonical URL, the one spelling of an address that every other package uses,
// and its sort key.
//
// # What it is
//
// URL is a canonical http or https URL. Key is the same URL as a key of the store. HostKey is the prefix
// that all keys of a host share. URL and Key convert into each other without loss; either gives the
// HostKey.
//
// # Picture
//
//	" HTTP://Docs.Python.org:80/3/../3/%7ea?b#c "      as written in a page
//	        │ Parse, Resolve
//	        ▼
//	http://docs.python.org/3/~a?b                      URL: canonical
//	        │ Key                       ▲ Key.URL
//	        ▼                           │
//	org,python,docs,)/3/~a?b http       Key
//	└──── HostKey ───┘
//	└─DomainKey─┘
//
// # Life
//
// Only Parse and Resolve turn a text from outside into a URL. After that it is never parsed again:
// request line, Host header, WARC record and store key are cut from the canonical parts. Key.URL turns a
// key read from the store into a URL.
//
// The canonical form is the result of parsing the text as the WHATWG URL standard requires, without user
// information, fragment, default port and trailing dot of the host; with percent-escapes in the normal
// form of RFC 3986 section 6.2.2, and every other byte outside the RFC's set escaped.
//
// # Invariants
//
//   - Parse(u.String()) == u, and u.Key().URL() == u.
//   - A URL contains only bytes 0x21 to 0x7e, its path begins with '/', and it has at most MaxLength bytes.
//   - Keys sort by host first: the keys of a host are contiguous, and so are those of a registered
//     domain. The http and https forms of a page are neighbours.
//
// # Who runs it
//
// URL, Key and HostKey are immutable values, safe to share between goroutines. A Resolver and a KeyMemo
// keep memory between calls; each belongs to one goroutine at a time. The package starts no goroutine.
//
// # Bounds
//
// limits.go. Parsing any input takes time and memory linear in its length.
//
// # Deliberately absent
//
// Schemes other than http and https. Changes that could make a URL mean another page, such as dropping
// session ids: those are normalizers, in package engine/policy.
//
// # Read first
//
// key.go for the form of keys, parse.go for the parser, fast.go for the fast path.
package urlkey
