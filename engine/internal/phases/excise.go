// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"
	"errors"
	"fmt"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Excised counts what Excise removed.
type Excised struct {
	Records  uint64 // of crawldb
	Captures uint64 // of cdx; what they are of stays in the WARC files until these are purged
	// Signatures are those of the records, which may have been the survivors of other pages. nil: too many.
	Signatures []storage.Signature
}

// Excise takes a part out of this store that another directory has by now, and refuses its URLs until ImportRecords
// brings it back: links to them are withheld meanwhile. It leaves crawldb, hostdb, the due range, withheld links,
// lowered pages, signatures, fetchlists, cdx, parse records and the index, all in one ingestion; no segment may be
// between states. Of linkdb go the links within the part: those between its pages and others stay. Those of its pages
// are links that another directory has found from now on, as ImportLinks brings them. (They keep their segments where
// a target has too many links to merge its rows.)
//
//	crawldb ─▶ keys by day, signatures, documents
//	cdx     ─▶ segments whose WARC files hold some of it
//	linkdb  ─▶ rows without the links within, and merged ones of what its pages link to elsewhere
//	else    ─▶ one tombstone for each range: the keys of a part are neighbours there
func (p *Phases) Excise(ctx context.Context, part urlkey.Part) (Excised, error) {
	x := excision{
		p: p, ctx: ctx, part: part, ing: p.env.Store.NewIngestion(), changes: p.env.Admission.NewChanges(),
		signatures: p.env.Sorter(storage.FoldLast), days: p.env.Sorter(storage.FoldLast),
	}
	x.from, x.until = part.Bounds()
	p.places.forgets()
	defer x.ing.Abort()
	defer x.signatures.Close()
	defer x.days.Close()
	for _, step := range []func() error{x.records, x.due, x.captures, x.segments, x.links, x.ranges, x.commit} {
		if err := step(); err != nil {
			return x.result, fmt.Errorf("taking out a part: %w", err)
		}
	}
	return x.result, nil
}

// excision is one run of Excise.
type excision struct {
	p           *Phases
	ctx         context.Context
	part        urlkey.Part
	from, until []byte
	ing         *storage.Ingestion
	changes     *admission.Changes
	signatures  *storage.Sorter // see noteSignature
	days        *storage.Sorter // keys by day in the due range
	result      Excised
}

// each calls fn with the keys of the part in a range.
func (x *excision) each(r storage.Range, fn func(key, value []byte) error) (err error) {
	sc := x.p.env.Store.Scan(r, x.from, x.until)
	defer func() { err = errors.Join(err, sc.Close()) }()
	for n := 0; sc.Next(); n++ {
		if n%ctxCheckKeys == 0 && x.ctx.Err() != nil {
			return x.ctx.Err()
		}
		if err := fn(sc.Key(), sc.Value()); err != nil {
			return err
		}
	}
	return sc.Err()
}

// records notes what is bound to records and stands elsewhere.
func (x *excision) records() error {
	documents := x.p.env.Deletes(x.ing)
	defer documents.Abort()
	var was storage.Record
	var day []byte
	x.result.Signatures = []storage.Signature{}
	err := x.each(storage.Crawldb(), func(key, value []byte) error {
		if err := storage.DecodeRecord(value, &was); err != nil {
			return fmt.Errorf("crawldb record %s: %w", key, err)
		}
		x.result.Records++
		x.result.Signatures = addSignature(x.result.Signatures, was.Signature)
		if !was.IsNew() {
			day = storage.AppendDueDayKey(day[:0], &was, key)
			if err := x.days.Add(day, nil); err != nil {
				return fmt.Errorf("sorting what is due: %w", err)
			}
		}
		return errors.Join(noteSignature(x.signatures, key, &was, &storage.Record{}), documents.Delete(urlkey.Key(key)))
	})
	if err != nil {
		return err
	}
	if _, err := documents.Finish(); err != nil {
		return fmt.Errorf("removing documents from the index: %w", err)
	}
	return writeSignatures(x.ctx, x.signatures, x.ing)
}

// due takes out what is due of the part's hosts, and then by day.
func (x *excision) due() error {
	table, until := x.ing.Table(storage.Due()), x.until
	if until == nil {
		until = storage.AppendDueDay(nil, 0) // keys by day are behind all hosts
	}
	run, err := x.days.Sort()
	if err != nil {
		return fmt.Errorf("sorting what is due: %w", err)
	}
	defer run.Close()
	if err := table.DeleteRange(x.from, until); err != nil {
		return err
	}
	for run.Next() {
		if err := table.Delete(run.Key()); err != nil {
			return err
		}
	}
	return run.Err()
}

// captures counts the rows of cdx and notes their segments, for a purge.
func (x *excision) captures() error {
	var c storage.CDX
	return x.each(storage.CDXRange(), func(key, value []byte) error {
		if err := storage.DecodeCDX(value, &c); err != nil {
			return fmt.Errorf("cdx at %q: %w", key, err)
		}
		x.result.Captures++
		x.changes.Set(storage.AppendDeletedInKey(nil, c.Segment), nil)
		return nil
	})
}

// segments takes the part out of parse records and fetchlists.
func (x *excision) segments() error {
	list, err := x.p.env.Store.SegmentList()
	if err != nil {
		return fmt.Errorf("listing segments: %w", err)
	}
	for _, s := range list {
		if s.State == storage.SegmentOpen {
			err = x.ing.Table(storage.Fetchlist(s.Number)).DeleteRange(x.from, x.until)
		} else {
			err = x.ing.DeleteParsed(s.Number, x.from, x.until)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// links takes the links within the part out of linkdb, and makes those of its pages to others links of elsewhere.
func (x *excision) links() error {
	err := error(nil)
	if x.from != nil {
		err = x.linksFrom(nil, x.from)
	}
	if err == nil {
		err = x.linksWithin()
	}
	if err == nil && x.until != nil {
		err = x.linksFrom(x.until, nil)
	}
	return err
}

// linksFrom makes the links of the part's pages to some targets links of elsewhere.
func (x *excision) linksFrom(from, until []byte) error {
	m := merging{
		from: from, until: until, table: x.ing.Table(storage.Linkdb()), limit: x.p.mergedBytes(),
		elsewhere: x.part.Has, way: storage.NewPacer(x.p.env.GiveWay),
	}
	return m.run(x.ctx, x.p.env.Store, 0)
}

// linksWithin takes the links within the part out.
func (x *excision) linksWithin() error {
	table := x.ing.Table(storage.Linkdb())
	var row storage.LinkRow
	return x.each(storage.Linkdb(), func(key, value []byte) error {
		_, segment, err := storage.SplitLinkdbKey(key)
		if err != nil {
			return err
		}
		_, merged := storage.MergedCounts(value)
		row.Reset(merged)
		within := false
		err = storage.VisitLinks(value, segment, func(from, anchor []byte, of uint32) bool {
			if x.part.Has(from) {
				within = true
			} else {
				row.Add(from, anchor, of)
			}
			return true
		})
		switch {
		case err != nil:
			return fmt.Errorf("inlinks at %q: %w", key, err)
		case !within:
			return nil
		case row.Empty():
			return table.Delete(key)
		}
		return table.Set(key, row.Append(nil))
	})
}

// ranges takes the part out of the ranges in which it is one run of keys.
func (x *excision) ranges() error {
	for _, r := range []storage.Range{
		storage.Crawldb(), storage.HostCountsRange(), storage.HostFactsRange(), storage.WithheldRange(),
		storage.LoweredRange(), storage.CDXRange(),
	} {
		if err := x.ing.Table(r).DeleteRange(x.from, x.until); err != nil {
			return err
		}
	}
	return nil
}

func (x *excision) commit() error {
	x.changes.Split(x.part)
	x.changes.Set([]byte(metaForeign), nil) // links from the part to other pages stay
	withheld, err := x.p.anyWithheld()
	if err == nil {
		err = x.changes.WriteTo(x.ing, withheld)
	}
	if err == nil {
		err = x.ing.Commit()
	}
	if err != nil {
		return err
	}
	return x.changes.Commit()
}
