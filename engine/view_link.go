// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strings"

	"github.com/seine-crawler/seine/engine/internal/inspect"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// InlinkView is one link to a page.
type InlinkView struct {
	To     string `json:"to"`   // URL of the target
	From   string `json:"from"` // URL of the linking page
	Anchor string `json:"anchor"`
}

// LinkCounts says how many link to a URL: all of them, however many links linkdb keeps the texts of. What pages dropped
// counts until a crawl settles, or the index is refreshed, after they were fetched again.
type LinkCounts struct {
	Pages   uint64 `json:"pages"`
	Hosts   uint64 `json:"hosts"`   // of these
	Domains uint64 `json:"domains"` // registered ones
}

func (c LinkCounts) String() string {
	pages, hosts, domains := count(c.Pages, "page"), count(c.Hosts, "host"), count(c.Domains, "domain")
	return fmt.Sprintf("from %s on %s of %s", pages, hosts, domains)
}

// String is the link on one line, URLs and anchor separated by tabs. Control characters of the anchor are spaces.
func (l InlinkView) String() string {
	return l.To + "\t" + l.From + "\t" + strings.Map(onePrintable, l.Anchor)
}

// LinkColumns are the names of what InlinkView.Cells returns.
func LinkColumns() []string { return []string{"to", "from", "anchor"} }

// Cells are the fields as texts, for a table.
func (l InlinkView) Cells() []string { return []string{l.To, l.From, l.Anchor} }

// OutlinkView is one link of a page.
type OutlinkView struct {
	URL      string `json:"url"`
	Anchor   string `json:"anchor"`
	NoFollow bool   `json:"nofollow,omitempty"`
}

// onePrintable replaces control characters: texts come from pages, and may not command a terminal.
func onePrintable(r rune) rune {
	if r < ' ' || r >= 0x7f && r < 0xa0 {
		return ' '
	}
	return r
}

// spelled writes a key as its URL, or as it is if it is none.
func spelled(k urlkey.Key) string {
	b, err := urlkey.AppendURL(nil, []byte(k))
	if err != nil {
		return string(k)
	}
	return string(b)
}

func viewLink(l inspect.Link) (InlinkView, error) {
	from, err := l.From.URL()
	if err != nil {
		return InlinkView{}, fmt.Errorf("%w: linkdb: %w", storage.ErrCorrupt, err)
	}
	return InlinkView{To: spelled(l.To), From: from.String(), Anchor: l.Anchor}, nil
}

func viewOutlinks(links []storage.Outlink) []OutlinkView {
	views := make([]OutlinkView, len(links))
	for i, l := range links {
		views[i] = OutlinkView{spelled(l.Key), l.Anchor, l.NoFollow}
	}
	return views
}
