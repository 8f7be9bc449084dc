// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// dedupLookup finds the pages that a dedup compares, and looks up their records.
type dedupLookup struct {
	p          *Phases
	whole      bool // all pages are compared
	order      []DedupKey
	markNear   bool
	fresh      []uint32            // segments whose pages are looked at, and were not seen by the trap watch yet
	signatures []storage.Signature // of pages that are looked at, too

	watched       bool            // the trap watch has seen the pages of fresh
	lone          bool            // pages that are alone are looked up, too
	duplicates    uint64          // pages that were looked up and are marked
	pages, groups *storage.Sorter // see dedup
	group, first  []byte          // the group whose pages are being added; its first page, while there is no other
	key, value    []byte
}

func (p *Phases) newDedupLookup(whole bool, fresh []uint32, signatures []storage.Signature) dedupLookup {
	return dedupLookup{
		p: p, whole: whole, fresh: fresh, signatures: signatures,
		pages: p.env.Sorter(storage.FoldLast), groups: p.env.Sorter(storage.FoldLast),
	}
}

// A group of near-duplicates takes the place of a signature among the pages and groups of a dedup: eight zero bytes,
// then its number. No page has such a signature but one in 2^64.
func appendNearKey(dst []byte, group storage.SimHash) []byte {
	return group.Append(append(dst, 0, 0, 0, 0, 0, 0, 0, 0))
}

func isNearKey(signature []byte) bool { return bytes.HasPrefix(signature, make([]byte, 8)) }

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
	if err := errors.Join(d.pages.Close(), d.groups.Close()); err != nil {
		return err
	}
	d.pages, d.groups = d.p.env.Sorter(storage.FoldLast), d.p.env.Sorter(storage.FoldLast)
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

// find walks the signatures in question, group by group.
func (d *dedupLookup) find(ctx context.Context) error {
	if d.whole {
		if err := d.findFresh(ctx); err != nil {
			return err
		}
		return d.findAll(ctx)
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
func (d *dedupLookup) signaturesOf(ctx context.Context, segment uint32, wanted *storage.Sorter) error {
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

// findFresh adds the pages that the trap watch is to see, without a group. What is added of them later takes its place.
func (d *dedupLookup) findFresh(ctx context.Context) error {
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
			err = errors.Join(err, d.pages.Add(sc.Key(), nil))
		}
		if err = errors.Join(err, sc.Close()); err != nil {
			return fmt.Errorf("reading pages of segment %d: %w", segment, err)
		}
	}
	return nil
}

// findAll walks the whole range.
func (d *dedupLookup) findAll(ctx context.Context) error {
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
func (d *dedupLookup) addEntry(entry []byte) error {
	signature, page, err := storage.SplitSignatureKey(entry)
	if err != nil {
		return err
	}
	return d.add(signature[:], page)
}

// add adds a page to those whose records are looked up. The pages of a group come together, and at last endGroup is
// called: a page that no other of its group follows is alone.
func (d *dedupLookup) add(group, page []byte) error {
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
func (d *dedupLookup) endGroup(whole bool) (err error) {
	if len(d.first) > 0 && (d.lone || !whole) {
		err = d.lookUp(d.first, whole)
	}
	d.group, d.first = d.group[:0], d.first[:0]
	return err
}

// lookUp adds a page of the current group.
func (d *dedupLookup) lookUp(page []byte, alone bool) error {
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
func (d *dedupLookup) load(ctx context.Context) error {
	run, err := d.pages.Sort()
	if err != nil {
		return fmt.Errorf("sorting pages: %w", err)
	}
	defer run.Close()
	return storage.MergeJoin(ctx, d.p.env.Store, storage.Crawldb(), run, d.loadOne)
}

func (d *dedupLookup) loadOne(key []byte, values [][]byte, old []byte) error {
	if old == nil {
		return nil
	}
	var r storage.Record
	if err := storage.DecodeRecord(old, &r); err != nil {
		return fmt.Errorf("crawldb record %s: %w", key, err)
	}
	switch r.Status {
	case storage.StatusFetched, storage.StatusNotModified, storage.StatusDuplicate:
	default:
		return nil
	}
	if !d.watched && !r.Signature.IsZero() && slices.Contains(d.fresh, r.Segment) {
		d.p.env.Admission.Page(key)
	}
	if len(values[0]) == 0 { // it is alone
		return nil
	}
	signature, alone := values[0][:len(r.Signature)], len(values[0]) > len(r.Signature)
	if alone && r.Status != storage.StatusDuplicate || d.markNear && r.Near() != 0 && !isNearKey(signature) {
		return nil
	}
	if r.Status == storage.StatusDuplicate {
		d.duplicates++
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

// findNear adds the pages of the groups in question to those whose records are looked up.
func (d *dedupLookup) findNear(ctx context.Context, touched []storage.SimHash) error {
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
func (d *dedupLookup) findAllNear(ctx context.Context, pages *storage.Scanner) error {
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
func (d *dedupLookup) addNear(group, entry []byte) error {
	_, page, err := storage.SplitNearPageKey(entry)
	if err != nil {
		return err
	}
	return d.add(group, page)
}
