// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"fmt"

	"github.com/seine-crawler/seine/storage"
)

// source is an index segment that is merged into another, or digested. Its documents keep their order there, so lists
// are merged while they are read, and nothing is gathered and sorted.
type source struct {
	seg        *segment
	renumbered *renumbering // of documents that are not deleted; nil: all documents keep their numbers
	terms      *termScanner
	valid      bool
	chunks     scannedChunks

	// The list of the current term.
	row     []byte
	reader  listReader
	block   int // of documents; -1 before the first
	i, n    int // in the block, and how many it has
	docs    [blockDocs]uint32
	decoded int         // block of counts, numbers and starts; -1: none
	counts  *blockFreqs // fields and frequencies
	numbers []uint32    // as positions.go has them
	starts  []uint32    // of each document's, in numbers
	more    bool
	doc     uint32 // its new number
}

// open opens the terms; close them.
func (s *source) open(rd storage.Reader) {
	s.terms = s.seg.vocabulary(rd, nil, nil)
	for i, kind := range []byte{kindPostings, kindPositions} {
		s.chunks[i] = rd.Scan(storage.IndexSegmentRange(s.seg.number, kind), nil, nil)
	}
	s.reader.from = &s.chunks
	s.valid = s.terms.Next()
}

func (s *source) close() error {
	err := s.terms.Close()
	for _, sc := range s.chunks {
		if e := sc.Close(); err == nil {
			err = e
		}
	}
	return err
}

// begin moves to the first document of a term's list; more is false if the source has none.
func (s *source) begin(term []byte) error {
	s.more = false
	if !s.valid || !bytes.Equal(s.terms.Term(), term) {
		return nil
	}
	s.row = append(s.row[:0], s.terms.sc.Value()...)
	s.valid = s.terms.Next()
	if err := s.terms.Err(); err != nil {
		return err
	}
	if err := s.reader.reset(s.row); err != nil {
		return fmt.Errorf("term %q of index segment %d: %w", term, s.seg.number, err)
	}
	s.block, s.i, s.n, s.decoded = -1, 0, 0, -1
	return s.step()
}

// step moves to the next document that is not deleted.
func (s *source) step() error {
	for s.more = false; ; {
		if s.i++; s.i >= s.n {
			if ok, err := s.load(); !ok || err != nil {
				return err
			}
		}
		if s.doc, s.more = s.number(s.docs[s.i]); s.more {
			return nil
		}
	}
}

// next returns the new number of the current document, end after the last, and a place below mergeSourcesMost in one.
func (s *source) next(place int) uint64 {
	doc := uint32(end)
	if s.more {
		doc = s.doc
	}
	return uint64(doc)*mergeSourcesMost + uint64(place)
}

// load decodes the documents of the next block; ok is false after the last.
func (s *source) load() (ok bool, err error) {
	last := s.reader.lastDocs()
	if s.block++; s.block >= len(last) {
		return false, nil
	}
	if last[s.block] >= s.seg.info.Docs {
		return false, corruptPostings("document beyond the index segment")
	}
	s.i = 0
	s.n, err = s.reader.docs(s.block, &s.docs)
	return err == nil, err
}

// decode decodes what is in the block beside the documents, all at once: a merge needs all of it.
func (s *source) decode() (err error) {
	if s.counts = s.reader.own; s.reader.head.kind != rowTiny {
		if s.counts, err = s.reader.ownFreqs(s.block); err != nil {
			return err
		}
	}
	s.numbers, s.starts, err = s.reader.blockNumbers(s.block, s.counts)
	if err == nil {
		s.decoded = s.block
	}
	return err
}

// positions reads the positions of the current document, by field.
func (s *source) positions(into *[fieldCount][]uint32) (err error) {
	for f := range into {
		if into[f], err = s.reader.positions(s.block, s.i, f, nil, into[f][:0]); err != nil {
			return err
		}
	}
	return nil
}

// number returns the new number of a document of the index segment; ok is false if it is left out.
func (s *source) number(doc uint32) (number uint32, ok bool) {
	switch {
	case s.renumbered == nil:
		return doc, true
	case !s.seg.alive(doc):
		return 0, false
	}
	if r := s.renumbered; r.plain != nil {
		return r.plain[doc], true
	}
	return s.renumbered.of(doc), true
}

// leastTerm returns the least of the sources' next terms, in the memory of term; ok is false when no source has one.
func leastTerm(sources []*source, term []byte) (_ []byte, ok bool) {
	for _, s := range sources {
		if s.valid && (!ok || bytes.Compare(s.terms.Term(), term) < 0) {
			term, ok = append(term[:0], s.terms.Term()...), true
		}
	}
	return term, ok
}

// scannedChunks reads chunks in the order of their lists, of range p and q.
type scannedChunks [2]*storage.Scanner

func (c *scannedChunks) chunk(kind byte, list, chunk uint32, _ []byte) ([]byte, bool, error) {
	sc := c[0]
	if kind == kindPositions {
		sc = c[1]
	}
	var buf [8]byte
	key := appendChunkKey(buf[:0], list, chunk)
	if !sc.Next() || !bytes.Equal(sc.Key(), key) {
		if err := sc.Err(); err != nil {
			return nil, false, err
		}
		if !sc.SeekGE(key) || !bytes.Equal(sc.Key(), key) {
			return nil, false, sc.Err()
		}
	}
	return sc.Value(), true, nil
}

func (*scannedChunks) inBuffer() bool { return false }
