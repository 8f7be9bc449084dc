// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// Signature is the exact hash of a page's content.
type Signature [16]byte

// LinkKind says what made a link.
type LinkKind uint8

// The kinds.
const (
	LinkAnchor   LinkKind = iota // a, area
	LinkFrame                    // frame, iframe
	LinkRelation                 // link rel=next, prev, alternate, canonical
	LinkRefresh                  // meta refresh
	LinkText                     // a URL in plain text
)

// Outlink is one link of a page.
type Outlink struct {
	URL      urlkey.URL
	Anchor   string
	NoFollow bool // rel=nofollow, ugc or sponsored
	Kind     LinkKind
}

// RobotsFlags is what a page asks of robots, in its meta tags and headers together: the stricter
// wins.
type RobotsFlags struct {
	NoIndex, NoFollow, NoSnippet, NoArchive bool
}

// Refresh is a meta refresh.
type Refresh struct {
	URL     urlkey.URL
	Seconds int
}

// Page is what a parser saw.
type Page struct {
	URL, Base, Canonical urlkey.URL // Canonical is zero when the page names none
	MediaType, Charset   string
	Language             string // "en", "pt-BR"; "" when not known
	Title, Description   string
	Text                 []byte // visible text
	Outlinks             []Outlink
	LinksDropped         int
	Robots               RobotsFlags
	Refresh              Refresh // URL is zero when there is none
	Signature            Signature
	Truncated            bool // text or links were cut

	seen map[uint64]struct{} // links so far
}

func (p *Page) reset(in *Input) {
	clear(p.seen)
	*p = Page{URL: in.URL, Base: in.URL, Text: p.Text[:0], Outlinks: p.Outlinks[:0], seen: p.seen}
	if p.seen == nil {
		p.seen = make(map[uint64]struct{}, 128)
	}
}

// addLink adds a link unless the page has it already, with the same anchor.
func (p *Page) addLink(ref string, l Outlink) {
	u, err := p.Base.Resolve(ref)
	if err != nil {
		p.LinksDropped++
		return
	}
	l.URL = u
	h := xxh3.HashStringSeed(l.Anchor, xxh3.HashString(u.String()))
	if _, ok := p.seen[h]; ok {
		return
	}
	if len(p.Outlinks) == MaxLinks {
		p.LinksDropped++
		p.Truncated = true
		return
	}
	p.seen[h] = struct{}{}
	p.Outlinks = append(p.Outlinks, l)
}
