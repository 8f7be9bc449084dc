// SPDX-License-Identifier: Apache-2.0

package parse

// Version is the version of the parsers' results. Text, links and signatures in a store that another version wrote do
// not compare with those of this version.
const Version = "5"

// Bounds of a page, in bytes of UTF-8 unless they count something. Anything beyond is cut, at a character, and
// Page.Truncated is set for text and links.
const (
	// MaxLinks is the number of links of one page; Page.LinksDropped counts the rest. Real pages with more are link
	// farms and HTML site maps, whose targets later visits reach anyway.
	MaxLinks = 2000
	// MaxSitemapLinks is the number of entries of a sitemap, the limit of sitemaps.org.
	MaxSitemapLinks = 50_000
	// MaxSitemapBytes bounds a sitemap, in bytes of its own charset: the limit of sitemaps.org.
	MaxSitemapBytes = 50 << 20
	// MaxAnchor bounds an anchor text.
	MaxAnchor = 256
	// MaxTitle bounds a title.
	MaxTitle = 1 << 10
	// MaxText bounds the visible text.
	MaxText = 1 << 20
	// MaxDescription bounds the description, the keywords and each fact.
	MaxDescription = 2 << 10
	// MaxHeadings is the number of headings of a page. Each is cut at MaxAnchor bytes.
	MaxHeadings = 64
)

// Bounds of the work on a page, in bytes unless they count something.
const (
	// maxLinkBytes bounds URLs and anchors of a page together.
	maxLinkBytes = 16 << 20
	// maxRefs is the number of references that are kept until they are resolved. It exceeds MaxLinks because a page may
	// name one target many times.
	maxRefs = 4 * MaxLinks
	// maxRef is the longest reference that is resolved, as written. A longer one fits into urlkey.MaxLength only
	// through dot segments; it is data in disguise.
	maxRef = 8 << 10
	// maxAttributes is the number of attributes of a tag that are read; later ones are ignored.
	maxAttributes = 128
	// maxHidden is the depth to which elements inside a hidden one are distinguished.
	maxHidden = 64
	// maxDecoded bounds the body in UTF-8: the fetcher's limit of 8 MiB may double when it is transcoded.
	maxDecoded = 16 << 20
	// sitemapPart is how much of a sitemap is parsed at once, as much as there is of other content.
	sitemapPart = 8 << 20
	// keptScratch is the largest scratch buffer that returns to the pool.
	keptScratch = 1 << 20
	// prescanned is the part of a page in which a meta charset is searched, as the WHATWG standard says. latePrescanned
	// is that part for a page with no charset in the first bytes that is not UTF-8.
	prescanned, latePrescanned = 1024, 8 << 10
	// rootSearched is the part of a body in which the start of its first element is searched.
	rootSearched = 4 << 10
	// sniffed is the part of a page that charset detection looks at: its start or, if that is mostly ASCII, the part
	// around the first byte that is not, from contextOf bytes before it on. detected is the part of it that the
	// statistics read: they cost about 0.2 µs a byte.
	sniffed   = 64 << 10
	contextOf = 256
	detected  = 4 << 10
	// languageSample is the text that language detection reads: a few sentences suffice.
	languageSample = 512
	// languageMinimum is the length below which no language is detected.
	languageMinimum = 48
	// languageLikely is the confidence that a detected language needs if none is declared. languageCertain is the
	// confidence it needs to override a declared one, and languageEnough the length of text it needs for that.
	languageLikely, languageCertain = 0.6, 0.999
	languageEnough                  = 256
	// maxNoSnippet is the number of Page.NoSnippet ranges; beyond it, ranges are merged.
	maxNoSnippet = 1 << 12
	// maxHreflang bounds a hreflang; longer ones are ignored.
	maxHreflang = 35
	// shortText is the text length below which a page's signature is that of its bytes. Otherwise an image gallery and
	// a login form would be duplicates.
	shortText = 64
	// shortContent is the length of main content below which the signature covers all of the text.
	shortContent = 512
	// shortLine is the length below which a line of HTML counts for the signature but not as prose: see simHash.
	shortLine = 100
	// maxPlainTitle bounds the title of a text file, its first line.
	maxPlainTitle = 128
	// maxRobotsTag bounds a list of robots directives; the rest is not read.
	maxRobotsTag = 4 << 10
	// maxPreferences is the number of a page's preferences; maxPreference bounds each value.
	maxPreferences = 8
	maxPreference  = 256
	// maxCharacterReference exceeds the length of the longest name ("CounterClockwiseContourIntegral").
	maxCharacterReference = 33
)

// rereadBudget is the number of bytes that a page of n bytes may give to the lexer again. The corrections of html.go
// step back over input that the lexer misread. When the budget is spent, the lexer's reading stands. So no page costs
// more than three times its length.
func rereadBudget(n int) int { return 2*n + 4<<10 }
