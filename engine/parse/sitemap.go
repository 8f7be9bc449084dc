// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"time"
)

// sitemapEnd handles the end of an element in a sitemap or sitemap index (sitemaps.org). Of an entry it reads loc and
// lastmod and changefreq. Priority is ignored: sites set it to whatever they want, and nobody checks.
func (w *xmlWalk) sitemapEnd(name string) {
	switch name {
	case "loc", "lastmod", "changefreq":
		w.field(name)
	case "url", "sitemap":
		if loc := w.fields["loc"]; loc != "" {
			w.page.AddLink(loc, Outlink{
				Kind: LinkSitemap, Modified: w3cTime(w.fields["lastmod"]),
				Every: changeEvery[strings.ToLower(w.fields["changefreq"])],
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

// leastURLs is the number of URLs that make a text a sitemap: a file with one says where something is.
const leastURLs = 2

// isURLList reports whether a text is a sitemap as sitemaps.org has it for plain text: a URL on each line, and nothing
// else. It mostly knows after the first line.
func isURLList(text []byte) bool {
	urls := 0
	for len(text) > 0 {
		var line []byte
		if line, text = textLine(text); len(line) == 0 {
			continue
		}
		if !beginsURL(line) || bytes.ContainsAny(line, " \t\"<>") {
			return false
		}
		urls++
	}
	return urls >= leastURLs
}

// beginsURL reports whether a line is an absolute URL of the web.
func beginsURL(line []byte) bool {
	scheme, _, ok := bytes.Cut(line[:min(len(line), len("https://"))], []byte("://"))
	return ok && (isFold(scheme, "http") || isFold(scheme, "https"))
}

// urlList adds the links of a sitemap in plain text: whole lines of Body, and with Input.More what follows these. The
// line between Body and More is read as it came: Body may end within a character.
func (p *Page) urlList(in *Input, lines []byte) {
	p.limit = MaxSitemapLinks
	p.Robots.NoIndex = true
	p.addLines(lines)
	if in.More != nil {
		whole := len(wholeLines(in.Body))
		p.moreLines(io.MultiReader(bytes.NewReader(in.Body[whole:]), in.More), MaxSitemapBytes-whole)
	}
}

func (p *Page) addLines(text []byte) {
	for len(text) > 0 {
		var line []byte
		line, text = textLine(text)
		p.addLine(line)
	}
}

func (p *Page) addLine(line []byte) {
	if len(line) > 0 {
		p.AddLink(string(line), Outlink{Kind: LinkSitemap})
	}
}

// moreLines adds the links of further lines, of at most so many bytes. What begins a line at the end of these is left
// out.
func (p *Page) moreLines(r io.Reader, most int) {
	from := &io.LimitedReader{R: r, N: int64(most)}
	lines := bufio.NewScanner(from)
	var last []byte
	for lines.Scan() {
		p.addLine(last)
		last = append(last[:0], bytes.TrimSpace(lines.Bytes())...)
	}
	if lines.Err() != nil || from.N <= 0 {
		p.Truncated = true
		return
	}
	p.addLine(last)
}

// textLine returns the first line of a text, without white space around it, and what follows it.
func textLine(text []byte) (line, rest []byte) {
	line = text
	if end := bytes.IndexAny(text, "\r\n"); end >= 0 {
		line, rest = text[:end], text[end+1:]
	}
	return bytes.TrimSpace(line), rest
}

// wholeLines returns a text up to its last line end.
func wholeLines(text []byte) []byte { return text[:bytes.LastIndexAny(text, "\r\n")+1] }
