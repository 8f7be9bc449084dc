// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"encoding/binary"
	"math"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/storage"
)

// Digest returns a hash of all documents that are not deleted: their URLs, terms, positions, field lengths, boosts
// and what their hits show. It is the same for the same documents whatever the numbering, the segmentation and the
// merges, so two crawls, or a crawl and its recovery, can be compared. It reads the whole index as of the last Refresh;
// a canceled context ends it with the context's error.
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
	s := &source{seg: seg, newDoc: make([]uint32, seg.info.Docs)}
	for doc := range s.newDoc {
		s.newDoc[doc] = uint32(doc)
	}
	s.terms = st.snap.Scan(storage.IndexSegmentRange(seg.number, kindTerms), nil, nil)
	defer s.terms.Close()
	s.valid = s.terms.Next()
	var buf, term []byte
	var positions [fieldCount][]uint32
	for ctx.Err() == nil {
		var ok bool
		if term, ok = leastTerm([]*source{s}, term); !ok {
			break
		}
		err := s.begin(term)
		for ; err == nil && s.more; err = s.step() {
			if !s.r.readPositions(&positions) {
				return 0, s.r.err
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
	boost, shown := boostCursor{boosts: s.seg.boosts}, newStoredSource(st.snap, s)
	defer shown.sc.Close()
	if err := shown.step(); err != nil {
		return 0, err
	}
	var buf []byte
	for doc, h := range postings {
		for shown.more && shown.doc < uint32(doc) { // of a deleted document
			if err := shown.step(); err != nil {
				return 0, err
			}
		}
		if !s.seg.alive(uint32(doc)) {
			continue
		}
		key, _, err := docKey(st.snap, s.seg.number, uint32(doc))
		if err != nil {
			return 0, err
		}
		buf = binary.LittleEndian.AppendUint64(append(buf[:0], key...), h)
		for _, n := range s.seg.lengths[doc] {
			buf = binary.LittleEndian.AppendUint16(buf, n)
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
