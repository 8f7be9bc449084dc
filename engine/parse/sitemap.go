// SPDX-License-Identifier: Apache-2.0

package parse

import "time"

// sitemapEnd reads a sitemap, or an index of them, as sitemaps.org describes it: what counts of an entry is
// its place and when it was last changed. (Priorities and frequencies are wishes that nobody checks.)
func (w *xmlWalk) sitemapEnd(name string) {
	switch name {
	case "loc", "lastmod":
		w.field(name)
	case "url", "sitemap":
		if loc := w.fields["loc"]; loc != "" {
			w.page.AddLink(loc, Outlink{Kind: LinkSitemap, Modified: w3cTime(w.fields["lastmod"])})
		}
		clear(w.fields)
	}
}

// w3cTime reads a time in one of the forms of W3C's profile of ISO 8601, as Unix seconds; 0: it is none.
func w3cTime(s string) int64 {
	for _, layout := range [...]string{time.RFC3339, "2006-01-02", "2006-01-02T15:04Z07:00", "2006-01", "2006", "2006-01-02T15:04:05", "2006-01-02 15:04:05"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.Unix()
		}
	}
	return 0
}
