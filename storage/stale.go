// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"errors"
)

// A refresh of all documents leaves a mark as other phases do, but whoever changes crawldb or linkdb may let it stay if
// it notes in the same ingestion which documents may be others now: then the next refresh looks at these only.
//
//	Stale     URL key        the page's document
//	          host key       what the titles of the host's pages share
//	          host key, 0    the documents of all pages of the host
//
// Notes are a part of the range of marks, below all names. A program that does not know them takes them for marks, and
// deletes them with these. The refresh that leaves the next mark removes them, if nothing changed meanwhile.

// refreshMark is the name of the mark of a refresh of all documents.
const refreshMark = "refresh"

// StaleHost ends a note about all pages of a host.
const StaleHost = 0

// Stale holds the notes, with empty values.
func Stale() Range { return plainRange(tagMarks).kind(0) }

// Refreshed returns the value of the mark that MarkRefreshed left; ok is false if there is none, or no more. noted says
// whether there are notes since.
func (s *Store) Refreshed() (value []byte, noted, ok bool, err error) {
	sc := s.Scan(Marks(), nil, nil) // one scan for both: a search takes as long as reading all marks
	defer func() { err = errors.Join(err, sc.Close()) }()
	for sc.Next() {
		switch key := sc.Key(); {
		case bytes.Compare(key, firstName) < 0:
			value, ok, err = s.Mark(refreshMark)
			return value, true, ok, err
		case string(key) == refreshMark:
			return bytes.Clone(sc.Value()), false, true, nil
		}
	}
	return nil, false, false, nil
}

// MarkRefreshed is Mark for a refresh of all documents, or of those that Stale says. The mark removes all notes.
func (in *Ingestion) MarkRefreshed(value []byte, since uint64) { in.Mark(refreshMark, value, since) }

// KeepRefreshed lets the mark of a refresh stay: what documents are made of does not change by the ingestion, or its
// notes in Stale say where.
func (in *Ingestion) KeepRefreshed() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.keeps = true
}

// DropRefreshed lets the mark of a refresh go, though nothing changed that marks are about: documents are made
// differently from now on.
func (in *Ingestion) DropRefreshed() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.drops = true
}
