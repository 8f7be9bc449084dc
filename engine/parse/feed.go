// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"net/mail"
	"strings"
)

// feedEnd handles the end of an element in RSS 0.9 to 2.0, RDF and Atom. Each entry gives a link, with its title as
// anchor.
func (w *xmlWalk) feedEnd(name string) {
	switch name {
	case "title":
		if w.markup {
			w.text = []byte(textOfMarkup(string(w.text)))
		}
		w.field(name)
	case "pubDate", "date", "updated", "published", "modified", "guid":
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

// feedWhole reports whether an element of a feed counts as a whole, whatever elements are in it: a title of Atom may be
// XHTML, and what an entry was copied from has a title and links of its own (RFC 4287, 3.1 and 4.2.11).
func feedWhole(name string) bool { return name == "title" || name == "source" }

// isEntry reports whether an element is an entry. Where one begins or ends, all elements in it have ended.
func isEntry(name string) bool { return name == "item" || name == "entry" }

// textOfMarkup is the text of a title that is HTML: that of "It&#8217;s <b>new</b>" is "It’s new".
func textOfMarkup(s string) string {
	var b strings.Builder
	for {
		before, tag, found := strings.Cut(s, "<")
		b.WriteString(before)
		switch {
		case !found:
			return html.UnescapeString(b.String())
		case tag == "" || tag[0] != '/' && tag[0] != '!' && !isLetter(tag[0]):
			b.WriteByte('<')
			s = tag
		default: // as in HTML, a tag without an end takes all that is left
			_, s, _ = strings.Cut(tag, ">")
		}
	}
}

// mailZones are the zones that RFC 822 names, whose offsets Go does not know.
var mailZones = map[string]string{
	"EST": "-0500", "EDT": "-0400", "CST": "-0600", "CDT": "-0500", "MST": "-0700", "MDT": "-0600", "PST": "-0800",
	"PDT": "-0700", "Z": "+0000",
}

// mailTime reads a date of RSS, which is one of mail (RFC 822): the weekday and the seconds may be missing. It returns
// Unix seconds, 0 if it is none.
func mailTime(s string) int64 {
	if at := strings.LastIndexByte(s, ' ') + 1; mailZones[s[at:]] != "" {
		s = s[:at] + mailZones[s[at:]]
	}
	t, err := mail.ParseDate(s)
	if err != nil {
		return 0
	}
	return t.Unix()
}

// feedTime returns the time of an entry's last change in Unix seconds, 0 when it gives none.
func feedTime(fields map[string]string) int64 {
	for _, name := range [...]string{"updated", "modified", "published", "date"} {
		if t := w3cTime(fields[name]); t != 0 {
			return t
		}
	}
	return mailTime(fields["pubDate"])
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
	if err := json.Unmarshal(bytes.TrimPrefix(in.Body, []byte("\xef\xbb\xbf")), &feed); err != nil {
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
