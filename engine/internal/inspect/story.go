// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// URLStory is what the store has of one URL, as of one moment.
type URLStory struct {
	Record  *Record // nil: crawldb does not know the URL
	Fetches []Fetch // newest first, at most storyFetchesMax of them
	// Newest is the state of the segment with the newest fetch; 0: there is none. crawldb has it from updated on.
	Newest storage.SegmentState
	// Inlinks are the first that are known, oldest segment first; Outlinks are those of the content. Of each at most
	// storyLinksMax, and how many there are; InlinkCount ends at storyInlinksCounted.
	Inlinks       []Link
	Linking       storage.LinkCounts
	InlinkCount   int
	Outlinks      []storage.Outlink
	OutlinkCount  int
	Indexed       bool
	SameSignature []urlkey.Key // other pages with the same signature, at most storySameMax
	Near          NearStory    // of the page's group of near-duplicates
	// State is that of the segment with the content; 0: there is none. Flags are the page's directives.
	State storage.SegmentState
	Flags storage.ParseFlags
	Title string
}

// Fetch is one fetch of a URL: its outcome, or its capture where the parse record is purged, or both. Links are only
// there if the segment is not sealed.
type Fetch struct {
	Segment uint32
	Time    int64 // ms since 1970
	Outcome *storage.FetchOutcome
	Capture *CaptureOf
}

// URLStory collects everything about a URL. It looks into every segment.
func (in *Inspect) URLStory(ctx context.Context, u urlkey.URL) (s URLStory, err error) {
	snapshot, err := in.visitsOf(u)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	segments, err := snapshot.SegmentList()
	if err != nil {
		return s, err
	}
	r := Record{Key: u.Key()}
	known, err := snapshot.Record(r.Key, &r.Record)
	if err != nil {
		return s, err
	}
	if s.Fetches, err = snapshot.fetches(ctx, segments); err != nil {
		return s, err
	}
	if len(s.Fetches) > 0 {
		s.Newest = stateOf(segments, s.Fetches[0].Segment)
	}
	if known {
		s.Record = &r
		for i := range s.Fetches {
			if f := &s.Fetches[i]; f.Outcome != nil && f.Time == r.LastFetch {
				r.Outcome = f.Outcome
			}
		}
		if err := s.addContent(snapshot, segments, &r); err != nil {
			return s, fmt.Errorf("content of %s: %w", u, err)
		}
	}
	if _, s.Indexed, err = snapshot.Get(index.Located(), []byte(r.Key), nil); err != nil {
		return s, err
	}
	for l, err := range in.Inlinks(ctx, u, storyInlinksCounted) {
		if err != nil {
			return s, err
		}
		s.InlinkCount++
		s.Inlinks = append(s.Inlinks, l)
	}
	slices.SortStableFunc(s.Inlinks, func(a, b Link) int { return cmp.Compare(a.Segment, b.Segment) })
	s.Inlinks = slices.Clip(s.Inlinks[:min(len(s.Inlinks), storyLinksMax)])
	s.Linking, err = in.LinkCounts(ctx, u)
	return s, err
}

// stateOf is the state of a segment of a list; 0: it is not in it.
func stateOf(list []storage.Segment, number uint32) storage.SegmentState {
	for i := range list {
		if list[i].Number == number {
			return list[i].State
		}
	}
	return 0
}

// fetches returns all fetches of the URL, newest first.
func (v *visits) fetches(ctx context.Context, segments []storage.Segment) ([]Fetch, error) {
	captures, err := v.captures(ctx)
	if err != nil {
		return nil, err
	}
	var list []Fetch
	for i := range captures {
		c := &captures[i]
		f := Fetch{Segment: c.Segment, Time: c.Time, Capture: c}
		if c.unsealed != nil {
			f.Outcome = &c.unsealed.Outcome
		}
		list = append(list, f)
	}
	for i := range v.unsealed {
		if x := &v.unsealed[i]; x.Outcome.HTTPStatus == 0 {
			list = append(list, Fetch{Segment: x.Segment, Time: x.Outcome.Time, Outcome: &x.Outcome})
		}
	}
	var value []byte
	var links storage.OutlinkReader
	for i := range segments {
		if i%contextEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		n := segments[i].Number
		var ok bool
		if value, ok, err = v.Get(storage.ParseLinks(n), []byte(v.url.Key()), value); err != nil || !ok {
			if err != nil {
				return nil, fmt.Errorf("parse record of %s: %w", v.url, err)
			}
			continue
		}
		var o storage.FetchOutcome
		if err := storage.ReadFetchOutcome(value, &o, &links); err != nil {
			return nil, fmt.Errorf("parse record of %s in segment %d: %w", v.url, n, err)
		}
		at := slices.IndexFunc(list, func(f Fetch) bool { return f.Segment == n && f.Time == o.Time })
		if at < 0 {
			list = append(list, Fetch{Segment: n, Time: o.Time})
			at = len(list) - 1
		}
		list[at].Outcome = &o
	}
	slices.SortStableFunc(list, func(a, b Fetch) int { return int(min(max(b.Time-a.Time, -1), 1)) })
	return list[:min(len(list), storyFetchesMax)], nil
}

// addContent adds what the newest content of a URL says.
func (s *URLStory) addContent(rd nearReader, segments []storage.Segment, r *Record) error {
	s.State = stateOf(segments, r.Segment)
	value, ok, err := rd.Get(storage.ParseLinks(r.Segment), []byte(r.Key), nil)
	if err != nil || !ok || r.Segment == 0 {
		return err
	}
	var o storage.FetchOutcome
	if err := storage.DecodeFetchOutcome(value, &o); err != nil {
		return err
	}
	s.Flags, s.OutlinkCount = o.Flags, len(o.Outlinks)
	s.Outlinks = o.Outlinks[:min(len(o.Outlinks), storyLinksMax)]
	if value, ok, err = rd.Get(storage.ParseTextRange(r.Segment), []byte(r.Key), value); err != nil {
		return err
	}
	if ok {
		var text storage.ParseText
		if err := storage.DecodeParseText(value, &text); err != nil {
			return err
		}
		s.Title = text.Title
	}
	return errors.Join(s.addSame(rd, r), s.addNear(rd, r))
}

// addSame adds the pages with the same signature.
func (s *URLStory) addSame(rd storage.Reader, r *Record) error {
	if r.Signature.IsZero() {
		return nil
	}
	from, to := prefixBounds(storage.AppendSignatureKey(nil, r.Signature, nil))
	sc := rd.Scan(storage.Signatures(), from, to)
	defer sc.Close()
	for len(s.SameSignature) < storySameMax && sc.Next() {
		_, page, err := storage.SplitSignatureKey(sc.Key())
		if err != nil {
			return err
		}
		if string(page) != string(r.Key) {
			s.SameSignature = append(s.SameSignature, urlkey.Key(page))
		}
	}
	return sc.Err()
}

// NearStory is a group of near-duplicates. The zero value is that of a page without a fingerprint.
type NearStory struct {
	Group storage.SimHash
	Pages []storage.Record // at most storyNearMax, with their Keys
	Keys  []urlkey.Key
	Cut   bool // there are more
}

// addNear adds the group of near-duplicates that the page belongs to.
func (s *URLStory) addNear(rd nearReader, r *Record) (err error) {
	if r.Near() == 0 {
		return nil
	}
	n := &s.Near
	if n.Group, err = rd.NearGroup(r.Near()); err != nil {
		return err
	}
	members := rd.Scan(storage.NearMembers(), n.Group.Append(nil), nil)
	defer members.Close()
	list := []storage.SimHash{}
	for members.Next() && len(list) <= storyNearMax {
		group, member, err := storage.SplitNearMemberKey(members.Key())
		if err != nil {
			return err
		}
		if group != n.Group {
			break
		}
		list = append(list, member)
	}
	if len(list) == 0 {
		list = append(list, r.Near())
	}
	pages := rd.Scan(storage.NearPages(), nil, nil)
	defer pages.Close()
	for _, member := range list {
		prefix := member.Append(nil)
		for ok := pages.SeekGE(prefix); ok && bytes.HasPrefix(pages.Key(), prefix); ok = pages.Next() {
			if n.Cut = len(n.Keys) == storyNearMax; n.Cut {
				return nil
			}
			key := urlkey.Key(pages.Key()[len(prefix):])
			var record storage.Record
			if _, err := rd.Record(key, &record); err != nil {
				return err
			}
			n.Keys, n.Pages = append(n.Keys, key), append(n.Pages, record)
		}
	}
	return errors.Join(members.Err(), pages.Err())
}

// nearReader is what addNear reads with.
type nearReader interface {
	storage.Reader
	NearGroup(s storage.SimHash) (storage.SimHash, error)
	Record(key urlkey.Key, r *storage.Record) (bool, error)
}
