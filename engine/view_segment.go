// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strings"
	"time"

	"github.com/seine-crawler/seine/engine/internal/inspect"
	"github.com/seine-crawler/seine/storage"
)

// SegmentView is a segment as people and scripts see it. Times are in UTC, to the millisecond.
type SegmentView struct {
	Segment uint32                `json:"segment"` // its number, from 1
	State   storage.SegmentState  `json:"state"`
	Batch   bool                  `json:"batch"` // made by generate; else by a crawl
	Created time.Time             `json:"created,omitzero"`
	Sealed  time.Time             `json:"sealed,omitzero"` // zero: not yet, and left out of JSON
	WARC    []storage.WARCFile    `json:"warc"`
	Counts  storage.SegmentCounts `json:"counts"` // without fetches while it is filled: they are counted at its end
	// Unparsed: it is open, and its fetchlist is fetched; "seine parse" comes next.
	Unparsed bool `json:"unparsed,omitempty"`
}

// String is the segment on one line, its fields separated by tabs.
func (s SegmentView) String() string {
	c, state := s.Counts, s.State.String()
	if s.Unparsed {
		state += ", to be parsed"
	}
	return fmt.Sprintf("%d\t%s\t%s\t%d generated, %d fetched, %d failed (%d gone), %d redirected, %d not modified, "+
		"%d denied by robots, %d links, %d bytes",
		s.Segment, state, timeText(s.Created), c.Generated, c.Fetched, c.Failed, c.Gone, c.Redirected, c.NotModified,
		c.RobotsDenied, c.Links, c.Bytes)
}

func viewSegment(s storage.Segment) (SegmentView, error) {
	return SegmentView{
		Segment: s.Number, State: s.State, Batch: s.Batch, Created: s.Created, Sealed: s.Sealed,
		WARC: s.WARC, Counts: s.Counts, Unparsed: s.State == storage.SegmentOpen && s.Counts.Attempts() > 0,
	}, nil
}

// ParseView is a parse record as people and scripts see it: one fetch, and what was parsed.
type ParseView struct {
	URL         string              `json:"url"`
	Segment     uint32              `json:"segment"`
	Status      storage.FetchStatus `json:"status"`
	HTTPStatus  uint16              `json:"http_status"`   // 0: no answer
	Time        time.Time           `json:"time,omitzero"` // of the fetch; in UTC, to the millisecond
	Failure     string              `json:"failure,omitempty"`
	Redirect    string              `json:"redirect,omitempty"` // target of a redirect, or of a page's refresh
	MediaType   string              `json:"media_type,omitempty"`
	Truncated   string              `json:"truncated,omitempty"`   // why the body is not whole, as in WARC-Truncated
	Bytes       uint32              `json:"bytes"`                 // received: head, framing and TLS included
	Refresh     string              `json:"refresh,omitempty"`     // "temporary" or "permanent", of a page's refresh
	Took        Milliseconds        `json:"took_ms"`               // by the fetch
	Preferences []string            `json:"preferences,omitempty"` // about uses of the page, as of the fetch
	WARC        string              `json:"warc"`                  // file@offset+length of the record
	Title       string              `json:"title,omitempty"`
	Description string              `json:"description,omitempty"`
	Language    string              `json:"language,omitempty"` // BCP 47
	Charset     string              `json:"charset,omitempty"`
	Text        string              `json:"text,omitempty"`
	Outlinks    []OutlinkView       `json:"outlinks"` // in page order
}

// String is the parse record on one line, its fields separated by tabs, without text and links.
func (p ParseView) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\t%s\thttp %d\t%s\t%d bytes\t%s\t%d links\t%s", p.URL, p.Status, p.HTTPStatus, timeText(p.Time),
		p.Bytes, orDash(p.MediaType), len(p.Outlinks), strings.Map(onePrintable, p.Title))
	for _, s := range []string{p.Failure, p.Redirect, p.Truncated, strings.Join(p.Preferences, "; ")} {
		if s != "" {
			b.WriteString("\t" + strings.Map(onePrintable, s))
		}
	}
	return b.String()
}

func viewParse(r inspect.ParseRecord) (ParseView, error) {
	u, err := r.Key.URL()
	if err != nil {
		return ParseView{}, fmt.Errorf("%w: parse record: %w", storage.ErrCorrupt, err)
	}
	o := r.Outcome
	v := ParseView{
		URL:        u.String(),
		Segment:    r.Segment,
		Status:     o.Status,
		HTTPStatus: o.HTTPStatus,
		Time:       timeOf(o.Time),
		Failure:    o.Failure,
		MediaType:  o.MediaType,
		Truncated:  o.Truncated,
		Bytes:      o.Bytes,
		Took:       milliseconds(o.TookMS),
		WARC:       locationText(o.Location),
		Outlinks:   viewOutlinks(o.Outlinks),
	}
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
	if t := r.Text; t != nil {
		v.Title, v.Description, v.Language, v.Charset, v.Text = t.Title, t.Description, t.Language, t.Charset, t.Text
	}
	return v, nil
}
