// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// DedupOptions say which pages are compared, and how.
type DedupOptions struct {
	// Segments limits the work to signatures that pages of these segments have, or had when a fetch brought no content;
	// nil means all.
	Segments []uint32
	// Signatures limits it to these instead; nil does not.
	Signatures []storage.Signature
	// Order is what decides which page survives, the first key first; nil means DefaultDedupOrder. The URL's key
	// decides at last, whatever the order.
	Order []DedupKey
	// MarkNear treats pages of one group of near-duplicates as it does equal pages. Signatures then decide for pages
	// without a fingerprint only.
	MarkNear bool
	// Restored, if not nil, is called with every page that is a duplicate no more, in key order, before that is
	// ingested: the index may lack its document.
	Restored func(key []byte) error
}

// Deduped counts what dedup decided.
type Deduped struct {
	Groups   uint64 // signatures shared by several URLs
	Marked   uint64 // became db_duplicate
	Restored uint64
	Deleted  uint64 // left the index
	Near     uint64 // fingerprints that GroupNear looked at
	Closed   int    // prefixes that were found to be traps
}

// Dedup finds pages with equal signatures, keeps the best of each group and makes the others
// db_duplicate; those leave the index in the same ingestion. Before that it groups near-duplicates: see GroupNear. A
// page that was a duplicate and is now the best of its group, or alone, is restored.
//
// Which page is the best is a function of crawldb alone: of what DedupOptions.Order names, then of the URL's
// key. Neither the order nor the speed in which pages arrived matters. Pages that a live filter denies, which the index
// does not have, are left out and stay what they are. A segment that there is not is ErrNoSegment.
func (p *Phases) Dedup(ctx context.Context, o DedupOptions) (Deduped, error) {
	if o.Order == nil {
		o.Order = DefaultDedupOrder()
	}
	for _, number := range o.Segments { // a wrong number compares nothing: that must not look as if nothing were equal
		_, err := SegmentIn(p.env.Store, number, "dedup", storage.SegmentOpen, storage.SegmentSealed,
			storage.SegmentUpdated, storage.SegmentLinked, storage.SegmentIndexed)
		if err != nil {
			return Deduped{}, err
		}
	}
	whole, rules := o.Segments == nil && o.Signatures == nil, p.env.Admission.LiveRules()
	if whole {
		groups, settled, err := p.deduped(o.Order, o.MarkNear, rules)
		if settled || err != nil {
			return Deduped{Groups: groups}, err
		}
	}
	d := dedup{
		dedupLookup: p.newDedupLookup(whole, o.Segments, o.Signatures),
		rules:       rules, restored: o.Restored,
		trapChanges: p.env.Admission.NewChanges(), changes: p.env.Sorter(storage.FoldLast),
	}
	d.order, d.markNear = o.Order, o.MarkNear
	d.copies = &copies{watch: p.env.Admission, sorter: p.env.Sorter(foldCopies)}
	defer d.close()
	looked, touched, err := d.groupNear(ctx)
	d.result.Near = looked
	d.since = p.env.Store.Moment() // what groupNear wrote deletes marks
	if err == nil {
		err = d.lookUpAll(ctx, touched)
	}
	if err == nil {
		err = d.closePages() // the next step needs its memory
	}
	if err == nil {
		err = errors.Join(d.decideAll(ctx), d.closeGroups())
	}
	if err == nil {
		err = errors.Join(d.copies.count(ctx), d.copies.sorter.Close())
	}
	if err == nil {
		d.result.Closed = p.env.Admission.CloseTraps(d.trapChanges)
		err = d.write(ctx)
	}
	if err != nil {
		return d.result, fmt.Errorf("dedup: %w", err)
	}
	return d.result, nil
}

// dedup is one run of Dedup. Signatures and URLs have no order in common, so the pages of a signature
// are looked up by way of two sorters:
//
//	signatures ─▶ pages: key → signature, alone?         ─ join with crawldb ─▶
//	              groups: signature, rank, key → record  ─ group by group ─▶ changes: key → record
//
// A million pages may be equal, so no group is held in memory: the rank has the best page of a group come first.
type dedup struct {
	dedupLookup
	since       uint64 // see storage.Store.Moment
	rules       uint64 // of the live filters, when it began
	restored    func(key []byte) error
	trapChanges *admission.Changes
	grouped     []storage.SimHash // kept in storage.NearChanged, ascending
	result      Deduped
	changes     *storage.Sorter
	copies      *copies
	value       []byte
}

func (d *dedup) close() {
	d.closePages()
	d.closeGroups()
	d.changes.Close()
	d.copies.sorter.Close()
}

// decideAll goes through the groups.
func (d *dedup) decideAll(ctx context.Context) error {
	parts, err := storage.SortParts(1, nil, d.groups...)
	if err != nil {
		return fmt.Errorf("sorting groups: %w", err)
	}
	defer storage.CloseParts(parts)
	run := parts[0].Run
	var signature storage.Signature
	rank := len(signature) + rankWidth(d.order)
	for n, size := 0, 0; run.Next(); n++ {
		if n%ctxCheckKeys == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if !bytes.HasPrefix(run.Key(), signature[:]) {
			copy(signature[:], run.Key())
			size = 0
		}
		if size++; size == 2 {
			d.result.Groups++
		}
		if err := d.decide(signature[:], run.Key()[rank:], run.Value(), size > 1); err != nil {
			return err
		}
	}
	return run.Err()
}

// decide keeps the best page of a group and marks the others.
func (d *dedup) decide(group, key, record []byte, duplicate bool) error {
	var r storage.Record
	if err := storage.DecodeRecord(record, &r); err != nil {
		return fmt.Errorf("crawldb record %s: %w", key, err)
	}
	if len(d.fresh) > 0 {
		if err := d.copies.add(group, key, &r, slices.Contains(d.fresh, r.Segment)); err != nil {
			return err
		}
	}
	if duplicate == (r.Status == storage.StatusDuplicate) {
		return nil
	}
	r.Status = storage.StatusFetched
	if duplicate {
		r.Status = storage.StatusDuplicate
		d.result.Marked++
	} else {
		d.result.Restored++
	}
	d.value = storage.AppendRecord(d.value[:0], &r)
	if err := d.changes.Add(key, d.value); err != nil {
		return fmt.Errorf("sorting changes: %w", err)
	}
	return nil
}

// write ingests the changed records together with the deletions from the index and the closed prefixes.
func (d *dedup) write(ctx context.Context) error {
	ing := d.p.env.Store.NewIngestion()
	defer ing.Abort()
	if d.whole && d.rules == d.p.env.Admission.LiveRules() {
		ing.Mark(dedupMark, appendDeduped(nil, d.order, d.markNear, d.rules, d.result.Groups), d.since)
	}
	if len(d.grouped) > 0 {
		queue := ing.Table(storage.NearChanged())
		for _, s := range d.grouped {
			if err := queue.Delete(s.Append(nil)); err != nil {
				return err
			}
		}
	}
	if d.changes.Len() == 0 && d.result.Closed == 0 {
		ing.KeepRefreshed() // no document depends on what is near which
		return d.p.commit(StepDedup, ing)
	}
	run, err := d.changes.Sort()
	if err != nil {
		return fmt.Errorf("sorting changes: %w", err)
	}
	defer run.Close()
	if err := d.writeRecords(ctx, run, ing); err != nil {
		return err
	}
	if err := d.trapChanges.WriteTo(ing, false); err != nil {
		return err
	}
	if err := d.p.commit(StepDedup, ing); err != nil {
		return err
	}
	return d.trapChanges.Commit()
}

func (d *dedup) writeRecords(ctx context.Context, run *storage.Run, ing *storage.Ingestion) error {
	records, hosts := ing.Table(storage.Crawldb()), d.p.newHostTally(ing)
	defer hosts.close()
	if err := hosts.keepRefreshed(ing); err != nil {
		return err
	}
	var deletes Deletes
	if d.result.Marked > 0 {
		deletes = d.p.env.Deletes(ing)
		defer deletes.Abort()
	}
	store := d.p.env.Store
	err := storage.MergeJoin(ctx, store, storage.Crawldb(), run, func(key []byte, values [][]byte, old []byte) error {
		var was, r storage.Record
		if err := errors.Join(storage.DecodeRecord(old, &was), storage.DecodeRecord(values[0], &r)); err != nil {
			return fmt.Errorf("crawldb record %s: %w", key, err)
		}
		if r.Status == storage.StatusDuplicate {
			if err := deletes.Delete(urlkey.Key(key)); err != nil {
				return fmt.Errorf("removing %s from the index: %w", key, err)
			}
		} else if d.restored != nil {
			if err := d.restored(key); err != nil {
				return err
			}
		}
		if err := hosts.change(key, true, &was, &r); err != nil {
			return err
		}
		return records.Set(key, values[0])
	})
	if err != nil {
		return err
	}
	if err := hosts.finish(); err != nil {
		return err
	}
	if deletes == nil {
		return nil
	}
	if d.result.Deleted, err = deletes.Finish(); err != nil {
		return fmt.Errorf("removing duplicates from the index: %w", err)
	}
	return nil
}

// groupNear brings the groups up to date, and reports how many fingerprints it looked at. If they are to be marked, and
// not all of them will be looked at anyway, it returns those that changed, and keeps their fingerprints queued until
// the records are written.
func (d *dedup) groupNear(ctx context.Context) (looked uint64, touched []storage.SimHash, err error) {
	keep := d.markNear && !d.whole
	if looked, err = d.p.GroupNear(ctx, keep); err != nil || !keep {
		return looked, nil, err
	}
	sc := d.p.env.Store.Scan(storage.NearChanged(), nil, nil)
	defer sc.Close()
	for sc.Next() {
		s, err := storage.ReadSimHash(sc.Key())
		if err != nil {
			return looked, nil, err
		}
		group, err := d.p.env.Store.NearGroup(s)
		if err != nil {
			return looked, nil, err
		}
		d.grouped, touched = append(d.grouped, s), append(touched, group)
	}
	slices.Sort(touched)
	return looked, slices.Compact(touched), sc.Err()
}
