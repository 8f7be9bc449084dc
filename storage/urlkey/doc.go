// SPDX-License-Identifier: Apache-2.0

// Package urlkey holds the one spelling of an address that everything else uses, and its sort key.
//
// # What it is
//
// URL is a canonical http or https URL, Key the same URL as a key of the store, HostKey the prefix
// that all keys of a host share. Each turns into the others without loss.
//
// # Picture
//
//	" HTTP://Docs.Python.org:80/3/../3/%7ea?b#c "      as a page wrote it
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
// A text from outside becomes a URL in Parse or Resolve and nowhere else; from then on it is never
// parsed again: request line, Host header, WARC record and store key are cut from the canonical
// parts. A key read from the store becomes a URL in Key.URL.
//
// The canonical form is the WHATWG URL standard's parse of the text, then: no user information, no
// fragment, no default port, no trailing dot of the host, percent-escapes in the normal form of
// RFC 3986 section 6.2.2, every other byte outside the RFC's set escaped.
//
// # Invariants
//
//   - Parse(u.String()) == u, and u.Key().URL() == u.
//   - A URL holds only bytes 0x21 to 0x7e; its path begins with '/'; it is at most MaxLength long.
//   - Keys order host-major: one host's keys are contiguous, so are one registered domain's, and
//     the http and https forms of a page are neighbours.
//
// # Who runs it
//
// All types are immutable values, safe to share. Nothing is kept between calls.
//
// # Bounds
//
// limits.go. Parsing takes time and memory linear in its input, whatever that is.
//
// # Deliberately absent
//
// Schemes other than http and https; anything that changes which page a URL means, such as dropping
// session ids: those are normalizers, package engine/policy.
//
// # Read first
//
// key.go for the shape of keys, parse.go for the parser, fast.go for what it does to be quick.
package urlkey
