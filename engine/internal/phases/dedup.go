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
	// Segments limits the work to signatures that pages of these segments have; nil means all.
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
// does not have, are left out and stay what they are.
func (p *Phases) Dedup(ctx context.Context, o DedupOptions) (Deduped, error) {
	if o.Order == nil {
		o.Order = DefaultDedupOrder()
	}
	whole, rules := o.Segments == nil && o.Signatures == nil, p.env.Admission.LiveRules()
	if whole {
		groups, settled, err := p.deduped(o.Order, o.MarkNear, rules)
		if settled || err != nil {
			return Deduped{Groups: groups}, err
		}
	}
	d := dedup{
		p: p, since: p.env.Store.Moment(), whole: whole, rules: rules, order: o.Order, markNear: o.MarkNear,
		restored: o.Restored, fresh: o.Segments,
		trapChanges: p.env.Admission.NewChanges(), pages: p.env.Sorter(storage.FoldLast),
		groups: p.env.Sorter(storage.FoldLast), changes: p.env.Sorter(storage.FoldLast),
	}
	d.copies = &copies{watch: p.env.Admission, sorter: p.env.Sorter(foldCopies)}
	defer d.close()
	looked, touched, err := d.groupNear(ctx)
	d.result.Near = looked
	if err == nil {
		err = d.find(ctx, o)
	}
	if err == nil && o.MarkNear {
		err = d.findNear(ctx, touched)
	}
	if err == nil && whole {
		d.fresh, err = p.batchSegments()
	}
	if err == nil {
		err = errors.Join(d.load(ctx), d.pages.Close()) // the next step needs its memory
	}
	if err == nil {
		err = errors.Join(d.decideAll(ctx), d.groups.Close())
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
	p                      *Phases
	order                  []DedupKey
	since                  uint64 // see storage.Store.Moment
	whole                  bool   // all pages are compared
	rules                  uint64 // of the live filters, when it began
	markNear               bool
	restored               func(key []byte) error
	fresh                  []uint32 // segments whose pages the trap watch has not seen yet
	trapChanges            *admission.Changes
	grouped                []storage.SimHash // kept in storage.NearChanged, ascending
	result                 Deduped
	pages, groups, changes *storage.Sorter
	copies                 *copies
	group, first           []byte // the group whose pages are being added; its first page, while there is no other
	key, value             []byte
}

func (d *dedup) close() {
	for _, s := range []*storage.Sorter{d.pages, d.groups, d.changes, d.copies.sorter} {
		s.Close()
	}
}

// find walks the signatures in question, group by group.
func (d *dedup) find(ctx context.Context, o DedupOptions) error {
	if o.Segments == nil && o.Signatures == nil {
		return d.findAll(ctx)
	}
	wanted := d.p.env.Sorter(storage.FoldLast)
	defer wanted.Close()
	for _, segment := range o.Segments {
		if err := d.signaturesOf(ctx, segment, wanted); err != nil {
			return fmt.Errorf("reading signatures of segment %d: %w", segment, err)
		}
	}
	for _, signature := range o.Signatures {
		if err := wanted.Add(signature[:], nil); err != nil {
			return fmt.Errorf("sorting signatures: %w", err)
		}
	}
	run, err := wanted.Sort()
	if err != nil {
		return fmt.Errorf("sorting signatures: %w", err)
	}
	defer run.Close()
	sc := d.p.env.Store.Scan(storage.Signatures(), nil, nil)
	defer sc.Close()
	for run.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		ok := sc.SeekGE(run.Key())
		for ; ok && bytes.HasPrefix(sc.Key(), run.Key()); ok = sc.Next() {
			if err := d.addEntry(sc.Key()); err != nil {
				return err
			}
		}
	}
	return errors.Join(sc.Err(), run.Err(), d.endGroup(true))
}

// signaturesOf adds the signatures of a segment's pages.
func (d *dedup) signaturesOf(ctx context.Context, segment uint32, wanted *storage.Sorter) error {
	sc := d.p.env.Store.Scan(storage.ParseLinks(segment), nil, nil)
	defer sc.Close()
	for n := 0; sc.Next(); n++ {
		if n%ctxCheckKeys == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		signature, err := storage.OutcomeSignature(sc.Value())
		if err == nil && !signature.IsZero() {
			err = wanted.Add(signature[:], nil)
		}
		if err != nil {
			return fmt.Errorf("parse record %s: %w", sc.Key(), err)
		}
	}
	return sc.Err()
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

// findAll walks the whole range.
func (d *dedup) findAll(ctx context.Context) error {
	sc := d.p.env.Store.Scan(storage.Signatures(), nil, nil)
	defer sc.Close()
	for n := 0; sc.Next(); n++ {
		if n%ctxCheckKeys == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := d.addEntry(sc.Key()); err != nil {
			return err
		}
	}
	return errors.Join(sc.Err(), d.endGroup(true))
}

// addEntry adds the page of an entry of the range of signatures to those whose records are looked up.
func (d *dedup) addEntry(entry []byte) error {
	signature, page, err := storage.SplitSignatureKey(entry)
	if err != nil {
		return err
	}
	return d.add(signature[:], page)
}

// add adds a page to those whose records are looked up. The pages of a group come together, and at last endGroup is
// called: a page that no other of its group follows is alone.
func (d *dedup) add(group, page []byte) error {
	if !bytes.Equal(group, d.group) {
		err := d.endGroup(true)
		d.group, d.first = append(d.group[:0], group...), append(d.first[:0], page...)
		return err
	}
	if len(d.first) > 0 {
		if err := d.lookUp(d.first, false); err != nil {
			return err
		}
		d.first = d.first[:0]
	}
	return d.lookUp(page, false)
}

// endGroup ends the group whose pages are being added; whole: it has no others.
func (d *dedup) endGroup(whole bool) (err error) {
	if len(d.first) > 0 {
		err = d.lookUp(d.first, whole)
	}
	d.group, d.first = d.group[:0], d.first[:0]
	return err
}

// lookUp adds a page of the current group.
func (d *dedup) lookUp(page []byte, alone bool) error {
	d.value = append(d.value[:0], d.group...)
	if alone {
		d.value = append(d.value, 1)
	}
	if err := d.pages.Add(page, d.value); err != nil {
		return fmt.Errorf("sorting pages: %w", err)
	}
	return nil
}

// load joins the pages with crawldb. Of those alone with their signature, which most
// are, only duplicates need a decision. (A signature that a page had before is only a memory, and so is
// that of a page that is gone or redirects.) On an earlier host, dedup fell from 24 to 4 µs a page when it joined
// instead of looking each signature up.
func (d *dedup) load(ctx context.Context) error {
	run, err := d.pages.Sort()
	if err != nil {
		return fmt.Errorf("sorting pages: %w", err)
	}
	defer run.Close()
	return storage.MergeJoin(ctx, d.p.env.Store, storage.Crawldb(), run, d.loadOne)
}

func (d *dedup) loadOne(key []byte, values [][]byte, old []byte) error {
	if old == nil {
		return nil
	}
	var r storage.Record
	if err := storage.DecodeRecord(old, &r); err != nil {
		return fmt.Errorf("crawldb record %s: %w", key, err)
	}
	signature, alone := values[0][:len(r.Signature)], len(values[0]) > len(r.Signature)
	switch r.Status {
	case storage.StatusFetched, storage.StatusNotModified, storage.StatusDuplicate:
	default:
		return nil
	}
	if slices.Contains(d.fresh, r.Segment) {
		d.p.env.Admission.Page(key)
	}
	if alone && r.Status != storage.StatusDuplicate || d.markNear && r.Near() != 0 && !isNearKey(signature) {
		return nil
	}
	u, err := urlkey.Key(key).URL()
	if err != nil {
		return fmt.Errorf("crawldb record %s: %w", key, err)
	}
	if d.p.env.Admission.Denied(u) { // it is not found, so it must hide no page that is
		return nil
	}
	d.key = append(appendRank(append(d.key[:0], signature...), d.order, key, &r), key...)
	if err := d.groups.Add(d.key, old); err != nil {
		return fmt.Errorf("sorting groups: %w", err)
	}
	return nil
}

// decideAll goes through the groups.
func (d *dedup) decideAll(ctx context.Context) error {
	run, err := d.groups.Sort()
	if err != nil {
		return fmt.Errorf("sorting groups: %w", err)
	}
	defer run.Close()
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
		return ing.Commit()
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
	if err := ing.Commit(); err != nil {
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

// A group of near-duplicates takes the place of a signature among the pages and groups of a dedup: eight zero bytes,
// then its number. No page has such a signature but one in 2^64.
func appendNearKey(dst []byte, group storage.SimHash) []byte {
	return group.Append(append(dst, 0, 0, 0, 0, 0, 0, 0, 0))
}

func isNearKey(signature []byte) bool { return bytes.HasPrefix(signature, make([]byte, 8)) }

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

// findNear adds the pages of the groups in question to those whose records are looked up.
func (d *dedup) findNear(ctx context.Context, touched []storage.SimHash) error {
	pages := d.p.env.Store.Scan(storage.NearPages(), nil, nil)
	defer pages.Close()
	if d.whole {
		return d.findAllNear(ctx, pages)
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
				if err := d.addNear(key, pages.Key()); err != nil {
					return err
				}
			}
		}
	}
	return errors.Join(pages.Err(), d.endGroup(true))
}

// findAllNear walks all fingerprints beside their groups. The pages of a group come apart, so only a page that no other
// has the fingerprint of, and that is in no group, is known to be alone.
func (d *dedup) findAllNear(ctx context.Context, pages *storage.Scanner) error {
	groups := d.p.env.Store.Scan(storage.NearGroups(), nil, nil)
	defer groups.Close()
	more := groups.Next()
	var key []byte
	for ok, n := pages.Next(), 0; ok; n++ {
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
			if err := d.addNear(key, pages.Key()); err != nil {
				return err
			}
		}
		if err := d.endGroup(!grouped); err != nil { // those of a group come apart
			return err
		}
	}
	return errors.Join(groups.Err(), pages.Err())
}

// addNear adds the page of a key of a fingerprint to a group.
func (d *dedup) addNear(group, entry []byte) error {
	_, page, err := storage.SplitNearPageKey(entry)
	if err != nil {
		return err
	}
	return d.add(group, page)
}
