// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"errors"
	"fmt"

	"github.com/seine-crawler/seine/storage"
)

// outcomes finds the outcome of the newest fetch behind a record. The record has neither failure nor target of a
// redirect; the segment in which the fetch is has both. Which one that is follows from the time of the fetch, so one or
// two segments are looked into.
type outcomes struct {
	rd       storage.Reader
	segments []storage.Segment // sealed ones, newest first
	finders  map[uint32]*storage.Finder
	inOrder  bool // keys come in order
	found    storage.FetchOutcome
	links    storage.OutlinkReader
	buf      []byte
}

// newOutcomes returns a search in a snapshot. inOrder says that keys will not decrease from call to call.
func newOutcomes(rd storage.Reader, list []storage.Segment, inOrder bool) *outcomes {
	o := &outcomes{rd: rd, inOrder: inOrder, finders: map[uint32]*storage.Finder{}}
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].State >= storage.SegmentSealed {
			o.segments = append(o.segments, list[i])
		}
	}
	return o
}

// of returns the outcome of the newest fetch of a URL, nil if it was not fetched or no segment has it. It is valid
// until the next call.
func (o *outcomes) of(key []byte, r *storage.Record) (*storage.FetchOutcome, error) {
	if r.LastFetch == 0 {
		return nil, nil
	}
	for _, s := range o.segments {
		if r.LastFetch < s.Created.UnixMilli() || r.LastFetch > s.Sealed.UnixMilli() {
			continue
		}
		if ok, err := o.read(s.Number, key); err != nil || ok && o.found.Time == r.LastFetch {
			return &o.found, err
		}
	}
	if r.Segment != 0 { // a clock that went back, or a segment that was sealed again
		if ok, err := o.read(r.Segment, key); err != nil || ok && o.found.Time == r.LastFetch {
			return &o.found, err
		}
	}
	return nil, nil
}

// read reads the outcome of a URL in a segment into o.found, without its links.
func (o *outcomes) read(segment uint32, key []byte) (ok bool, err error) {
	value, err := o.value(segment, key)
	if err != nil || value == nil {
		return false, err
	}
	if err := storage.ReadFetchOutcome(value, &o.found, &o.links); err != nil {
		return false, fmt.Errorf("parse record of segment %d at %q: %w", segment, key, err)
	}
	return true, nil
}

func (o *outcomes) value(segment uint32, key []byte) (value []byte, err error) {
	if !o.inOrder {
		var ok bool
		if o.buf, ok, err = o.rd.Get(storage.ParseLinks(segment), key, o.buf[:0]); !ok {
			return nil, err
		}
		return o.buf, err
	}
	f := o.finders[segment]
	if f == nil {
		f = storage.NewFinder(o.rd, storage.ParseLinks(segment))
		o.finders[segment] = f
	}
	return f.Find(key)
}

func (o *outcomes) close() (err error) {
	for _, f := range o.finders {
		err = errors.Join(err, f.Close())
	}
	return err
}
