// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/seine-crawler/seine/engine/internal/inspect"
	"github.com/seine-crawler/seine/engine/internal/phases"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
	"github.com/seine-crawler/seine/storage/warc"
)

// URLStory is everything that a data directory has of one URL: where it was found, each fetch and its answer, what
// became of the content, when it is fetched again, or why it is not.
type URLStory struct {
	URL    string      `json:"url"`
	Title  string      `json:"title,omitempty"` // of the newest content
	Record *RecordView `json:"record,omitempty"`
	// HopPath is how the URL was reached, as Heritrix writes it: an L for each link from a seed, then an R for each
	// redirect; "" for a seed, and for what crawldb does not know. Links in the middle of which a redirect was count as
	// links.
	HopPath string    `json:"hop_path,omitempty"`
	NextDue time.Time `json:"next_due,omitzero"`
	// Check is what the crawl makes of the URL now, in the words of `seine check url`.
	Check URLCheck `json:"check"`
	// Fetches are all that are durable, newest first, at most 1,000. crawldb, and so Record, has a fetch once the
	// segment is updated.
	Fetches []FetchView `json:"fetches"`
	// Inlinks are the links to the URL, those found first before others; Outlinks are those of the newest content, in
	// page order. Both have at most 100 links. The counts are of all; InlinkCount ends at 10,000.
	Inlinks      []InlinkView  `json:"inlinks"`
	InlinkCount  int           `json:"inlink_count"`
	Linking      LinkCounts    `json:"linking"` // all of them, also beyond 10,000
	Outlinks     []OutlinkView `json:"outlinks"`
	OutlinkCount int           `json:"outlink_count"`
	// Indexed: a search can find the URL. NotIndexed says why not.
	Indexed    bool   `json:"indexed"`
	NotIndexed string `json:"not_indexed,omitempty"`
	// SameContent are other URLs with the same signature, at most 10.
	SameContent []string `json:"same_content,omitempty"`
	// Near is the group of near-duplicates that the content belongs to; nil: it has no fingerprint.
	Near *NearView `json:"near,omitempty"`
}

// NearView is a group of near-duplicates: pages whose main text is nearly the same.
type NearView struct {
	Group string `json:"group"` // its number, in hex
	// Best is the one that a Dedup that marks near-duplicates keeps. Pages are the URLs, the best first; Cut says that
	// there are more than these thousand.
	Best  string   `json:"best"`
	Pages []string `json:"pages"`
	Cut   bool     `json:"cut,omitempty"`
}

// viewNear orders the pages of a group as dedup does.
func viewNear(s *inspect.NearStory, order []phases.DedupKey) *NearView {
	if s.Group == 0 {
		return nil
	}
	v := &NearView{Group: fmt.Sprintf("%016x", uint64(s.Group)), Cut: s.Cut}
	for _, i := range phases.RankPages(order, s.Keys, s.Pages) {
		v.Pages = append(v.Pages, spelled(s.Keys[i]))
	}
	if len(v.Pages) > 0 {
		v.Best = v.Pages[0]
	}
	return v
}

// FetchView is one fetch of a URL. Fields of its outcome are zero where Purge has removed its parse record.
type FetchView struct {
	Time       time.Time           `json:"time"` // in UTC, to the millisecond
	Segment    uint32              `json:"segment"`
	Status     storage.FetchStatus `json:"status"`
	HTTPStatus uint16              `json:"http_status"` // 0: no answer
	Failure    string              `json:"failure,omitempty"`
	Redirect   string              `json:"redirect,omitempty"` // target
	MediaType  string              `json:"media_type,omitempty"`
	Truncated  string              `json:"truncated,omitempty"` // why the body is not whole, as in WARC-Truncated
	Bytes      uint32              `json:"bytes"`               // received
	Took       Milliseconds        `json:"took_ms"`
	// Digest is that of the response's body, "" without a response. RevisitOf is the time of the fetch with the content
	// that this one confirmed (HTTP 304); zero: it has its own.
	Digest    string    `json:"digest,omitempty"`
	RevisitOf time.Time `json:"revisit_of,omitzero"`
	WARC      string    `json:"warc,omitempty"` // file@offset+length of the record
}

// String is the fetch on one line, its fields separated by tabs.
func (f FetchView) String() string {
	r := RecordView{HTTPStatus: f.HTTPStatus, Failure: f.Failure, Redirect: f.Redirect}
	s := fmt.Sprintf("%s\t%s\t%s\t%d bytes in %s\t%s\tsegment %d", timeText(f.Time), orDash(statusText(f.Status)),
		r.answer(), f.Bytes, f.Took, orDash(f.MediaType), f.Segment)
	if !f.RevisitOf.IsZero() {
		s += "\tcontent of " + timeText(f.RevisitOf)
	}
	if f.Truncated != "" {
		s += "\ttruncated: " + f.Truncated
	}
	return strings.Map(printableOrTab, s)
}

func statusText(s storage.FetchStatus) string {
	if s == 0 {
		return ""
	}
	return s.String()
}

// printableOrTab is onePrintable for a line with tabs of ours.
func printableOrTab(r rune) rune {
	if r == '\t' {
		return r
	}
	return onePrintable(r)
}

// String tells the story for people, on many lines.
func (s URLStory) String() string {
	var b strings.Builder
	b.WriteString(s.Check.String() + "\n")
	if s.Title != "" {
		fmt.Fprintf(&b, "  title      %s\n", strings.Map(onePrintable, s.Title))
	}
	if s.Record != nil {
		fmt.Fprintf(&b, "  found      %s\n", s.found())
		s.Record.tell(&b)
	}
	indexed := "yes"
	if !s.Indexed {
		indexed = "no: " + s.NotIndexed
	}
	fmt.Fprintf(&b, "  indexed    %s\n", strings.Map(onePrintable, indexed))
	for _, same := range s.SameContent {
		fmt.Fprintf(&b, "  same as    %s\n", same)
	}
	if n := s.Near; n != nil && len(n.Pages) > 1 {
		fmt.Fprintf(&b, "  near group %s: %s, the best is %s\n", n.Group, count(len(n.Pages), "page"), n.Best)
	}
	if r := s.Record; r != nil && !s.NextDue.IsZero() {
		fmt.Fprintf(&b, "  next due   %s, every %s", timeText(s.NextDue), daysText(time.Duration(r.Interval)))
		if r.Retries > 0 {
			fmt.Fprintf(&b, ", %s in a row", count(int(r.Retries), "failure"))
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "fetches: %d\n", len(s.Fetches))
	for _, f := range s.Fetches {
		fmt.Fprintf(&b, "  %s\n", f)
	}
	fmt.Fprintf(&b, "links here: %d, %s\n", s.InlinkCount, s.Linking)
	for _, l := range s.Inlinks {
		fmt.Fprintf(&b, "  %s\t%s\n", l.From, strings.Map(onePrintable, l.Anchor))
	}
	fmt.Fprintf(&b, "links of the page: %d\n", s.OutlinkCount)
	for _, l := range s.Outlinks {
		fmt.Fprintf(&b, "  %s\t%s\n", l.URL, strings.Map(onePrintable, l.Anchor))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// tell writes what a record says of the last fetch and of the content, line by line.
func (r *RecordView) tell(b *strings.Builder) {
	line := func(name, text string) {
		fmt.Fprintf(b, "  %-10s %s\n", name, strings.Map(onePrintable, text))
	}
	if !r.LastFetch.IsZero() {
		line("last fetch", fmt.Sprintf("%s: %s", timeText(r.LastFetch), r.answer()))
	}
	if !r.ModifiedTime.IsZero() {
		line("changed", timeText(r.ModifiedTime))
	}
	line("score", scoreText(r.Score))
	if r.Signature != "" {
		line("signature", r.Signature)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Meta)) {
		line("meta", name+"="+r.Meta[name])
	}
}

// found says how the URL was found.
func (s *URLStory) found() string {
	r := s.Record
	switch {
	case r.Depth == 0 && r.Meta[storage.MetaSitemap] != "":
		return "as a sitemap"
	case r.Depth == 0 && r.Hops == 0:
		return "as a seed"
	case r.Depth == 0:
		return "by a redirect of a seed"
	case r.Depth == math.MaxUint16:
		return "without a link, as in a list of freegen"
	}
	how := fmt.Sprintf("%s from a seed (%s)", count(int(r.Depth), "link"), s.HopPath)
	if len(s.Inlinks) > 0 {
		how += ", first on " + s.Inlinks[0].From
	}
	return how
}

// viewFetch makes a view of one fetch.
func viewFetch(f *inspect.Fetch) FetchView {
	v := FetchView{Time: timeOf(f.Time), Segment: f.Segment}
	if c := f.Capture; c != nil {
		v.HTTPStatus, v.MediaType, v.RevisitOf = c.HTTPStatus, c.MediaType, timeOf(c.RevisitOf)
		v.Digest, v.WARC = string(warc.AppendSHA1(nil, c.Digest)), locationText(c.Location)
	}
	if o := f.Outcome; o != nil {
		v.Status, v.HTTPStatus, v.Failure, v.MediaType = o.Status, o.HTTPStatus, o.Failure, o.MediaType
		v.Truncated, v.Bytes, v.Took, v.WARC = o.Truncated, o.Bytes, milliseconds(o.TookMS), locationText(o.Location)
		if o.Redirect != "" {
			v.Redirect = spelled(o.Redirect)
		}
	}
	return v
}

func locationText(l warc.Location) string {
	if l.File == "" {
		return ""
	}
	return fmt.Sprintf("%s@%d+%d", l.File, l.Offset, l.Length)
}

// viewURLStory makes a view of a story. check is what Inspector.Check says of the URL.
func viewURLStory(u urlkey.URL, s *inspect.URLStory, check URLCheck) (URLStory, error) {
	v := URLStory{
		URL: u.String(), Title: s.Title, Check: check, Fetches: []FetchView{}, Inlinks: []InlinkView{},
		InlinkCount: s.InlinkCount, Outlinks: viewOutlinks(s.Outlinks), OutlinkCount: s.OutlinkCount,
		Indexed: s.Indexed, Linking: LinkCounts(s.Linking),
	}
	if s.Record != nil {
		r, err := viewRecord(*s.Record)
		if err != nil {
			return v, err
		}
		v.Record, v.NextDue, v.HopPath = &r, r.FetchTime, hopPath(int(r.Depth), int(r.Hops))
	}
	for i := range s.Fetches {
		v.Fetches = append(v.Fetches, viewFetch(&s.Fetches[i]))
	}
	for _, l := range s.Inlinks {
		link, err := viewLink(l)
		if err != nil {
			return v, err
		}
		v.Inlinks = append(v.Inlinks, link)
	}
	for _, key := range s.SameSignature {
		v.SameContent = append(v.SameContent, spelled(key))
	}
	if !s.Indexed {
		v.NotIndexed = notIndexed(&v, s)
	}
	return v, nil
}

// notIndexed says why a URL is not in the index.
func notIndexed(v *URLStory, s *inspect.URLStory) string {
	r := v.Record
	if r == nil {
		return "crawldb does not know the URL"
	}
	switch r.Status {
	case storage.StatusUnfetched:
		switch {
		case s.Newest == storage.SegmentOpen || s.Newest == storage.SegmentSealed:
			return fmt.Sprintf("its newest fetch is in segment %d, which is %s: crawldb has it when that is updated",
				v.Fetches[0].Segment, s.Newest)
		case r.LastFetch.IsZero():
			return "it was not fetched yet"
		}
		return "its last fetch failed: " + r.answer()
	case storage.StatusGone:
		if f := s.Fetches; len(f) > 0 && f[0].Outcome != nil {
			if _, failed := storage.ErrorOf(f[0].Outcome); !failed {
				return "no page links to it any more"
			}
		}
		return "it is gone: " + r.answer()
	case storage.StatusOrphan:
		return "no page links to it any more"
	case storage.StatusRedirTemp, storage.StatusRedirPerm:
		return "it redirects: " + r.answer()
	case storage.StatusDuplicate:
		return "another URL with the same content is kept"
	case storage.StatusParseFailed:
		return "its content could not be parsed: " + r.answer()
	}
	switch {
	case !v.Check.Accepted:
		return "it is refused: " + v.Check.Reason
	case s.Flags&storage.FlagNoIndex != 0 && isData(r.MediaType):
		return "only the links of feeds and sitemaps are read, or its answer forbids it (noindex)"
	case s.Flags&storage.FlagNoIndex != 0:
		return "the page forbids it (noindex)"
	case s.Flags&storage.FlagNotParsed != 0:
		return "no parser reads its media type, " + orDash(r.MediaType)
	case s.State != 0 && s.State < storage.SegmentIndexed:
		return fmt.Sprintf("its segment %d is %s: \"seine index\", or the next crawl, indexes it", r.Segment, s.State)
	}
	return "an index filter left it out, or the index was built without it: \"seine index --every-document\" compares"
}

// isData reports whether a media type is one of feeds and sitemaps, and none of pages.
func isData(mediaType string) bool {
	return mediaType != "application/xhtml+xml" &&
		(strings.HasSuffix(mediaType, "xml") || strings.HasSuffix(mediaType, "json") || mediaType == "text/plain")
}
