// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Record is a record of crawldb with its key.
type Record struct {
	Key urlkey.Key
	storage.Record
	// Outcome is that of the newest fetch, without links; nil: it was not fetched, or no segment has it.
	Outcome *storage.FetchOutcome
	// Group is the group of near-duplicates of its content; 0: it has no fingerprint.
	Group storage.SimHash
}

// outcomes finds the outcomes of the newest fetches behind records. A record has neither failure nor target of a
// redirect; the segment in which the fetch is has both. Which one that is follows from the time of the fetch, so one or
// two segments are looked into.
//
// Records that follow each other lie in any segments. So many records are looked up together, one segment after the
// other: a walk through a segment holds files of the store open, and there may be thousands of segments.
type outcomes struct {
	rd       storage.Reader
	segments []storage.Segment // sealed ones, by the time when they were created
	sealed   []int64           // of each segment and those before it, the latest time of sealing, in ms
	wanted   []wantedOutcome
}

// wantedOutcome is a place where the outcome of a record may be.
type wantedOutcome struct {
	segment uint32
	record  int // in the batch
}

func newOutcomes(rd storage.Reader, list []storage.Segment) *outcomes {
	o := &outcomes{rd: rd}
	for _, s := range list {
		if s.State >= storage.SegmentSealed {
			o.segments = append(o.segments, s)
		}
	}
	slices.SortStableFunc(o.segments, func(a, b storage.Segment) int { return a.Created.Compare(b.Created) })
	latest := int64(0)
	for _, s := range o.segments {
		latest = max(latest, s.Sealed.UnixMilli())
		o.sealed = append(o.sealed, latest)
	}
	return o
}

// add gives a batch of records, in key order, the outcomes that are found, and their groups of near-duplicates.
func (o *outcomes) add(batch []Record) error {
	for i := range batch {
		if err := addGroup(o.rd, &batch[i]); err != nil {
			return err
		}
	}
	o.wanted = o.wanted[:0]
	for i := range batch {
		o.want(i, &batch[i])
	}
	slices.SortFunc(o.wanted, func(a, b wantedOutcome) int {
		return cmp.Or(cmp.Compare(a.segment, b.segment), cmp.Compare(a.record, b.record))
	})
	for from := 0; from < len(o.wanted); {
		segment, to := o.wanted[from].segment, from+1
		for to < len(o.wanted) && o.wanted[to].segment == segment {
			to++
		}
		if err := o.read(segment, batch, o.wanted[from:to]); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// want notes the segments that were open when a record's URL was fetched.
func (o *outcomes) want(n int, r *Record) {
	if r.LastFetch == 0 {
		return
	}
	own := r.Segment == 0 // it matters after a clock that went back, or when a segment was sealed again
	after := sort.Search(len(o.segments), func(i int) bool { return o.segments[i].Created.UnixMilli() > r.LastFetch })
	for i := after - 1; i >= 0 && r.LastFetch <= o.sealed[i]; i-- {
		if s := &o.segments[i]; r.LastFetch <= s.Sealed.UnixMilli() {
			o.wanted = append(o.wanted, wantedOutcome{s.Number, n})
			own = own || s.Number == r.Segment
		}
	}
	if !own {
		o.wanted = append(o.wanted, wantedOutcome{r.Segment, n})
	}
}

// addGroup finds the group of near-duplicates of a record's content.
func addGroup(rd storage.Reader, r *Record) (err error) {
	if r.Group = r.Near(); r.Group == 0 {
		return nil
	}
	value, ok, err := rd.Get(storage.NearGroups(), r.Group.Append(nil), nil)
	if err == nil && ok {
		r.Group, err = storage.ReadSimHash(value)
	}
	return err
}

// read looks up outcomes in one segment.
func (o *outcomes) read(segment uint32, batch []Record, wanted []wantedOutcome) (err error) {
	f := storage.NewFinder(o.rd, storage.ParseLinks(segment))
	defer func() { err = errors.Join(err, f.Close()) }()
	var found storage.FetchOutcome
	var links storage.OutlinkReader
	for _, x := range wanted {
		r := &batch[x.record]
		value, err := f.Find([]byte(r.Key))
		if err == nil && value != nil {
			err = storage.ReadFetchOutcome(value, &found, &links)
		}
		if err != nil {
			return fmt.Errorf("parse record of segment %d at %q: %w", segment, r.Key, err)
		}
		if value != nil && found.Time == r.LastFetch {
			outcome := found
			r.Outcome = &outcome
		}
	}
	return nil
}

// recordBatch gathers records until there are enough to look up their outcomes. The first batches are small, for
// readers who want few records.
type recordBatch struct {
	newest *outcomes
	list   []Record
	bytes  int // of the keys
	size   int // that the batch may have
}

// add adds a copy of a record and reports whether the batch is full.
func (b *recordBatch) add(key []byte, r *storage.Record) (full bool) {
	c := *r
	c.Meta = slices.Clone(r.Meta)
	b.list = append(b.list, Record{Key: urlkey.Key(key), Record: c})
	b.bytes += len(key)
	return len(b.list) >= b.size || b.bytes >= recordsBatchBytes
}

// flush yields the records with their outcomes and empties the batch. It reports whether more are wanted.
func (b *recordBatch) flush(yield func(Record, error) bool) (more bool, err error) {
	if err := b.newest.add(b.list); err != nil {
		return false, err
	}
	for _, r := range b.list {
		if !yield(r, nil) {
			return false, nil
		}
	}
	clear(b.list)
	b.list, b.bytes, b.size = b.list[:0], 0, min(2*b.size, recordsBatchMax)
	return true, nil
}
