// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"encoding/binary"

	"github.com/seine-crawler/seine/storage"
)

// termScanner walks the terms of an index segment in order, with their document frequencies. It is the only reader of
// the vocabulary that knows how terms are stored. One goroutine at a time may use it.
type termScanner struct {
	sc    *storage.Scanner
	term  []byte
	df    uint64
	ahead bool // sc is at the first chunk of the next term
	err   error
}

// vocabulary returns a scanner of the terms from from (inclusive, nil = the first) to to (exclusive, nil = after the
// last). Close it.
func (seg *segment) vocabulary(rd storage.Reader, from, to []byte) *termScanner {
	return &termScanner{sc: rd.Scan(storage.IndexSegmentRange(seg.number, kindTerms), from, to)}
}

// Next moves to the next term; the first call moves to the first one. It returns false at the end and on error.
func (t *termScanner) Next() bool {
	if t.err != nil || !t.ahead && !t.sc.Next() {
		return false
	}
	return t.read()
}

// SeekGE moves to the first term that is at least term.
func (t *termScanner) SeekGE(term []byte) bool {
	if t.ahead = false; t.err != nil || !t.sc.SeekGE(term) {
		return false
	}
	return t.read()
}

// read reads the chunks of one term.
func (t *termScanner) read() bool {
	t.df, t.ahead = 0, false
	for first := true; ; first = false {
		key := t.sc.Key()
		n := len(key) - 5
		if n < 1 || key[n] != 0 {
			t.err = corruptPostings("key of a term")
			return false
		}
		if first {
			t.term = append(t.term[:0], key[:n]...)
		} else if !bytes.Equal(t.term, key[:n]) {
			t.ahead = true
			return true
		}
		for b := t.sc.Value(); len(b) > 0; {
			var head [4]uint64
			for i := range head {
				v, n := binary.Uvarint(b)
				if n <= 0 {
					t.err = corruptPostings("block header")
					return false
				}
				head[i], b = v, b[n:]
			}
			if head[2] > uint64(len(b)) || head[3] > uint64(len(b))-head[2] {
				t.err = corruptPostings("block header")
				return false
			}
			t.df += head[0]
			b = b[head[2]+head[3]:]
		}
		if !t.sc.Next() {
			return t.sc.Err() == nil
		}
	}
}

// Term returns the current term, valid until the next move.
func (t *termScanner) Term() []byte { return t.term }

// DF returns the number of documents with the current term, deleted ones included.
func (t *termScanner) DF() uint64 { return t.df }

// Err returns the error that ended the scan, or nil.
func (t *termScanner) Err() error {
	if t.err != nil {
		return t.err
	}
	return t.sc.Err()
}

// Close releases the scanner and returns the first error.
func (t *termScanner) Close() error {
	if err := t.sc.Close(); t.err == nil {
		t.err = err
	}
	return t.err
}
