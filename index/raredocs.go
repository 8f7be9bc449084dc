// SPDX-License-Identifier: Apache-2.0

package index

import (
	"sort"
	"sync"

	"github.com/seine-crawler/seine/index/analysis"
	"github.com/seine-crawler/seine/storage"
)

// rareMax is the number of documents up to which a language is rare in an index segment: 16 KB of numbers.
const rareMax = 4096

// rareDocs is where a segment keeps the documents of its rare languages, ascending. Whether a stem is a word of such a
// language is asked of each of them for each new word of a query, and reading the column of languages for it took 13%
// of the time of searches for one word. The states that have the segment share it. Searches read it together, as
// hostTables.
type rareDocs struct {
	mu   sync.Mutex
	docs map[analysis.Language][]uint32
	read uint32 // documents that were looked at
}

// spokenIn returns how many documents of the segment have a language.
func (seg *segment) spokenIn(lang analysis.Language) (docs int) {
	for code, n := range seg.info.Languages {
		if analysis.LanguageOf(code) == lang {
			docs += int(n)
		}
	}
	return docs
}

// rare returns the documents of a language that is rare in the segment, deleted ones too. The first calls read them:
// known is false if the budget is over.
func (seg *segment) rare(
	rd storage.Reader, lang analysis.Language, work *budget,
) (docs []uint32, known bool, err error) {
	var column columnBlock
	for {
		whole, err := seg.readRare(rd, &column)
		if whole != nil || err != nil {
			return whole[lang], err == nil, err
		}
		if !work.spend(valueUnits) {
			return nil, false, nil
		}
	}
}

// readRare reads a block more. It returns all once they are read; they change no more then.
func (seg *segment) readRare(rd storage.Reader, column *columnBlock) (map[analysis.Language][]uint32, error) {
	r := seg.rareDocs
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.docs == nil {
		r.docs = map[analysis.Language][]uint32{}
		for code := range seg.info.Languages {
			if lang := analysis.LanguageOf(code); seg.spokenIn(lang) <= rareMax {
				r.docs[lang] = nil
			}
		}
	}
	if r.read >= seg.info.Docs || len(r.docs) == 0 {
		return r.docs, nil
	}
	if err := seg.readColumn(rd, columnLanguage, r.read/normDocs, column); err != nil {
		return nil, err
	}
	langs, rare := make([]analysis.Language, len(column.texts)), make([]bool, len(column.texts))
	for i, code := range column.texts {
		langs[i] = analysis.LanguageOf(code)
		_, rare[i] = r.docs[langs[i]]
	}
	for i, n := range column.numbers {
		if rare[n] {
			r.docs[langs[n]] = append(r.docs[langs[n]], r.read+uint32(i))
		}
	}
	r.read += uint32(len(column.numbers))
	return nil, nil
}

// meetOne reports whether one of some documents, ascending, is in a list and not deleted.
func (s *expander) meetOne(l list, seg *segment, docs []uint32) bool {
	c := newCursor(l, seg.info.Docs, s.work)
	defer func() {
		c.reset(nil, nil)
		cursorPool.Put(c)
	}()
	for len(docs) > 0 {
		doc := c.seek(docs[0])
		if doc == docs[0] && seg.alive(doc) {
			return true
		}
		if doc == end {
			return false
		}
		doc = max(doc, docs[0]+1)
		docs = docs[sort.Search(len(docs), func(i int) bool { return docs[i] >= doc }):]
	}
	return false
}
