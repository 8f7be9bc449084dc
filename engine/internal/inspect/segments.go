// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Segments streams all segments in order of number.
func (in *Inspect) Segments(ctx context.Context) iter.Seq2[storage.Segment, error] {
	return func(yield func(storage.Segment, error) bool) {
		list, err := in.env.Store.SegmentList()
		if err != nil {
			yield(storage.Segment{}, fmt.Errorf("listing segments: %w", err))
			return
		}
		for _, s := range list {
			if err := ctx.Err(); err != nil {
				yield(storage.Segment{}, err)
				return
			}
			if !yield(s, nil) {
				return
			}
		}
	}
}

// Segment returns one segment. Where there is none of this number, the error wraps ErrNotFound.
func (in *Inspect) Segment(number uint32) (storage.Segment, error) {
	s, ok, err := in.env.Store.Segment(number)
	if err == nil && !ok {
		err = ErrNotFound
	}
	if err != nil {
		return s, fmt.Errorf("looking up segment %d: %w", number, err)
	}
	return s, nil
}

// ParseRecord is what a segment has of one URL.
type ParseRecord struct {
	Segment uint32
	Key     urlkey.Key
	// Outcome and Text (nil: the page was not parsed) are valid until the next step.
	Outcome *storage.FetchOutcome
	Text    *storage.ParseText
}

// ParseRecords streams the parse records of a segment in key order, or that of one URL in it; the zero URL means all.
// Segment 0 means the newest that has some, or with a URL the one that has the URL's newest parse record. A segment
// that is not sealed has none yet, but of one URL it has what that will be. Where there is no parse record, the error
// wraps ErrNotFound and says why.
func (in *Inspect) ParseRecords(ctx context.Context, segment uint32, u urlkey.URL) iter.Seq2[ParseRecord, error] {
	return func(yield func(ParseRecord, error) bool) {
		open, err := in.unsealedRecord(segment, u)
		if err != nil {
			yield(ParseRecord{}, err)
			return
		}
		number, err := in.parsedSegment(segment, u)
		if open != nil && (number <= open.Segment || errors.Is(err, ErrNotFound)) {
			yield(*open, nil)
			return
		}
		if err != nil {
			yield(ParseRecord{}, err)
			return
		}
		var from, to []byte
		if !u.IsZero() {
			from, to = []byte(u.Key()), append([]byte(u.Key()), 0)
		}
		found := false
		for p, err := range in.parseRecords(ctx, number, from, to) {
			found = true
			if !yield(p, err) || err != nil {
				return
			}
		}
		if found {
			return
		}
		if u.IsZero() {
			err = fmt.Errorf("reading segment %d: parse records: %w: it has none", number, ErrNotFound)
		} else {
			err = fmt.Errorf("reading segment %d: parse record of %s: %w: it was not fetched there",
				number, u, ErrNotFound)
		}
		yield(ParseRecord{}, err)
	}
}

// unsealedRecord returns the newest record of a URL in a segment that is not sealed, or in one of them; nil: there is
// none.
func (in *Inspect) unsealedRecord(segment uint32, u urlkey.URL) (*ParseRecord, error) {
	if u.IsZero() {
		return nil, nil
	}
	v, err := in.visitsOf(u)
	if err != nil {
		return nil, err
	}
	var newest *ParseRecord
	for i := range v.unsealed {
		x := &v.unsealed[i]
		if (segment == 0 || segment == x.Segment) && (newest == nil || newest.Segment <= x.Segment) {
			newest = &ParseRecord{Segment: x.Segment, Key: u.Key(), Outcome: &x.Outcome, Text: x.Text}
		}
	}
	return newest, v.Close()
}

// parsedSegment chooses the segment to read parse records from.
func (in *Inspect) parsedSegment(segment uint32, u urlkey.URL) (uint32, error) {
	switch {
	case segment != 0:
		s, err := in.Segment(segment)
		if err == nil && s.State < storage.SegmentSealed {
			err = fmt.Errorf("reading segment %d: parse records: %w: it is %s, and has them once it is sealed",
				segment, ErrNotFound, s.State)
		}
		return segment, err
	case !u.IsZero():
		return in.segmentOf(u)
	}
	list, err := in.env.Store.SegmentList()
	if err != nil {
		return 0, fmt.Errorf("listing segments: %w", err)
	}
	for i := len(list) - 1; i >= 0; i-- { // the last segment of a crawl often has nothing
		if list[i].State < storage.SegmentSealed {
			continue
		}
		if some, err := in.isParsed(list[i].Number); some || err != nil {
			return list[i].Number, err
		}
	}
	return 0, fmt.Errorf("parse records: %w: no sealed segment has any", ErrNotFound)
}

// isParsed reports whether a segment has a parse record.
func (in *Inspect) isParsed(number uint32) (bool, error) {
	sc := in.env.Store.Scan(storage.ParseLinks(number), nil, nil)
	defer sc.Close()
	return sc.Next(), sc.Err()
}

// segmentOf is the newest segment with a parse record of a URL: crawldb may not know it yet.
func (in *Inspect) segmentOf(u urlkey.URL) (uint32, error) {
	list, err := in.env.Store.SegmentList()
	for i := len(list) - 1; i >= 0 && err == nil; i-- {
		var ok bool
		if _, ok, err = in.env.Store.Get(storage.ParseLinks(list[i].Number), []byte(u.Key()), nil); ok {
			return list[i].Number, err
		}
	}
	if err != nil {
		return 0, fmt.Errorf("parse record of %s: %w", u, err)
	}
	return 0, fmt.Errorf("parse record of %s: %w: it was not fetched", u, ErrNotFound)
}

// parseRecords scans outcomes, with a Finder beside it for the texts.
func (in *Inspect) parseRecords(
	ctx context.Context, segment uint32, from, to []byte,
) iter.Seq2[ParseRecord, error] {
	return func(yield func(ParseRecord, error) bool) {
		snapshot := in.env.Store.Snapshot()
		defer snapshot.Close()
		texts := storage.NewFinder(snapshot, storage.ParseTextRange(segment))
		defer texts.Close()
		outcomes := scan(ctx, snapshot, storage.ParseLinks(segment), from, to, storage.DecodeFetchOutcome)
		var text storage.ParseText
		for e, err := range outcomes {
			var p ParseRecord
			if err == nil {
				p = ParseRecord{Segment: segment, Key: urlkey.Key(e.key), Outcome: e.value}
				p.Text, err = findText(texts, e.key, &text)
			}
			if !yield(p, err) || err != nil {
				return
			}
		}
	}
}

func findText(texts *storage.Finder, key []byte, text *storage.ParseText) (*storage.ParseText, error) {
	value, err := texts.Find(key)
	if err == nil && value == nil {
		return nil, nil
	}
	if err == nil {
		err = storage.DecodeParseText(value, text)
	}
	if err != nil {
		return nil, fmt.Errorf("reading parse text at %q: %w", key, err)
	}
	return text, nil
}
