// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"errors"
	"math/bits"

	"github.com/seine-crawler/seine/storage"
)

// anchorCopy is a copy of an index segment in which some documents have other anchors. Beside what a merge takes there
// are in memory a byte and a bit of each document, and the inverted anchors, up to a bound.
type anchorCopy struct {
	x    *Index
	rd   storage.Reader
	seg  *segment
	docs *docWriter

	inverted segmentBuilder  // of the anchors
	flushAt  int64           // bytes of inverted
	lists    *storage.Sorter // term → occurrences by the new numbers, a value each time that inverted was full
	forms    *storage.Sorter // of words, as writeForms has them
	gone     *goneWords      // words that only old anchors, or deleted documents, had

	changed []uint64          // a bit per document, by its new number
	lengths []byte            // norms of the anchors of those
	numbers []uint32          // scratch of list
	docsOf  [blockDocs]uint32 // scratch of block
}

// anchorListsMost bounds the bytes of one value of anchorCopy.lists, well below storage.ValueMaxBytes.
const anchorListsMost = 16 << 20

// newAnchorCopy makes a copy that may take so many bytes of memory beside its documents.
func newAnchorCopy(x *Index, rd storage.Reader, seg *segment, ing *storage.Ingestion, memory int64) *anchorCopy {
	sorter := func() *storage.Sorter {
		return storage.NewSorter(storage.SorterOptions{Dir: x.s.SortDir(), FS: x.o.FS, MemoryBytes: memory / 8})
	}
	c := &anchorCopy{
		x: x, rd: rd, seg: seg, docs: newDocWriter(ing, x.reserve(1)),
		inverted: segmentBuilder{memory: memory / 4},
		flushAt:  min(memory/4, anchorListsMost), lists: sorter(), forms: sorter(),
		changed: make([]uint64, seg.info.Docs/64+1), lengths: make([]byte, seg.info.Docs),
	}
	c.inverted.begin()
	return c
}

func (c *anchorCopy) close() {
	c.lists.Close()
	c.forms.Close()
}

// write writes all ranges of the copy and returns its source.
func (c *anchorCopy) write(p *pace, rows *anchorsRows) (sources []*source, err error) {
	group := []*segment{c.seg}
	sources, err = mergeDocs(p, c.rd, group, c.docs, func(doc uint32, e *docEntry) error {
		return c.change(doc, e, rows)
	})
	info := &c.docs.info
	if err != nil || info.Docs == 0 {
		return sources, err
	}
	if err := errors.Join(c.docs.end(), c.flush()); err != nil {
		return nil, err
	}
	c.gone = c.x.newGoneWords(p, c.rd, group)
	defer c.gone.close()
	if info.Terms, err = c.writeTerms(p, sources[0]); err != nil {
		return nil, err
	}
	if info.Stored, info.StepsOnly, err = mergeStored(p, c.rd, sources, c.docs.table(kindStored)); err != nil {
		return nil, err
	}
	info.Fields = mergedFieldNames(group)
	if err := c.writeForms(p); err != nil {
		return nil, err
	}
	return sources, c.docs.writeFilter()
}

// change gives a document that is copied its new anchors, if it has some. doc is its number in the index segment, and
// the copy's next is that which it gets.
func (c *anchorCopy) change(doc uint32, e *docEntry, rows *anchorsRows) error {
	for rows.more && rows.doc < doc { // of one that is deleted
		if err := rows.step(); err != nil {
			return err
		}
	}
	if !rows.more || rows.doc != doc {
		return nil
	}
	e.stamp, e.boost = rows.stamp, rows.boost
	number, b := c.docs.info.Docs, &c.inverted
	b.doc, b.analyzer.Language = number, (&Document{Language: e.columns.language}).language()
	b.spoken = 1 << (b.analyzer.Language & 63)
	var words [fieldCount]int
	pos := 0
	for r := (storedReader{b: rows.texts}); len(r.b) > 0; {
		pos = b.text(fieldAnchor, r.text(), pos, &words) + partGap
	}
	e.norms[fieldAnchor] = normOf(words[fieldAnchor])
	c.changed[number>>6] |= 1 << (number & 63)
	c.lengths[number] = e.norms[fieldAnchor]
	if b.inv.bytes() > c.flushAt {
		if err := c.flush(); err != nil {
			return err
		}
	}
	return rows.step()
}

// flush sorts what is inverted.
func (c *anchorCopy) flush() error {
	b := &c.inverted
	var memory []byte
	for _, place := range b.inv.sorted() {
		t := b.inv.entry(place)
		occurrences := b.inv.occurrences(t, memory[:0])
		if t.level > 0 {
			memory = occurrences
		}
		if err := c.lists.Add(b.inv.term(t), occurrences); err != nil {
			return err
		}
	}
	err := b.eachForm(func(key []byte) error { return c.forms.Add(key, nil) })
	b.begin()
	return err
}

// anchorLists walks the lists of the new anchors.
type anchorLists struct {
	run   *storage.Run
	valid bool
	term  []byte // of the current list
	of    occurrenceReader
	more  bool // of stands at a document
}

// begin moves to the first document of a term's list; more is false if there is none.
func (a *anchorLists) begin(term []byte) error {
	if a.more = a.valid && bytes.Equal(a.run.Key(), term); !a.more {
		return nil
	}
	a.term = append(a.term[:0], term...)
	a.of.reset(a.run.Value())
	return a.step()
}

func (a *anchorLists) step() error {
	for {
		if a.more = a.of.next(); a.more {
			return nil
		}
		if a.valid = a.run.Next(); !a.valid || !bytes.Equal(a.run.Key(), a.term) {
			return a.run.Err()
		}
		a.of.reset(a.run.Value()) // documents that came after the memory was full
	}
}

// writeTerms writes the lists of all terms, and returns their number.
func (c *anchorCopy) writeTerms(p *pace, s *source) (terms uint64, err error) {
	run, err := c.lists.Sort()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, run.Close()) }()
	s.open(c.rd)
	defer s.close()
	anchors := anchorLists{run: run, valid: run.Next()}
	w := c.docs.newTermWriter()
	w.gone = c.gone
	impacts := newImpactTable(&c.docs.info.Averages)
	var term []byte
	for s.valid || anchors.valid {
		if err := p.step(termUnits); err != nil {
			return w.terms, err
		}
		if s.valid && (!anchors.valid || bytes.Compare(s.terms.Term(), run.Key()) <= 0) {
			term = append(term[:0], s.terms.Term()...)
		} else {
			term = append(term[:0], run.Key()...)
		}
		if err := errors.Join(s.begin(term), anchors.begin(term)); err != nil {
			return w.terms, err
		}
		w.list.begin()
		if err := c.list(p, s, &anchors, &w.list, impacts); err != nil {
			return w.terms, err
		}
		if err := w.end(term); err != nil {
			return w.terms, err
		}
	}
	return w.terms, errors.Join(s.terms.Err(), run.Err())
}

// list writes one list: what the index segment has, with the new anchors in place of the old ones.
func (c *anchorCopy) list(p *pace, s *source, anchors *anchorLists, w *listWriter, impacts *impactTable) error {
	for s.more || anchors.more {
		if copied, err := c.block(p, s, anchors, w, impacts); err != nil {
			return err
		} else if copied {
			continue
		}
		doc := s.doc
		if !s.more || anchors.more && anchors.of.doc < doc {
			doc = anchors.of.doc
		}
		var freqs [fieldCount]uint32
		var numbers []uint32
		if s.more && s.doc == doc {
			if s.decoded != s.block {
				if err := errors.Join(p.step(s.n), s.decode()); err != nil {
					return err
				}
			}
			numbers = s.numbers[s.starts[s.i]:s.starts[s.i+1]]
			for all := s.counts.mask[s.i]; all != 0; all &= all - 1 {
				f := bits.TrailingZeros8(all) & 7
				freqs[f] = s.counts.n[f][s.i]
			}
		}
		if c.changed[doc>>6]>>(doc&63)&1 != 0 {
			numbers = c.changeNumbers(&freqs, numbers, anchors, doc)
		}
		if freqs != ([fieldCount]uint32{}) {
			if err := w.add(doc, &freqs, numbers, c.impact(s, doc, &freqs, impacts)); err != nil {
				return err
			}
		}
		if s.more && s.doc == doc {
			if err := s.step(); err != nil {
				return err
			}
		}
		if anchors.more && anchors.of.doc == doc {
			if err := anchors.step(); err != nil {
				return err
			}
		}
	}
	return nil
}

// block copies the block that the source is at the beginning of, if none of its documents is deleted or has other
// anchors with the word: then only documents and impacts need to be written again, which takes a fifth of the time that
// positions take. A document that comes or goes shifts all blocks behind it, so these are written anew.
func (c *anchorCopy) block(
	p *pace, s *source, anchors *anchorLists, w *listWriter, impacts *impactTable,
) (copied bool, err error) {
	if !s.more || s.i > 0 || s.reader.head.kind == rowTiny || !w.atBlock() || s.n < blockDocs && anchors.more {
		return false, nil
	}
	docs := c.docsOf[:s.n]
	for i, doc := range s.docs[:s.n] {
		var alive bool
		if docs[i], alive = s.number(doc); !alive {
			return false, nil
		}
	}
	if anchors.more && anchors.of.doc <= docs[s.n-1] {
		return false, nil
	}
	counts, err := s.reader.ownFreqs(s.block)
	if err != nil || c.loseAnchors(docs, counts) {
		return false, err
	}
	rest, err := s.reader.afterDocs(s.block)
	if err != nil {
		return false, err
	}
	positions, err := s.reader.bytes(1, s.block)
	if err != nil {
		return false, err
	}
	if err := w.copyBlock(docs, rest, positions, c.seg.largestImpact(s.docs[:s.n], counts, impacts)); err != nil {
		return false, err
	}
	s.i = s.n - 1
	return true, errors.Join(p.step(s.n), s.step())
}

// loseAnchors reports whether any of these documents has a word in anchors that change.
func (c *anchorCopy) loseAnchors(docs []uint32, counts *blockFreqs) bool {
	if counts.all&(1<<fieldAnchor) == 0 {
		return false
	}
	for i, doc := range docs {
		if counts.mask[i]&(1<<fieldAnchor) != 0 && c.changed[doc>>6]>>(doc&63)&1 != 0 {
			return true
		}
	}
	return false
}

// largestImpact returns the largest weighted frequency of documents of a block.
func (seg *segment) largestImpact(docs []uint32, counts *blockFreqs, impacts *impactTable) (most float64) {
	var tfs [blockDocs]float64
	for f := range fieldCount {
		if counts.all&(1<<f) == 0 {
			continue
		}
		lengths, impact, n := seg.norms[f], &impacts[f], &counts.n[f]
		for i, doc := range docs {
			tfs[i] += float64(n[i]) * impact[lengths[doc]]
		}
	}
	for _, tf := range tfs[:len(docs)] {
		most = max(most, tf)
	}
	return most
}

// changeNumbers puts the new anchors of a document, if it has the word there, in place of the old ones.
func (c *anchorCopy) changeNumbers(
	freqs *[fieldCount]uint32, numbers []uint32, anchors *anchorLists, doc uint32,
) []uint32 {
	before := uint32(0)
	for _, n := range freqs[:fieldAnchor] {
		before += n
	}
	c.numbers = append(c.numbers[:0], numbers[:before]...)
	after := numbers[before+freqs[fieldAnchor]:]
	freqs[fieldAnchor] = 0
	if anchors.more && anchors.of.doc == doc {
		freqs[fieldAnchor] = anchors.of.freqs[fieldAnchor]
		c.numbers = append(c.numbers, anchors.of.numbers...)
	}
	c.numbers = append(c.numbers, after...)
	return c.numbers
}

// impact returns the weighted frequency of a word in a document of the copy.
func (c *anchorCopy) impact(s *source, doc uint32, freqs *[fieldCount]uint32, impacts *impactTable) (tf float64) {
	for f, n := range freqs {
		if n == 0 {
			continue
		}
		length := c.lengths[doc]
		if f != fieldAnchor || c.changed[doc>>6]>>(doc&63)&1 == 0 {
			length = c.seg.norms[f][s.docs[s.i]]
		}
		tf += float64(n) * impacts[f][length]
	}
	return tf
}

// writeForms writes the forms of the index segment and of the new anchors, but for those of words that are gone.
func (c *anchorCopy) writeForms(p *pace) (err error) {
	if err := c.gone.sort(); err != nil {
		return err
	}
	sc := c.rd.Scan(storage.IndexSegmentRange(c.seg.number, kindForms), nil, nil)
	defer sc.Close()
	var row []byte
	for sc.Next() {
		if err := p.step(termUnits); err != nil {
			return err
		}
		var failed error
		err := eachForm(sc.Key(), sc.Value(), func(form []byte) {
			row = append(append(row[:0], sc.Key()...), form...)
			failed = errors.Join(failed, c.forms.Add(row, nil))
		})
		if err = errors.Join(err, failed); err != nil {
			return err
		}
	}
	return errors.Join(sc.Err(), c.docs.writeSortedForms(c.forms, c.gone))
}
