// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"slices"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/engine/parse/content"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Signature is the exact hash of a page's content; equal signatures mean duplicate pages.
type Signature [16]byte

// LinkKind says what made a link.
type LinkKind uint8

// The kinds of link.
const (
	LinkAnchor    LinkKind = iota // a, area; in svg as well
	LinkFrame                     // frame, iframe
	LinkCanonical                 // link rel=canonical
	LinkAlternate                 // link rel=alternate to HTML: other languages, other devices
	LinkNext                      // link rel=next
	LinkPrev                      // link rel=prev
	LinkRefresh                   // meta refresh
	LinkText                      // a URL in plain text
	LinkSitemap                   // an entry of a sitemap, or of an index of sitemaps
	LinkFeed                      // an entry of a feed
	LinkRequisite                 // what a page is shown with: pictures, scripts, style sheets; if Options.Requisites
	LinkForm                      // where a form leads that only asks; if Options.Forms
)

var linkKindNames = [...]string{"anchor", "frame", "canonical", "alternate", "next", "prev", "refresh", "text", "sitemap", "feed", "requisite", "form"}

// String returns the kind's name, such as "anchor".
func (k LinkKind) String() string {
	if int(k) < len(linkKindNames) {
		return linkKindNames[k]
	}
	return "unknown"
}

// Outlink is one link of a page.
type Outlink struct {
	URL      urlkey.URL
	Anchor   string // at most MaxAnchor bytes, white space folded
	NoFollow bool   // rel has nofollow, ugc or sponsored
	Kind     LinkKind
	Language string // hreflang of a LinkAlternate: the target's language, or x-default
	Modified int64  // when a sitemap or feed says that the target last changed, Unix seconds; 0: it does not
}

// RobotsFlags is what a page asks of robots, in meta tags and X-Robots-Tag together: the strictest
// of all that was said wins. The zero value asks nothing.
type RobotsFlags struct {
	NoIndex          bool      // must not be found; also set when UnavailableAfter has passed
	NoFollow         bool      // its links don't count
	NoSnippet        bool      // its text must not be shown; max-snippet:0 means the same
	NoArchive        bool      // its copy must not be shown
	MaxSnippet       int       // longest snippet in characters; 0 means no limit
	UnavailableAfter time.Time // the earliest named; zero when none is
	NoAI, NoImageAI  bool      // it, its images, must not train models
}

// Preference is one wish about uses of a page.
type Preference struct{ Name, Value string }

// addPreference notes a wish, once.
func (p *Page) addPreference(name, value string) {
	wish := Preference{name, value}
	if len(p.Preferences) < maxPreferences && len(value) <= maxPreference && !slices.Contains(p.Preferences, wish) {
		p.Preferences = append(p.Preferences, wish)
	}
}

// Refresh is a meta refresh to another page.
type Refresh struct {
	URL   urlkey.URL
	Delay time.Duration // whole seconds
}

// Range is a part of a text, in bytes.
type Range struct{ From, To int }

// Page is what a parser saw. A Page belongs to one goroutine. Parse resets and refills it: Text, Blocks
// and Outlinks live in memory that the next Parse overwrites; strings and URLs may be kept (each of
// them keeps alive the one string that all of the page's strings were cut from).
type Page struct {
	URL       urlkey.URL
	Base      urlkey.URL // what relative links were resolved against: URL unless a base element says otherwise
	Canonical urlkey.URL // the page's own statement of its URL; zero when it makes none

	MediaType string // "text/html", without parameters
	Charset   string // WHATWG name of the encoding the body was in
	Language  string // BCP 47 tag as declared, or two letters as detected; "" when not known
	Languages LanguageFacts

	Title       string
	Description string // meta description
	Keywords    string // meta keywords
	Headings    string // h1 to h3, one per line
	Facts       Facts
	Text        []byte // visible text, valid UTF-8: words separated by one space, blocks by one '\n'

	// Blocks part Text, in order. Those that are main content are marked, as an article is and the menus around it
	// are not; a login form has none that is. A page that is no HTML has no blocks, and is content as a whole.
	Blocks []content.Block
	// NoSnippet are parts of Text that must not be shown in snippets, in order: those of elements with data-nosnippet.
	NoSnippet []Range

	Outlinks     []Outlink // in the order of the page; each pair of target and anchor once
	LinksDropped int       // references that are not in Outlinks: other schemes, broken, too many
	Robots       RobotsFlags
	Refresh      *Refresh // nil when there is none
	// Preferences are what the page says about uses of it in meta tags named tdm-reservation and tdm-policy
	// (TDMRep of the W3C). Robots has what robots directives say.
	Preferences []Preference

	Signature Signature
	SimHash   uint64 // near-duplicates differ in few bits; 0 when there is no text or Options.SimHash is off
	Truncated bool   // text, links or body were cut here (not: by the fetcher)

	content  []byte // scratch
	seen     linkSet
	resolver *urlkey.Resolver
	limit    int // of links; 0: MaxLinks
	linked   int // bytes of links so far
}

// AppendContent appends the main content: the blocks that are it, on lines of their own, which may be none, or all
// of Text where nothing is known of blocks.
func (p *Page) AppendContent(dst []byte) []byte {
	if len(p.Blocks) == 0 {
		return append(dst, p.Text...)
	}
	from := len(dst)
	for i := range p.Blocks {
		if b := &p.Blocks[i]; b.Content {
			if len(dst) > from {
				dst = append(dst, '\n')
			}
			dst = append(dst, p.Text[b.From:b.To]...)
		}
	}
	return dst
}

// reset empties the page for in and keeps its memory.
func (p *Page) reset(in *Input) {
	seen := p.seen
	seen.reset()
	clear(p.Outlinks)
	*p = Page{URL: in.URL, Base: in.URL, Text: p.Text[:0], Blocks: p.Blocks[:0], NoSnippet: p.NoSnippet[:0], Outlinks: p.Outlinks[:0], seen: seen, resolver: p.resolver, content: p.content}
}

// AddLink resolves ref against the page's Base and adds it as a link, unless it is no page of the
// web, a place in this very page, or already there with the same anchor. Parsers and filters add
// links with it, so that what Outlinks promises holds. Anchor must be valid UTF-8.
func (p *Page) AddLink(ref string, l Outlink) {
	fragment := strings.IndexByte(ref, '#')
	if (fragment == 0 || ref == "") && p.Base == p.URL {
		return
	}
	if len(ref) > maxRef || otherScheme(ref) {
		p.LinksDropped++
		return
	}
	if p.resolver == nil { // a Page that Parse did not reset
		p.resolver = new(urlkey.Resolver)
	}
	u, err := p.resolver.Resolve(&p.Base, ref)
	if err != nil {
		p.LinksDropped++
		return
	}
	if u == p.URL && (fragment >= 0 || l.Kind != LinkAnchor && l.Kind != LinkText) {
		return
	}
	if len(l.Anchor) > MaxAnchor {
		l.Anchor = l.Anchor[:runeCut(l.Anchor, MaxAnchor)]
	}
	limit := p.limit
	if limit == 0 {
		limit = MaxLinks
	}
	full := len(p.Outlinks) >= limit || p.linked > maxLinkBytes
	at, known := p.seen.find(xxh3.HashStringSeed(l.Anchor, xxh3.HashString(u.String())), len(p.Outlinks), full)
	if known {
		// Said twice, and once without reservation: the link may be followed.
		p.Outlinks[at].NoFollow = p.Outlinks[at].NoFollow && l.NoFollow
		return
	}
	if full {
		p.LinksDropped++
		p.Truncated = true
		return
	}
	l.URL = u
	p.linked += len(u.String()) + len(l.Anchor)
	p.Outlinks = append(p.Outlinks, l)
}

// otherScheme recognises references of another scheme ("mailto:", "javascript:", "data:") before
// they cost a URL parse and an error. It may miss odd spellings; the URL parser does not.
func otherScheme(ref string) bool {
	for len(ref) > 0 && ref[0] <= ' ' {
		ref = ref[1:]
	}
	for i := range min(len(ref), 32) {
		switch c := ref[i]; {
		case isAlnum(c) || i > 0 && (c == '+' || c == '-' || c == '.'):
		case c == ':' && i > 0 && !isDigit(ref[0]):
			return !strings.EqualFold(ref[:i], "http") && !strings.EqualFold(ref[:i], "https")
		default:
			return false
		}
	}
	return false
}

// linkSet is an open-addressed table of the links by hash. It is used again for page after page:
// small for a small page, and emptied by one memclr, which a map that once was big is not.
type linkSet struct {
	slots []linkSlot // the table; a power of two, at most half full, or empty
	spare []linkSlot // memory for the next size; both are zero beyond len
	used  int
}

type linkSlot struct {
	hash uint64
	at   int32 // index in Outlinks plus one; 0 means free
}

// firstSlots is the size that a page begins with; keptSlots is the most that is kept for the next, enough
// for MaxLinks.
const firstSlots, keptSlots = 256, 4096

func (s *linkSet) reset() {
	if s.used > 0 {
		clear(s.slots)
	}
	if s.slots, s.used = s.slots[:0], 0; cap(s.slots) > keptSlots {
		s.slots, s.spare = nil, nil
	}
}

// find returns the link with hash h; when there is none, it notes that link at has it, unless the page is
// full and the caller will not keep the link.
func (s *linkSet) find(h uint64, at int, full bool) (int, bool) {
	if len(s.slots) == 0 {
		s.slots = sized(s.slots, firstSlots)
	}
	mask := uint64(len(s.slots) - 1)
	i := h & mask
	for ; s.slots[i].at != 0; i = (i + 1) & mask {
		if s.slots[i].hash == h {
			return int(s.slots[i].at) - 1, true
		}
	}
	if full {
		return 0, false
	}
	s.slots[i] = linkSlot{h, int32(at) + 1}
	if s.used++; s.used*2 > len(s.slots) {
		s.grow()
	}
	return 0, false
}

func (s *linkSet) grow() {
	bigger := sized(s.spare, 2*len(s.slots))
	mask := uint64(len(bigger) - 1)
	for _, slot := range s.slots {
		if slot.at == 0 {
			continue
		}
		i := slot.hash & mask
		for ; bigger[i].at != 0; i = (i + 1) & mask {
		}
		bigger[i] = slot
	}
	clear(s.slots)
	s.slots, s.spare = bigger, s.slots[:0]
}

// sized returns n free slots, in the memory of s when it has room.
func sized(s []linkSlot, n int) []linkSlot {
	if cap(s) < n {
		return make([]linkSlot, n)
	}
	return s[:n]
}
