// SPDX-License-Identifier: Apache-2.0

package index

import (
	"math"
	"strings"
	"sync"

	"github.com/seine-crawler/seine/index/analysis"
	"github.com/seine-crawler/seine/storage"
)

// segmentBuilder inverts the documents that a Builder gives it, and writes an index segment of them whenever its share
// of memory is full. Several work side by side, each on a goroutine of its own and on index segments of its own; what
// they share is the ingestion, whose tables are apart, and the directory.
type segmentBuilder struct {
	in       *storage.Ingestion
	sorting  storage.SorterOptions
	memory   int64
	pace     *Pace // searches go first
	clock    clock
	located  *locatedSorter
	analyzer analysis.Analyzer
	walked   []byte // scratch: a field's text for the analyzer

	numbers segmentNumbers
	number  uint32 // of the index segment under construction
	written []writtenSegment
	words   uint64

	inv    inverter
	docs   []docEntry
	norms  []norms // of docs: a list's documents are far apart, and 100 bytes each would miss the processor's cache
	stored []storedEntry

	stepsOnly uint32 // of stored
	doc       uint32 // number of the current document
	spoken    uint64 // bit of the document's language
	field     int    // that is inverted
	cache     wordCache
	met       []metWord // words of the field that are not yet added
	meet      func(*analysis.Token)
	loaded    uint32  // by addMet
	steps     stepper // of the document's content
	step      int     // position of the next word that steps notes; none is as far as math.MaxInt

	fieldNames map[string]struct{} // of the stored fields of the index segment

	names map[string]string // languages and types of the documents: one memory for equal ones
}

// segmentNumbers are those that a segmentBuilder gives to its index segments. The first ones are its own from the
// beginning, so that they do not depend on which segmentBuilder is faster.
type segmentNumbers struct {
	at, step, last uint32
	more           func(n uint32) uint32 // Index.reserve
}

func (s *segmentNumbers) next() uint32 {
	if s.at > s.last {
		return s.more(1)
	}
	s.at += s.step
	return s.at - s.step
}

// writtenSegment is an index segment that the registry does not have yet.
type writtenSegment struct {
	number uint32
	info   segmentInfo
}

// metWord is a word of a text. Its place is that of its entry; before placeMet, of a short word, that of its set in the
// cache.
type metWord struct {
	word            analysis.Word // zero for a long word
	place, position uint32
}

// wordsAtOnce words are added together: as many as the processor's cache has room for with all that they touch.
const wordsAtOnce = 128

type storedEntry struct {
	doc   uint32
	value []byte
}

// locatedSorter sorts the directory entries of a Builder: key → entry, empty for a deletion. Any goroutine may add one.
type locatedSorter struct {
	mu sync.Mutex
	*storage.Sorter
}

func (l *locatedSorter) add(key string, value []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Add([]byte(key), value)
}

// begin begins an index segment. A name with signs, such as pg_hba.conf, is the phrase of its parts: lists of whole
// names would take a tenth of the index (.302 bytes a text byte in place of .272 on man pages).
func (b *segmentBuilder) begin() {
	if b.meet == nil {
		b.analyzer.Parts = true
		b.meet = b.meets
		b.cache = newWordCache(b.memory / cacheShare)
	}
	b.cache.reset()
	b.inv.reset()
	b.docs, b.norms, b.stored, b.names, b.fieldNames = nil, nil, nil, map[string]string{}, nil
	b.stepsOnly = 0
}

// add inverts a document that Check accepts, and writes the index segment if it is full.
func (b *segmentBuilder) add(d *Document) error {
	start := b.clock.now()
	if err := b.invert(d); err != nil {
		return err
	}
	b.pace.Worked(b.clock.now().Sub(start))
	if b.inv.bytes() > b.memory/cacheShare*(cacheShare-1) || len(b.inv.blocks) > arenaMost {
		return b.write()
	}
	return nil
}

// invert adds a document to the index segment under construction.
func (b *segmentBuilder) invert(d *Document) error {
	if b.doc = uint32(len(b.docs)); b.doc == 0 {
		b.number = b.numbers.next()
	}
	b.analyzer.Language = d.language()
	b.spoken = 1 << (b.analyzer.Language & 63)
	inv := &b.inv
	inv.held += int64(len(d.Key)) + docBytes
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
	if value := appendStored(nil, d, b.steps.take()); len(value) > 0 {
		b.stored = append(b.stored, storedEntry{b.doc, value})
		b.stepsOnly += stepsOnly(value)
		inv.held += int64(len(value)) + 48
	}
	b.fields(d)
	e := docEntry{key: d.Key, stamp: d.Stamp, boost: d.boost(), columns: columnsOf(d)}
	e.columns.language, e.columns.kind = b.name(e.columns.language), b.name(d.Type)
	for f, n := range words {
		e.norms[f] = normOf(n)
		b.words += uint64(n)
	}
	b.docs, b.norms = append(b.docs, e), append(b.norms, e.norms)
	return b.located.add(string(d.Key), appendLocated(nil, Location{b.number, b.doc, d.Stamp}))
}

// name returns a copy of a text that equal ones share: the text itself may be part of a page.
func (b *segmentBuilder) name(text string) string {
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
func (b *segmentBuilder) body(d *Document, l *[fieldCount]int) {
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
		b.steps.base += part.To - part.From + 1
		from = part.To
	}
	b.text(fieldAround, d.Text[from:], around, l)
}

// text inverts the text of a field, positions beginning at from, and returns the position after its last word.
func (b *segmentBuilder) text(field int, text string, from int, l *[fieldCount]int) int {
	if text == "" {
		return from
	}
	b.field = field
	b.walked = append(b.walked[:0], text...)
	b.step = math.MaxInt
	if field == fieldBody {
		b.step = b.steps.next()
	}
	end := b.analyzer.Walk(b.walked, from, b.meet)
	b.addMet()
	l[field] += end - from
	return end
}

// meets takes a word of the field.
func (b *segmentBuilder) meets(t *analysis.Token) {
	if t.Position >= b.step {
		b.step = b.steps.reach(t.Position, t.Start)
	}
	place := uint32(0)
	if t.Word == (analysis.Word{}) {
		place = b.inv.find(t.Term)
	}
	b.met = append(b.met, metWord{t.Word, place, uint32(t.Position)})
	if len(b.met) == wordsAtOnce {
		b.addMet()
	}
}

// addMet adds the words that were met. What one word needs of the memory is far from what the next one needs, so most
// time would go into waiting for it, one word after the other: each wrong guess of a branch ends what the processor
// does in advance. So loops without such branches load it for all words before it is used: sets of the cache, then
// entries (S. Chen and others, "Improving hash join performance through prefetching", 2004, call it group prefetching).
// The slices need none: they are written only. Of a million different words it indexes a tenth more in the same time
// than loading entries alone did.
func (b *segmentBuilder) addMet() {
	inv, cache, loaded := &b.inv, &b.cache, uint32(0)
	cache.grow(inv.count)
	for i := range b.met {
		w := &b.met[i]
		if w.word != (analysis.Word{}) {
			w.place = cache.of(w.word)
			loaded += cache.sets[w.place].place[0]
		}
	}
	b.placeMet()
	for i := range b.met {
		loaded += inv.entry(b.met[i].place).at
	}
	for i := range b.met {
		w := &b.met[i]
		e := inv.entry(w.place)
		e.languages |= b.spoken
		inv.add(e, b.doc, b.field, w.position)
	}
	b.met = b.met[:0]
	b.loaded = loaded // else the compiler would leave the loads out
}

// placeMet finds the entries of the short words that were met.
func (b *segmentBuilder) placeMet() {
	var term [analysis.WordMax]byte
	for i := range b.met {
		w := &b.met[i]
		if w.word == (analysis.Word{}) {
			continue
		}
		set := &b.cache.sets[w.place]
		if place := set.find(w.word); place > 0 {
			w.place = place - 1
			continue
		}
		w.place = b.inv.find(w.word.AppendTo(term[:0]))
		set.put(w.word, w.place+1)
	}
}

// write adds the index segment under construction to the ingestion, but for the registry, and begins the next.
func (b *segmentBuilder) write() error {
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
	if err := b.writeTerms(w); err != nil {
		return err
	}
	table := w.table(kindStored)
	for _, e := range b.stored {
		if err := table.Set(numberKey(e.doc), e.value); err != nil {
			return err
		}
	}
	if err := b.writeForms(w); err != nil {
		return err
	}
	w.info.Terms, w.info.Stored, w.info.StepsOnly = uint64(b.inv.count), uint32(len(b.stored)), b.stepsOnly
	w.info.Fields = b.takeFieldNames()
	if err := w.writeFilter(); err != nil {
		return err
	}
	if err := closeTables(b.in, b.number); err != nil {
		return err
	}
	b.written = append(b.written, writtenSegment{b.number, w.info})
	b.begin()
	return nil
}

// writeTerms writes the lists of all terms.
func (b *segmentBuilder) writeTerms(docs *docWriter) error {
	impacts := newImpactTable(&docs.info.Averages)
	w := docs.newTermWriter()
	var occurrences occurrenceReader
	var memory []byte
	start := b.clock.now()
	for i, place := range b.inv.sorted() {
		if i%1024 == 1023 {
			b.pace.Worked(b.clock.now().Sub(start))
			start = b.clock.now()
		}
		t := b.inv.entry(place)
		encoded := b.inv.occurrences(t, memory[:0])
		if t.level > 0 {
			memory = encoded
		}
		w.list.begin()
		for occurrences.reset(encoded); occurrences.next(); {
			doc := occurrences.doc
			tf := impacts.of(&occurrences.freqs, &b.norms[doc])
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
