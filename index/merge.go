// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/seine-crawler/seine/storage"
)

// A merge runs beside searches and Builders, in steps:
//
//	write     documents, lists, values of the new index segment, into tables that belong to nothing yet
//	exchange  with the writers' lock, in one ingestion: the new one is registered, the old ones go, and what was deleted
//	          of them meanwhile is deleted of the new one; then Refresh
//	redirect  with the lock, piece by piece: Located names the new one. Until the last piece the new one says in its
//	          segmentInfo.From for which it stands, and Builders look its documents up by key (see redirect.go).
//
// A crash or a canceled context in the first step leaves nothing, and in the last an index segment that the next Merge
// goes on with.

// MergeReport counts what Merge did.
type MergeReport struct {
	Merged    int    // index segments that were replaced
	Documents uint64 // documents written to the new ones
}

// Merge keeps the number of index segments logarithmic: while eight of a size class exist, they become one of the next,
// as far as Options.MergeBytes allows. An index segment of which a fifth is deleted is written again without that.
//
// It merges the index as of the last Refresh, and refreshes it after each step. Builders may run beside it if they hold
// Writing. Several calls take turns. A canceled context ends it with the context's error; merges finished by then stay.
func (x *Index) Merge(ctx context.Context) (MergeReport, error) {
	return x.mergeAll(ctx, func(st *state) []*segment {
		if group := st.mergeable(x.o.mergeDocs()); group != nil {
			return group
		}
		return st.reclaimable(reclaimPart)
	})
}

// Reclaim is that part of Merge that writes index segments again of which a fifth is deleted.
func (x *Index) Reclaim(ctx context.Context) (MergeReport, error) {
	return x.mergeAll(ctx, func(st *state) []*segment { return st.reclaimable(reclaimPart) })
}

// DropDeleted writes every index segment with deleted documents again without them, so that their words are gone. The
// rules of Merge apply.
func (x *Index) DropDeleted(ctx context.Context) (MergeReport, error) {
	return x.mergeAll(ctx, func(st *state) []*segment { return st.reclaimable(0) })
}

// MergeTo merges until there are at most so many index segments, and none has deleted documents: the smallest become
// one, as far as Options.MergeBytes allows, so there may be more. A rare word costs a search about the same in each
// index segment, so one answers fastest; writing it again with everything that comes later would be wasted work, so
// this is for an index that is complete for now. The rules of Merge apply. At least one index segment stays if there
// are documents, also with a smaller number.
func (x *Index) MergeTo(ctx context.Context, segments int) (MergeReport, error) {
	return x.mergeAll(ctx, func(st *state) []*segment {
		if group := st.smallest(len(st.segments)-max(segments, 1)+1, x.o.mergeDocs()); group != nil {
			return group
		}
		return st.reclaimable(0)
	})
}

// MergeSmallest is MergeTo without its second promise: deleted documents stay where nothing else is merged. So it
// writes nothing again where the index grew by little, or lost little.
func (x *Index) MergeSmallest(ctx context.Context, segments int) (MergeReport, error) {
	return x.mergeAll(ctx, func(st *state) []*segment {
		return st.smallest(len(st.segments)-max(segments, 1)+1, x.o.mergeDocs())
	})
}

// mergeAll merges group after group, until choose returns none.
func (x *Index) mergeAll(ctx context.Context, choose func(*state) []*segment) (report MergeReport, err error) {
	x.merging.Lock()
	defer x.merging.Unlock()
	for more := true; more && err == nil; {
		more, err = x.mergeStep(ctx, choose, &report)
	}
	return report, err
}

// mergeStep finishes what an earlier merge left, or else merges one group; more is false if there was nothing to do.
func (x *Index) mergeStep(
	ctx context.Context, choose func(*state) []*segment, report *MergeReport,
) (more bool, err error) {
	if x.behind.Load() { // the Refresh of an earlier merge failed: it would merge again what that one did
		if err := x.Refresh(); err != nil {
			return false, err
		}
	}
	st, err := x.acquire()
	if err != nil {
		return false, err
	}
	defer x.releaseAfter(st, &err)
	for _, seg := range st.segments {
		if len(seg.info.From) > 0 {
			return true, x.redirect(ctx, st, seg)
		}
	}
	group := choose(st)
	if group == nil {
		return false, nil
	}
	docs, err := x.merge(ctx, st, group)
	if err != nil {
		return false, fmt.Errorf("merging %d index segments: %w", len(group), err)
	}
	report.Merged += len(group)
	report.Documents += docs
	return true, x.merged("exchanged")
}

// mergeDocs is the number of documents of the largest index segment that a merge may make: a renumbering takes less
// than a byte of each.
func (o *Options) mergeDocs() uint64 { return uint64(o.MergeBytes) * 8 / renumberingBits }

// mergeable returns index segments of the smallest class that is full, by number: the smallest, as many as may become
// one.
func (st *state) mergeable(most uint64) []*segment {
	classes := map[int][]*segment{}
	for _, seg := range st.segments {
		class := bits.Len32(seg.info.Docs) / 3 // powers of mergeFactor
		classes[class] = append(classes[class], seg)
	}
	for class := range 12 {
		group := classes[class]
		if len(group) < mergeFactor {
			continue
		}
		if group = smallestOf(group, len(group), most); group != nil {
			return group
		}
	}
	return nil
}

// smallest returns the n smallest index segments, by number, as many of them as may become one.
func (st *state) smallest(n int, most uint64) []*segment {
	return smallestOf(slices.Clone(st.segments), n, most)
}

// smallestOf reorders a group and returns its n smallest, by number, as many of them as may become one of at most so
// many documents; nil if that are not two.
func smallestOf(group []*segment, n int, most uint64) []*segment {
	slices.SortStableFunc(group, func(a, b *segment) int { return cmp.Compare(a.info.Docs, b.info.Docs) })
	fit, docs := 0, uint64(0)
	for fit < min(n, len(group), mergeSourcesMost) && docs+uint64(group[fit].info.Docs) <= most {
		docs += uint64(group[fit].info.Docs)
		fit++
	}
	if fit < 2 {
		return nil
	}
	group = group[:fit]
	slices.SortFunc(group, func(a, b *segment) int { return cmp.Compare(a.number, b.number) })
	return group
}

// reclaimable returns an index segment of which one in part documents or more is deleted; with part 0, any is.
func (st *state) reclaimable(part uint64) []*segment {
	for _, seg := range st.segments {
		if seg.dead != nil && (part == 0 || seg.deleted.GetCardinality()*part >= uint64(seg.info.Docs)) {
			return []*segment{seg}
		}
	}
	return nil
}

// merge makes one index segment of a group's documents.
func (x *Index) merge(ctx context.Context, st *state, group []*segment) (uint64, error) {
	ing := x.s.NewIngestion()
	defer ing.Abort()
	w := newDocWriter(ing, x.reserve(1))
	sources, err := x.mergeRanges(ctx, st, group, w)
	if err != nil {
		return 0, err
	}
	if err := x.merged("written"); err != nil {
		return 0, err
	}
	x.writers.Lock()
	defer x.writers.Unlock()
	if err := x.exchange(ing, group, sources, w); err != nil {
		return 0, err
	}
	return uint64(w.info.Docs), x.Refresh()
}

// merged is for tests, which may act between the steps of a merge, and end it.
func (x *Index) merged(step string) error {
	if x.onMerge == nil {
		return nil
	}
	return x.onMerge(step)
}

// mergeRanges writes all ranges of the new index segment.
func (x *Index) mergeRanges(ctx context.Context, st *state, group []*segment, w *docWriter) ([]*source, error) {
	p := x.newPace(ctx, len(st.segments))
	sources, err := mergeDocs(p, st.snap, group, w, nil)
	if err != nil || w.info.Docs == 0 {
		return sources, err
	}
	if err := w.end(); err != nil {
		return nil, err
	}
	terms := w.newTermWriter()
	terms.gone = x.newGoneWords(p, st.snap, group)
	defer terms.gone.close()
	if w.info.Terms, err = mergeTerms(p, st.snap, sources, terms, &w.info); err != nil {
		return nil, err
	}
	if w.info.Stored, w.info.StepsOnly, err = mergeStored(p, st.snap, sources, w.table(kindStored)); err != nil {
		return nil, err
	}
	w.info.Fields = mergedFieldNames(group)
	if err := w.mergeForms(p, st.snap, group, terms.gone); err != nil {
		return nil, err
	}
	return sources, w.writeFilter()
}

// exchange commits the new index segment in place of a group. The writers' lock is held: what has been deleted of the
// group by now is all that will be.
func (x *Index) exchange(ing *storage.Ingestion, group []*segment, sources []*source, w *docWriter) error {
	registry := ing.Table(storage.IndexRange(kindSegments))
	deletes := ing.Table(storage.IndexRange(kindDeletes))
	for _, seg := range group { // by number, all below the new one: a table's keys must increase
		w.info.From = append(w.info.From, seg.number)
		if err := registry.Delete(numberKey(seg.number)); err != nil {
			return err
		}
		if err := deletes.Delete(numberKey(seg.number)); err != nil {
			return err
		}
		if err := ing.DeleteRange(storage.IndexSegmentAll(seg.number)); err != nil {
			return err
		}
	}
	if w.info.Docs > 0 {
		late, err := x.deletedLate(sources)
		if err == nil && !late.IsEmpty() {
			err = writeDeletes(ing, map[uint32]*roaring.Bitmap{w.number: late})
		}
		if err == nil {
			err = w.register()
		}
		if err != nil {
			return err
		}
	}
	err := ing.Commit()
	x.behind.Store(true) // not before: a Refresh beside this would take it for its own
	return err
}

// deletedLate returns the new numbers of the documents that were deleted since the merge began.
func (x *Index) deletedLate(sources []*source) (*roaring.Bitmap, error) {
	late := roaring.New()
	for _, s := range sources {
		now, err := readDeleted(x.s, s.seg.number)
		if err != nil {
			return nil, err
		}
		if now == nil {
			continue
		}
		for it := now.Iterator(); it.HasNext(); {
			doc := it.Next()
			if doc >= s.seg.info.Docs {
				return nil, fmt.Errorf("%w: index segment %d has no document %d", storage.ErrCorrupt, s.seg.number, doc)
			}
			if number, ok := s.number(doc); ok {
				late.Add(number)
			}
		}
	}
	return late, nil
}
