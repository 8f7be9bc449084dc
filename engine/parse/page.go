// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/engine/parse/content"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Signature is a hash of a page's content. Pages with equal signatures are duplicates. The zero value means unsigned.
type Signature [16]byte

// LinkKind is the construct that a link comes from.
type LinkKind uint8

// The kinds of link.
const (
	LinkAnchor    LinkKind = iota // a and area, also in svg
	LinkFrame                     // frame and iframe
	LinkCanonical                 // link rel=canonical
	LinkAlternate                 // link rel=alternate to HTML: other languages, other devices
	LinkNext                      // link rel=next
	LinkPrev                      // link rel=prev
	LinkRefresh                   // meta refresh, or Refresh in the header of the response
	LinkText                      // a URL in plain text
	LinkSitemap                   // an entry of a sitemap, also of one in plain text, or of a sitemap index
	LinkFeed                      // an entry of a feed
	LinkRequisite                 // an image, script or style sheet of the page; only with Options.Requisites
	LinkForm                      // the action of a form with method GET; only with Options.Forms
)

var linkKindNames = [...]string{
	"anchor", "frame", "canonical", "alternate", "next", "prev", "refresh", "text", "sitemap", "feed", "requisite",
	"form",
}

// String returns the kind's name, such as "anchor", and "unknown" for any other value.
func (k LinkKind) String() string {
	if int(k) < len(linkKindNames) {
		return linkKindNames[k]
	}
	return "unknown"
}

// Outlink is one link of a page.
type Outlink struct {
	URL      urlkey.URL // canonical
	Anchor   string     // the link's text; at most MaxAnchor bytes of UTF-8, white space folded
	NoFollow bool       // rel has nofollow, ugc or sponsored
	Kind     LinkKind
	Language string // hreflang of a LinkAlternate: the target's language, or x-default; "" when absent
	Modified int64  // last change of the target according to the sitemap or feed, in Unix seconds; 0 when not given
	Every    uint32 // seconds between changes of the target according to the sitemap's changefreq; 0 when not given
	Repeats  int    // how many more links with this target and anchor the page has, without those that NoFollow is of
}

// RobotsFlags are a page's robots directives, from meta tags and X-Robots-Tag together. The strictest directive wins.
// The zero value restricts nothing.
type RobotsFlags struct {
	NoIndex          bool      // must not appear in results; also set when UnavailableAfter has passed
	NoFollow         bool      // its links must not be followed
	NoSnippet        bool      // its text must not be shown; max-snippet:0 means the same
	NoArchive        bool      // no cached copy may be shown
	MaxSnippet       int       // longest snippet in characters; 0 means no limit
	UnavailableAfter time.Time // the earliest that was given, in UTC; zero when none was
	NoAI, NoImageAI  bool      // the page, or its images, must not be used to train models
}

// Preference is one statement of a page about how it may be used: the name and content of a meta tag.
type Preference struct {
	Name  string // in lower case, such as "tdm-reservation"
	Value string // as written, without white space around it
}

// addPreference notes a preference once, within maxPreferences.
func (p *Page) addPreference(name, value string) {
	pref := Preference{name, value}
	if len(p.Preferences) < maxPreferences && len(value) <= maxPreference && !slices.Contains(p.Preferences, pref) {
		p.Preferences = append(p.Preferences, pref)
	}
}

// Refresh is a refresh to another page: a meta element, or a field of the response's header.
type Refresh struct {
	URL   urlkey.URL    // the target; never the page's own URL
	Delay time.Duration // whole seconds, at most a day
}

// Range is a half-open range of byte offsets: From is the first byte, To is one after the last.
type Range struct{ From, To int }

// Page is a parsed document. The zero value is ready for Parsers.Parse.
//
// A Page belongs to one goroutine. Parse resets and refills it: Text, Blocks, Headings, NoSnippet and Outlinks use
// memory that the next Parse overwrites. Strings and URLs may be kept, but each keeps alive the one string that all
// strings of the page are substrings of.
type Page struct {
	URL       urlkey.URL // Input.URL
	Base      urlkey.URL // relative links are resolved against it: the base element's URL, or else URL
	Canonical urlkey.URL // from a Link field of the header, or else link rel=canonical; zero when absent

	MediaType string        // in lower case, without parameters: "text/html"
	Charset   string        // WHATWG name of the body's encoding
	Language  string        // BCP 47 tag as declared, or two letters as detected; "" when unknown
	Languages LanguageFacts // what Language was chosen from

	// Title is that of the title element, or else og:title, without the site's name where the page tells them apart;
	// the first line of a text file; at most MaxTitle bytes.
	Title       string
	Description string // of the meta tag, or else og:description; at most MaxDescription bytes
	Keywords    string // of the meta tag, at most MaxDescription bytes
	Facts       Facts  // author, site, type, image, dates
	Text        []byte // visible text, at most MaxText bytes: words separated by one space, blocks by one '\n'

	// Blocks divide Text, in order. Block.Content marks the main content: an article, but not the menus around it.
	// A login form may have no main content at all. A page that is not HTML has no blocks; all its text is content.
	Blocks []content.Block
	// Headings are the parts of Text, in order, in h1 to h6: the first MaxHeadings, each of at most MaxAnchor bytes.
	Headings []Range
	// NoSnippet are the parts of Text, in order, that must not appear in snippets: elements with data-nosnippet.
	NoSnippet []Range

	Outlinks     []Outlink   // in page order; each pair of target and anchor once
	LinksDropped int         // references that are not in Outlinks: other schemes, broken, too many
	SelfLinks    int         // references to parts of the page itself ("#top"), without those that are nofollow
	Robots       RobotsFlags // directives of header and meta tags
	Refresh      *Refresh    // nil when the page has none
	// Preferences are the meta tags named tdm-reservation and tdm-policy (TDMRep of the W3C), at most 8.
	// Robots directives are in Robots.
	Preferences []Preference

	Signature Signature // exact hash of the content, by Options.Signer
	SimHash   uint64    // near-duplicates differ in at most three bits; 0 for less than 512 bytes of prose
	Truncated bool      // parsing cut the body, text or links; Input.Truncated is about the fetcher's cuts

	content  []byte // scratch
	seen     linkSet
	shingles shingleSet
	resolver *urlkey.Resolver
	limit    int // of links; 0 means MaxLinks
	linked   int // bytes of links so far
}

// AppendHeadings appends the texts of the headings to dst. They may be kept.
func (p *Page) AppendHeadings(dst []string) []string {
	for _, r := range p.Headings {
		dst = append(dst, string(p.Text[r.From:r.To]))
	}
	return dst
}

// AppendContent appends the main content to dst and returns the result: the blocks marked as content, one per line.
// There may be none. A page without blocks gives all of Text.
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

// extent is the length of a page's text, and the end of its last block.
type extent struct{ text, blocks int }

func (p *Page) extent() extent {
	e := extent{text: len(p.Text)}
	if n := len(p.Blocks); n > 0 {
		e.blocks = p.Blocks[n-1].To
	}
	return e
}

// fit drops parts that are of another Text, which a parser or filter has replaced since the page was so long: without
// blocks, all of the text is content. Where it is not known what must not be in snippets, nothing may be.
func (p *Page) fit(was extent) {
	now := p.extent()
	other := len(p.Blocks) > 0 && now.text != was.text && now.blocks == was.blocks || now.blocks > now.text
	end := 0
	for _, b := range p.Blocks {
		other = other || b.From < end || b.To < b.From
		end = b.To
	}
	if other {
		p.Blocks = p.Blocks[:0]
	}
	if other || !within(p.Headings, len(p.Text)) {
		p.Headings = p.Headings[:0]
	}
	if len(p.NoSnippet) > 0 && (other || !within(p.NoSnippet, len(p.Text))) {
		p.NoSnippet = append(p.NoSnippet[:0], Range{0, len(p.Text)})
	}
}

// within reports whether ranges are in order, and parts of a text of so many bytes.
func within(ranges []Range, length int) bool {
	end := 0
	for _, r := range ranges {
		if r.From < end || r.To < r.From || r.To > length {
			return false
		}
		end = r.To
	}
	return true
}

// reset empties the page for in and keeps its memory.
func (p *Page) reset(in *Input) {
	seen := p.seen
	seen.reset()
	clear(p.Outlinks)
	*p = Page{
		URL: in.URL, Base: in.URL, Text: p.Text[:0], Blocks: p.Blocks[:0], Headings: p.Headings[:0],
		NoSnippet: p.NoSnippet[:0],
		Outlinks:  p.Outlinks[:0], seen: seen, resolver: p.resolver, content: p.content, shingles: p.shingles,
	}
}

// AddLink resolves ref against Base and appends the link to Outlinks, with the other fields of l. Parsers and filters
// must use it, so that Outlinks keeps its promises. l.URL is ignored; l.Anchor must be valid UTF-8 and is cut at
// MaxAnchor bytes.
//
// A reference to a part of this page counts in SelfLinks. One to the page itself is ignored if it is empty or of
// another kind than an anchor or text. A known pair of target and anchor is not added again, but counts in its Repeats;
// its NoFollow becomes false if l.NoFollow is. References of other schemes, broken ones and those beyond the bounds
// count in LinksDropped.
func (p *Page) AddLink(ref string, l Outlink) {
	fragment := strings.IndexByte(ref, '#')
	if (fragment == 0 || ref == "") && p.Base == p.URL {
		p.addSelfLink(fragment, &l)
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
		p.addSelfLink(fragment, &l)
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
		// One of the two links does not forbid it: the link may be followed.
		switch same := &p.Outlinks[at]; {
		case l.NoFollow:
		case same.NoFollow:
			same.NoFollow = false
		default:
			same.Repeats++
		}
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

// addSelfLink counts a reference to the page itself, if it has a fragment.
func (p *Page) addSelfLink(fragment int, l *Outlink) {
	if fragment >= 0 && !l.NoFollow {
		p.SelfLinks++
	}
}

// otherScheme recognises references of other schemes ("mailto:", "javascript:", "data:") before they cost a URL parse
// and an error. It may miss odd spellings; the URL parser does not.
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

// linkSet is an open-addressed table of a page's links by hash. It is reused from page to page. A small page uses a
// small table, and one memclr empties it; a map that once grew large stays slow to clear.
type linkSet struct {
	slots []linkSlot // the table: empty, or a power of two in length and at most half full
	spare []linkSlot // memory for the next size; both are zero beyond len
	used  int
}

type linkSlot struct {
	hash uint64
	at   int32 // index in Outlinks plus one; 0 means free
}

// firstSlots is the size of the table that a page starts with. keptSlots is the largest table that is kept for the
// next page, enough for MaxLinks.
const firstSlots, keptSlots = 256, 4096

func (s *linkSet) reset() {
	if s.used > 0 {
		clear(s.slots)
	}
	if s.slots, s.used = s.slots[:0], 0; cap(s.slots) > keptSlots {
		s.slots, s.spare = nil, nil
	}
}

// find returns the index of the link with hash h. When there is none, it stores at as the index, unless full says that
// the caller will not keep the link.
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

// sized returns n free slots, in the memory of s if it has room.
func sized(s []linkSlot, n int) []linkSlot {
	if cap(s) < n {
		return make([]linkSlot, n)
	}
	return s[:n]
}

// Clone returns a copy that shares no memory with p that the next Parse overwrites: it may be kept.
func (p *Page) Clone() *Page {
	c := *p
	c.Text = bytes.Clone(p.Text)
	c.Blocks = slices.Clone(p.Blocks)
	c.Headings = slices.Clone(p.Headings)
	c.NoSnippet = slices.Clone(p.NoSnippet)
	c.Outlinks = slices.Clone(p.Outlinks)
	c.Preferences = slices.Clone(p.Preferences)
	if p.Refresh != nil {
		refresh := *p.Refresh
		c.Refresh = &refresh
	}
	c.content, c.seen, c.resolver, c.shingles = nil, linkSet{}, nil, shingleSet{}
	return &c
}
