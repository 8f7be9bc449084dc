// SPDX-License-Identifier: Apache-2.0

package urlkey

// Bounds of a URL. What lies beyond is refused with an *Error.
const (
	// MaxLength is the longest canonical URL, in bytes. It keeps keys far below a block of the store.
	MaxLength = 2048
	// maxInput is the longest text that is looked at at all: percent-escapes may treble its bytes
	// and dot segments may shrink it, so it is larger than MaxLength.
	maxInput = 64 << 10
	// maxHost and maxLabel are the longest host name and label of DNS. Longer ones are URLs all the same, but
	// none that the fast way takes.
	maxHost, maxLabel = 253, 63
)
