// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/seine-crawler/seine/index/analysis"
	"github.com/seine-crawler/seine/storage"
)

// The forms of a word. Lists are of words as they are written, folded; range m says which of them have a stem in
// common, by language: language, stem, 0 → the words of documents in that language that have the stem, in order. The
// stem itself may be a word, and is never named, so a word that is its own stem needs no row. After merges a form may
// have no document in the language any more, but always one in some.
//
//	for each form: bytes shared with the form before (the first: with the stem) uvarint | bytes of the rest uvarint
//	               | the rest
//
// Example, the forms mended and mending of mend: 04 02 6564 04 03 696e67.

// formsKey appends the key of a stem.
func formsKey(dst []byte, lang analysis.Language, stem []byte) []byte {
	return append(append(append(dst, byte(lang)), stem...), 0)
}

// appendForm appends a form after the one before it.
func appendForm(dst, before, form []byte) []byte {
	shared := 0
	for shared < min(len(before), len(form)) && before[shared] == form[shared] {
		shared++
	}
	dst = binary.AppendUvarint(dst, uint64(shared))
	dst = binary.AppendUvarint(dst, uint64(len(form)-shared))
	return append(dst, form[shared:]...)
}

// eachForm calls fn with each form of a row, in a memory that it uses again.
func eachForm(key, row []byte, fn func(form []byte)) error {
	if len(key) < 2 || key[len(key)-1] != 0 {
		return fmt.Errorf("%w: key %q of forms", storage.ErrCorrupt, key)
	}
	form := append(make([]byte, 0, analysis.MaxTerm), key[1:len(key)-1]...)
	r := storedReader{b: row}
	for len(r.b) > 0 && !r.bad {
		shared := r.uvarint()
		rest := r.take(r.uvarint())
		if r.bad || shared > uint64(len(form)) || int(shared)+len(rest) > analysis.MaxTerm {
			r.bad = true
			break
		}
		form = append(form[:shared], rest...)
		fn(form)
	}
	if r.bad {
		return fmt.Errorf("%w: forms of %q", storage.ErrCorrupt, key[1:len(key)-1])
	}
	return nil
}

// forms appends the words of an index segment that have a stem in documents of a language, but for the stem itself.
func (seg *segment) forms(rd storage.Reader, lang analysis.Language, stem []byte, dst []string) ([]string, error) {
	key := formsKey(nil, lang, stem)
	row, ok, err := seg.get(rd, kindForms, key)
	if err != nil || !ok {
		return dst, err
	}
	err = eachForm(key, row, func(form []byte) { dst = append(dst, string(form)) })
	return dst, err
}

// writeForms writes the forms of the terms of the index segment under construction. They are sorted by stem in bounded
// memory: a segment may have a million.
func (b *segmentBuilder) writeForms(w *docWriter) error {
	sorter := storage.NewSorter(b.sorting)
	defer sorter.Close()
	if err := b.eachForm(func(key []byte) error { return sorter.Add(key, nil) }); err != nil {
		return err
	}
	return w.writeSortedForms(sorter, nil)
}

// eachForm calls fn with the key of the stem and the form, for each form of a term, in memory that it uses again.
func (b *segmentBuilder) eachForm(fn func(key []byte) error) error {
	var key, stem []byte
	for i := range uint32(b.inv.count) {
		t := b.inv.entry(i)
		term := b.inv.term(t)
		for spoken := t.languages &^ 1; spoken != 0; spoken &= spoken - 1 {
			lang := analysis.Language(bits.TrailingZeros64(spoken))
			if stem = analysis.Stem(stem[:0], lang, term); bytes.Equal(stem, term) || len(stem) == 0 {
				continue
			}
			key = append(formsKey(key[:0], lang, stem), term...)
			if err := fn(key); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeSortedForms writes what eachForm gave to a sorter, each form once, but for those of words that are gone; nil:
// none is.
func (d *docWriter) writeSortedForms(sorter *storage.Sorter, gone *goneWords) error {
	run, err := sorter.Sort()
	if err != nil {
		return err
	}
	w := d.newFormWriter()
	var last []byte
	for run.Next() {
		if bytes.Equal(run.Key(), last) {
			continue
		}
		last = append(last[:0], run.Key()...)
		end := 2 + bytes.IndexByte(last[1:], 0)
		if gone.has(last[:end], last[end:]) {
			continue
		}
		if err = w.add(last[:end], last[end:]); err != nil {
			break
		}
	}
	return errors.Join(err, run.Err(), gone.err(), w.flush(), run.Close())
}

// formWriter writes rows of forms, which come in the order of their keys.
type formWriter struct {
	w         *storage.TableWriter
	filter    *filterWriter
	key, last []byte
	row       []byte
}

func (d *docWriter) newFormWriter() formWriter {
	return formWriter{w: d.table(kindForms), filter: &d.filter}
}

func (w *formWriter) add(key, form []byte) error {
	if !bytes.Equal(key, w.key) {
		if err := w.flush(); err != nil {
			return err
		}
		w.key = append(w.key[:0], key...)
		w.last = append(w.last[:0], key[1:len(key)-1]...)
	}
	w.row = appendForm(w.row, w.last, form)
	w.last = append(w.last[:0], form...)
	return nil
}

func (w *formWriter) flush() error {
	if len(w.row) == 0 {
		return nil
	}
	w.filter.add(kindForms, w.key)
	err := w.w.Set(w.key, w.row)
	w.row = w.row[:0]
	return err
}

// mergeForms writes the forms of all index segments of a group, row by row, but for those of words that are gone.
func (d *docWriter) mergeForms(p *pace, rd storage.Reader, group []*segment, gone *goneWords) error {
	if err := gone.sort(); err != nil {
		return err
	}
	var open []*storage.Scanner
	for _, seg := range group {
		sc := rd.Scan(storage.IndexSegmentRange(seg.number, kindForms), nil, nil)
		defer sc.Close()
		if sc.Next() {
			open = append(open, sc)
		} else if err := sc.Err(); err != nil {
			return err
		}
	}
	w := d.newFormWriter()
	var key []byte
	var forms [][]byte
	for len(open) > 0 {
		if err := p.step(termUnits); err != nil {
			return err
		}
		least := open[0].Key()
		for _, sc := range open[1:] {
			if bytes.Compare(sc.Key(), least) < 0 {
				least = sc.Key()
			}
		}
		key, forms = append(key[:0], least...), forms[:0]
		kept := open[:0]
		for _, sc := range open {
			more := true
			if bytes.Equal(sc.Key(), key) {
				err := eachForm(key, sc.Value(), func(form []byte) { forms = append(forms, bytes.Clone(form)) })
				if err != nil {
					return err
				}
				if more = sc.Next(); !more && sc.Err() != nil {
					return sc.Err()
				}
			}
			if more {
				kept = append(kept, sc)
			}
		}
		open = kept
		slices.SortFunc(forms, bytes.Compare)
		for _, form := range slices.CompactFunc(forms, bytes.Equal) {
			if gone.has(key, form) {
				continue
			}
			if err := w.add(key, form); err != nil {
				return err
			}
		}
	}
	return errors.Join(gone.err(), w.flush())
}
