// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

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
	err      error            // of NewBuilder

	inv inverter
}

// inverter is the index segment under construction. Builder.Add takes 78% of indexing, writing the lists 20%. The
// stemmer's cache carries the list of each word (Word.Note), so an occurrence costs one lookup; it was two.
type inverter struct {
	terms   map[string]*termList
	bytes   int64
	docs    []docEntry
	lengths []lengths
	stored  []storedEntry // by document
	info    segmentInfo
	field   int
	doc     uint32
	number  uint32 // Builder.number
}

type docEntry struct {
	key   urlkey.Key
	stamp uint64
	boost float64 // 0: none
}

type storedEntry struct {
	doc   uint32
	value []byte
}

// termList holds a term's occurrences in the order they were added: for each a uvarint of position<<4 | field<<1, plus
// 1 if it is the first of a document; then the gap to the document before follows.
type termList struct {
	b        []byte
	lastDoc  int64
	docCount uint32
	number   uint32 // of the index segment that it belongs to
}

// NewBuilder begins index segments inside an ingestion. Only one Builder may exist on an index, from here to the
// ingestion's Commit. End it with Finish or Abort, before the store closes. On a closed index its methods return
// ErrClosed.
func (x *Index) NewBuilder(in *storage.Ingestion) *Builder {
	b := &Builder{
		x: x, in: in, analyzer: analysis.Analyzer{Stem: true},
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
	if n := len(st.segments); n > 0 {
		b.number = st.segments[n-1].number
	}
	b.err = x.release(st)
	b.begin()
	return b
}

func (b *Builder) begin() {
	b.number++
	for _, t := range b.inv.terms {
		t.b = nil // the analyzer's words still refer to the list
	}
	b.inv = inverter{terms: make(map[string]*termList, 1<<12), number: b.number}
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
	inv := &b.inv
	inv.doc = uint32(len(inv.docs))
	inv.docs = append(inv.docs, docEntry{key: d.Key, stamp: d.Stamp, boost: d.boost()})
	inv.bytes += int64(len(d.Key)) + 64
	if value := appendStored(nil, d); len(value) > 0 {
		inv.stored = append(inv.stored, storedEntry{inv.doc, value})
		inv.bytes += int64(len(value)) + 48
	}
	var l lengths
	b.text(fieldTitle, d.Title, 0, &l)
	b.text(fieldURL, urlWords(d.URL), 0, &l)
	pos := 0
	for _, a := range d.Anchors {
		pos = b.text(fieldAnchor, a, pos, &l) + partGap
	}
	b.body(d, &l)
	inv.lengths = append(inv.lengths, l)
	for f, n := range l {
		inv.info.Totals[f] += uint64(n)
		b.report.Words += uint64(n)
	}
	if err := b.located.Add([]byte(d.Key), appendLocated(nil, Location{b.number, inv.doc, d.Stamp})); err != nil {
		return err
	}
	if inv.bytes > b.x.o.MemoryBytes {
		return b.write()
	}
	return nil
}

// body inverts the text: the main content and what is around it are two fields.
func (b *Builder) body(d *Document, l *lengths) {
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
func (b *Builder) text(field int, text string, from int, l *lengths) int {
	inv := &b.inv
	inv.field = field
	words := 0
	b.walked = append(b.walked[:0], text...)
	end := b.analyzer.Walk(b.walked, from, func(t analysis.Token) {
		if !t.Single {
			words++
		}
		inv.occurrence(inv.list(&t), uint32(t.Position))
	})
	l[field] = uint16(min(int(l[field])+words, maxLength))
	return end
}

// list finds a token's list. The analyzer keeps the list beside the word, so the map of terms is looked up once per
// word and index segment, not once per occurrence.
func (inv *inverter) list(token *analysis.Token) *termList {
	if w := token.Word; w != nil {
		if t, ok := w.Note.(*termList); ok && t.number == inv.number {
			return t
		}
	}
	t := inv.terms[string(token.Term)]
	if t == nil {
		t = &termList{lastDoc: -1, number: inv.number}
		inv.terms[string(token.Term)] = t
		inv.bytes += int64(len(token.Term)) + 96
	}
	if token.Word != nil {
		token.Word.Note = t
	}
	return t
}

func (inv *inverter) occurrence(t *termList, pos uint32) {
	before := len(t.b)
	v := uint64(pos)<<4 | uint64(inv.field)<<1
	if t.lastDoc != int64(inv.doc) {
		t.b = binary.AppendUvarint(t.b, v|1)
		t.b = binary.AppendUvarint(t.b, uint64(int64(inv.doc)-t.lastDoc))
		t.lastDoc = int64(inv.doc)
		t.docCount++
	} else {
		t.b = binary.AppendUvarint(t.b, v)
	}
	inv.bytes += int64(len(t.b) - before)
}

// each decodes the list and calls fn once per document, with o, which it reuses.
func (t *termList) each(o *occurrences, fn func(*occurrences) error) error {
	doc := int64(-1)
	for b := t.b; len(b) > 0; {
		v, n := binary.Uvarint(b)
		b = b[n:]
		if v&1 != 0 {
			if doc >= 0 {
				if err := fn(o); err != nil {
					return err
				}
			}
			gap, n := binary.Uvarint(b)
			b = b[n:]
			doc += int64(gap)
			o.doc = uint32(doc)
			for f := range o.positions {
				o.positions[f] = o.positions[f][:0]
			}
		}
		f := v >> 1 & 7
		o.positions[f] = append(o.positions[f], uint32(v>>4))
	}
	if doc >= 0 {
		return fn(o)
	}
	return nil
}

// write adds the index segment under construction to the ingestion and begins the next.
func (b *Builder) write() error {
	inv := &b.inv
	if len(inv.docs) == 0 {
		return nil
	}
	w := b.in.Table(storage.IndexSegmentRange(b.number, kindTerms))
	names := make([]string, 0, len(inv.terms))
	for name := range inv.terms {
		names = append(names, name)
	}
	slices.Sort(names)
	var list listWriter
	var o occurrences
	for _, name := range names {
		list.begin(func(chunk uint32, value []byte) error { return w.Set(termKey(name, chunk), value) })
		if err := inv.terms[name].each(&o, list.add); err != nil {
			return err
		}
		if err := list.finish(); err != nil {
			return err
		}
	}
	inv.info.Terms, inv.info.Stored = uint64(len(names)), uint32(len(inv.stored))
	w = b.in.Table(storage.IndexSegmentRange(b.number, kindStored))
	for _, e := range inv.stored {
		if err := w.Set(numberKey(e.doc), e.value); err != nil {
			return err
		}
	}
	if err := writeDocs(b.in, b.number, inv.docs, inv.lengths, inv.info); err != nil {
		return err
	}
	b.report.Segments++
	b.begin()
	return nil
}

// termKey returns the key of a chunk of a term's list. Terms contain no NUL.
func termKey(term string, chunk uint32) []byte {
	return binary.BigEndian.AppendUint32(append([]byte(term), 0), chunk)
}

// writeDocs writes all of an index segment but its terms and stored values, which info counts already.
func writeDocs(in *storage.Ingestion, number uint32, docs []docEntry, ls []lengths, info segmentInfo) (err error) {
	w := in.Table(storage.IndexSegmentRange(number, kindDocs))
	var value []byte
	for i, d := range docs {
		value = append(binary.BigEndian.AppendUint64(value[:0], d.stamp), d.key...)
		if err := w.Set(numberKey(uint32(i)), value); err != nil {
			return err
		}
	}
	w = in.Table(storage.IndexSegmentRange(number, kindNorms))
	for from := 0; from < len(ls); from += normDocs {
		value = value[:0]
		for _, l := range ls[from:min(from+normDocs, len(ls))] {
			for _, n := range l {
				value = binary.LittleEndian.AppendUint16(value, n)
			}
		}
		if err := w.Set(numberKey(uint32(from/normDocs)), value); err != nil {
			return err
		}
	}
	info.Docs, info.Fields = uint32(len(docs)), fieldCount
	if info.Boosts, err = writeBoosts(in.Table(storage.IndexSegmentRange(number, kindBoosts)), docs); err != nil {
		return err
	}
	encoded, err := json.Marshal(info)
	if err != nil {
		return err
	}
	return in.Table(storage.IndexRange(kindSegments)).Set(numberKey(number), encoded)
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
