// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"context"
	"fmt"
	"math/bits"
	"slices"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// MergeReport counts what Merge did.
type MergeReport struct {
	Merged    int    // index segments that were replaced
	Documents uint64 // documents written to the new ones
}

// Merge keeps the number of index segments logarithmic: while eight of a size class exist, they become one of the next.
// An index segment of which a fifth is deleted is written again without that.
// It merges the index as of the last Refresh, and refreshes it after each merge. Call Refresh before it, and run no
// Builder meanwhile. A canceled context ends it with the context's error; merges finished by then stay.
func (x *Index) Merge(ctx context.Context) (MergeReport, error) {
	var report MergeReport
	for {
		merged, err := x.mergeOnce(ctx, &report)
		if err != nil || !merged {
			return report, err
		}
		if err := x.Refresh(); err != nil {
			return report, err
		}
	}
}

// DropDeleted writes every index segment with deleted documents again without them, so that their words are gone. The
// rules of Merge apply.
func (x *Index) DropDeleted(ctx context.Context) (MergeReport, error) {
	var report MergeReport
	for {
		merged, err := x.dropOnce(ctx, &report)
		if err != nil || !merged {
			return report, err
		}
		if err := x.Refresh(); err != nil {
			return report, err
		}
	}
}

// dropOnce does it for one index segment, if there is one.
func (x *Index) dropOnce(ctx context.Context, report *MergeReport) (merged bool, err error) {
	st, err := x.acquire()
	if err != nil {
		return false, err
	}
	defer x.releaseAfter(st, &err)
	for _, seg := range st.segments {
		if seg.deleted == nil || seg.deleted.IsEmpty() {
			continue
		}
		docs, err := x.merge(ctx, st, []*segment{seg})
		if err != nil {
			return false, fmt.Errorf("writing index segment %d without deleted documents: %w", seg.number, err)
		}
		report.Merged++
		report.Documents += docs
		return true, nil
	}
	return false, nil
}

// mergeOnce merges one class, if one is full.
func (x *Index) mergeOnce(ctx context.Context, report *MergeReport) (merged bool, err error) {
	st, err := x.acquire()
	if err != nil {
		return false, err
	}
	defer x.releaseAfter(st, &err)
	group := st.mergeable()
	if group == nil {
		group = st.reclaimable()
	}
	if group == nil {
		return false, nil
	}
	docs, err := x.merge(ctx, st, group)
	if err != nil {
		return false, fmt.Errorf("merging %d index segments: %w", len(group), err)
	}
	report.Merged += len(group)
	report.Documents += docs
	return true, nil
}

// mergeable returns the index segments of the smallest class that is full.
func (st *state) mergeable() []*segment {
	classes := map[int][]*segment{}
	for _, seg := range st.segments {
		class := bits.Len32(seg.info.Docs) / 3 // powers of mergeFactor
		classes[class] = append(classes[class], seg)
	}
	for class := range 12 {
		if len(classes[class]) >= mergeFactor {
			return classes[class]
		}
	}
	return nil
}

// reclaimable returns an index segment of which a fifth or more is deleted.
func (st *state) reclaimable() []*segment {
	for _, seg := range st.segments {
		if seg.deleted != nil && !seg.deleted.IsEmpty() &&
			seg.deleted.GetCardinality()*reclaimPart >= uint64(seg.info.Docs) {
			return []*segment{seg}
		}
	}
	return nil
}

// merge writes one index segment of a group's documents and removes the group, in one ingestion. All is read and
// written in order: in memory are the new numbers of the documents, 4 bytes each, and of each source a block of what is
// read.
func (x *Index) merge(ctx context.Context, st *state, group []*segment) (uint64, error) {
	number := st.segments[len(st.segments)-1].number + 1
	ing := x.s.NewIngestion()
	defer ing.Abort()
	registry := ing.Table(storage.IndexRange(kindSegments))
	deletes := ing.Table(storage.IndexRange(kindDeletes))
	for _, seg := range group { // by number, all below the new one: a table's keys must increase
		if err := registry.Delete(numberKey(seg.number)); err != nil {
			return 0, err
		}
		if err := deletes.Delete(numberKey(seg.number)); err != nil {
			return 0, err
		}
		if err := ing.DeleteRange(storage.IndexSegmentAll(seg.number)); err != nil {
			return 0, err
		}
	}
	w := newDocWriter(ing, number)
	sources, err := mergeDocs(ctx, st.snap, group, ing.Table(Located()), w)
	if err != nil {
		return 0, err
	}
	if w.info.Docs > 0 {
		if err := w.end(); err != nil {
			return 0, err
		}
		if w.info.Terms, err = mergeTerms(ctx, st.snap, sources, newTermWriter(ing, number), &w.info); err != nil {
			return 0, err
		}
		stored := ing.Table(storage.IndexSegmentRange(number, kindStored))
		if w.info.Stored, err = mergeStored(st.snap, sources, stored); err != nil {
			return 0, err
		}
		if err := mergeForms(st.snap, group, ing.Table(storage.IndexSegmentRange(number, kindForms))); err != nil {
			return 0, err
		}
		w.info.Fields = mergedFieldNames(group)
		if err := w.register(); err != nil {
			return 0, err
		}
	}
	return uint64(w.info.Docs), ing.Commit()
}

// docSource walks the documents of a source that are not deleted.
type docSource struct {
	*source
	keys    *keyScanner
	boost   boosts
	columns *columnCursor
}

// next moves to the next document; ok is false after the last.
func (s *docSource) next() (ok bool, err error) {
	for {
		if ok, err = s.keys.next(); !ok || err != nil {
			return false, err
		}
		if s.seg.alive(s.keys.doc) {
			return true, nil
		}
		s.newDoc[s.keys.doc] = end
	}
}

// entry returns the current document.
func (s *docSource) entry() (e docEntry, err error) {
	doc := s.keys.doc
	e = docEntry{key: urlkey.Key(s.keys.key()), stamp: s.keys.stamp(), norms: s.seg.normsOf(doc)}
	e.boost, _ = s.boost.factor(doc)
	e.columns, err = s.columns.of(doc)
	return e, err
}

// mergeDocs writes the documents of a group in the order of their keys, numbers them and directs located to them.
func mergeDocs(
	ctx context.Context, rd storage.Reader, group []*segment, located *storage.TableWriter, w *docWriter,
) (sources []*source, err error) {
	var open []*docSource
	for _, seg := range group {
		s := &docSource{
			source:  &source{seg: seg, newDoc: make([]uint32, seg.info.Docs)},
			keys:    newKeyScanner(rd, seg),
			boost:   seg.boosts,
			columns: newColumnCursor(rd, seg),
		}
		defer s.keys.sc.Close()
		sources = append(sources, s.source)
		ok, err := s.next()
		if err != nil {
			return nil, err
		}
		if ok {
			open = append(open, s)
		}
	}
	var value []byte
	for len(open) > 0 {
		if w.info.Docs%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		least := 0
		for i := range open[1:] {
			if bytes.Compare(open[i+1].keys.key(), open[least].keys.key()) < 0 {
				least = i + 1
			}
		}
		s := open[least]
		e, err := s.entry()
		if err != nil {
			return nil, err
		}
		doc := w.info.Docs
		s.newDoc[s.keys.doc] = doc
		value = appendLocated(value[:0], Location{Segment: w.number, Doc: doc, Stamp: e.stamp})
		if err := located.Set(s.keys.key(), value); err != nil {
			return nil, err
		}
		if err := w.add(&e); err != nil {
			return nil, err
		}
		ok, err := s.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			open = slices.Delete(open, least, least+1)
		}
	}
	return sources, nil
}

// mergeTerms walks the terms of all sources together and writes their lists. It returns the number of terms written.
func mergeTerms(
	ctx context.Context, rd storage.Reader, sources []*source, w *termWriter, info *segmentInfo,
) (terms uint64, err error) {
	for _, s := range sources {
		s.open(rd)
		defer s.close()
	}
	impacts := newImpactTable(&info.Averages)
	var term []byte
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return w.terms, ctx.Err()
		}
		var ok bool
		if term, ok = leastTerm(sources, term[:0]); !ok {
			break
		}
		w.list.begin()
		if err := mergeList(sources, term, &w.list, impacts); err != nil {
			return w.terms, err
		}
		if err := w.end(term); err != nil {
			return w.terms, err
		}
	}
	for _, s := range sources {
		if err := s.terms.Err(); err != nil {
			return w.terms, err
		}
	}
	return w.terms, nil
}

// mergeList writes a term's list, merged from all sources.
func mergeList(sources []*source, term []byte, list *listWriter, impacts *impactTable) error {
	for _, s := range sources {
		if err := s.begin(term); err != nil {
			return err
		}
	}
	for {
		var least *source
		for _, s := range sources {
			if s.more && (least == nil || s.doc < least.doc) {
				least = s
			}
		}
		if least == nil {
			return nil
		}
		numbers, counts, err := least.reader.numbers(least.at.block, least.at.i, nil)
		if err != nil {
			return err
		}
		var freqs [fieldCount]uint32
		for f := range freqs {
			freqs[f] = counts.n[f][least.at.i]
		}
		codes := least.seg.normsOf(least.at.docs[least.at.i])
		if err := list.add(least.doc, &freqs, numbers, impacts.of(&freqs, &codes)); err != nil {
			return err
		}
		if err := least.step(); err != nil {
			return err
		}
	}
}
