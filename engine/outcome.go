// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"crypto/sha1"
	"errors"
	"io"
	"math"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/parse"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
	"github.com/seine-crawler/seine/storage/warc"
)

// Outcomes that are decided here rather than in engine/fetch.
const (
	failureRobots            = "robots_denied"
	failureRobotsUnreachable = "robots_unreachable"
	failureLocation          = "bad_location"
	reasonChain              = "redirect_chain" // of a target beyond the last redirect that is followed
)

// permanentRefresh is the delay from which a meta refresh is a permanent redirect, and a temporary one below
// (Nutch's PERM_REFRESH_TIME).
const permanentRefresh = 5 * time.Second

// Fields of the WARC metadata record that keeps an outcome for which there was no response, and of records
// of responses.
const (
	fieldFailure = "seine-failure"
	fieldRole    = "WARC-Seine-Role"     // on responses that are not pages
	fieldTook    = "WARC-Seine-Fetch-Ms" // on pages
	fieldTookMS  = "fetchTimeMs"         // on failures, as other crawlers name it
	roleRobots   = "robots"
)

// statusOf maps an HTTP status to an outcome. Nutch takes every code it has no rule for as a
// temporary failure; here client errors are final, but for those that say "later".
func statusOf(code int) storage.FetchStatus {
	switch code {
	case http.StatusNotModified:
		return storage.FetchNotModified
	case http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect:
		return storage.FetchRedirTemp
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return storage.FetchRetry
	}
	switch {
	case code >= 200 && code < 300:
		return storage.FetchSuccess
	case code >= 300 && code < 400:
		return storage.FetchRedirPerm
	case code >= 400 && code < 500:
		return storage.FetchGone
	}
	return storage.FetchRetry
}

// readOutcome fills s.outcome, and s.text for a page, from an exchange. It is the one place where
// a response becomes an outcome, whether it just came in or was read back from the WARC.
func (e *Engine) readOutcome(x *exchange, s *scratch) {
	o := &s.outcome
	*o = storage.FetchOutcome{Time: x.at.UnixMilli(), Failure: string(x.failure), Location: x.loc, Outlinks: o.Outlinks[:0],
		TookMS: uint32(min(max(x.took.Milliseconds(), 0), math.MaxUint32))}
	if x.resp == nil {
		o.Status = failureStatus(x.failure)
		return
	}
	r := x.resp
	o.HTTPStatus, o.Truncated, o.Bytes = uint16(r.Status), r.Truncated, uint32(len(r.Body))
	o.Status = statusOf(r.Status)
	switch o.Status {
	case storage.FetchRedirTemp, storage.FetchRedirPerm:
		e.readRedirect(x, o)
	case storage.FetchSuccess:
		o.ETag, o.LastModified = headerText(r, "ETag"), headerText(r, "Last-Modified")
		e.readPage(x, s)
	}
}

func failureStatus(f fetch.Failure) storage.FetchStatus {
	if f == failureRobots || f.Kind() == fetch.KindPermanent {
		return storage.FetchGone
	}
	return storage.FetchRetry
}

// readRedirect resolves the target. One that leads nowhere makes the URL gone, with the reason.
func (e *Engine) readRedirect(x *exchange, o *storage.FetchOutcome) {
	target, err := x.url.Resolve(x.resp.Location())
	if err == nil {
		target, err = e.o.normalizers(policy.NormalizeFetcher).Normalize(target)
	}
	if err != nil || x.resp.Location() == "" || target == x.url {
		o.Status, o.Failure = storage.FetchGone, failureLocation
		return
	}
	o.Redirect = target.Key()
}

// readPage decodes and parses the body. A page that cannot be parsed keeps its outcome, marked.
func (e *Engine) readPage(x *exchange, s *scratch) {
	o, r, p := &s.outcome, x.resp, &s.page
	body, truncated, err := r.Content()
	if err != nil && len(body) == 0 {
		o.Status, o.Failure = storage.FetchParseFailed, "decode_error"
		return
	}
	s.tags = s.tags[:0]
	for _, v := range r.Values("X-Robots-Tag") {
		s.tags = append(s.tags, string(v))
	}
	in := parse.Input{URL: x.url, ContentType: headerText(r, "Content-Type"), ContentLanguage: headerText(r, "Content-Language"), RobotsTag: s.tags, Agent: e.o.agentToken(),
		Body: body, Truncated: truncated || r.Truncated != ""}
	err = e.parsers.Parse(&in, p)
	o.MediaType, o.Signature = p.MediaType, storage.Signature(p.Signature)
	readPreferences(x, s)
	if in.Truncated || err != nil && !errors.Is(err, parse.ErrUnsupported) {
		o.Flags |= storage.FlagTruncated
	}
	if err != nil {
		o.Flags |= storage.FlagNotParsed
		if !errors.Is(err, parse.ErrUnsupported) {
			o.Status, o.Failure = storage.FetchParseFailed, "parse_failed"
		}
		return
	}
	o.Flags |= robotsFlags(p)
	e.readRefresh(x, s)
	if !p.Canonical.IsZero() {
		o.Canonical = p.Canonical.Key()
	}
	e.readLinks(s)
	// The text is the page's own memory: it is encoded before the next page is parsed.
	text := unsafe.String(unsafe.SliceData(p.Text), len(p.Text))
	s.text = storage.ParseText{Title: p.Title, Text: text, Description: p.Description, Headings: p.Headings, Language: p.Language, Charset: p.Charset,
		Content: contentOf(s.text.Content[:0], p)}
	if len(p.NoSnippet) > 0 {
		if s.text.Content = quotable(s.text.Content, p); len(s.text.Content) > 0 {
			o.Flags |= storage.FlagContentOnly
		} else {
			o.Flags |= storage.FlagNoSnippet
		}
	}
	s.text.Flags = o.Flags
}

// quotable takes what must not be quoted out of the content, which is all of the page if none of it is told apart.
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

// contentOf appends where a page's main content is, nothing if all of the page is content or none of it: then
// people are shown what there is.
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

// readRefresh takes a page's refresh to another page as a redirect beside its links: the page keeps its
// text. One that links must not count of goes nowhere.
func (e *Engine) readRefresh(x *exchange, s *scratch) {
	o, refresh := &s.outcome, s.page.Refresh
	if refresh == nil || s.page.Robots.NoFollow {
		return
	}
	if target, err := e.o.normalizers(policy.NormalizeFetcher).Normalize(refresh.URL); err == nil && target != x.url {
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
	}{{p.Robots.NoIndex, storage.FlagNoIndex}, {p.Robots.NoFollow, storage.FlagNoFollow}, {p.Robots.NoSnippet, storage.FlagNoSnippet}, {p.Robots.NoArchive, storage.FlagNoArchive}} {
		if x.on {
			f |= x.flag
		}
	}
	return f.WithMaxSnippet(p.Robots.MaxSnippet)
}

// readLinks keeps every link of the page, normalised. The keys
// are cut from one string.
func (e *Engine) readLinks(s *scratch) {
	o := &s.outcome
	s.keys, s.ends = s.keys[:0], s.ends[:0]
	normalizers := e.o.normalizers(policy.NormalizeOutlink)
	for i := range s.page.Outlinks {
		l := &s.page.Outlinks[i]
		u, err := normalizers.Normalize(l.URL)
		if err != nil {
			continue
		}
		s.keys = s.memo.AppendKey(s.keys, u)
		s.ends = append(s.ends, len(s.keys))
		o.Outlinks = append(o.Outlinks, storage.Outlink{Anchor: l.Anchor, NoFollow: l.NoFollow})
	}
	// They are encoded before the scratch is used again.
	all, from := urlkey.Key(unsafe.String(unsafe.SliceData(s.keys), len(s.keys))), 0
	for i, end := range s.ends {
		o.Outlinks[i].Key = all[from:end]
		from = end
	}
}

func headerText(r *fetch.Response, name string) string { return string(r.Header(name)) }

// storedExchange turns a WARC record back into the exchange it was made of; ok is false for
// records that are no outcome of a URL.
func storedExchange(rec *warc.Record) (x *exchange, ok bool, err error) {
	switch rec.Type {
	case warc.TypeResponse:
		if rec.Field(fieldRole) != "" {
			return nil, false, nil
		}
		head, body, err := rec.HTTP()
		if err != nil {
			return nil, false, err
		}
		x = &exchange{at: rec.Date, loc: rec.Location, took: storedMillis(rec.Field(fieldTook)),
			preferences: strings.ReplaceAll(rec.Field(fieldPreferences), preferenceBreak, "\n")}
		x.digest = sha1.Sum(body)
		if x.resp, err = fetch.StoredResponse(head, body, rec.Field("WARC-Truncated")); err != nil {
			return nil, false, err
		}
	case warc.TypeMetadata:
		failure := blockField(rec, fieldFailure)
		if failure == "" {
			return nil, false, nil
		}
		x = &exchange{at: rec.Date, failure: fetch.Failure(failure), took: storedMillis(blockField(rec, fieldTookMS))}
	default:
		return nil, false, nil
	}
	x.url, err = urlkey.Parse(rec.URI)
	return x, err == nil, err
}

// blockField returns a field of a record whose block is application/warc-fields.
func blockField(rec *warc.Record, name string) string {
	for _, f := range rec.Fields() {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// storedMillis reads a number of milliseconds; what is none counts as 0.
func storedMillis(s string) time.Duration {
	n, _ := strconv.ParseUint(s, 10, 32)
	return time.Duration(n) * time.Millisecond
}

func httpTime(s string) (int64, error) {
	t, err := http.ParseTime(s)
	return t.UnixMilli(), err
}

func isEOF(err error) bool { return errors.Is(err, io.EOF) }

func baseName(name string) string { return path.Base(strings.ReplaceAll(name, "\\", "/")) }

// millis keeps a zero time zero in milliseconds.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
