// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/parse"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// PageCheck is everything that the parser saw of a page: `seine check parse`.
type PageCheck struct {
	URL          string      `json:"url"`
	HTTPStatus   int         `json:"http_status,omitempty"`
	MediaType    string      `json:"media_type"`
	Charset      string      `json:"charset"`
	Language     string      `json:"language"`
	Declared     string      `json:"language_declared,omitempty"`
	Detected     string      `json:"language_detected,omitempty"`
	Confidence   float64     `json:"language_confidence,omitempty"` // that the detected one is right
	Base         string      `json:"base,omitempty"`
	Canonical    string      `json:"canonical,omitempty"`
	Refresh      string      `json:"refresh,omitempty"`
	RefreshAfter float64     `json:"refresh_seconds,omitempty"`
	Title        string      `json:"title"`
	Description  string      `json:"description,omitempty"`
	Keywords     string      `json:"keywords,omitempty"`
	Headings     []string    `json:"headings,omitempty"`
	Author       string      `json:"author,omitempty"`
	Site         string      `json:"site,omitempty"`
	Type         string      `json:"og_type,omitempty"`
	Image        string      `json:"image,omitempty"`
	Published    string      `json:"published,omitempty"`
	Modified     string      `json:"modified,omitempty"`
	Robots       []string    `json:"robots,omitempty"` // what the page asks of robots
	Signature    string      `json:"signature"`
	SimHash      string      `json:"simhash"`
	Truncated    bool        `json:"truncated,omitempty"`
	Dropped      int         `json:"links_dropped,omitempty"`
	Outlinks     []LinkCheck `json:"outlinks"`
	Text         string      `json:"text"`
	Content      string      `json:"content"`         // what of the text is main content
	Error        string      `json:"error,omitempty"` // of the parser; what was found until then stands above
}

// LinkCheck is one link of a page, and what the filters say of it.
type LinkCheck struct {
	URL      string `json:"url"`
	Kind     string `json:"kind"`
	Anchor   string `json:"anchor"`
	NoFollow bool   `json:"nofollow,omitempty"`
	Language string `json:"language,omitempty"` // hreflang
	Modified string `json:"modified,omitempty"`
	Refused  string `json:"refused,omitempty"`
}

// CheckFile parses a file as if a server had sent it for the URL base. contentType may be "": the file's
// ending, or its bytes, decide.
func CheckFile(o Options, name, base, contentType string) (PageCheck, error) {
	o = o.withDefaults()
	body, err := readUpTo(name, checkFileMax)
	if err != nil {
		return PageCheck{}, err
	}
	if base == "" {
		base = "http://localhost/" + filepath.Base(name)
	}
	u, err := urlkey.Parse(base)
	if err != nil {
		return PageCheck{}, err
	}
	if contentType == "" {
		// The charset that Go's table of types adds is nobody's word.
		contentType, _, _ = mime.ParseMediaType(mime.TypeByExtension(filepath.Ext(name)))
	}
	return o.checkPage(&parse.Input{URL: u, ContentType: contentType, Body: body, Agent: o.agentToken()}), nil
}

// readUpTo reads a file that is at most limit bytes long.
func readUpTo(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	body, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if int64(len(body)) > limit {
		return nil, fmt.Errorf("reading %s: it is longer than the %d bytes that are parsed of a page", name, limit)
	}
	return body, nil
}

// CheckPage fetches a page, if its robots.txt lets us, and parses it. Nothing is stored.
func CheckPage(ctx context.Context, o Options, raw string) (c PageCheck, err error) {
	u, err := urlkey.Parse(raw)
	if err != nil {
		return PageCheck{}, err
	}
	if o.Dir, err = os.MkdirTemp("", "seine-check-"); err != nil {
		return PageCheck{}, err
	}
	defer os.RemoveAll(o.Dir)
	o.MustExist, o.NoIndex = false, true
	e, err := Open(o)
	if err != nil {
		return PageCheck{}, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	if err := e.network(); err != nil {
		return PageCheck{}, err
	}
	if err := e.requireContact(ctx, []urlkey.HostKey{u.HostKey()}); err != nil {
		return PageCheck{}, err
	}
	state, err := e.robotsAlone(ctx, u)
	switch {
	case err != nil:
		return PageCheck{}, err
	case state.unreach > 0:
		return PageCheck{}, fmt.Errorf("%s: robots.txt is unreachable, so nothing of the host may be fetched", u)
	case !state.rules.Allowed(u.RequestTarget()):
		return PageCheck{}, fmt.Errorf("%s: robots.txt does not allow it", u)
	}
	if d, ok := state.rules.CrawlDelay(); ok || e.o.Delay > 0 { // it was asked for robots.txt just now
		select {
		case <-time.After(max(min(d, 30*time.Second), e.o.Delay)):
		case <-ctx.Done():
			return PageCheck{}, ctx.Err()
		}
	}
	return e.checkFetch(ctx, u)
}

func (e *Engine) checkFetch(ctx context.Context, u urlkey.URL) (PageCheck, error) {
	r := e.client.Fetch(ctx, &fetch.Request{URL: u})
	defer r.Release()
	if r.Failure != "" {
		return PageCheck{}, fmt.Errorf("fetching %s: %s: %w", u, r.Failure, r.Err)
	}
	body, truncated, err := r.Content()
	if err != nil && len(body) == 0 {
		return PageCheck{}, fmt.Errorf("decoding %s: %w", u, err)
	}
	in := parse.Input{URL: u, ContentType: headerText(r, "Content-Type"), ContentLanguage: headerText(r, "Content-Language"), Agent: e.o.agentToken(),
		Body: body, Truncated: truncated || r.Truncated != ""}
	for _, v := range r.Values("X-Robots-Tag") {
		in.RobotsTag = append(in.RobotsTag, string(v))
	}
	c := e.o.checkPage(&in)
	c.HTTPStatus = r.Status
	if to := r.Location(); to != "" {
		c.Refresh = to
	}
	return c, nil
}

// checkPage parses.
func (o *Options) checkPage(in *parse.Input) PageCheck {
	o.Parsers.SimHash = true
	var p parse.Page
	err := parse.New(o.Parsers).Parse(in, &p)
	c := PageCheck{URL: in.URL.String(), MediaType: p.MediaType, Charset: p.Charset, Title: p.Title, Description: p.Description,
		Language: p.Language, Declared: p.Languages.Declared, Detected: p.Languages.Detected, Confidence: p.Languages.Confidence,
		Author: p.Facts.Author, Site: p.Facts.SiteName, Type: p.Facts.Type, Image: p.Facts.Image,
		Keywords: p.Keywords, Signature: fmt.Sprintf("%x", p.Signature), SimHash: fmt.Sprintf("%016x", p.SimHash), Truncated: p.Truncated, Dropped: p.LinksDropped,
		Text: string(p.Text), Content: string(p.AppendContent(nil)), Robots: robotsWords(&p.Robots), Outlinks: []LinkCheck{}}
	if err != nil {
		c.Error = err.Error()
	}
	if !p.Facts.Published.IsZero() {
		c.Published = p.Facts.Published.Format(time.RFC3339)
	}
	if !p.Facts.Modified.IsZero() {
		c.Modified = p.Facts.Modified.Format(time.RFC3339)
	}
	if p.Headings != "" {
		c.Headings = strings.Split(p.Headings, "\n")
	}
	if p.Base != in.URL {
		c.Base = p.Base.String()
	}
	c.Canonical = p.Canonical.String()
	if p.Refresh != nil {
		c.Refresh, c.RefreshAfter = p.Refresh.URL.String(), p.Refresh.Delay.Seconds()
	}
	for i := range p.Outlinks {
		l := &p.Outlinks[i]
		link := LinkCheck{URL: l.URL.String(), Kind: l.Kind.String(), Anchor: l.Anchor, Language: l.Language, NoFollow: l.NoFollow, Modified: timeText(1000 * l.Modified)}
		u, err := o.normalizers(policy.NormalizeOutlink).Normalize(l.URL)
		if link.URL = u.String(); err != nil {
			link.URL, link.Refused = l.URL.String(), "normalizer"
		} else {
			link.Refused = o.Filters.Accept(u)
		}
		c.Outlinks = append(c.Outlinks, link)
	}
	return c
}

// robotsWords spells directives.
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

// languages says how the language is known.
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

// String writes a check for people.
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
	line("published", c.Published)
	line("modified", c.Modified)
	line("site", c.Site)
	line("og:type", c.Type)
	line("image", c.Image)
	line("robots", strings.Join(c.Robots, ", "))
	line("signature", c.Signature)
	line("simhash", c.SimHash)
	line("error", c.Error)
	if c.Truncated {
		line("truncated", "something was cut")
	}
	fmt.Fprintf(&b, "%-12s %d, %d more not taken\n", "links", len(c.Outlinks), c.Dropped)
	for _, l := range c.Outlinks {
		fmt.Fprintf(&b, "  %-9s %s", l.Kind, l.URL)
		for _, note := range []string{l.Anchor, l.Language, l.Modified} {
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
