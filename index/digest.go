// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"encoding/binary"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/storage"
)

// Digest returns a hash of all live documents: their URLs, terms, positions and field lengths. It is
// the same for the same documents whatever the numbering, the segmentation and the merges, so two
// crawls, or a crawl and its recovery, can be compared.
func (x *Index) Digest(ctx context.Context) (uint64, error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var sum uint64
	for _, seg := range x.state.segments {
		d, err := x.segmentDigest(ctx, seg)
		if err != nil {
			return 0, err
		}
		sum += d
	}
	return sum, nil
}

// segmentDigest gives each document the sum of the hashes of its postings, which does not depend on
// their order, and sums the hashes of the documents.
func (x *Index) segmentDigest(ctx context.Context, seg *segment) (uint64, error) {
	docs := make([]uint64, seg.info.Docs)
	s := &source{seg: seg, newDoc: make([]uint32, seg.info.Docs)}
	for doc := range s.newDoc {
		s.newDoc[doc] = uint32(doc)
	}
	s.terms = x.state.snap.Scan(storage.IndexSegmentRange(seg.number, kindTerms), nil, nil)
	defer s.terms.Close()
	s.valid = s.terms.Next()
	var buf []byte
	var all []occurrences
	for ctx.Err() == nil {
		term, ok := leastTerm([]*source{s})
		if !ok {
			break
		}
		var err error
		if all, err = s.collect(term, all[:0]); err != nil {
			return 0, err
		}
		for _, o := range all {
			buf = append(buf[:0], term...)
			for f := range o.positions {
				buf = binary.AppendUvarint(append(buf, 0, byte(f)), uint64(len(o.positions[f])))
				for _, p := range o.positions[f] {
					buf = binary.AppendUvarint(buf, uint64(p))
				}
			}
			docs[o.doc] += xxh3.Hash(buf)
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
		key, _, err := docKey(x.state.snap, seg.number, uint32(doc))
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
