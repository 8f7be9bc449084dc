// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"fmt"
	"math/bits"
	"slices"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// What a merge writes is read and written in order. In memory are the renumberings of the sources, and of each source a
// block of what is read.

// docSource walks the documents of a source that are not deleted.
type docSource struct {
	*source
	written uint32 // number of the last document of this source that was written, or 0
	keys    *keyScanner
	boost   boosts
	columns *columnCursor
}

// next moves to the next document; ok is false after the last.
func (s *docSource) next() (ok bool, err error) {
	for {
		if ok, err = s.keys.next(); !ok || err != nil {
			return false, err
		}
		if s.seg.alive(s.keys.doc) {
			return true, nil
		}
		s.renumbered.add(s.written)
	}
}

// entry returns the current document.
func (s *docSource) entry() (e docEntry, err error) {
	doc := s.keys.doc
	e = docEntry{key: urlkey.Key(s.keys.key()), stamp: s.keys.stamp(), norms: s.seg.normsOf(doc)}
	e.boost, _ = s.boost.factor(doc)
	e.columns, err = s.columns.of(doc)
	return e, err
}

// mergeDocs writes the documents of a group in the order of their keys and numbers them. change, if not nil, may change
// each before it is written; doc is its number in its index segment.
func mergeDocs(
	p *pace, rd storage.Reader, group []*segment, w *docWriter, change func(doc uint32, e *docEntry) error,
) (sources []*source, err error) {
	most := uint64(0)
	for _, seg := range group {
		most += uint64(seg.info.Docs)
	}
	if most >= end {
		return nil, fmt.Errorf("BUG: index: %d documents in one index segment", most)
	}
	plain := most*plainBytes <= uint64(p.x.o.MergeBytes)
	var open []*docSource
	for _, seg := range group {
		s := &docSource{
			source:  &source{seg: seg, renumbered: newRenumbering(seg.info.Docs, uint32(most), plain)},
			keys:    newKeyScanner(rd, seg),
			boost:   seg.boosts,
			columns: newColumnCursor(rd, seg),
		}
		defer s.keys.sc.Close()
		sources = append(sources, s.source)
		ok, err := s.next()
		if err != nil {
			return nil, err
		}
		if ok {
			open = append(open, s)
		}
	}
	for len(open) > 0 {
		if err := p.step(docUnits); err != nil {
			return nil, err
		}
		least := 0
		for i := range open[1:] {
			if bytes.Compare(open[i+1].keys.key(), open[least].keys.key()) < 0 {
				least = i + 1
			}
		}
		s := open[least]
		e, err := s.entry()
		if err != nil {
			return nil, err
		}
		if change != nil {
			if err := change(s.keys.doc, &e); err != nil {
				return nil, err
			}
		}
		s.written = w.info.Docs
		s.renumbered.add(s.written)
		if err := w.add(&e); err != nil {
			return nil, err
		}
		ok, err := s.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			open = slices.Delete(open, least, least+1)
		}
	}
	return sources, nil
}

// mergeTerms walks the terms of all sources together and writes their lists. It returns the number of terms written.
func mergeTerms(
	p *pace, rd storage.Reader, sources []*source, w *termWriter, info *segmentInfo,
) (terms uint64, err error) {
	for _, s := range sources {
		s.open(rd)
		defer s.close()
	}
	impacts := newImpactTable(&info.Averages)
	var term []byte
	for {
		if err := p.step(termUnits); err != nil {
			return w.terms, err
		}
		var ok bool
		if term, ok = leastTerm(sources, term[:0]); !ok {
			break
		}
		w.list.begin()
		if err := mergeList(p, sources, term, &w.list, impacts); err != nil {
			return w.terms, err
		}
		if err := w.end(term); err != nil {
			return w.terms, err
		}
	}
	for _, s := range sources {
		if err := s.terms.Err(); err != nil {
			return w.terms, err
		}
	}
	return w.terms, nil
}

// mergeList writes a term's list, merged from all sources.
func mergeList(p *pace, sources []*source, term []byte, list *listWriter, impacts *impactTable) error {
	// The next document of each source, above the source's place, so that the least two are found without a branch
	// that nobody can foresee.
	var next [mergeSourcesMost]uint64
	for i, s := range sources {
		if err := s.begin(term); err != nil {
			return err
		}
		next[i] = s.next(i)
	}
	for {
		least, second := next[0], uint64(end)*mergeSourcesMost
		for _, n := range next[1:len(sources)] {
			second = min(second, max(least, n))
			least = min(least, n)
		}
		i := int(least % mergeSourcesMost)
		if !sources[i].more {
			return nil
		}
		if err := mergeRun(p, sources[i], uint32(second/mergeSourcesMost), list, impacts); err != nil {
			return err
		}
		next[i] = sources[i].next(i)
	}
}

// mergeRun writes the postings of a source up to a document. Sources whose keys are apart take turns seldom.
func mergeRun(p *pace, s *source, until uint32, list *listWriter, impacts *impactTable) error {
	for s.more && s.doc < until {
		if s.decoded != s.block {
			if err := p.step(s.n); err != nil {
				return err
			}
			if err := s.decode(); err != nil {
				return err
			}
		}
		i, doc := s.i, s.docs[s.i]
		var freqs [fieldCount]uint32
		tf := 0.0
		for all := s.counts.mask[i]; all != 0; all &= all - 1 {
			f := bits.TrailingZeros8(all) & 7
			n := s.counts.n[f][i]
			freqs[f] = n
			tf += float64(n) * impacts[f][s.seg.norms[f][doc]]
		}
		if err := list.add(s.doc, &freqs, s.numbers[s.starts[i]:s.starts[i+1]], tf); err != nil {
			return err
		}
		if err := s.step(); err != nil {
			return err
		}
	}
	return nil
}
