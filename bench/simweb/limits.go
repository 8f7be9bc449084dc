// SPDX-License-Identifier: Apache-2.0

package simweb

import "time"

// Bounds of a web.
const (
	// maxHosts is how many hosts can have an address each in 127.0.0.0/8, less its first two and its last.
	maxHosts = 1<<24 - 3
	// maxPagesPerHost keeps page numbers within 31 bits.
	maxPagesPerHost = 1<<31 - 1
	// maxPageBytes is the largest size that a page may be drawn with: the log-normal is cut there.
	maxPageBytes = 8 << 20
	// maxLinks is the largest out-degree that may be drawn, beside navigation. WDC 2012 saw 56,000, which here would
	// only make pages that no test reads.
	maxLinks = 4096
	// sitemapURLs is how many URLs a sitemap lists before the host has an index of sitemaps. The protocol allows
	// 50,000; smaller files keep a request within a few milliseconds.
	sitemapURLs = 10_000
)

// Bounds of a server.
const (
	// maxListeners is how many addresses a server listens on one by one: each costs a file descriptor
	// and a goroutine. Larger webs need ServerOptions.AllInterfaces.
	maxListeners = 4096
	// maxConns is how many connections are open at once; one more is closed at once and counted.
	maxConns = 1 << 16
	// maxRequestHead is the largest request head that is read, in bytes; a longer one gets a 431.
	maxRequestHead = 16 << 10
	// idleTimeout ends a connection without requests. It is renewed only after a quarter of it: setting a deadline on
	// each request would cost more than serving it.
	idleTimeout = 60 * time.Second
	// handshakeTimeout ends a TLS handshake that takes longer.
	handshakeTimeout = 10 * time.Second
	// maxCertificates is how many hosts' certificates are kept.
	maxCertificates = 1 << 14
	// writeTimeout ends a connection whose client does not read its response.
	writeTimeout = 30 * time.Second
	// closeGrace is how long Close waits for responses that are being written.
	closeGrace = 2 * time.Second
	// staleSalt tells the draw of stale hosts from others.
	staleSalt = 0x57a1e
	// keepBuffer is the largest response buffer that is reused, in bytes.
	keepBuffer = 256 << 10
	// exactURLs is how many URLs are counted one by one; later ones are counted by hash.
	exactURLs = 1 << 20
	// hashedURLs is the number of hashed counts, one byte each. With a tenth as many URLs requested, one in ten of them
	// would be taken for another and seem to be requested twice.
	hashedURLs = 1 << 26
	// rudest is how many hosts a report names.
	rudest = 10
)

// Bounds of a folder of documents.
const (
	// maxSymlinks is how many symbolic links one path may follow, as in Linux.
	maxSymlinks = 40
	// maxDocBytes is the size of the largest file that is served; files are read into memory.
	maxDocBytes = 256 << 20
)
