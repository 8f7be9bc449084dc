// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Updated counts what updatedb changed.
type Updated struct {
	Segment    uint32
	Outcomes   uint64
	New        uint64            // records made, also of withheld links that were readmitted
	Linked     uint64            // known URLs that were linked to, also by those
	Filtered   map[string]uint64 // links refused, for now or for good, by reason
	Withheld   uint64            // URLs of the segment that are refused for now
	Readmitted Readmitted
	Woken      []urlkey.HostKey // hosts of changed records that have something due, in key order
}

// update is one run of UpdateDB.
type update struct {
	p          *Phases
	result     *Updated
	changes    *admission.Changes
	segment    uint32
	now        int64
	recrawls   []int64 // times of Recrawl, ms
	collectors []*collector
	signatures signatureNotes
	sitemaps   func() // what is to be called when crawldb has the sitemaps that collect added
}

func (p *Phases) newUpdate(segment uint32, result *Updated) *update {
	return &update{
		p: p, result: result, changes: p.env.Admission.NewChanges(), segment: segment, now: p.now(),
		signatures: signatureNotes{sorter: p.env.Sorter(storage.FoldLast)},
	}
}

// askedSince reports whether Recrawl made a URL due after the request for it had begun. It stays due then.
func (u *update) askedSince(was *storage.Record, o *storage.FetchOutcome) bool {
	return was.FetchTime > o.Time && slices.Contains(u.recrawls, was.FetchTime)
}

// close removes temporary files.
func (u *update) close() error {
	err := u.signatures.sorter.Close()
	for _, c := range u.collectors {
		err = errors.Join(err, c.close())
	}
	return err
}

// collect reads the segment's parse records and sorts what they say by the URL it is about.
func (u *update) collect(ctx context.Context, pages uint64) error {
	from, err := u.p.partsOf(storage.ParseLinks(u.segment), pages)
	if err != nil {
		return err
	}
	for range from {
		u.collectors = append(u.collectors, u.p.newCollector(u.segment, len(from)))
	}
	err = u.p.together(ctx, StepUpdateDB, len(from), func(ctx context.Context, i int) error {
		var to []byte
		if i+1 < len(from) {
			to = from[i+1]
		}
		return u.collectors[i].collect(ctx, from[i], to)
	})
	if err == nil {
		err = u.addListed(ctx)
	}
	if err == nil {
		u.sitemaps, err = u.collectors[0].addSitemaps()
	}
	if err != nil {
		return err
	}
	for _, c := range u.collectors {
		u.changes.Add(c.changes)
		u.result.Outcomes += c.outcomes
		for reason, n := range c.filtered {
			u.result.Filtered[reason] += n
		}
	}
	return nil
}

// addListed adds the URLs of the segment's fetchlist that crawldb does not know, and those that are not due and were
// not fetched since the list was made: FreeGenerate lists such, and Generate with AddDays. What was not fetched of them
// becomes due, as all others of a fetchlist stay.
func (u *update) addListed(ctx context.Context) (err error) {
	seg, _, err := u.p.env.Store.Segment(u.segment)
	if err != nil {
		return err
	}
	var r storage.Record
	sc := u.p.env.Store.Scan(storage.Fetchlist(u.segment), nil, nil)
	defer sc.Close()
	known := storage.NewFinder(u.p.env.Store, storage.Crawldb())
	defer func() { err = errors.Join(err, known.Close()) }()
	value := appendInput(nil, &input{listed: true}, nil)
	for n := 0; sc.Next(); n++ {
		if n%ctxCheckKeys == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		record, err := known.Find(sc.Key())
		if err != nil {
			return fmt.Errorf("crawldb record %s: %w", sc.Key(), err)
		}
		if record != nil {
			if err := storage.DecodeRecord(record, &r); err != nil {
				return fmt.Errorf("crawldb record %s: %w", sc.Key(), err)
			}
			if r.FetchTime <= u.now || r.LastFetch >= seg.Created.UnixMilli() {
				continue
			}
		}
		if err := u.collectors[0].inputs.Add(sc.Key(), value); err != nil {
			return fmt.Errorf("sorting URLs of the fetchlist: %w", err)
		}
	}
	return sc.Err()
}
