// SPDX-License-Identifier: Apache-2.0

package index

import "github.com/seine-crawler/seine/storage"

// termWriter writes the terms of an index segment and their lists, in the order of the terms.
type termWriter struct {
	rows  *storage.TableWriter
	list  listWriter
	terms uint64 // that have documents

	filter *filterWriter
	gone   *goneWords // takes the terms without documents; nil: there are none
}

func (w *docWriter) newTermWriter() *termWriter {
	return &termWriter{
		filter: &w.filter, rows: w.table(kindTerms),
		list: listWriter{
			postings:  w.table(kindPostings),
			positions: w.table(kindPositions),
		},
	}
}

// end ends the list and makes it that of a term; a list without documents is left out.
func (w *termWriter) end(term []byte) error {
	row, err := w.list.finish()
	switch {
	case err != nil:
		return err
	case row == nil && w.gone != nil:
		return w.gone.add(term)
	case row == nil:
		return nil
	}
	w.terms++
	w.filter.add(kindTerms, term)
	return w.rows.Set(term, row)
}

// termScanner walks the terms of an index segment in their order. Close it.
type termScanner struct {
	sc   *storage.Scanner
	head rowHead
	err  error
}

// vocabulary returns the terms from from (inclusive, nil: the first) to to (exclusive, nil: after the last).
func (seg *segment) vocabulary(rd storage.Reader, from, to []byte) *termScanner {
	return &termScanner{sc: rd.Scan(storage.IndexSegmentRange(seg.number, kindTerms), from, to)}
}

// Next moves to the next term; false after the last and on errors.
func (t *termScanner) Next() bool { return t.at(t.err == nil && t.sc.Next()) }

// SeekGE moves to the first term that is not below term, which may be behind.
func (t *termScanner) SeekGE(term []byte) bool { return t.at(t.err == nil && t.sc.SeekGE(term)) }

func (t *termScanner) at(ok bool) bool {
	if ok {
		t.head, _, t.err = readRowHead(t.sc.Value())
	}
	return ok && t.err == nil
}

// Term returns the current term, valid until the next move.
func (t *termScanner) Term() []byte { return t.sc.Key() }

// Row returns what is stored of it, valid until the next move.
func (t *termScanner) Row() []byte { return t.sc.Value() }

// DF returns the number of its documents, deleted ones included.
func (t *termScanner) DF() uint64 { return t.head.df }

// Err returns the error that ended the walk, if one did.
func (t *termScanner) Err() error {
	if t.err != nil {
		return t.err
	}
	return t.sc.Err()
}

// Close ends the walk and returns Err.
func (t *termScanner) Close() error {
	err := t.sc.Close()
	if t.err != nil {
		return t.err
	}
	return err
}
