// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
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

// feedTime returns the time of an entry's last change in Unix seconds, 0 when it gives none. Sites write dates of Atom
// in RSS, and the other way round.
func feedTime(fields map[string]string) int64 {
	for _, name := range [...]string{"updated", "modified", "published", "date", "pubDate"} {
		if t := cmp.Or(w3cTime(fields[name]), mailTime(fields[name])); t != 0 {
			return t
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

// parseJSONFeed is the Parser for JSON Feed (jsonfeed.org, version 1.1). It reads one item at a time, and maxRefs of
// them: all the values of eight MiB of empty ones would take a gigabyte. What was read before a fault is kept.
func parseJSONFeed(in *Input, page *Page) error {
	dec := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(in.Body, []byte("\xef\xbb\xbf"))))
	var next string
	err := eachMember(dec, func(name string) error {
		switch {
		case strings.EqualFold(name, "title"):
			return ofType(dec.Decode(&page.Title))
		case strings.EqualFold(name, "next_url"):
			return ofType(dec.Decode(&next))
		case strings.EqualFold(name, "items"):
			return eachItem(dec, page.addItem)
		}
		return ofType(dec.Decode(&struct{}{})) // anything else
	})
	page.Title = foldText(page.Title, MaxTitle)
	if next != "" {
		page.AddLink(next, Outlink{Kind: LinkNext})
	}
	if err != nil && len(page.Outlinks) == 0 {
		return fmt.Errorf("%w: JSON that is not a feed: %w", ErrUnsupported, err)
	}
	page.Robots.NoIndex, page.Charset, page.Truncated = true, charsetUTF8, err != nil
	return nil
}

// ofType is an error of decoding, unless it is that of a value of another type, which counts as none.
func ofType(err error) error {
	var other *json.UnmarshalTypeError
	if errors.As(err, &other) {
		return nil
	}
	return err
}

// feedItem is what is read of an item of a JSON feed.
type feedItem struct {
	URL         string
	ExternalURL string `json:"external_url"`
	Title       string
	Modified    string `json:"date_modified"`
	Published   string `json:"date_published"`
}

func (p *Page) addItem(item *feedItem) {
	at := cmp.Or(w3cTime(item.Modified), w3cTime(item.Published))
	link := Outlink{Kind: LinkFeed, Anchor: foldText(item.Title, MaxAnchor), Modified: at}
	for _, ref := range [...]string{item.URL, item.ExternalURL} {
		if ref != "" {
			p.AddLink(ref, link)
		}
	}
}

// Why JSON is not a feed, or not read to its end, although it is JSON.
var (
	errShape = errors.New("no object with a list of items")
	errItems = errors.New("too many items")
)

// eachMember calls fn with the name of each member of the object that comes next; fn must read the value.
func eachMember(dec *json.Decoder, fn func(name string) error) error {
	if token, err := dec.Token(); err != nil || token != json.Delim('{') {
		return cmp.Or(err, errShape)
	}
	for dec.More() {
		name, err := dec.Token()
		if err == nil {
			err = fn(name.(string)) // the decoder takes no other
		}
		if err != nil {
			return err
		}
	}
	_, err := dec.Token()
	return err
}

// eachItem calls fn with each item of the list that comes next.
func eachItem(dec *json.Decoder, fn func(*feedItem)) error {
	if token, err := dec.Token(); err != nil || token == nil { // null: none
		return err
	} else if token != json.Delim('[') {
		return errShape
	}
	for n := 0; dec.More(); n++ {
		if n == maxRefs {
			return errItems
		}
		var item feedItem
		if err := ofType(dec.Decode(&item)); err != nil {
			return err
		}
		fn(&item)
	}
	_, err := dec.Token()
	return err
}
