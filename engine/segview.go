// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// SegmentView is a segment as people see it.
type SegmentView struct {
	Segment uint32                `json:"segment"`
	State   string                `json:"state"`
	Batch   bool                  `json:"batch"` // made by generate; else by a crawl
	Created string                `json:"created"`
	Sealed  string                `json:"sealed"`
	WARC    []storage.WARCFile    `json:"warc"`
	Counts  storage.SegmentCounts `json:"counts"`
}

func (s SegmentView) String() string {
	c := s.Counts
	return fmt.Sprintf("%d\t%s\t%s\t%d generated, %d fetched, %d failed (%d gone), %d redirected, %d not modified, %d denied by robots, %d links, %d bytes",
		s.Segment, s.State, s.Created, c.Generated, c.Fetched, c.Failed, c.Gone, c.Redirected, c.NotModified, c.RobotsDenied, c.Links, c.Bytes)
}

// SegmentViews calls each with every segment, or with one.
func (e *Engine) SegmentViews(only uint32, each func(SegmentView) error) error {
	list, err := e.store.SegmentList()
	if err != nil {
		return err
	}
	for _, s := range list {
		if only != 0 && s.Number != only {
			continue
		}
		v := SegmentView{Segment: s.Number, State: s.State.String(), Batch: s.Batch, Created: timeText(millis(s.Created)),
			Sealed: timeText(millis(s.Sealed)), WARC: s.WARC, Counts: s.Counts}
		if err := each(v); err != nil {
			return err
		}
	}
	return nil
}

// ParseView is a parse record as people see it.
type ParseView struct {
	URL         string        `json:"url"`
	Segment     uint32        `json:"segment"`
	Status      string        `json:"status"`
	HTTPStatus  uint16        `json:"http_status"`
	Time        string        `json:"time"`
	Failure     string        `json:"failure,omitempty"`
	Redirect    string        `json:"redirect,omitempty"`
	MediaType   string        `json:"media_type,omitempty"`
	Truncated   string        `json:"truncated,omitempty"`
	Bytes       uint32        `json:"bytes"`
	Refresh     string        `json:"refresh,omitempty"` // "temporary" or "permanent": the page refreshes itself to Redirect
	TookMS      uint32        `json:"took_ms"`
	Preferences []string      `json:"preferences,omitempty"` // about uses of the page, as of the fetch
	WARC        string        `json:"warc"`                  // file, offset and length of the record
	Title       string        `json:"title,omitempty"`
	Description string        `json:"description,omitempty"`
	Language    string        `json:"language,omitempty"`
	Charset     string        `json:"charset,omitempty"`
	Text        string        `json:"text,omitempty"`
	Outlinks    []OutlinkView `json:"outlinks"`
}

// OutlinkView is one link of a page.
type OutlinkView struct {
	URL      string `json:"url"`
	Anchor   string `json:"anchor"`
	NoFollow bool   `json:"nofollow,omitempty"`
}

func (p ParseView) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\t%s\thttp %d\t%s\t%d bytes\t%s\t%d links\t%s", p.URL, p.Status, p.HTTPStatus, p.Time, p.Bytes, orDash(p.MediaType), len(p.Outlinks),
		strings.Map(onePrintable, p.Title))
	for _, s := range []string{p.Failure, p.Redirect, p.Truncated, strings.Join(p.Preferences, "; ")} {
		if s != "" {
			b.WriteString("\t" + strings.Map(onePrintable, s))
		}
	}
	return b.String()
}

// ParseRecords calls each with the parse records of a segment (0: the newest sealed one, or with a
// URL the one that holds it), or with that of one URL.
func (e *Engine) ParseRecords(ctx context.Context, segment uint32, raw string, each func(ParseView) error) error {
	var from, to []byte
	if raw != "" {
		u, err := urlkey.Parse(raw)
		if err != nil {
			return err
		}
		from = []byte(u.Key())
		to = append([]byte(u.Key()), 0)
		if segment == 0 {
			var r storage.Record
			if ok, err := e.store.Record(u.Key(), &r); err != nil {
				return err
			} else if !ok || r.Segment == 0 {
				return fmt.Errorf("%s was not fetched", u)
			}
			segment = r.Segment
		}
	}
	if segment == 0 {
		list, err := e.store.SegmentList()
		if err != nil {
			return err
		}
		for _, s := range list {
			if s.State >= storage.SegmentSealed {
				segment = s.Number
			}
		}
	}
	sc := e.store.Scan(storage.ParseLinks(segment), from, to)
	defer sc.Close()
	found := false
	var o storage.FetchOutcome
	for sc.Next() && ctx.Err() == nil {
		found = true
		if err := storage.DecodeFetchOutcome(sc.Value(), &o); err != nil {
			return fmt.Errorf("parse record %s: %w", sc.Key(), err)
		}
		v, err := e.viewParse(segment, sc.Key(), &o)
		if err != nil {
			return err
		}
		if err := each(v); err != nil {
			return err
		}
	}
	if err := sc.Err(); err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("segment %d holds no such parse record", segment)
	}
	return ctx.Err()
}

func (e *Engine) viewParse(segment uint32, key []byte, o *storage.FetchOutcome) (ParseView, error) {
	u, err := urlkey.Key(key).URL()
	if err != nil {
		return ParseView{}, err
	}
	v := ParseView{URL: u.String(), Segment: segment, Status: o.Status.String(), HTTPStatus: o.HTTPStatus, Time: timeText(o.Time), Failure: o.Failure,
		MediaType: o.MediaType, Truncated: o.Truncated, Bytes: o.Bytes, Outlinks: []OutlinkView{},
		WARC: fmt.Sprintf("%s@%d+%d", o.Location.File, o.Location.Offset, o.Location.Length)}
	v.TookMS = o.TookMS
	if o.Preferences != "" {
		v.Preferences = strings.Split(o.Preferences, "\n")
	}
	if o.Redirect != "" {
		v.Redirect = spelled(o.Redirect)
		switch {
		case o.Status != storage.FetchSuccess: // a redirect: the status says of which kind
		case o.Flags&storage.FlagRefreshPerm != 0:
			v.Refresh = "permanent"
		default:
			v.Refresh = "temporary"
		}
	}
	for _, l := range o.Outlinks {
		v.Outlinks = append(v.Outlinks, OutlinkView{spelled(l.Key), l.Anchor, l.NoFollow})
	}
	value, ok, err := e.store.Get(storage.ParseTextRange(segment), key, nil)
	if err != nil || !ok {
		return v, err
	}
	var t storage.ParseText
	if err := storage.DecodeParseText(value, &t); err != nil {
		return v, fmt.Errorf("parse text of %s: %w", u, err)
	}
	v.Title, v.Description, v.Language, v.Charset, v.Text = t.Title, t.Description, t.Language, t.Charset, t.Text
	return v, nil
}

// spelled writes a key as its URL, or as it is when it is no key.
func spelled(k urlkey.Key) string {
	b, err := urlkey.AppendURL(nil, []byte(k))
	if err != nil {
		return string(k)
	}
	return string(b)
}
