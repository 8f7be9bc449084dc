// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"encoding/binary"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/storage"
)

// Digest returns a hash of all documents that are not deleted: their URLs, terms, positions and field lengths. It is
// the same for the same documents whatever the numbering, the segmentation and the merges, so two crawls, or a crawl and
// its recovery, can be compared. It reads the whole index as of the last Refresh; a canceled context ends it with the
// context's error.
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
	var sum uint64
	for doc, h := range docs {
		if !seg.alive(uint32(doc)) {
			continue
		}
		key, _, err := docKey(st.snap, seg.number, uint32(doc))
		if err != nil {
			return 0, err
		}
		buf = binary.LittleEndian.AppendUint64(append(buf[:0], key...), h)
		for _, n := range seg.lengths[doc] {
			buf = binary.LittleEndian.AppendUint16(buf, n)
		}
		sum += xxh3.Hash(buf)
	}
	return sum, ctx.Err()
}
