// SPDX-License-Identifier: Apache-2.0

package urlkey

// Bounds of a URL. Parsing refuses URLs beyond them with an *Error.
const (
	// MaxLength is the longest canonical URL, in bytes. It keeps keys much shorter than a block of the store.
	MaxLength = 2048
	// maxInput is the longest text that is parsed, in bytes. Percent-escapes may triple a text and dot segments
	// may shrink it, so it is larger than MaxLength.
	maxInput = 64 << 10
	// maxHost and maxLabel are the longest host name and label of DNS. URLs with longer ones are valid, but need
	// the full parser.
	maxHost, maxLabel = 253, 63
	// maxUnicodeLabel is the longest label of a host that is not ASCII, in characters as written, of which several may
	// become one. To encode a label takes time that grows with the square of its length: 90 ms for 8 KB.
	maxUnicodeLabel = 2 * maxLabel
)
