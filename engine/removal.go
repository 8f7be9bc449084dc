// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/seine-crawler/seine/engine/internal/phases"
	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// RecrawlReport counts the URLs that Recrawl made due.
type RecrawlReport struct {
	Records uint64   `json:"records"`         // that the targets name
	Due     uint64   `json:"due"`             // of these, that were not due before
	Hints   []string `json:"hints,omitempty"` // if no target is known: hosts that are known with a port only
	Took    Duration `json:"seconds"`
}

func (r RecrawlReport) String() string {
	return fmt.Sprintf("recrawl: %d URLs, %d of them were not due before, in %.2fs", r.Records, r.Due, r.Took.Seconds())
}

// DeleteReport counts what Delete removed.
type DeleteReport struct {
	Records   uint64   `json:"records"`         // of crawldb
	Documents uint64   `json:"documents"`       // of the index
	Inlinks   uint64   `json:"inlinks"`         // of linkdb, to deleted pages and from them
	Withheld  uint64   `json:"withheld"`        // links to deleted URLs that the scope or a filter refused
	Parsed    uint64   `json:"parsed"`          // parse records
	Captures  uint64   `json:"captures"`        // of cdx; their WARC records stay until Purge
	Restored  uint64   `json:"restored"`        // pages that were duplicates of deleted ones
	Refreshed uint64   `json:"refreshed"`       // documents that lost anchors
	Hints     []string `json:"hints,omitempty"` // if no target is known: hosts that are known with a port only
	Took      Duration `json:"seconds"`

	Writers []SendReport `json:"writers,omitempty"`
}

func (r DeleteReport) String() string {
	s := fmt.Sprintf("delete: %d records, %d documents, %d inlinks, %d parse records; %d duplicates restored, "+
		"%d documents lost anchors, in %.2fs",
		r.Records, r.Documents, r.Inlinks, r.Parsed, r.Restored, r.Refreshed, r.Took.Seconds())
	if r.Captures > 0 {
		s += fmt.Sprintf("; %d responses stay in the WARC files until `seine purge`", r.Captures)
	}
	return s + sendLines(r.Writers)
}

// PurgeReport counts what Purge removed.
type PurgeReport struct {
	Parsed    uint64 `json:"parsed"`    // parse records of versions that were replaced
	Inlinks   uint64 `json:"inlinks"`   // of linkdb, from these versions
	Captures  uint64 `json:"captures"`  // responses and failures in WARC files
	Removed   uint64 `json:"removed"`   // WARC files
	Rewritten uint64 `json:"rewritten"` // WARC files, without what was deleted
	// Waiting are WARC files from which the next Purge removes what was deleted, because segments that are not linked
	// yet share them.
	Waiting   uint64   `json:"waiting,omitempty"`
	Bytes     int64    `json:"bytes"`     // by which the WARC files are smaller
	Documents uint64   `json:"documents"` // that left the index: a filter denies their URLs, or the pages are gone
	Refreshed uint64   `json:"refreshed"` // documents that lost anchors
	Segments  int      `json:"segments"`  // index segments that were written again without deleted documents
	Took      Duration `json:"seconds"`

	Writers []SendReport `json:"writers,omitempty"`
}

func (r PurgeReport) String() string {
	waiting := ""
	if r.Waiting > 0 {
		waiting = fmt.Sprintf(", %d more wait for the next purge because the crawl still needs them", r.Waiting)
	}
	return fmt.Sprintf("purge: %d parse records, %d inlinks, %d responses and failures, %d WARC files removed and "+
		"%d rewritten (%d bytes)%s, %d documents; %d documents lost anchors, %d index segments rewritten in %.2fs%s",
		r.Parsed, r.Inlinks, r.Captures, r.Removed, r.Rewritten, r.Bytes, waiting, r.Documents, r.Refreshed,
		r.Segments, r.Took.Seconds(), sendLines(r.Writers))
}

func (w *work) recrawl(ctx context.Context, targets []string) (RecrawlReport, []urlkey.HostKey, error) {
	start := w.now()
	var r RecrawlReport
	named, err := w.phases.Targets(targets)
	if err != nil {
		return r, nil, fmt.Errorf("recrawl: %w", err)
	}
	w.crawldbMu.Lock()
	defer w.crawldbMu.Unlock()
	done, err := w.phases.Recrawl(ctx, named)
	r.Records, r.Due = done.Records, done.Due
	if err != nil {
		return r, nil, err
	}
	r.Hints = w.portHints(targets, done.Records)
	r.Took = w.took(start)
	w.done(r)
	return r, done.Woken, nil
}

// deleteTargets deletes URLs, then restores duplicates and refreshes documents that depended on them. If it ends
// between the two, the end of the next crawl does the rest, and so do Dedup and Index with Refresh. calm makes the
// running crawl calm for the deletion; nil: none runs.
func (w *work) deleteTargets(ctx context.Context, targets []string, calm calmFunc) (DeleteReport, error) {
	start := w.now()
	var r DeleteReport
	named, err := w.phases.Targets(targets)
	if err != nil {
		return r, fmt.Errorf("delete: %w", err)
	}
	open, over := uint32(0), func() {}
	if calm != nil {
		if open, over, err = calm(ctx, named.Has); err != nil {
			return r, fmt.Errorf("delete: %w", err)
		}
		defer over()
	}
	stale := w.sorter(storage.FoldLast) // pages whose documents depended on what is deleted
	defer stale.Close()
	note := func(key []byte) error { return stale.Add(key, nil) }
	deleted, err := w.deleteNow(ctx, phases.DeleteOptions{Targets: named, Relinked: note}, open)
	over()
	if calm != nil && errors.Is(err, ErrWrongState) { // it has begun to end
		err = errNotCalm
	}
	r.add(deleted)
	if err != nil {
		return r, err
	}
	r.Hints = w.portHints(targets, deleted.Records)
	if err = w.afterDelete(ctx, &r, deleted.Signatures, stale); err != nil {
		return r, err
	}
	r.Writers, err = w.sendAll(ctx, nil, sendOptions{})
	r.Took = w.took(start)
	w.done(r)
	return r, wrapf(err, "delete")
}

func (r *DeleteReport) add(d phases.Deleted) {
	r.Records, r.Documents, r.Inlinks = r.Records+d.Records, r.Documents+d.Documents, r.Inlinks+d.Inlinks
	r.Withheld, r.Parsed, r.Captures = r.Withheld+d.Withheld, r.Parsed+d.Parsed, r.Captures+d.Captures
}

// afterDelete restores duplicates of pages that are gone, which had some signatures (nil: any), and refreshes the
// documents that depended on them: of the restored pages and of the keys that stale has. The caller tells the index
// writers.
func (w *work) afterDelete(
	ctx context.Context, r *DeleteReport, signatures []storage.Signature, stale *storage.Sorter,
) error {
	note := func(key []byte) error { return stale.Add(key, nil) }
	d, err := w.dedup(ctx, DedupOptions{signatures: signatures, restored: note})
	if err != nil {
		return err
	}
	r.Restored = d.Restored
	if !w.o.NoIndex && stale.Len() > 0 {
		x, err := w.refreshSome(ctx, stale)
		if err != nil {
			return err
		}
		r.Refreshed = x.Refreshed
	}
	if !w.o.NoIndex {
		if _, err := w.mergeIndex(ctx, w.index.Merge); err != nil {
			return err
		}
	}
	return nil
}

// any reports whether a removal changed anything.
func (r *DeleteReport) any() bool {
	return r.Records+r.Documents+r.Inlinks+r.Withheld+r.Parsed+r.Captures+r.Restored+r.Refreshed > 0
}

// sendRemoved tells the index writers what a removal changed, if it did change anything. A crawl does so at its end.
func (w *work) sendRemoved(ctx context.Context, r *DeleteReport) (err error) {
	if r.any() {
		r.Writers, err = w.sendAll(ctx, nil, sendOptions{})
	}
	return err
}

// portHints names the targets that are hosts which are known with a port only, if nothing was found. They are part of
// the report and no warnings: who asks through the socket or the API of another process must see them, too.
func (w *work) portHints(targets []string, found uint64) (hints []string) {
	for _, t := range targets {
		h, err := urlkey.ParseHost(t)
		if found > 0 || err != nil {
			continue
		}
		if with := w.inspect.WithPort(h); with != "" {
			hints = append(hints, fmt.Sprintf("%s is not known without a port; known is %s", t, with))
		}
	}
	return hints
}

// notLinked says that a segment keeps a deletion from running.
func notLinked(s storage.Segment) error {
	return phases.WithText(phases.ErrWrongState, "delete: segment %d is %s: finish it first, "+
		"by `seine crawl` or by the phases after fetch", s.Number, s.State)
}

// requireLinked refuses to delete while the outcomes of a segment are not in every range: they would come back. The
// open segment of a crawl that is calm has none of them; 0: there is none.
func (w *work) requireLinked(open uint32) error {
	list, err := w.store.SegmentList()
	if err != nil {
		return err
	}
	for _, s := range list {
		if s.Number == open && s.State == storage.SegmentOpen {
			continue
		}
		waits, err := w.waitsForFetch(s)
		if err != nil {
			return err
		}
		if !waits && s.State < storage.SegmentLinked {
			return notLinked(s)
		}
	}
	return nil
}

// deleteNow deletes in one ingestion. open is the open segment of a calm crawl, 0 without one; the others must be
// linked.
func (w *work) deleteNow(ctx context.Context, o phases.DeleteOptions, open uint32) (phases.Deleted, error) {
	defer w.crawldbMu.LockWith(w.indexMu)()
	// Only now: while the lock is held, no segment becomes updated that is not yet.
	if err := w.requireLinked(open); err != nil {
		return phases.Deleted{}, err
	}
	deleted, err := w.phases.Delete(ctx, o)
	if err == nil {
		err = wrapf(w.index.Refresh(), "delete")
	}
	return deleted, err
}

// refreshSome brings the documents of some keys up to date.
func (w *work) refreshSome(ctx context.Context, keys *storage.Sorter) (IndexReport, error) {
	start := w.now()
	w.indexMu.Lock()
	defer w.indexMu.Unlock()
	return w.indexSegments(ctx, IndexOptions{Segments: []uint32{}, keys: keys}, start)
}

func (w *work) purge(ctx context.Context) (PurgeReport, error) {
	start := w.now()
	var r PurgeReport
	if !w.o.NoIndex {
		x, err := w.buildIndex(ctx, IndexOptions{Segments: []uint32{}, Refresh: true})
		if err != nil {
			return r, err
		}
		r.Documents = x.Deleted
	}
	relinked := w.sorter(storage.FoldLast)
	defer relinked.Close()
	p, err := w.purgeSegments(ctx, func(key []byte) error { return relinked.Add(key, nil) })
	r.Parsed, r.Inlinks, r.Captures = p.Parsed, p.Inlinks, p.Captures
	r.Removed, r.Rewritten, r.Waiting, r.Bytes = p.Removed, p.Rewritten, p.Waiting, p.Bytes
	if err != nil {
		return r, err
	}
	if !w.o.NoIndex && relinked.Len() > 0 {
		x, err := w.refreshSome(ctx, relinked)
		if err != nil {
			return r, err
		}
		r.Refreshed = x.Refreshed
	}
	if r.Segments, err = w.mergeIndex(ctx, w.index.DropDeleted); err != nil {
		return r, fmt.Errorf("purge: %w", err)
	}
	r.Writers, err = w.sendAll(ctx, nil, sendOptions{})
	r.Took = w.took(start)
	w.done(r)
	return r, wrapf(err, "purge")
}

// purgeSegments purges the segments that every phase is done with. Beside a crawl, updates and indexing wait: which
// version of a page counts stays as it is, no deletion marks a segment whose files are being written again, and no
// phase stores a segment with the names of files that are about to go.
func (w *work) purgeSegments(ctx context.Context, relinked func(key []byte) error) (segment.Purged, error) {
	defer w.crawldbMu.LockWith(w.indexMu)()
	return w.segments.Purge(ctx, relinked)
}
