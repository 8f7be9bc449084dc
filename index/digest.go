// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"encoding/binary"
	"math"

	"github.com/zeebo/xxh3"
)

// Digest returns a hash of all documents that are not deleted: their URLs, terms, positions, field lengths, boosts,
// values and what their hits show, but not when they were fetched. It is the same for the same documents whatever the
// numbering, the segmentation and the merges, so two crawls, or a crawl and its recovery, can be compared. It reads the
// whole index as of the last Refresh; a canceled context ends it with the context's error.
func (x *Index) Digest(ctx context.Context) (_ uint64, err error) {
	st, err := x.acquire()
	if err != nil {
		return 0, err
	}
	defer x.releaseAfter(st, &err)
	var sum uint64
	for _, seg := range st.segments {
		d, err := st.segmentDigest(ctx, seg)
		if err != nil {
			return 0, err
		}
		sum += d
	}
	return sum, nil
}

// segmentDigest gives each document the sum of the hashes of its postings, which does not depend on
// their order, and sums the hashes of the documents.
func (st *state) segmentDigest(ctx context.Context, seg *segment) (uint64, error) {
	docs := make([]uint64, seg.info.Docs)
	s := &source{seg: seg}
	s.open(st.snap)
	defer s.close()
	var buf, term []byte
	var positions [fieldCount][]uint32
	for ctx.Err() == nil {
		var ok bool
		if term, ok = leastTerm([]*source{s}, term); !ok {
			break
		}
		err := s.begin(term)
		for ; err == nil && s.more; err = s.step() {
			if err := s.positions(&positions); err != nil {
				return 0, err
			}
			buf = append(buf[:0], term...)
			for f := range positions {
				buf = binary.AppendUvarint(append(buf, 0, byte(f)), uint64(len(positions[f])))
				for _, p := range positions[f] {
					buf = binary.AppendUvarint(buf, uint64(p))
				}
			}
			docs[s.doc] += xxh3.Hash(buf)
		}
		if err != nil {
			return 0, err
		}
	}
	if err := s.terms.Err(); err != nil {
		return 0, err
	}
	return st.sumDocuments(ctx, s, docs)
}

// sumDocuments sums the hashes of an index segment's documents, of which postings has those of their postings. Stored
// values and boosts count where there are any, so a document without has the hash of a time when there were none.
func (st *state) sumDocuments(ctx context.Context, s *source, postings []uint64) (sum uint64, err error) {
	boost, shown := s.seg.boosts, newStoredSource(st.snap, s)
	defer shown.sc.Close()
	keys, values := newKeyScanner(st.snap, s.seg), newColumnCursor(st.snap, s.seg)
	defer keys.sc.Close()
	if err := shown.step(); err != nil {
		return 0, err
	}
	var buf []byte
	for doc, h := range postings {
		if _, err := keys.next(); err != nil { // there are as many as postings
			return 0, err
		}
		for shown.more && shown.doc < uint32(doc) { // of a deleted document
			if err := shown.step(); err != nil {
				return 0, err
			}
		}
		if !s.seg.alive(uint32(doc)) {
			continue
		}
		buf = binary.LittleEndian.AppendUint64(append(buf[:0], keys.key()...), h)
		codes := s.seg.normsOf(uint32(doc))
		buf = append(buf, codes[:]...)
		v, err := values.of(uint32(doc))
		if err != nil {
			return 0, err
		}
		buf = appendText(appendText(buf, v.language), v.kind)
		for _, n := range []uint64{v.date, v.size, v.group} {
			buf = binary.AppendUvarint(buf, n)
		}
		if f, ok := boost.factor(uint32(doc)); ok {
			buf = binary.LittleEndian.AppendUint64(append(buf, 'b'), math.Float64bits(f))
		}
		if shown.more && shown.doc == uint32(doc) {
			buf = append(append(buf, 's'), shown.sc.Value()...)
		}
		sum += xxh3.Hash(buf)
	}
	return sum, ctx.Err()
}
