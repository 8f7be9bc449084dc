// SPDX-License-Identifier: Apache-2.0

package parse

import "time"

// sitemapEnd handles the end of an element in a sitemap or sitemap index (sitemaps.org). Of an entry it reads loc and
// lastmod and changefreq. Priority is ignored: sites set it to whatever they want, and nobody checks.
func (w *xmlWalk) sitemapEnd(name string) {
	switch name {
	case "loc", "lastmod", "changefreq":
		w.field(name)
	case "url", "sitemap":
		if loc := w.fields["loc"]; loc != "" {
			w.page.AddLink(loc, Outlink{
				Kind: LinkSitemap, Modified: w3cTime(w.fields["lastmod"]), Every: changeEvery[w.fields["changefreq"]],
			})
		}
		clear(w.fields)
	}
}

// changeEvery are the values of changefreq, in seconds. "always" is once an hour, "never" once in ten years: a crawler
// must come back to such pages, too.
var changeEvery = map[string]uint32{
	"always": 3600, "hourly": 3600, "daily": 86400, "weekly": 7 * 86400, "monthly": 30 * 86400, "yearly": 365 * 86400,
	"never": 3650 * 86400,
}

// w3cLayouts are the formats of W3C's profile of ISO 8601, and what sites write instead: a zone without a colon, or
// none. A fraction may follow the seconds of each.
var w3cLayouts = [...]string{
	time.RFC3339, "2006-01-02", "2006-01-02T15:04Z07:00", "2006-01", "2006",
	"2006-01-02T15:04:05-0700", "2006-01-02T15:04-0700", "2006-01-02T15:04:05", "2006-01-02 15:04:05",
}

// w3cTime parses a time in one of w3cLayouts and returns it in Unix seconds, 0 for anything else.
func w3cTime(s string) int64 {
	for _, layout := range w3cLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t.Unix()
		}
	}
	return 0
}
