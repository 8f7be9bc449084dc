// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/hex"
	"fmt"
	"io"
	"mime"
	"path/filepath"
	"strings"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/engine/parse"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// PageCheck is everything that the parser saw of a page: `seine check parse`. A field is empty if the page says nothing
// about it.
type PageCheck struct {
	URL          string      `json:"url"`
	HTTPStatus   int         `json:"http_status,omitempty"` // 0: the page was not fetched
	MediaType    string      `json:"media_type"`
	Charset      string      `json:"charset"`
	Language     string      `json:"language"` // BCP 47: chosen from Declared and Detected
	Declared     string      `json:"language_declared,omitempty"`
	Detected     string      `json:"language_detected,omitempty"`
	Confidence   float64     `json:"language_confidence,omitempty"` // that Detected is right, 0 to 1
	Base         string      `json:"base,omitempty"`                // of relative links, if it is not URL
	Canonical    string      `json:"canonical,omitempty"`
	Refresh      string      `json:"refresh,omitempty"`        // target of a meta refresh, or of a redirect
	RefreshAfter Duration    `json:"refresh_seconds,omitzero"` // of a meta refresh; JSON: seconds
	Title        string      `json:"title"`
	Description  string      `json:"description,omitempty"`
	Keywords     string      `json:"keywords,omitempty"`
	Headings     []string    `json:"headings,omitempty"` // h1 to h6
	Author       string      `json:"author,omitempty"`
	Site         string      `json:"site,omitempty"`
	Type         string      `json:"og_type,omitempty"`
	Image        string      `json:"image,omitempty"`
	Published    time.Time   `json:"published,omitzero"`    // in UTC, to the second
	Modified     time.Time   `json:"modified,omitzero"`     // likewise
	Robots       []string    `json:"robots,omitempty"`      // robots directives of meta tags and X-Robots-Tag
	Preferences  []string    `json:"preferences,omitempty"` // about uses of the page
	Signature    string      `json:"signature"`             // hex, as a crawl stores it; "": none
	SimHash      string      `json:"simhash"`               // likewise
	Truncated    bool        `json:"truncated,omitempty"`
	Dropped      int         `json:"links_dropped,omitempty"` // references that are not in Outlinks
	Outlinks     []LinkCheck `json:"outlinks"`                // in page order
	Text         string      `json:"text"`
	Content      string      `json:"content"`         // the part of Text that is main content
	Error        string      `json:"error,omitempty"` // of the parser; the other fields are what it saw before
}

// LinkCheck is one link of a page, and what the normalizers and filters make of it.
type LinkCheck struct {
	URL      string    `json:"url"`
	Kind     string    `json:"kind"`
	Anchor   string    `json:"anchor"`
	NoFollow bool      `json:"nofollow,omitempty"`
	Language string    `json:"language,omitempty"` // hreflang
	Modified time.Time `json:"modified,omitzero"`  // in a sitemap
	Refused  string    `json:"refused,omitempty"`  // the reason; "": it is accepted
}

// CheckFile parses a body as if a server had sent it for the URL base; "" means http://localhost/NAME. name is the
// file's name or path. contentType is that of the response; "" lets the ending of name decide, or else the bytes. A
// body of more than 64 MiB is an error.
func CheckFile(o Options, body io.Reader, name, base, contentType string) (PageCheck, error) {
	o = o.withDefaults()
	bytes, err := io.ReadAll(io.LimitReader(body, checkFileMax+1))
	if err == nil && len(bytes) > checkFileMax {
		err = fmt.Errorf("it is longer than the %d bytes that are parsed of a page", int64(checkFileMax))
	}
	if err != nil {
		return PageCheck{}, fmt.Errorf("reading %s: %w", name, err)
	}
	if base == "" {
		base = "http://localhost/" + filepath.Base(name)
	}
	u, err := urlkey.Parse(base)
	if err != nil {
		return PageCheck{}, err
	}
	if contentType == "" {
		// Without parameters: no server declared the charset that Go's table adds.
		contentType, _, _ = mime.ParseMediaType(mime.TypeByExtension(filepath.Ext(name)))
	}
	in := &parse.Input{URL: u, ContentType: contentType, Body: bytes, Agent: o.agentOf(u.HostKey())}
	return checkPage(&o, in, "", nil), nil
}

// checkPage parses, and filters the links. o has its defaults; robots and r are as in segment.PreferencesOf.
func checkPage(o *Options, in *parse.Input, robots string, r *fetch.Response) PageCheck {
	var p parse.Page
	err := o.newParsers().Parse(in, &p)
	c := PageCheck{
		URL:         in.URL.String(),
		MediaType:   p.MediaType,
		Charset:     p.Charset,
		Language:    p.Language,
		Declared:    p.Languages.Declared,
		Detected:    p.Languages.Detected,
		Confidence:  p.Languages.Confidence,
		Canonical:   p.Canonical.String(),
		Title:       p.Title,
		Description: p.Description,
		Keywords:    p.Keywords,
		Author:      p.Facts.Author,
		Site:        p.Facts.SiteName,
		Type:        p.Facts.Type,
		Image:       p.Facts.Image,
		Published:   p.Facts.Published.Truncate(time.Second),
		Modified:    p.Facts.Modified.Truncate(time.Second),
		Robots:      robotsWords(&p.Robots),
		Truncated:   p.Truncated,
		Dropped:     p.LinksDropped,
		Outlinks:    checkLinks(o, p.Outlinks),
		Text:        string(p.Text),
		Content:     string(p.AppendContent(nil)),
	}
	if err != nil {
		c.Error = err.Error()
	}
	preferences := segment.PreferencesOf(robots, r, &p)
	if preferences != "" {
		c.Preferences = strings.Split(preferences, "\n")
	}
	hidden := err == nil && (p.Robots.NoIndex || segment.DeniesSearch(preferences))
	sig, fingerprint := segment.Hashes(in, &p, hidden)
	if !sig.IsZero() {
		c.Signature = hex.EncodeToString(sig[:])
	}
	if fingerprint != 0 {
		c.SimHash = fmt.Sprintf("%016x", uint64(fingerprint))
	}
	c.Headings = p.AppendHeadings(nil)
	if p.Base != in.URL {
		c.Base = p.Base.String()
	}
	if p.Refresh != nil {
		c.Refresh, c.RefreshAfter = p.Refresh.URL.String(), Duration(p.Refresh.Delay)
	}
	return c
}

func checkLinks(o *Options, links []parse.Outlink) []LinkCheck {
	filters := o.filtersAlone()
	checks := make([]LinkCheck, len(links))
	for i := range links {
		l := &links[i]
		checks[i] = LinkCheck{
			URL: l.URL.String(), Kind: l.Kind.String(), Anchor: l.Anchor, NoFollow: l.NoFollow, Language: l.Language,
			Modified: timeOf(1000 * l.Modified),
		}
		u, err := o.normalizers(policy.NormalizeOutlink).Normalize(l.URL)
		if err != nil {
			checks[i].Refused = "normalizer"
			continue
		}
		checks[i].URL, checks[i].Refused = u.String(), filters.Verdict(u, admission.Facts{}).Reason
	}
	return checks
}

// robotsWords spells robots directives.
func robotsWords(r *parse.RobotsFlags) (words []string) {
	for _, x := range []struct {
		on   bool
		word string
	}{{r.NoIndex, "noindex"}, {r.NoFollow, "nofollow"}, {r.NoSnippet, "nosnippet"}, {r.NoArchive, "noarchive"}} {
		if x.on {
			words = append(words, x.word)
		}
	}
	if r.MaxSnippet > 0 {
		words = append(words, fmt.Sprintf("max-snippet:%d", r.MaxSnippet))
	}
	if !r.UnavailableAfter.IsZero() {
		words = append(words, "unavailable_after:"+r.UnavailableAfter.UTC().Format(time.RFC3339))
	}
	return words
}

// languages says how the language was found.
func (c *PageCheck) languages() string {
	var how []string
	if c.Declared != "" {
		how = append(how, "declared "+c.Declared)
	}
	if c.Detected != "" {
		how = append(how, fmt.Sprintf("detected %s, confidence %.2f", c.Detected, c.Confidence))
	}
	if len(how) == 0 {
		return ""
	}
	return strings.TrimSpace(c.Language + " (" + strings.Join(how, "; ") + ")")
}

// dateText writes a page's own date as RFC 3339, "" for none.
func dateText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339)
}

// String writes a check for people, on many lines. It keeps the page's control characters: print it to a terminal only
// if you trust the page.
func (c PageCheck) String() string {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-12s %s\n", name, value)
		}
	}
	line("url", c.URL)
	if c.HTTPStatus > 0 {
		line("status", fmt.Sprint(c.HTTPStatus))
	}
	line("type", c.MediaType)
	line("charset", c.Charset)
	line("language", c.languages())
	line("base", c.Base)
	line("canonical", c.Canonical)
	line("refresh", c.Refresh)
	line("title", c.Title)
	line("description", c.Description)
	line("keywords", c.Keywords)
	line("headings", strings.Join(c.Headings, " | "))
	line("author", c.Author)
	line("published", dateText(c.Published))
	line("modified", dateText(c.Modified))
	line("site", c.Site)
	line("og:type", c.Type)
	line("image", c.Image)
	line("robots", strings.Join(c.Robots, ", "))
	line("preferences", strings.Join(c.Preferences, "; "))
	line("signature", c.Signature)
	line("simhash", c.SimHash)
	line("error", c.Error)
	if c.Truncated {
		line("truncated", "something was cut")
	}
	fmt.Fprintf(&b, "%-12s %d, %d more not taken\n", "links", len(c.Outlinks), c.Dropped)
	for _, l := range c.Outlinks {
		fmt.Fprintf(&b, "  %-9s %s", l.Kind, l.URL)
		for _, note := range []string{l.Anchor, l.Language, timeText(l.Modified)} {
			if note != "" {
				fmt.Fprintf(&b, "  %q", note)
			}
		}
		if l.NoFollow {
			b.WriteString("  nofollow")
		}
		if l.Refused != "" {
			b.WriteString("  refused: " + l.Refused)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "%-12s %d bytes, %d of them main content, marked |\n", "text", len(c.Text), len(c.Content))
	content := strings.Split(c.Content, "\n")
	for _, line := range strings.Split(c.Text, "\n") {
		mark := ' '
		if len(content) > 0 && content[0] == line {
			mark, content = '|', content[1:]
		}
		fmt.Fprintf(&b, "%c %s\n", mark, line)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
