// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"errors"
	"fmt"
	"io"
	"math"
	"time"
	"unsafe"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/parse"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// permanentRefresh is the delay from which a refresh is a permanent redirect, and a temporary one below
// (Nutch's PERM_REFRESH_TIME).
const permanentRefresh = 5 * time.Second

// readPage decodes and parses the body. A page of a type that has no parser is a success with FlagNotParsed.
func (g *Segments) readPage(a *Attempt, s *Scratch) {
	o, r, p := &s.outcome, a.Response, &s.page
	body, truncated, err := r.Content()
	more := MoreOf(r, body, truncated, err)
	truncated = truncated && more == nil
	if truncated && o.Truncated == "" {
		o.Truncated = truncatedLength
		if err != nil {
			o.Truncated = truncatedDecode
		}
	}
	if err != nil && len(body) == 0 {
		o.Status, o.Failure = storage.FetchParseFailed, failureDecode
		return
	}
	s.tags, s.linked = valuesOf(r, "X-Robots-Tag", s.tags[:0]), valuesOf(r, "Link", s.linked[:0])
	in := parse.Input{
		URL:             a.URL,
		ContentType:     r.ContentType(),
		ContentLanguage: headerText(r, "Content-Language"),
		Refresh:         headerText(r, "Refresh"),
		RobotsTag:       s.tags,
		Link:            s.linked,
		Agent:           g.env.agentOf(a.URL),
		Body:            body,
		Truncated:       o.Truncated != "",
		More:            more,
	}
	err = g.env.Parsers.Parse(&in, p)
	o.MediaType = p.MediaType
	if (in.Truncated || p.Truncated) && parse.IsSitemap(body) {
		g.warnCut(a.URL)
	}
	readPreferences(a, s)
	hidden := err == nil && (p.Robots.NoIndex || o.Flags&storage.FlagNoIndex != 0)
	o.Signature, o.SimHash = Hashes(&in, p, hidden)
	if in.Truncated || err != nil && !errors.Is(err, parse.ErrUnsupported) {
		o.Flags |= storage.FlagTruncated
	}
	if err != nil {
		o.Flags |= storage.FlagNotParsed
		if !errors.Is(err, parse.ErrUnsupported) {
			o.Status, o.Failure = storage.FetchParseFailed, failureParse
		}
		return
	}
	o.Flags |= robotsFlags(p)
	g.readRefresh(a, s)
	if !p.Canonical.IsZero() {
		o.Canonical = p.Canonical.Key()
	}
	g.readLinks(s)
	readText(s)
}

// readText fills s.text. The text is in the page's memory: it is encoded before the next page is parsed.
func readText(s *Scratch) {
	o, p := &s.outcome, &s.page
	text := unsafe.String(unsafe.SliceData(p.Text), len(p.Text))
	s.text = storage.ParseText{
		Title: p.Title, Text: text, Description: p.Description, Language: p.Language, Charset: p.Charset,
		Author: p.Facts.Author, Content: contentOf(s.text.Content[:0], p), Headings: s.text.Headings[:0],
	}
	if !p.Facts.Published.IsZero() {
		s.text.Date = p.Facts.Published.UnixMilli()
	}
	for _, h := range p.Headings[:min(len(p.Headings), storage.HeadingsMax)] {
		s.text.Headings = append(s.text.Headings, storage.TextRange{From: uint32(h.From), To: uint32(h.To)})
	}
	if len(p.NoSnippet) > 0 {
		if s.text.Content = quotable(s.text.Content, p); len(s.text.Content) > 0 {
			o.Flags |= storage.FlagContentOnly
		} else {
			o.Flags |= storage.FlagNoSnippet
		}
	}
	s.text.Flags = o.Flags
}

// Hashes returns what is stored of the signature and the fingerprint of a page. A part has none: it is not compared
// with whole pages. If a page is hidden, because it must not be indexed, its signature is the complement, which is
// equal to those of such pages only: none of them takes the place of a page that may be found.
func Hashes(in *parse.Input, p *parse.Page, hidden bool) (sig storage.Signature, fingerprint storage.SimHash) {
	if in.Truncated || in.More != nil {
		return sig, 0
	}
	sig, fingerprint = storage.Signature(p.Signature), storage.SimHash(p.SimHash)
	if !hidden {
		return sig, fingerprint
	}
	if !sig.IsZero() {
		for i := range sig {
			sig[i] = ^sig[i]
		}
	}
	return sig, 0
}

// MoreOf returns what Content cut off a sitemap, which may be longer than other content; nil: nothing.
func MoreOf(r *fetch.Response, body []byte, truncated bool, err error) io.Reader {
	if !truncated || err != nil || !parse.IsSitemap(body) {
		return nil
	}
	more, err := r.ContentFrom(int64(len(body)))
	if err != nil {
		return nil
	}
	return more
}

// cutNamed is how many sitemaps that were cut are named in warnings.
const cutNamed = 20

// warnCut says that URLs of a sitemap are missing: an operator finds them nowhere else.
func (g *Segments) warnCut(u urlkey.URL) {
	switch n := g.cut.Add(1); {
	case n < cutNamed:
		g.env.Warn(fmt.Errorf("the sitemap %s is cut: only its first URLs were read; it is damaged, came too slowly, "+
			"or has more than %d MiB, %d URLs or the memory for bodies", u, parse.MaxSitemapBytes>>20,
			parse.MaxSitemapLinks))
	case n == cutNamed:
		g.env.Warn(fmt.Errorf("the sitemap %s is cut, like %d before it: further ones are not named", u, cutNamed-1))
	}
}

// readRefresh stores a page's refresh to another page as a redirect. The page keeps its text and links. A page whose
// links must not be followed has no such redirect.
func (g *Segments) readRefresh(a *Attempt, s *Scratch) {
	o, refresh := &s.outcome, s.page.Refresh
	if refresh == nil || s.page.Robots.NoFollow {
		return
	}
	if target, err := g.env.Redirects.Normalize(refresh.URL); err == nil && target != a.URL {
		o.Redirect = target.Key()
		if refresh.Delay >= permanentRefresh {
			o.Flags |= storage.FlagRefreshPerm
		}
	}
}

func robotsFlags(p *parse.Page) (f storage.ParseFlags) {
	for _, x := range []struct {
		on   bool
		flag storage.ParseFlags
	}{
		{p.Robots.NoIndex, storage.FlagNoIndex},
		{p.Robots.NoFollow, storage.FlagNoFollow},
		{p.Robots.NoSnippet, storage.FlagNoSnippet},
		{p.Robots.NoArchive, storage.FlagNoArchive},
	} {
		if x.on {
			f |= x.flag
		}
	}
	return f.WithMaxSnippet(p.Robots.MaxSnippet)
}

// readLinks stores every link of the page that the normalizers take. The keys are cut from one string.
func (g *Segments) readLinks(s *Scratch) {
	o := &s.outcome
	s.keys, s.ends = s.keys[:0], s.ends[:0]
	normalizers := g.env.Links
	for i := range s.page.Outlinks {
		l := &s.page.Outlinks[i]
		u, err := normalizers.Normalize(l.URL)
		if err != nil {
			continue
		}
		s.keys = s.memo.AppendKey(s.keys, u)
		s.ends = append(s.ends, len(s.keys))
		if l.Modified != 0 || l.Every != 0 {
			o.Hints = append(o.Hints, storage.LinkHint{
				Link: uint32(len(o.Outlinks)), Every: l.Every, Modified: l.Modified,
			})
		}
		o.Outlinks = append(o.Outlinks, storage.Outlink{
			Anchor: l.Anchor, NoFollow: l.NoFollow, Repeats: uint32(min(uint64(l.Repeats), math.MaxUint32)),
		})
	}
	o.SelfLinks = uint32(min(uint64(s.page.SelfLinks), math.MaxUint32))
	// The keys are encoded before the scratch is used again.
	all, from := urlkey.Key(unsafe.String(unsafe.SliceData(s.keys), len(s.keys))), 0
	for i, end := range s.ends {
		o.Outlinks[i].Key = all[from:end]
		from = end
	}
}

// quotable returns the content without what must not be quoted. A page without parts is content as a whole.
func quotable(parts []storage.TextRange, p *parse.Page) (out []storage.TextRange) {
	if len(parts) == 0 {
		parts = append(parts, storage.TextRange{To: uint32(len(p.Text))})
	}
	keep := func(from, to int) {
		for from < to && p.Text[from] <= ' ' {
			from++
		}
		for from < to && p.Text[to-1] <= ' ' {
			to--
		}
		if from < to {
			out = append(out, storage.TextRange{From: uint32(from), To: uint32(to)})
		}
	}
	no := p.NoSnippet
	for _, part := range parts {
		from, to := int(part.From), int(part.To)
		for len(no) > 0 && no[0].To <= from {
			no = no[1:]
		}
		for _, n := range no {
			if n.From >= to {
				break
			}
			keep(from, n.From)
			from = min(n.To, to)
		}
		keep(from, to)
	}
	return out
}

// contentOf appends where the main content of a page is. It appends nothing if all of the page is content, or none of
// it: snippets are then taken from the whole page.
func contentOf(parts []storage.TextRange, p *parse.Page) []storage.TextRange {
	all := true
	for i := range p.Blocks {
		b := &p.Blocks[i]
		switch n := len(parts); {
		case !b.Content:
			all = false
		case n > 0 && i > 0 && p.Blocks[i-1].Content:
			parts[n-1].To = uint32(b.To)
		default:
			parts = append(parts, storage.TextRange{From: uint32(b.From), To: uint32(b.To)})
		}
	}
	if all {
		return parts[:0]
	}
	return parts
}

// valuesOf appends all values of a header field.
func valuesOf(r *fetch.Response, name string, values []string) []string {
	for _, v := range r.Values(name) {
		values = append(values, string(v))
	}
	return values
}

func headerText(r *fetch.Response, name string) string { return string(r.Header(name)) }
