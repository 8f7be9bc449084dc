// SPDX-License-Identifier: Apache-2.0

package parse

// Version names the parser's output: a store made with another version must be parsed again.
const Version = "1"

// Bounds of a page.
const (
	// MaxLinks of one page; the rest is counted in Page.LinksDropped.
	MaxLinks = 2000
	// MaxAnchor, MaxTitle and MaxText are bytes of UTF-8, cut at a character.
	MaxAnchor = 256
	MaxTitle  = 1 << 10
	MaxText   = 1 << 20
	// maxMeta bounds a description.
	maxMeta = 2 << 10
	// maxForeignDepth is how deep svg and math are looked into; each level is read once more.
	maxForeignDepth = 8
	// sniffed is the part of a page that charset detection by statistics looks at.
	sniffed = 64 << 10
	// languageSample is the text that language detection looks at: it costs about 0.1 µs a byte.
	languageSample = 512
	// shortText is the length below which a page's signature is that of its bytes: too little text
	// says too little.
	shortText = 64
)
