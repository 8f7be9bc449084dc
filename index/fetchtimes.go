// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"time"

	"github.com/seine-crawler/seine/storage"
)

// FetchTimes reads from a snapshot of the store when documents were fetched, as Hit.Fetched says it. Of documents in
// the order of their keys it reads the column once for 128. One goroutine at a time may use it.
type FetchTimes struct {
	rd       storage.Reader
	moved    *moved
	segments map[uint32]*fetchGroup
}

// fetchGroup are the times of the documents of an index segment that were wanted last.
type fetchGroup struct {
	seg   *segment
	group int64 // -1: none
	times storedValue
}

// NewFetchTimes reads the registry of index segments.
func NewFetchTimes(rd storage.Reader) (*FetchTimes, error) {
	m, err := newMoved(rd)
	return &FetchTimes{rd: rd, moved: m, segments: map[uint32]*fetchGroup{}}, err
}

// Of returns when the text of a document was fetched, which Located says to be at a place; zero: the index does not
// know it.
func (f *FetchTimes) Of(key []byte, at Location) (time.Time, error) {
	at, err := f.moved.follow(string(key), at)
	if err != nil {
		return time.Time{}, err
	}
	g := f.segments[at.Segment]
	if g == nil {
		if g, err = f.open(at.Segment); err != nil {
			return time.Time{}, err
		}
		f.segments[at.Segment] = g
	}
	if at.Doc >= g.seg.info.Docs {
		return time.Time{}, newKeyReader(f.rd, g.seg).missing(at.Doc)
	}
	group := at.Doc / groupSize
	if g.group != int64(group) {
		if g.times, err = g.seg.readGroup(f.rd, columnFetched, group); err != nil {
			return time.Time{}, fmt.Errorf("index segment %d: column %c: %w", at.Segment, columnFetched, err)
		}
		g.group = int64(group)
	}
	if !g.times.ok {
		return time.Time{}, nil
	}
	r := storedReader{b: g.times.b}
	v, err := r.number(at.Doc%groupSize, min(g.seg.info.Docs-group*groupSize, groupSize))
	if ms, ok := columnTimeMS(v); ok && err == nil {
		return time.UnixMilli(ms).UTC(), nil
	}
	return time.Time{}, err
}

func (f *FetchTimes) open(number uint32) (*fetchGroup, error) {
	row, ok, err := f.rd.Get(storage.IndexRange(kindSegments), numberKey(number), nil)
	if err == nil && !ok {
		err = fmt.Errorf("%w: index segment %d is not registered", storage.ErrCorrupt, number)
	}
	if err != nil {
		return nil, err
	}
	seg, err := registered(numberKey(number), row)
	return &fetchGroup{seg: seg, group: -1}, err
}
