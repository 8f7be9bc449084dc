// SPDX-License-Identifier: Apache-2.0

package parse

// Version names what the parser makes of a page. A store that was written by another version holds
// text, links and signatures that do not compare with those of this one.
const Version = "3"

// Bounds of a page. What lies beyond is cut, and Page.Truncated is set.
const (
	// MaxLinks is the number of links of one page; the rest is counted in Page.LinksDropped. Real
	// pages with more are link farms and site maps in HTML, which later visits reach anyway.
	MaxLinks = 2000
	// MaxSitemapLinks is the number of entries of a sitemap, as sitemaps.org has it.
	MaxSitemapLinks = 50_000
	// MaxAnchor, in bytes of UTF-8, bounds an anchor text, cut at a character.
	MaxAnchor = 256
	// MaxTitle, in bytes of UTF-8, bounds a title.
	MaxTitle = 1 << 10
	// MaxText, in bytes of UTF-8, bounds the visible text.
	MaxText = 1 << 20
	// MaxDescription, in bytes of UTF-8, bounds each of description and keywords.
	MaxDescription = 2 << 10
	// MaxHeadings, in bytes of UTF-8, bounds the headings together.
	MaxHeadings = 8 << 10
)

// Bounds of the work on a page.
const (
	// maxLinkBytes bounds URLs and anchors of a page together.
	maxLinkBytes = 16 << 20
	// maxRefs is the number of references that are kept before they are resolved: a page may give
	// one target many times.
	maxRefs = 4 * MaxLinks
	// maxRef is the longest reference that is tried, in bytes as written: longer ones can't give a
	// URL within urlkey.MaxLength but by dot segments, and are data in disguise.
	maxRef = 8 << 10
	// maxAttributes of one tag; those after them are not seen.
	maxAttributes = 128
	// maxHidden is how deep elements inside a hidden one are told apart.
	maxHidden = 64
	// maxDecoded is the longest body that is read, in bytes of UTF-8: a body at the fetcher's limit
	// of 8 MiB may double when it is transcoded.
	maxDecoded = 16 << 20
	// keptScratch is the largest scratch buffer that goes back to the pool.
	keptScratch = 1 << 20
	// prescanned is where a meta tag with the charset is looked for, as the WHATWG standard says.
	// latePrescanned is how far one is looked for in a page that has none there and is not UTF-8.
	prescanned, latePrescanned = 1024, 8 << 10
	// sniffed is the part of a page that charset detection looks at, and detected the amount of it
	// that the statistics get: they cost about 0.2 µs a byte.
	sniffed  = 64 << 10
	detected = 4 << 10
	// languageSample is the text that language detection looks at: a few sentences are enough.
	languageSample = 512
	// languageMinimum is the text below which no language is guessed.
	languageMinimum = 48
	// Where nothing is declared, what is likely is taken for the language; where something else is declared,
	// enough text has to say it with certainty.
	languageLikely, languageCertain = 0.6, 0.999
	languageEnough                  = 256
	// maxNoSnippet is how many parts of a text that must not be shown are told apart.
	maxNoSnippet = 1 << 12
	// maxHreflang is the longest hreflang that is kept.
	maxHreflang = 35
	// shortText is the length below which a page's signature is that of its bytes: an image gallery
	// and a login form would be "the same" otherwise.
	shortText = 64
	// shortContent is the length of the main content below which the signature is of all of the text.
	shortContent = 512
	// maxPlainTitle bounds the title of a text file: its first line.
	maxPlainTitle = 128
	// maxRobotsTag bounds a list of robots directives; what follows is not read.
	maxRobotsTag = 4 << 10
	// maxPreferences is the number of a page's preferences that are kept, maxPreference the longest.
	maxPreferences = 8
	maxPreference  = 256
	// maxCharacterReference is longer than the longest name ("CounterClockwiseContourIntegral").
	maxCharacterReference = 33
)

// rereadBudget is how many bytes of a page of n bytes may be given to the lexer again. The mends
// of html.go step back over what the lexer took wrongly; when the budget is spent, what it took
// stays taken. So no page costs more than three times its length.
func rereadBudget(n int) int { return 2*n + 4<<10 }
