// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strings"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// InlinkView is one link to a page.
type InlinkView struct {
	From   string `json:"from"` // URL of the linking page
	Anchor string `json:"anchor"`
}

// String is the link on one line, URL and anchor separated by a tab. Control characters of the anchor are spaces.
func (l InlinkView) String() string { return l.From + "\t" + strings.Map(onePrintable, l.Anchor) }

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

func viewInlink(l storage.Inlink) (InlinkView, error) {
	from, err := l.From.URL()
	if err != nil {
		return InlinkView{}, fmt.Errorf("%w: linkdb: %w", storage.ErrCorrupt, err)
	}
	return InlinkView{from.String(), l.Anchor}, nil
}

func viewOutlinks(links []storage.Outlink) []OutlinkView {
	views := make([]OutlinkView, len(links))
	for i, l := range links {
		views[i] = OutlinkView{spelled(l.Key), l.Anchor, l.NoFollow}
	}
	return views
}
