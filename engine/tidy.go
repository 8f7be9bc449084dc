// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/seine-crawler/seine/engine/internal/phases"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// FilterReport counts what Upkeep.Filter removed.
type FilterReport struct {
	DeleteReport
	Renamed uint64 `json:"renamed"` // URLs that became known by another spelling; the old ones are among the deleted
}

func (r FilterReport) String() string {
	s := fmt.Sprintf("filter: %d records, %d documents, %d inlinks, %d parse records removed; %d URLs renamed, "+
		"%d duplicates restored, %d documents lost anchors, in %.2fs",
		r.Records, r.Documents, r.Inlinks, r.Parsed, r.Renamed, r.Restored, r.Refreshed, r.Took.Seconds())
	if r.Captures > 0 {
		s += fmt.Sprintf("; %d responses stay in the WARC files until `seine purge`", r.Captures)
	}
	return s + sendLines(r.Writers)
}

// Filter holds all that is stored against the normalizers and filters of the options, live ones too (Nutch:
// mergedb, mergelinkdb and mergesegs with -filter and -normalize). A URL that a filter refuses leaves crawldb, linkdb
// (links to it and from it), withheld links, signatures, parse records, captures, fetchlists and the index. A URL that
// normalizers of links spell otherwise leaves too, and becomes known by the new spelling, unfetched, with score and
// depth as before, unless that is known already. What only the scope refuses stays: the scope may become wider.
//
// It works through the store in parts of what fits into memory, each one ingestion. If it ends early, the next Filter
// goes on, and duplicates of what was removed are restored, as after Delete, by Dedup and Index with Refresh or at the
// end of the next crawl. As after Delete, responses stay in the WARC files until Purge.
//
// Errors: ErrBusy while a crawl, or other work that runs alone, is running; ErrWrongState while a segment is fetched
// and not linked yet; ErrNotSent of index writers.
func (u *Upkeep) Filter(ctx context.Context) (FilterReport, error) {
	leave, err := u.g.begin(ctx, "filtering", true)
	if err != nil {
		return FilterReport{}, err
	}
	defer leave()
	if !u.running.TryLock() {
		return FilterReport{}, wrapf(ErrBusy, "filtering")
	}
	defer u.running.Unlock()
	inner, cancel := u.g.within(ctx)
	defer cancel()
	r, err := u.w.filter(inner)
	return r, u.g.ended(ctx, err)
}

func (w *work) filter(ctx context.Context) (r FilterReport, err error) {
	start := w.now()
	rename := func(keys *phases.Keys) error {
		w.crawldbMu.Lock()
		defer w.crawldbMu.Unlock()
		if err := w.requireLinked(0); err != nil {
			return err
		}
		n, err := w.phases.Rename(ctx, keys, w.accept)
		r.Renamed += n
		return err
	}
	what := phases.Unwanted{Accept: w.accept}
	err = w.removeUnwanted(ctx, what, rename, &r.DeleteReport)
	if err != nil {
		return r, fmt.Errorf("filter: %w", err)
	}
	err = w.sendRemoved(ctx, &r.DeleteReport)
	r.Took = w.took(start)
	w.done(r)
	return r, wrapf(err, "filter")
}

// removeUnwanted deletes unwanted URLs, some at a time, after a call of before (nil: none) with each part. All segments
// must be linked.
func (w *work) removeUnwanted(
	ctx context.Context, what phases.Unwanted, before func(*phases.Keys) error, r *DeleteReport,
) error {
	stale := w.sorter(storage.FoldLast)
	defer stale.Close()
	note := func(key []byte) error { return stale.Add(key, nil) }
	scan, signatures, some := w.phases.Unwanted(what), []storage.Signature{}, false
	for {
		keys, err := scan.Next(ctx)
		if err == nil && before != nil && keys.Len() > 0 {
			err = before(keys)
		}
		if err != nil {
			return err
		}
		if keys.Len() == 0 {
			break
		}
		some = true
		deleted, err := w.deleteNow(ctx, phases.DeleteOptions{Keys: keys, Relinked: note}, 0)
		r.add(deleted)
		if err != nil {
			return err
		}
		signatures = phases.JoinSignatures(signatures, deleted.Signatures) // nil: all pages are compared
	}
	if !some {
		return nil
	}
	return w.afterDelete(ctx, r, signatures, stale)
}

// accept returns the key of a normalized URL, and whether no filter refuses it.
func (w *work) accept(key []byte) ([]byte, bool) {
	u, err := urlkey.Key(key).URL()
	if err == nil {
		u, err = w.o.normalizers(policy.NormalizeOutlink).Normalize(u)
	}
	if err != nil || w.o.Filters.Accept(u) != "" {
		return nil, false
	}
	for _, f := range w.o.LiveFilters {
		if f.Accept(u) != "" {
			return nil, false
		}
	}
	return []byte(u.Key()), true
}

// tidy marks orphans, then purges records, as the options say. The caller tells the index writers.
func (w *work) tidy(ctx context.Context) (marked, purged DeleteReport, err error) {
	if marked, err = w.markOrphans(ctx); err == nil {
		purged, err = w.purgeRecords(ctx)
	}
	return marked, purged, err
}

// purgeRecords removes the records that Options.PurgeGone and PurgeOrphans name from every range. While some segment is
// fetched and not linked it does nothing: the outcomes would come back, and in linkdb the links to what was removed.
func (w *work) purgeRecords(ctx context.Context) (r DeleteReport, err error) {
	start := w.now()
	what := phases.Unwanted{Statuses: w.o.purged()}
	if len(what.Statuses) == 0 {
		return r, nil
	}
	err = w.removeUnwanted(ctx, what, nil, &r)
	if errors.Is(err, ErrWrongState) {
		err = nil
	}
	if err == nil && r.Records > 0 {
		r.Took = w.took(start)
		w.done(r)
	}
	return r, wrapf(err, "purging records")
}

// markOrphans does what Options.GoneUnlinked and OrphanUnlinked say. While the links of some segment are not in linkdb
// it does nothing.
func (w *work) markOrphans(ctx context.Context) (r DeleteReport, err error) {
	if !w.o.marksOrphans() {
		return r, nil
	}
	if err := w.requireLinked(0); err != nil {
		if errors.Is(err, ErrWrongState) {
			err = nil
		}
		return r, err
	}
	if _, err := w.mergeLinks(ctx, linkRowsSettled); err != nil { // links that pages dropped do not count
		return r, err
	}
	o, err := w.markNow(ctx)
	r.Documents = o.Documents
	if err != nil || o.Gone+o.Orphans == 0 {
		return r, err
	}
	stale := w.sorter(storage.FoldLast)
	defer stale.Close()
	return r, w.afterDelete(ctx, &r, o.Signatures, stale)
}

func (w *work) markNow(ctx context.Context) (phases.Orphaned, error) {
	defer w.crawldbMu.LockWith(w.indexMu)()
	o, err := w.phases.MarkOrphans(ctx, phases.OrphanOptions{
		GoneAfter: w.o.GoneUnlinked, OrphanAfter: w.o.OrphanUnlinked,
	})
	if err == nil {
		err = wrapf(w.index.Refresh(), "marking orphans")
	}
	return o, err
}
