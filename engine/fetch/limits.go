// SPDX-License-Identifier: Apache-2.0

package fetch

import "time"

// Defaults and bounds. What lies beyond a bound becomes the failure or truncation in parentheses.
const (
	defaultTotal   = 60 * time.Second // whole fetch (timeout_head, or truncated "time")
	defaultDNS     = 5 * time.Second  // dns_timeout
	defaultDial    = 5 * time.Second  // timeout_dial, over all addresses
	defaultTLS     = 5 * time.Second  // tls_timeout
	defaultWrite   = 5 * time.Second  // timeout_write
	defaultHead    = 10 * time.Second // timeout_head
	defaultGrace   = 10 * time.Second // before the least rate counts
	defaultMinRate = 1024             // bytes per second (truncated "time")

	defaultMaxBody    = 4 << 20 // as received (truncated "length")
	defaultMaxDecoded = 8 << 20 // after content decoding (truncated)
	defaultBudget     = 256 << 20
	// budgetStep is how a body's share of the budget grows.
	budgetStep = 64 << 10

	maxHead    = 64 << 10 // head_too_large
	maxFields  = 256      // head_too_large
	maxInterim = 8        // 1xx responses (protocol_error/interim)
	maxBlank   = 4        // line ends before the status line
	maxChunk   = 16       // hexadecimal digits of a chunk size
	maxTrailer = 64       // trailer lines (protocol_error/trailer)
	// maxLine bounds a chunk-size or trailer line.
	maxLine = 4 << 10

	maxAddresses = 8 // of one host that are tried
	readBuffer   = 16 << 10
	// keptBody is the largest body buffer that goes back to the pool.
	keptBody = 1 << 20

	// maxProxyHead bounds an HTTP proxy's answer to CONNECT, in bytes.
	maxProxyHead = 16 << 10
	// reservedFiles are descriptors that connections leave to the store and the WARC files, connsMin the
	// least number of connections whatever the limit is.
	reservedFiles = 1024
	connsMin      = 64

	defaultIdle    = 15 * time.Second // connection kept without use
	maxIdlePerHost = 2
	defaultMaxIdle = 1024
	refusedHold    = 5 * time.Second // a port that refused is not tried again
	maxRefusals    = 1 << 12
	zstdWindowMax  = 8 << 20

	// resolveCacheMax names are remembered; resolveInFlight are looked up at once.
	resolveCacheMax = 200_000
	resolveInFlight = 64
	// Answers hold as long as DNS says, but no shorter than resolveTTLMin, so that a name server with a
	// TTL of nothing isn't asked for every page, and no longer than resolveTTLMax; "there is none" at most
	// resolveNegativeMax, trouble resolveFailTTL. resolveTTL is for sources that do not say.
	resolveTTLMin      = time.Minute
	resolveTTLMax      = time.Hour
	resolveNegativeMax = 10 * time.Minute
	resolveFailTTL     = time.Minute
	resolveTTL         = 5 * time.Minute
	// dnsTries is how often each name server is asked, dnsTryTime how long one is waited for.
	dnsTries   = 2
	dnsTryTime = 1500 * time.Millisecond
	// dnsStrays is how many datagrams that are no answer are passed over while waiting.
	dnsStrays = 64
	// dnsUDPSize is the largest answer taken in one datagram (the size of DNS flag day 2020); larger ones
	// come by TCP.
	dnsUDPSize = 1232
	// maxAliases is the longest chain of CNAMEs that is followed, maxDNSName the longest name.
	maxAliases = 8
	maxDNSName = 253
	dnsPort    = 53
	resolvConf = "/etc/resolv.conf"
)
