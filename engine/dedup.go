// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// DedupOptions say which pages are compared.
type DedupOptions struct {
	// Segments limits the work to signatures that pages of these segments have; nil means all.
	Segments []uint32
}

// Dedup finds pages with equal signatures, keeps the best of each group and makes the others
// db_duplicate; those leave the index in the same ingestion. A page that was a duplicate and is
// now the best of its group, or alone, is restored.
//
// The best is the one with the highest score, then the newest, then the one with the shortest
// URL, then the first in key order: a total order, so that the outcome does not depend on the
// order of arrival (Nutch leaves ties in place). Newest means the later Last-Modified when the
// server gave one for both pages, else the later fetch.
func (e *Engine) Dedup(ctx context.Context, o DedupOptions) (DedupReport, error) {
	start := time.Now()
	defer e.clock.time(stageDedup)()
	e.crawldbMu.Lock()
	defer e.crawldbMu.Unlock()
	e.indexMu.Lock()
	defer e.indexMu.Unlock()
	d := dedup{e: e, fresh: o.Segments, pages: e.newSorter(foldLast), groups: e.newSorter(foldLast), changes: e.newSorter(foldLast)}
	defer d.close()
	err := d.find(ctx, o)
	if err == nil && o.Segments == nil {
		d.fresh, err = e.batchSegments()
	}
	if err == nil {
		err = d.load(ctx)
	}
	if err == nil {
		err = d.decideAll(ctx)
	}
	if err == nil {
		d.report.Closed, err = e.closeTraps()
	}
	if err == nil && d.changes.Len() > 0 {
		err = d.write(ctx)
	}
	if err != nil {
		return d.report, fmt.Errorf("dedup: %w", err)
	}
	d.report.Seconds = since(start)
	e.done(d.report)
	return d.report, nil
}

// dedup is one run of Dedup. Signatures and URLs have no order in common, so what is asked for goes by
// way of two sorters:
//
//	signatures ─▶ pages: key → signature, alone?   ─ join with crawldb ─▶
//	              groups: signature, key → record  ─ group by group ─▶ changes: key → record
type dedup struct {
	e                      *Engine
	fresh                  []uint32 // segments whose pages the trap watch has not seen yet
	report                 DedupReport
	pages, groups, changes *storage.Sorter
	keys                   [][]byte // of the signature at hand
	group                  []member
	value                  []byte
}

func (d *dedup) close() {
	for _, s := range []*storage.Sorter{d.pages, d.groups, d.changes} {
		s.Close()
	}
}

// member is one page of a group of equal pages.
type member struct {
	key   urlkey.Key
	r     storage.Record
	fresh bool // fetched in the segments at hand
}

// better is the total order that decides which page of a group stays.
func (m *member) better(n *member) bool {
	if m.r.Score != n.r.Score {
		return m.r.Score > n.r.Score
	}
	if a, b := m.newest(n), n.newest(m); a != b {
		return a > b
	}
	if len(m.key) != len(n.key) {
		return len(m.key) < len(n.key)
	}
	return m.key < n.key
}

// newest is the time by which m is compared with n.
func (m *member) newest(n *member) int64 {
	if m.r.LastModified != "" && n.r.LastModified != "" {
		if t, err := httpTime(m.r.LastModified); err == nil {
			if _, err := httpTime(n.r.LastModified); err == nil {
				return t
			}
		}
	}
	return m.r.LastFetch
}

// find walks the signatures in question, group by group.
func (d *dedup) find(ctx context.Context, o DedupOptions) error {
	if o.Segments == nil {
		return d.findAll(ctx)
	}
	wanted := d.e.newSorter(foldLast)
	defer wanted.Close()
	for _, segment := range o.Segments {
		sc := d.e.store.Scan(storage.ParseLinks(segment), nil, nil)
		for sc.Next() {
			signature, err := storage.OutcomeSignature(sc.Value())
			if err == nil && !signature.IsZero() {
				err = wanted.Add(signature[:], nil)
			}
			if err != nil {
				sc.Close()
				return fmt.Errorf("parse record %s: %w", sc.Key(), err)
			}
		}
		if err := sc.Close(); err != nil {
			return err
		}
	}
	run, err := wanted.Sort()
	if err != nil {
		return err
	}
	defer run.Close()
	sc := d.e.store.Scan(storage.Signatures(), nil, nil)
	defer sc.Close()
	for run.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		ok := sc.SeekGE(run.Key())
		for ; ok && bytes.HasPrefix(sc.Key(), run.Key()); ok = sc.Next() {
			d.add(sc.Key())
		}
		if err := d.ask(); err != nil {
			return err
		}
	}
	if err := sc.Err(); err != nil {
		return err
	}
	return run.Err()
}

// batchSegments are those of batch mode that are not indexed yet, and so the ones that a dedup of everything
// is about: a crawl names its segments.
func (e *Engine) batchSegments() (numbers []uint32, err error) {
	list, err := e.store.SegmentList()
	for _, s := range list {
		if s.Batch && s.State >= storage.SegmentUpdated && s.State < storage.SegmentIndexed {
			numbers = append(numbers, s.Number)
		}
	}
	return numbers, err
}

// findAll walks the whole range.
func (d *dedup) findAll(ctx context.Context) error {
	sc := d.e.store.Scan(storage.Signatures(), nil, nil)
	defer sc.Close()
	for n := 0; sc.Next(); n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if len(d.keys) > 0 && !bytes.HasPrefix(d.keys[0], sc.Key()[:min(len(sc.Key()), len(storage.Signature{}))]) {
			if err := d.ask(); err != nil {
				return err
			}
		}
		d.add(sc.Key())
	}
	if err := sc.Err(); err != nil {
		return err
	}
	return d.ask()
}

// add notes an entry of the signature at hand.
func (d *dedup) add(entry []byte) {
	n := len(d.keys)
	if n == cap(d.keys) {
		d.keys = append(d.keys, nil)
	}
	d.keys = d.keys[:n+1]
	d.keys[n] = append(d.keys[n][:0], entry...)
}

// ask asks for the records of all pages with the signature at hand.
func (d *dedup) ask() error {
	defer func() { d.keys = d.keys[:0] }()
	for _, entry := range d.keys {
		signature, page, err := storage.SplitSignatureKey(entry)
		if err != nil {
			return err
		}
		d.value = append(d.value[:0], signature[:]...)
		if len(d.keys) == 1 {
			d.value = append(d.value, 1)
		}
		if err := d.pages.Add(page, d.value); err != nil {
			return err
		}
	}
	return nil
}

// load joins the pages that were asked for with crawldb. Of those alone with their signature, which most
// are, only duplicates need a decision. (A signature that a page had before is only a memory, and so is
// that of a page that is gone or redirects.)
func (d *dedup) load(ctx context.Context) error {
	run, err := d.pages.Sort()
	if err != nil {
		return err
	}
	defer run.Close()
	var r storage.Record
	return storage.MergeJoin(ctx, d.e.store, storage.Crawldb(), run, func(key []byte, values [][]byte, old []byte) error {
		if old == nil {
			return nil
		}
		if err := storage.DecodeRecord(old, &r); err != nil {
			return fmt.Errorf("crawldb record %s: %w", key, err)
		}
		switch r.Status {
		case storage.StatusFetched, storage.StatusNotModified, storage.StatusDuplicate:
			if slices.Contains(d.fresh, r.Segment) {
				d.e.traps.page(key)
			}
		}
		signature, alone := values[0][:len(r.Signature)], len(values[0]) > len(r.Signature)
		switch r.Status {
		case storage.StatusFetched, storage.StatusNotModified:
			if alone {
				return nil
			}
		case storage.StatusDuplicate:
		default:
			return nil
		}
		return d.groups.Add(append(append(d.value[:0], signature...), key...), old)
	})
}

// decideAll goes through the groups.
func (d *dedup) decideAll(ctx context.Context) error {
	run, err := d.groups.Sort()
	if err != nil {
		return err
	}
	defer run.Close()
	var signature storage.Signature
	for n := 0; run.Next(); n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if !bytes.HasPrefix(run.Key(), signature[:]) {
			if err := d.decide(); err != nil {
				return err
			}
			copy(signature[:], run.Key())
		}
		m := member{key: urlkey.Key(run.Key()[len(signature):])}
		if err := storage.DecodeRecord(run.Value(), &m.r); err != nil {
			return fmt.Errorf("crawldb record %s: %w", m.key, err)
		}
		m.fresh = slices.Contains(d.fresh, m.r.Segment)
		d.group = append(d.group, m)
	}
	if err := run.Err(); err != nil {
		return err
	}
	return d.decide()
}

// decide keeps the best page of the group and marks the others.
func (d *dedup) decide() error {
	defer func() { d.group = d.group[:0] }()
	best := 0
	for i := range d.group {
		if d.group[i].better(&d.group[best]) {
			best = i
		}
	}
	if len(d.group) > 1 {
		d.report.Groups++
	}
	if len(d.fresh) > 0 {
		d.e.traps.group(d.group)
	}
	for i := range d.group {
		m := &d.group[i]
		duplicate := i != best
		if duplicate == (m.r.Status == storage.StatusDuplicate) {
			continue
		}
		m.r.Status = storage.StatusFetched
		if duplicate {
			m.r.Status = storage.StatusDuplicate
			d.report.Marked++
		} else {
			d.report.Restored++
		}
		d.value = storage.AppendRecord(d.value[:0], &m.r)
		if err := d.changes.Add([]byte(m.key), d.value); err != nil {
			return err
		}
	}
	return nil
}

// write ingests the changed records together with the deletions from the index.
func (d *dedup) write(ctx context.Context) error {
	run, err := d.changes.Sort()
	if err != nil {
		return err
	}
	defer run.Close()
	ing := d.e.store.NewIngestion()
	defer ing.Abort()
	records, hosts := ing.Table(storage.Crawldb()), newHostTally(d.e)
	defer hosts.close()
	var builder *index.Builder
	if d.report.Marked > 0 {
		builder = d.e.index.NewBuilder(ing)
		defer builder.Abort()
	}
	err = storage.MergeJoin(ctx, d.e.store, storage.Crawldb(), run, func(key []byte, values [][]byte, old []byte) error {
		var was, r storage.Record
		if err := storage.DecodeRecord(old, &was); err != nil {
			return err
		}
		if err := storage.DecodeRecord(values[0], &r); err != nil {
			return err
		}
		if r.Status == storage.StatusDuplicate {
			if err := builder.Delete(urlkey.Key(key)); err != nil {
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
	if err := hosts.writeTo(ctx, ing); err != nil {
		return err
	}
	if builder != nil {
		built, err := builder.Finish()
		if err != nil {
			return err
		}
		d.report.Deleted = uint64(built.Deleted)
	}
	if err := ing.Commit(); err != nil {
		return err
	}
	return d.e.index.Refresh()
}
