// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/seine-crawler/seine/index/analysis"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// BuildReport counts what a Builder wrote.
type BuildReport struct {
	Added    uint32 // documents, with those that replaced another
	Replaced uint32 // documents whose URL was indexed before
	Deleted  uint32 // documents removed by Delete
	Segments int    // index segments written
	Words    uint64 // in all fields of the documents added
}

// Builder makes index segments of documents. One goroutine at a time may use it. End it with Finish or Abort.
type Builder struct {
	x        *Index
	in       *storage.Ingestion
	analyzer analysis.Analyzer
	walked   []byte // scratch: a field's text for the analyzer
	report   BuildReport
	located  *storage.Sorter // directory entries to write: key → entry, empty for a deletion
	deletes  map[uint32]*roaring.Bitmap
	last     urlkey.Key
	number   uint32           // of the index segment under construction
	found    *storage.Scanner // of Located, moving with the keys
	moved    *moved           // what Located may say of merged index segments
	err      error            // of NewBuilder

	inv    inverter
	docs   []docEntry
	stored []storedEntry // by document
	doc    uint32        // number of the current document
	spoken uint64        // bit of the document's language

	names map[string]string // languages and types of the documents: one memory for equal ones
}

type storedEntry struct {
	doc   uint32
	value []byte
}

// NewBuilder begins index segments inside an ingestion. Only one Builder may exist on an index, from here to the
// ingestion's Commit. End it with Finish or Abort, before the store closes. On a closed index its methods return
// ErrClosed.
func (x *Index) NewBuilder(in *storage.Ingestion) *Builder {
	b := &Builder{
		x: x, in: in,
		deletes: map[uint32]*roaring.Bitmap{},
		located: storage.NewSorter(storage.SorterOptions{
			Dir: x.s.SortDir(), FS: x.o.FS, MemoryBytes: x.o.MemoryBytes / 4,
		}),
		found: x.s.Scan(Located(), nil, nil),
	}
	st, err := x.acquire()
	if err != nil {
		b.err = err
		return b
	}
	b.moved = newMoved(x.s, st)
	b.err = x.release(st)
	b.begin()
	return b
}

// begin begins an index segment. The analyzer's words refer to entries of the one before, so it begins anew too.
func (b *Builder) begin() {
	b.analyzer = analysis.Analyzer{}
	b.inv.reset(b.number)
	b.docs, b.stored, b.names = nil, nil, map[string]string{}
}

// Abort releases what the Builder holds; what it added to the ingestion must then not be committed. After Finish, or a
// second time, it does nothing.
func (b *Builder) Abort() {
	b.found.Close()
	b.located.Close()
}

// order checks that keys come in order, and marks an earlier version of the document as deleted.
func (b *Builder) order(key urlkey.Key) (known bool, err error) {
	if b.err != nil {
		return false, b.err
	}
	if key <= b.last {
		return false, fmt.Errorf("BUG: index: document %q after %q", key, b.last)
	}
	b.last = key
	if !b.found.SeekGE([]byte(key)) || string(b.found.Key()) != string(key) {
		return false, b.found.Err()
	}
	at, err := DecodeLocated(b.found.Value())
	if err == nil {
		at, err = b.moved.follow(string(key), at)
	}
	if err != nil {
		return false, err
	}
	bits := b.deletes[at.Segment]
	if bits == nil {
		if bits, err = readDeleted(b.x.s, at.Segment); err != nil {
			return false, err
		}
		if bits == nil {
			bits = roaring.New()
		}
		b.deletes[at.Segment] = bits
	}
	bits.Add(at.Doc)
	return true, nil
}

// Delete removes a URL from the index; that it is not indexed is no error. After an error only Abort is allowed.
func (b *Builder) Delete(key urlkey.Key) error {
	known, err := b.order(key)
	if err != nil || !known {
		return err
	}
	b.report.Deleted++
	return b.located.Add([]byte(key), nil)
}

// Add indexes a document in place of its older version. Documents and deletions come in key order. A document that
// Check refuses is an ErrDocument and changes nothing; after any other error only Abort is allowed.
func (b *Builder) Add(d *Document) error {
	if b.err != nil {
		return b.err
	}
	if err := d.Check(); err != nil {
		return err
	}
	known, err := b.order(d.Key)
	if err != nil {
		return err
	}
	b.report.Added++
	if known {
		b.report.Replaced++
	}
	b.doc = uint32(len(b.docs))
	if b.doc == 0 {
		b.number = b.x.reserve()
	}
	b.analyzer.Language = d.language()
	b.spoken = 1 << (b.analyzer.Language & 63)
	inv := &b.inv
	inv.held += int64(len(d.Key)) + docBytes
	if value := appendStored(nil, d); len(value) > 0 {
		b.stored = append(b.stored, storedEntry{b.doc, value})
		inv.held += int64(len(value)) + 48
	}
	var words [fieldCount]int
	b.text(fieldTitle, d.Title, 0, &words)
	b.text(fieldURL, urlWords(d.URL), 0, &words)
	pos := 0
	for _, a := range d.Anchors {
		pos = b.text(fieldAnchor, a, pos, &words) + partGap
	}
	pos = 0
	for _, h := range d.Headings {
		pos = b.text(fieldHeadings, h, pos, &words) + partGap
	}
	b.body(d, &words)
	e := docEntry{key: d.Key, stamp: d.Stamp, boost: d.boost(), columns: columnsOf(d)}
	e.columns.language, e.columns.kind = b.name(d.Language), b.name(d.Type)
	for f, n := range words {
		e.norms[f] = normOf(n)
		b.report.Words += uint64(n)
	}
	b.docs = append(b.docs, e)
	if err := b.located.Add([]byte(d.Key), appendLocated(nil, Location{b.number, b.doc, d.Stamp})); err != nil {
		return err
	}
	if inv.bytes() > b.x.o.MemoryBytes || len(inv.blocks) > arenaMost {
		return b.write()
	}
	return nil
}

// name returns a copy of a text that equal ones share: the text itself may be part of a page.
func (b *Builder) name(text string) string {
	if text == "" {
		return ""
	}
	if n, ok := b.names[text]; ok {
		return n
	}
	n := strings.Clone(text)
	b.names[n] = n
	return n
}

// body inverts the text: the main content and what is around it are two fields.
func (b *Builder) body(d *Document, l *[fieldCount]int) {
	if len(d.Content) == 0 {
		b.text(fieldBody, d.Text, 0, l)
		return
	}
	from, content, around := uint32(0), 0, 0
	for _, part := range d.Content {
		if part.From > from {
			around = b.text(fieldAround, d.Text[from:part.From], around, l) + partGap
		}
		content = b.text(fieldBody, d.Text[part.From:part.To], content, l) + partGap
		from = part.To
	}
	b.text(fieldAround, d.Text[from:], around, l)
}

// text inverts the text of a field, positions beginning at from, and returns the position after its last word.
func (b *Builder) text(field int, text string, from int, l *[fieldCount]int) int {
	if text == "" {
		return from
	}
	inv := &b.inv
	b.walked = append(b.walked[:0], text...)
	end := b.analyzer.Walk(b.walked, from, func(t analysis.Token) {
		if !listed(&t) {
			return
		}
		e := b.entry(&t)
		e.languages |= b.spoken
		inv.add(e, b.doc, field, uint32(t.Position))
	})
	l[field] += end - from
	return end
}

// listed reports whether the index has a list of a token. A name with signs, such as pg_hba.conf, is the phrase of its
// parts: lists of whole names would take a tenth of the index (.302 bytes a text byte in place of .272 on man pages).
func listed(t *analysis.Token) bool {
	return t.Kind != analysis.KindWhole || bytes.IndexFunc(t.Term, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	}) < 0
}

// entry finds a token's entry. The analyzer keeps it beside the word, so the table of terms is looked up once per word
// and index segment, not once per occurrence.
func (b *Builder) entry(token *analysis.Token) *termEntry {
	if w := token.Word; w != nil {
		if t, ok := w.Note.(*termEntry); ok {
			return t
		}
		t := b.inv.find(token.Term)
		w.Note = t
		return t
	}
	return b.inv.find(token.Term)
}

// write adds the index segment under construction to the ingestion and begins the next.
func (b *Builder) write() error {
	if len(b.docs) == 0 {
		return nil
	}
	w := newDocWriter(b.in, b.number)
	for i := range b.docs {
		if err := w.add(&b.docs[i]); err != nil {
			return err
		}
	}
	if err := w.end(); err != nil {
		return err
	}
	if err := b.writeTerms(&w.info); err != nil {
		return err
	}
	table := b.in.Table(storage.IndexSegmentRange(b.number, kindStored))
	for _, e := range b.stored {
		if err := table.Set(numberKey(e.doc), e.value); err != nil {
			return err
		}
	}
	if err := b.writeForms(); err != nil {
		return err
	}
	w.info.Terms, w.info.Stored = uint64(b.inv.count), uint32(len(b.stored))
	if err := w.register(); err != nil {
		return err
	}
	b.report.Segments++
	b.begin()
	return nil
}

// writeTerms writes the lists of all terms.
func (b *Builder) writeTerms(info *segmentInfo) error {
	impacts := newImpactTable(&info.Averages)
	w := newTermWriter(b.in, b.number)
	var occurrences occurrenceReader
	var encoded []byte
	for _, place := range b.inv.sorted() {
		t := b.inv.entry(place)
		encoded = b.inv.occurrences(t, encoded[:0])
		w.list.begin()
		for occurrences.reset(encoded); occurrences.next(); {
			doc := occurrences.doc
			tf := impacts.of(&occurrences.freqs, &b.docs[doc].norms)
			if err := w.list.add(doc, &occurrences.freqs, occurrences.numbers, tf); err != nil {
				return err
			}
		}
		if err := w.end(b.inv.term(t)); err != nil {
			return err
		}
	}
	return nil
}

// Finish adds the rest to the ingestion and ends the Builder. The ingestion's Commit makes the documents durable, a
// Refresh after it makes them searchable. After an error the ingestion must not be committed.
func (b *Builder) Finish() (BuildReport, error) {
	defer b.Abort()
	if b.err != nil {
		return b.report, b.err
	}
	if err := b.write(); err != nil {
		return b.report, err
	}
	run, err := b.located.Sort()
	if err != nil {
		return b.report, err
	}
	defer run.Close()
	w := b.in.Table(Located())
	for run.Next() {
		if len(run.Value()) == 0 {
			err = w.Delete(run.Key())
		} else {
			err = w.Set(run.Key(), run.Value())
		}
		if err != nil {
			return b.report, err
		}
	}
	if err := run.Err(); err != nil {
		return b.report, err
	}
	return b.report, writeDeletes(b.in, b.deletes)
}

func writeDeletes(in *storage.Ingestion, deletes map[uint32]*roaring.Bitmap) error {
	var numbers []uint32
	for n := range deletes {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	w := in.Table(storage.IndexRange(kindDeletes))
	for _, n := range numbers {
		deletes[n].RunOptimize()
		value, err := deletes[n].MarshalBinary()
		if err == nil {
			err = w.Set(numberKey(n), value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
