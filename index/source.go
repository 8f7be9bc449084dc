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
	seg     *segment
	numbers *renumbering // of documents that are not deleted; nil: all documents keep their numbers
	terms   *termScanner
	valid   bool
	chunks  scannedChunks

	// The list of the current term.
	row    []byte
	reader listReader
	at     listCursor
	more   bool
	doc    uint32 // its new number
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
	s.at.reset(&s.reader)
	return s.move(0)
}

// step moves to the next document that is not deleted.
func (s *source) step() error { return s.move(s.at.docs[s.at.i] + 1) }

func (s *source) move(from uint32) error {
	s.more = false
	for doc := s.at.seek(from); doc != end; doc = s.at.seek(doc + 1) {
		if doc >= s.seg.info.Docs {
			return corruptPostings("document beyond the index segment")
		}
		if s.doc, s.more = s.number(doc); s.more {
			return nil
		}
	}
	return s.at.err
}

// number returns the new number of a document of the index segment; ok is false if it is left out.
func (s *source) number(doc uint32) (number uint32, ok bool) {
	switch {
	case s.numbers == nil:
		return doc, true
	case !s.seg.alive(doc):
		return 0, false
	}
	return s.numbers.of(doc), true
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
