// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/seine-crawler/seine/storage"
)

// dedupLookup finds the pages that a dedup compares, and looks up their records.
type dedupLookup struct {
	p          *Phases
	whole      bool // all pages are compared
	order      []DedupKey
	markNear   bool
	fresh      []uint32            // segments whose pages are looked at, and were not seen by the trap watch yet
	signatures []storage.Signature // of pages that are looked at, too

	watched    bool              // the trap watch has seen the pages of fresh
	lone       bool              // pages that are alone are looked up, too
	duplicates uint64            // pages that were looked up and are marked
	found      []*groupedPages   // see dedup: pages
	groups     []*storage.Sorter // see dedup
}

func (p *Phases) newDedupLookup(whole bool, fresh []uint32, signatures []storage.Signature) dedupLookup {
	return dedupLookup{p: p, whole: whole, fresh: fresh, signatures: signatures}
}

// finders returns n finders, for a goroutine each.
func (d *dedupLookup) finders(n int) []*groupedPages {
	list := make([]*groupedPages, n)
	for i := range list {
		list[i] = &groupedPages{lone: d.lone, pages: d.p.sorterOf(n, storage.FoldLast)}
	}
	d.found = append(d.found, list...)
	return list
}

// closePages gives back the memory of what was found.
func (d *dedupLookup) closePages() (err error) {
	for _, f := range d.found {
		err = errors.Join(err, f.pages.Close())
	}
	d.found = nil
	return err
}

func (d *dedupLookup) closeGroups() (err error) {
	for _, s := range d.groups {
		err = errors.Join(err, s.Close())
	}
	d.groups = nil
	return err
}

// lookUpAll looks up the pages in question, and adds those that need a decision to their groups.
//
// Most pages of a web are alone. Such a page needs a decision only if it is a duplicate: the page that it was equal to
// has left. That is rare, and known by a count: where all duplicates of crawldb are among the pages that are not alone,
// no other is looked up. At the end of a crawl of 30,000 pages, with 10^6 known, looking all up took 2.7 s of processor
// time; this takes 0.9.
func (d *dedupLookup) lookUpAll(ctx context.Context, touched []storage.SimHash) error {
	if d.lone = !d.whole; d.lone {
		return d.lookUpSome(ctx, touched)
	}
	all, err := d.p.duplicates(ctx)
	if err != nil {
		return err
	}
	if d.fresh, err = d.p.batchSegments(); err != nil {
		return err
	}
	if err = d.lookUpSome(ctx, touched); err != nil || d.duplicates == all {
		return err
	}
	d.lone, d.watched, d.duplicates = true, true, 0
	if err := errors.Join(d.closePages(), d.closeGroups()); err != nil {
		return err
	}
	return d.lookUpSome(ctx, touched)
}

// duplicates counts the pages that are marked as duplicates.
func (p *Phases) duplicates(ctx context.Context) (sum uint64, err error) {
	sc := p.env.Store.Scan(storage.HostCountsRange(), nil, nil)
	defer sc.Close()
	var c storage.HostCounts
	for n := 0; sc.Next(); n++ {
		if n%ctxCheckKeys == 0 && ctx.Err() != nil {
			return sum, ctx.Err()
		}
		if err := storage.DecodeHostCounts(sc.Value(), &c); err != nil {
			return sum, fmt.Errorf("hostdb counts of %s: %w", sc.Key(), err)
		}
		sum += uint64(c.ByStatus[storage.StatusDuplicate])
	}
	return sum, sc.Err()
}

// lookUpSome looks up the pages in question, those alone with their signature only if d.lone is set.
func (d *dedupLookup) lookUpSome(ctx context.Context, touched []storage.SimHash) error {
	err := d.find(ctx)
	if err == nil && d.markNear {
		err = d.findNear(ctx, touched)
	}
	if err == nil {
		err = d.load(ctx)
	}
	return err
}

// find walks the signatures in question, group by group. Those of many pages are walked in parts by several goroutines:
// of 24 µs a page that led indexing, dedup took 19 while one goroutine did all of it (30,000 pages, a CPU profile).
func (d *dedupLookup) find(ctx context.Context) error {
	if d.whole {
		all := d.finders(1)[0]
		if err := d.findFresh(ctx, all); err != nil {
			return err
		}
		return d.findAll(ctx, all)
	}
	wanted := d.p.env.Sorter(storage.FoldLast)
	defer wanted.Close()
	for _, segment := range d.fresh {
		if err := d.signaturesOf(ctx, segment, wanted); err != nil {
			return fmt.Errorf("reading signatures of segment %d: %w", segment, err)
		}
	}
	for _, signature := range d.signatures {
		if err := wanted.Add(signature[:], nil); err != nil {
			return fmt.Errorf("sorting signatures: %w", err)
		}
	}
	parts, err := storage.SortParts(d.p.sharers(uint64(wanted.Len())), nil, wanted)
	if err != nil {
		return fmt.Errorf("sorting signatures: %w", err)
	}
	defer storage.CloseParts(parts)
	finders := d.finders(len(parts))
	return d.p.together(ctx, StepDedup, len(parts), func(ctx context.Context, i int) error {
		return d.findWanted(ctx, parts[i].Run, finders[i])
	})
}

// findWanted adds the pages of some signatures.
func (d *dedupLookup) findWanted(ctx context.Context, wanted *storage.Run, to *groupedPages) error {
	sc := d.p.env.Store.Scan(storage.Signatures(), nil, nil)
	defer sc.Close()
	for wanted.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		ok := sc.SeekGE(wanted.Key())
		for ; ok && bytes.HasPrefix(sc.Key(), wanted.Key()); ok = sc.Next() {
			if err := to.addEntry(sc.Key()); err != nil {
				return err
			}
		}
	}
	return errors.Join(sc.Err(), wanted.Err(), to.endGroup(true))
}

// signaturesOf adds the signatures of a segment's pages. Where a fetch brought no content, that is what crawldb still
// knows: what a server confirmed was a duplicate until then, and what is gone may have been the page that stayed.
func (d *dedupLookup) signaturesOf(ctx context.Context, segment uint32, wanted *storage.Sorter) (err error) {
	sc, records := d.p.env.Store.Scan(storage.ParseLinks(segment), nil, nil),
		storage.NewFinder(d.p.env.Store, storage.Crawldb())
	defer func() { err = errors.Join(err, sc.Close(), records.Close()) }()
	for n := 0; sc.Next(); n++ {
		if n%ctxCheckKeys == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		signature, err := storage.OutcomeSignature(sc.Value())
		if err == nil && signature.IsZero() {
			signature, err = signatureIn(records, sc.Key())
		}
		if err == nil && !signature.IsZero() {
			err = wanted.Add(signature[:], nil)
		}
		if err != nil {
			return fmt.Errorf("parse record %s: %w", sc.Key(), err)
		}
	}
	return sc.Err()
}

// signatureIn returns the signature that crawldb has of a page; zero: none.
func signatureIn(records *storage.Finder, key []byte) (storage.Signature, error) {
	var r storage.Record
	value, err := records.Find(key)
	if err == nil && value != nil {
		err = storage.DecodeRecord(value, &r)
	}
	return r.Signature, err
}

// batchSegments are those of batch mode that are not indexed yet: a dedup of everything counts their pages for the trap
// watch. (A crawl names its segments.)
func (p *Phases) batchSegments() (numbers []uint32, err error) {
	list, err := p.env.Store.SegmentList()
	if err != nil {
		return nil, fmt.Errorf("listing segments: %w", err)
	}
	for _, s := range list {
		if s.Batch && s.State >= storage.SegmentUpdated && s.State < storage.SegmentIndexed {
			numbers = append(numbers, s.Number)
		}
	}
	return numbers, nil
}

// findFresh adds the pages that the trap watch is to see, without a group. What is added of them later takes its place.
func (d *dedupLookup) findFresh(ctx context.Context, to *groupedPages) error {
	if d.lone {
		return nil // all pages are looked up
	}
	for _, segment := range d.fresh {
		sc := d.p.env.Store.Scan(storage.ParseLinks(segment), nil, nil)
		err := error(nil)
		for n := 0; err == nil && sc.Next(); n++ {
			if n%ctxCheckKeys == 0 {
				err = ctx.Err()
			}
			err = errors.Join(err, to.pages.Add(sc.Key(), nil))
		}
		if err = errors.Join(err, sc.Close()); err != nil {
			return fmt.Errorf("reading pages of segment %d: %w", segment, err)
		}
	}
	return nil
}

// findAll walks the whole range.
func (d *dedupLookup) findAll(ctx context.Context, to *groupedPages) error {
	sc := d.p.env.Store.Scan(storage.Signatures(), nil, nil)
	defer sc.Close()
	way := storage.NewPacer(d.p.env.GiveWay)
	for n := 0; sc.Next(); n++ {
		way.Step()
		if n%ctxCheckKeys == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := to.addEntry(sc.Key()); err != nil {
			return err
		}
	}
	return errors.Join(sc.Err(), to.endGroup(true))
}

// load looks up the pages that were found, and adds those that need a decision to groups. On an earlier host, dedup
// fell from 24 to 4 µs a page when it joined instead of looking each signature up.
func (d *dedupLookup) load(ctx context.Context) error {
	pages := make([]*storage.Sorter, len(d.found))
	n := 0
	for i, f := range d.found {
		pages[i] = f.pages
		n += f.pages.Len()
	}
	parts, err := storage.SortParts(d.p.sharers(uint64(n)), nil, pages...)
	if err != nil {
		return fmt.Errorf("sorting pages: %w", err)
	}
	defer storage.CloseParts(parts)
	loaders, watching := make([]pageLoader, len(parts)), &sync.Mutex{}
	for i := range loaders {
		groups := d.p.sorterOf(len(parts), storage.FoldLast)
		d.groups = append(d.groups, groups)
		loaders[i] = pageLoader{p: d.p, order: d.order, markNear: d.markNear, watching: watching, groups: groups}
		if !d.watched {
			loaders[i].fresh = d.fresh
		}
	}
	err = d.p.together(ctx, StepDedup, len(parts), func(ctx context.Context, i int) error {
		return storage.MergeJoin(ctx, d.p.env.Store, storage.Crawldb(), parts[i].Run, loaders[i].one)
	})
	for _, l := range loaders {
		d.duplicates += l.duplicates
	}
	return err
}

// findNear adds the pages of the groups in question to those whose records are looked up.
func (d *dedupLookup) findNear(ctx context.Context, touched []storage.SimHash) error {
	pages := d.p.env.Store.Scan(storage.NearPages(), nil, nil)
	defer pages.Close()
	to := d.found[len(d.found)-1] // the last: a page that also has a signature is of the group that is added last
	if d.whole {
		return d.findAllNear(ctx, pages, to)
	}
	var key []byte
	for n, group := range touched {
		if n%ctxCheckKeys == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		key = appendNearKey(key[:0], group)
		list, err := d.p.nearGroup(group)
		if err != nil {
			return err
		}
		for _, s := range list {
			prefix := s.Append(nil)
			for ok := pages.SeekGE(prefix); ok && bytes.HasPrefix(pages.Key(), prefix); ok = pages.Next() {
				if err := to.addNear(key, pages.Key()); err != nil {
					return err
				}
			}
		}
	}
	return errors.Join(pages.Err(), to.endGroup(true))
}

// findAllNear walks all fingerprints beside their groups. The pages of a group come apart, so only a page that no other
// has the fingerprint of, and that is in no group, is known to be alone.
func (d *dedupLookup) findAllNear(ctx context.Context, pages *storage.Scanner, to *groupedPages) error {
	groups := d.p.env.Store.Scan(storage.NearGroups(), nil, nil)
	defer groups.Close()
	more := groups.Next()
	var key []byte
	way := storage.NewPacer(d.p.env.GiveWay)
	for ok, n := pages.Next(), 0; ok; n++ {
		way.Step()
		if n%ctxCheckKeys == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		s, _, err := storage.SplitNearPageKey(pages.Key())
		if err != nil {
			return err
		}
		prefix := s.Append(nil)
		for more && bytes.Compare(groups.Key(), prefix) < 0 {
			more = groups.Next()
		}
		group, grouped := s, more && bytes.Equal(groups.Key(), prefix)
		if grouped {
			if group, err = storage.ReadSimHash(groups.Value()); err != nil {
				return err
			}
		}
		key = appendNearKey(key[:0], group)
		for ; ok && bytes.HasPrefix(pages.Key(), prefix); ok = pages.Next() {
			if err := to.addNear(key, pages.Key()); err != nil {
				return err
			}
		}
		if err := to.endGroup(!grouped); err != nil { // those of a group come apart
			return err
		}
	}
	return errors.Join(groups.Err(), pages.Err())
}
