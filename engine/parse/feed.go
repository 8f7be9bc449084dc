// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// feedEnd handles the end of an element in RSS 0.9 to 2.0, RDF and Atom. Each entry gives a link, with its title as
// anchor.
func (w *xmlWalk) feedEnd(name string) {
	switch name {
	case "title", "pubDate", "date", "updated", "published", "modified", "guid":
		w.field(name)
	case "link":
		if len(bytes.TrimSpace(w.text)) > 0 {
			w.field(name)
		}
	case "item", "entry":
		ref := w.fields["link"]
		if ref == "" && w.fields["permalink"] != "" { // an RSS guid is a link unless isPermaLink is false
			ref = w.fields["guid"]
		}
		title := foldText(w.fields["title"], MaxAnchor)
		w.page.AddLink(ref, Outlink{Kind: LinkFeed, Anchor: title, Modified: feedTime(w.fields)})
		clear(w.fields)
		w.inEntry = false
	}
	if name == "title" && !w.inEntry && w.page.Title == "" {
		w.page.Title = foldText(w.fields["title"], MaxTitle)
	}
}

// atomLink reads the link of an Atom entry from its attributes.
func (w *xmlWalk) atomLink() {
	href, rel := w.attr("href"), w.attr("rel")
	if href != "" && (rel == "" || rel == "alternate") {
		if _, known := w.fields["link"]; !known {
			w.fields["link"] = href
		}
	}
}

// rssLayouts are the date formats of RSS.
var rssLayouts = [...]string{
	time.RFC1123Z, time.RFC1123, "Mon, 2 Jan 2006 15:04:05 -0700", "Mon, 2 Jan 2006 15:04:05 MST",
	"2 Jan 2006 15:04:05 -0700",
}

// feedTime returns the time of an entry's last change in Unix seconds, 0 when it gives none.
func feedTime(fields map[string]string) int64 {
	for _, name := range [...]string{"updated", "modified", "published", "date"} {
		if t := w3cTime(fields[name]); t != 0 {
			return t
		}
	}
	for _, layout := range rssLayouts {
		if t, err := time.Parse(layout, fields["pubDate"]); err == nil {
			return t.Unix()
		}
	}
	return 0
}

// foldText makes s valid UTF-8, folds its white space and cuts it at limit bytes.
func foldText(s string, limit int) string {
	var w textWriter
	w.begin(nil, limit)
	w.write(bytes.ToValidUTF8([]byte(s), []byte("\ufffd")), nil)
	return string(w.text())
}

// parseJSONFeed is the Parser for JSON Feed (jsonfeed.org, version 1.1).
func parseJSONFeed(in *Input, page *Page) error {
	var feed struct {
		Version string
		Title   string
		NextURL string `json:"next_url"`
		Items   []struct {
			URL          string
			ExternalURL  string `json:"external_url"`
			Title        string
			DateModified string `json:"date_modified"`
		}
	}
	if err := json.Unmarshal(in.Body, &feed); err != nil {
		return fmt.Errorf("%w: JSON that is not a feed: %w", ErrUnsupported, err)
	}
	page.Robots.NoIndex, page.Charset, page.Title = true, charsetUTF8, foldText(feed.Title, MaxTitle)
	for _, item := range feed.Items {
		link := Outlink{Kind: LinkFeed, Anchor: foldText(item.Title, MaxAnchor), Modified: w3cTime(item.DateModified)}
		for _, ref := range [...]string{item.URL, item.ExternalURL} {
			if ref != "" {
				page.AddLink(ref, link)
			}
		}
	}
	if feed.NextURL != "" {
		page.AddLink(feed.NextURL, Outlink{Kind: LinkNext})
	}
	return nil
}
