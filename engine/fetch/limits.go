// SPDX-License-Identifier: Apache-2.0

package fetch

import "time"

// Defaults and bounds. The parentheses name the failure or the truncation that follows when one is exceeded.
const (
	defaultTotal   = 60 * time.Second // whole fetch (timeout_head, or truncated "time")
	defaultDNS     = 5 * time.Second  // dns_timeout
	defaultDial    = 5 * time.Second  // all addresses of a host together (timeout_dial)
	defaultTLS     = 5 * time.Second  // tls_timeout
	defaultWrite   = 5 * time.Second  // timeout_write
	defaultHead    = 10 * time.Second // timeout_head
	defaultGrace   = 10 * time.Second // before the minimum rate applies; at most half of the whole fetch
	defaultMinRate = 1024             // bytes per second (too_slow)

	defaultMaxBody    = 4 << 20 // bytes as received (truncated "length")
	defaultMaxDecoded = 8 << 20 // bytes after content decoding (truncated)
	defaultBudget     = 256 << 20
	// startBytes is how much of a body, content coding undone, Options.Longer sees.
	startBytes = 8 << 10
	// budgetStep is the first step, in bytes, by which a body's share of the budget grows; later steps double it.
	budgetStep = 64 << 10

	maxHead    = 64 << 10 // bytes (head_too_large)
	maxFields  = 256      // head_too_large
	maxInterim = 8        // 1xx responses (protocol_error/interim)
	maxBlank   = 4        // line ends before the status line (protocol_error/status_line)
	maxChunk   = 16       // hexadecimal digits of a chunk size (protocol_error/chunk)
	maxTrailer = 64       // trailer lines (protocol_error/trailer)
	// maxLine bounds a chunk-size or trailer line, in bytes with its line end (protocol_error/chunk).
	maxLine = 4 << 10

	// maxOverhead bounds what an exchange may receive beside its body: this many bytes, and as many as the body has
	// (protocol_error/overhead). A TLS handshake may have as many. Chunks of one byte make six of each, so a body of
	// 128 KiB may come in such chunks.
	maxOverhead = 512 << 10

	maxAddresses = 8 // of one host; further ones are not tried
	// readBuffer is the size of a connection's read buffer in bytes. It must be at least maxLine.
	readBuffer = 16 << 10
	// keptBody, keptHead and keptContent are the largest buffers, in bytes, that return to their pools: of bodies as
	// received, of heads, and of bodies after content decoding. Every fetcher may have one of the former two.
	keptBody    = 64 << 10
	keptHead    = 8 << 10
	keptContent = 1 << 20
	// budgetPatience is the time for which a body may be received while others wait for memory (truncated "time").
	budgetPatience = 5 * time.Second

	// maxProxyHead bounds an HTTP proxy's response to CONNECT, in bytes (proxy).
	maxProxyHead = 16 << 10
	// reservedFiles file descriptors are left to the store and the WARC files. The default of Options.MaxConns
	// is at least connsMin, however low the limit on open files is.
	reservedFiles = 1024
	connsMin      = 64

	// The networks of this machine's interfaces are listed every ownRefresh. Of one with a shorter prefix than ownNet4
	// or ownNet6 only the machine's own address counts.
	ownRefresh = time.Minute
	ownNet4    = 8
	ownNet6    = 32

	defaultIdle    = 15 * time.Second // idle time after which a connection is closed
	maxIdlePerHost = 2
	defaultMaxIdle = 1024
	refusedHold    = 5 * time.Second // how long a port that refused is not dialled again
	maxRefusals    = 1 << 12         // ports that are remembered
	// lapsedHold is how long a server gets no kept connection after it broke the rules of one, maxLapsed the number of
	// such servers that are remembered.
	lapsedHold    = time.Hour
	maxLapsed     = 1 << 14
	zstdWindowMax = 8 << 20 // bytes
	maxMembers    = 64      // of a gzip body (damaged)

	// resolveCacheMax names are cached unless CacheMax says otherwise, resolveInFlight looked up at the same time.
	resolveCacheMax = 200_000
	resolveInFlight = 64 // by default
	// Answers are cached for their TTL, but no less than resolveTTLMin, or a name server with a TTL of 0 would
	// be queried for every page, and no more than resolveTTLMax. Negative answers are cached at most
	// resolveNegativeMax, errors resolveFailTTL: when name servers are back, a crawl must not wait for long. resolveTTL
	// is for sources that give no TTL.
	resolveTTLMin      = time.Minute
	resolveTTLMax      = time.Hour
	resolveNegativeMax = 10 * time.Minute
	resolveFailTTL     = 10 * time.Second
	// resolveSilent failures in a row are the name servers', not the names'.
	resolveSilent = 8
	resolveTTL    = 5 * time.Minute
	// dnsTries is the number of queries to each name server, dnsTryTime the wait for an answer before another is
	// queried as well.
	dnsTries   = 2
	dnsTryTime = 1500 * time.Millisecond
	// dnsOpen is how many queries of one type for a name may be open. A lookup has two types.
	dnsOpen = 2
	// dnsStrays is how many datagrams that are no answer to the query are skipped.
	dnsStrays = 64
	// dnsUDPSize is the largest answer in bytes that is accepted over UDP (the size of DNS flag day 2020).
	// Larger ones come over TCP.
	dnsUDPSize = 1232
	// maxAliases bounds a chain of CNAMEs, maxDNSName the bytes of a name.
	maxAliases = 8
	maxDNSName = 253
	dnsPort    = 53
	resolvConf = "/etc/resolv.conf"
	// resolvConfHold is the time after which resolvConf is read again. It is no longer than resolveFailTTL, so a name
	// that could not be looked up is looked up anew with what the file says by then.
	resolvConfHold = 10 * time.Second
)
