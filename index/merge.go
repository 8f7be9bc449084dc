// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"context"
	"encoding/binary"
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

// source is an index segment that is merged into another. Its documents keep their order there, so the lists of all
// sources are merged while they are read.
type source struct {
	seg    *segment
	newDoc []uint32 // new number by old number; end for deleted documents
	terms  *storage.Scanner
	valid  bool

	// The list of the current term.
	head  []byte // the keys of its chunks without the chunk number
	chunk []byte
	r     oldListReader
	more  bool
	doc   uint32 // its new number
}

// merge writes one index segment of a group's documents and removes the group, in one ingestion.
func (x *Index) merge(ctx context.Context, st *state, group []*segment) (uint64, error) {
	number := st.segments[len(st.segments)-1].number + 1
	ing := x.s.NewIngestion()
	defer ing.Abort()
	sources, docs, ls, err := renumber(st.snap, group)
	if err != nil {
		return 0, err
	}
	info := segmentInfo{}
	for _, l := range ls {
		for f, n := range l {
			info.Totals[f] += uint64(n)
		}
	}
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
	if len(docs) > 0 {
		if info.Terms, err = mergeTerms(ctx, st.snap, sources, ing, number); err != nil {
			return 0, err
		}
		w := ing.Table(storage.IndexSegmentRange(number, kindStored))
		if info.Stored, err = mergeStored(st.snap, sources, w); err != nil {
			return 0, err
		}
		if err := writeDocs(ing, number, docs, ls, info); err != nil {
			return 0, err
		}
		located := ing.Table(Located())
		for i, d := range docs {
			at := Location{Segment: number, Doc: uint32(i), Stamp: d.stamp}
			if err := located.Set([]byte(d.key), appendLocated(nil, at)); err != nil {
				return 0, err
			}
		}
	}
	return uint64(len(docs)), ing.Commit()
}

// renumber orders the documents of a group by key and gives each its new number.
func renumber(rd storage.Reader, group []*segment) ([]*source, []docEntry, []lengths, error) {
	type old struct {
		docEntry
		src int
		doc uint32
	}
	var all []old
	var sources []*source
	for i, seg := range group {
		s := &source{seg: seg, newDoc: make([]uint32, seg.info.Docs)}
		sources = append(sources, s)
		boost := boostCursor{boosts: seg.boosts}
		sc := rd.Scan(storage.IndexSegmentRange(seg.number, kindDocs), nil, nil)
		for doc := uint32(0); sc.Next() && doc < seg.info.Docs; doc++ {
			s.newDoc[doc] = end
			v := sc.Value()
			if len(v) < 8 {
				sc.Close()
				return nil, nil, nil, fmt.Errorf("%w: index segment %d, document %d: %d bytes",
					storage.ErrCorrupt, seg.number, doc, len(v))
			}
			if seg.alive(doc) {
				f, _ := boost.factor(doc)
				all = append(all, old{docEntry{urlkey.Key(v[8:]), binary.BigEndian.Uint64(v), f}, i, doc})
			}
		}
		if err := sc.Close(); err != nil {
			return nil, nil, nil, err
		}
	}
	slices.SortFunc(all, func(a, b old) int { return bytes.Compare([]byte(a.key), []byte(b.key)) })
	docs, ls := make([]docEntry, len(all)), make([]lengths, len(all))
	for i, o := range all {
		sources[o.src].newDoc[o.doc] = uint32(i)
		docs[i], ls[i] = o.docEntry, sources[o.src].seg.lengths[o.doc]
	}
	return sources, docs, ls, nil
}

// mergeTerms walks the terms of all sources together and writes their lists. It returns the number of terms written.
func mergeTerms(
	ctx context.Context, rd storage.Reader, sources []*source, ing *storage.Ingestion, number uint32,
) (terms uint64, err error) {
	for _, s := range sources {
		s.terms = rd.Scan(storage.IndexSegmentRange(s.seg.number, kindTerms), nil, nil)
		defer s.terms.Close()
		s.valid = s.terms.Next()
	}
	w := ing.Table(storage.IndexSegmentRange(number, kindTerms))
	var list oldListWriter
	var term []byte
	emit := func(chunk uint32, value []byte) error { return w.Set(termKey(string(term), chunk), value) }
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return terms, ctx.Err()
		}
		var ok bool
		if term, ok = leastTerm(sources, term[:0]); !ok {
			break
		}
		list.begin(emit)
		if err := mergeList(sources, term, &list); err != nil {
			return terms, err
		}
		if list.df > 0 {
			terms++
		}
		if err := list.finish(); err != nil {
			return terms, err
		}
	}
	for _, s := range sources {
		if err := s.terms.Err(); err != nil {
			return terms, err
		}
	}
	return terms, nil
}

// leastTerm returns the least of the sources' next terms, in the memory of term; ok is false when no source has one.
func leastTerm(sources []*source, term []byte) (_ []byte, ok bool) {
	for _, s := range sources {
		if !s.valid {
			continue
		}
		key := s.terms.Key()
		if t := key[:max(len(key)-5, 0)]; !ok || bytes.Compare(t, term) < 0 {
			term, ok = append(term[:0], t...), true
		}
	}
	return term, ok
}

// mergeList writes a term's list, merged from all sources. Their lists are in order already, so nothing is gathered and
// sorted: with 100,000 pages, merging took 20 µs a page instead of 130 (on an earlier host).
func mergeList(sources []*source, term []byte, list *oldListWriter) error {
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
		positions, ok := least.r.rawPositions()
		if !ok {
			return least.r.err
		}
		if err := list.addRaw(least.doc, &least.r.at.freqs, positions); err != nil {
			return err
		}
		if err := least.step(); err != nil {
			return err
		}
	}
}

// begin moves to the first document of a term's list; more is false if the source has none.
func (s *source) begin(term []byte) error {
	s.head = append(append(s.head[:0], term...), 0)
	s.r = oldListReader{last: -1, next: s.nextChunk}
	return s.step()
}

// nextChunk returns the current term's next chunk, for oldListReader.
func (s *source) nextChunk() ([]byte, bool, error) {
	if !s.valid || len(s.terms.Key()) != len(s.head)+4 || !bytes.HasPrefix(s.terms.Key(), s.head) {
		return nil, false, nil
	}
	s.chunk = append(s.chunk[:0], s.terms.Value()...)
	s.valid = s.terms.Next()
	return s.chunk, true, s.terms.Err()
}

// step moves to the next document that is not deleted.
func (s *source) step() error {
	for s.more = false; s.r.advance(s.r.last + 1); {
		doc := s.r.at.doc
		if int(doc) >= len(s.newDoc) {
			return corruptPostings("document beyond the index segment")
		}
		if s.doc = s.newDoc[doc]; s.doc != end {
			s.more = true
			return nil
		}
	}
	return s.r.err
}
