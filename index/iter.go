// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"cmp"
	"math"

	"github.com/seine-crawler/seine/storage"
)

// end is the document of an iterator that has no more.
const end = math.MaxUint32

// iterator walks the documents of one index segment that match a part of a query, in order. It begins before the first
// document.
type iterator interface {
	// seek moves to the first matching document that is at least doc, never back, and returns it, or end if there is
	// none.
	seek(doc uint32) uint32
	// score returns the part's share of the current document's score.
	score() float64
}

// termIter walks one posting list.
type termIter struct {
	r      listReader
	doc    uint32
	begun  bool
	fields fieldMask
	scorer scorer
	seg    *segment
	weight float64 // of a form below anyIter
}

func (it *termIter) seek(doc uint32) uint32 {
	if it.begun && (it.doc >= doc || it.doc == end) {
		return it.doc
	}
	it.begun = true
	for {
		if !it.r.advance(int64(doc)) {
			it.doc = end
			return end
		}
		it.doc = it.r.at.doc
		if it.fields == 0 || it.fields.any(&it.r.at.freqs) {
			return it.doc
		}
		doc = it.doc + 1
	}
}

func (it *termIter) score() float64 { return it.scorer.of(it.tf()) }

// placed is an iterator that knows positions.
type placed interface {
	iterator
	// positions appends where the current document has it, by field, ascending. They may be read once a document.
	positions(into *[fieldCount][]uint32) bool
	// tf is the weighted, normalised frequency in the current document.
	tf() float64
}

func (it *termIter) positions(into *[fieldCount][]uint32) bool { return it.r.readPositions(into) }

func (it *termIter) tf() float64 {
	if int(it.doc) >= len(it.seg.lengths) {
		return 0
	}
	return it.scorer.tf(&it.r.at.freqs, &it.seg.lengths[it.doc])
}

// meet moves all iterators to the first document that is at least doc and that all of them match.
func meet[I iterator](its []I, doc uint32) uint32 {
	for i := 0; i < len(its); {
		at := its[i].seek(doc)
		if at == end {
			return end
		}
		if at > doc {
			doc, i = at, 0
			continue
		}
		i++
	}
	return doc
}

// contains searches a sorted slice.
func contains(sorted []uint32, v uint32) bool {
	lo, hi := 0, len(sorted)
	for lo < hi {
		mid := (lo + hi) / 2
		if sorted[mid] < v {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo < len(sorted) && sorted[lo] == v
}

// rangeIter walks an interval of documents: a host, or all documents.
type rangeIter struct{ from, to uint32 }

func (it rangeIter) seek(doc uint32) uint32 {
	doc = max(doc, it.from)
	if doc >= it.to {
		return end
	}
	return doc
}

func (rangeIter) score() float64 { return 0 }

// opener makes the iterators of a query on one index segment.
type opener struct {
	rd    storage.Reader
	seg   *segment
	dfs   map[string]uint64 // documents of each term, over all index segments
	all   *collection
	lists []*listReader // for their errors, which close collects
	scans []*storage.Scanner
	err   error
}

func (o *opener) close() error {
	for _, sc := range o.scans {
		if err := sc.Close(); err != nil && o.err == nil {
			o.err = err
		}
	}
	for _, l := range o.lists {
		if l.err != nil && o.err == nil {
			o.err = l.err
		}
	}
	return o.err
}

func (o *opener) open(n *node) iterator {
	switch n.kind {
	case nodeTerm:
		return o.term(n)
	case nodeAny:
		return o.any(n)
	case nodePhrase:
		return o.phrase(n)
	case nodeBool:
		return o.bool(n)
	case nodeKeys:
		return o.keys(n)
	case nodeValue:
		return o.filter(n)
	}
	return rangeIter{}
}

// term opens a posting list.
func (o *opener) term(n *node) *termIter {
	from := termKey(n.term, 0)
	head := from[:len(from)-4]
	to := append(append([]byte(nil), head[:len(head)-1]...), 1)
	sc := o.rd.Scan(storage.IndexSegmentRange(o.seg.number, kindTerms), from, to)
	o.scans = append(o.scans, sc)
	it := &termIter{fields: n.fields, scorer: o.scorer(n), seg: o.seg, weight: cmp.Or(n.weight, 1)}
	it.r.last = -1
	it.r.next = func() ([]byte, bool, error) {
		if !sc.Next() {
			return nil, false, sc.Err()
		}
		if !bytes.HasPrefix(sc.Key(), head) {
			return nil, false, nil
		}
		return sc.Value(), true, nil
	}
	o.lists = append(o.lists, &it.r)
	return it
}

// keys opens an interval of URL keys.
func (o *opener) keys(n *node) iterator {
	from := o.firstDoc(n.from)
	return rangeIter{from, o.firstDoc(n.to)}
}

// firstDoc finds the first document whose key is at least the given one, by binary search: documents are numbered in
// key order.
func (o *opener) firstDoc(key string) uint32 {
	lo, hi := uint32(0), o.seg.info.Docs
	for lo < hi && o.err == nil {
		mid := lo + (hi-lo)/2
		k, _, err := docKey(o.rd, o.seg.number, mid)
		if err != nil {
			o.err = err
		}
		if string(k) < key {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}
