// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"errors"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/storage"
)

// goneWords are the words of a merge's sources that no document has any more. Their forms are left out: a page that is
// deleted leaves none of its words behind, and range m does not grow with every version of the pages. A merge comes to
// the words in their order and to forms in that of stems, of whatever languages the documents had, so words are kept as
// hashes, as many as there is memory for, and the forms of all sources are looked through for them. Of 10^7 forms and
// 10^6 words, one is taken for another with a probability of one in two million.
type goneWords struct {
	p      *pace
	rd     storage.Reader
	group  []*segment
	hashes []uint64        // of words that are not looked for yet
	forms  *storage.Sorter // keys of their forms, as segmentBuilder.eachForm has them
	run    *storage.Run    // of forms; nil: none, or not sorted yet
	more   bool            // run stands at one
	key    []byte          // scratch
}

// goneAtOnce is how many words are looked for at once: 4 MiB. Tests lower it.
var goneAtOnce = 1 << 19

// newGoneWords collects the words of a group. Close it.
func (x *Index) newGoneWords(p *pace, rd storage.Reader, group []*segment) *goneWords {
	return &goneWords{p: p, rd: rd, group: group, forms: storage.NewSorter(storage.SorterOptions{
		Dir: x.s.SortDir(), FS: x.o.FS, MemoryBytes: x.o.MergeBytes / 16,
	})}
}

// add adds a word. Those of stored fields have no forms.
func (g *goneWords) add(term []byte) error {
	if bytes.HasPrefix(term, []byte(fieldTermMark)) {
		return nil
	}
	if g.hashes = append(g.hashes, xxh3.Hash(term)); len(g.hashes) < goneAtOnce {
		return nil
	}
	return g.find()
}

// find looks for the forms of the words that were added.
func (g *goneWords) find() error {
	if len(g.hashes) == 0 {
		return nil
	}
	slices.Sort(g.hashes)
	for _, seg := range g.group {
		if err := g.findIn(seg); err != nil {
			return err
		}
	}
	g.hashes = g.hashes[:0]
	return nil
}

func (g *goneWords) findIn(seg *segment) error {
	sc := g.rd.Scan(storage.IndexSegmentRange(seg.number, kindForms), nil, nil)
	defer sc.Close()
	for sc.Next() {
		if err := g.p.step(termUnits); err != nil {
			return err
		}
		var failed error
		err := eachForm(sc.Key(), sc.Value(), func(form []byte) {
			if _, gone := slices.BinarySearch(g.hashes, xxh3.Hash(form)); gone {
				g.key = append(append(g.key[:0], sc.Key()...), form...)
				failed = errors.Join(failed, g.forms.Add(g.key, nil))
			}
		})
		if err = errors.Join(err, failed); err != nil {
			return err
		}
	}
	return sc.Err()
}

// sort ends add: has may be called from now on.
func (g *goneWords) sort() (err error) {
	if err = g.find(); err != nil || g.forms.Len() == 0 {
		return err
	}
	if g.run, err = g.forms.Sort(); err == nil {
		g.more = g.run.Next()
	}
	return err
}

// has reports whether a form of a row is of a word that is gone. Rows and forms come in their order.
func (g *goneWords) has(key, form []byte) bool {
	if g == nil || !g.more {
		return false
	}
	g.key = append(append(g.key[:0], key...), form...)
	for g.more && bytes.Compare(g.run.Key(), g.key) < 0 {
		g.more = g.run.Next()
	}
	return g.more && bytes.Equal(g.run.Key(), g.key)
}

// err returns the error that ended the forms early, if one did.
func (g *goneWords) err() error {
	if g == nil || g.run == nil {
		return nil
	}
	return g.run.Err()
}

func (g *goneWords) close() {
	if g.run != nil {
		_ = g.run.Close() // err has said what went wrong
	}
	g.forms.Close()
}
