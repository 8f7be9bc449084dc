// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/seine-crawler/seine/index/analysis"
)

// Stored fields are in the dictionary beside words, below a byte that no word has:
//
//	ff, name, 0, word            documents with the word in a value; positions as in a text
//	ff, name, 1, value           documents with this very value
//	ff, name, 2, 8 bytes         documents with this number: sortable, so that a range of numbers is one of terms
//
// Their postings are in fieldAround, whose length they do not add to.
const (
	fieldTermMark = "\xff"

	fieldTermWord   = 0
	fieldTermValue  = 1
	fieldTermNumber = 2
)

// aroundMask is the field of stored fields' postings.
const aroundMask fieldMask = 1 << fieldAround

// fieldTerm begins the terms of a kind of a stored field.
func fieldTerm(name string, kind byte) string { return fieldTermMark + name + string([]byte{kind}) }

// splitFieldTerm takes a term of a stored field apart; ok is false for words.
func splitFieldTerm(term string) (name string, kind byte, rest string, ok bool) {
	rest, ok = strings.CutPrefix(term, fieldTermMark)
	if !ok {
		return "", 0, "", false
	}
	i := strings.IndexFunc(rest, func(r rune) bool { return r <= fieldTermNumber })
	if i < 0 {
		return "", 0, "", false
	}
	return rest[:i], rest[i], rest[i+1:], true
}

// fieldName returns the name by which queries know a stored field; ok is false if they cannot name it.
func fieldName(name string) (_ string, ok bool) {
	if name == "" || len(name) > FieldNameMax {
		return "", false
	}
	name = strings.ToLower(name)
	return name, 'a' <= name[0] && name[0] <= 'z' && fieldNameEnd(name) == len(name) && queryFields[name] == nil
}

// fieldNameEnd returns how many bytes at the begin of a text may be a field's name.
func fieldNameEnd(s string) int {
	for i := range len(s) {
		c := s[i] | 0x20
		if (c < 'a' || c > 'z') && (s[i] < '0' || s[i] > '9') && s[i] != '_' && s[i] != '-' {
			return i
		}
	}
	return len(s)
}

// fieldNumber returns a number in the order of numbers: as an integer that compares like it.
func fieldNumber(text string) (v int64, ok bool) {
	f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, false
	}
	v = int64(math.Float64bits(f + 0)) // -0 is 0
	if v < 0 {
		v ^= math.MaxInt64
	}
	return v, true
}

// numberTerm returns the term of a number of a field.
func numberTerm(name string, v int64) string {
	b := binary.BigEndian.AppendUint64(nil, uint64(v)^1<<63)
	return fieldTerm(name, fieldTermNumber) + string(b)
}

// fields inverts the stored fields of the current document.
func (b *segmentBuilder) fields(d *Document) {
	inv, at := &b.inv, 0
	var term []byte
	add := func(begin string, rest []byte, position int) {
		term = append(append(term[:0], begin...), rest...)
		inv.add(inv.entry(inv.find(term)), b.doc, fieldAround, uint32(position))
	}
	for _, f := range d.Stored {
		name, ok := fieldName(f.Name)
		if !ok {
			continue
		}
		if _, known := b.fieldNames[name]; !known {
			if b.fieldNames == nil {
				b.fieldNames = map[string]struct{}{}
			}
			b.fieldNames[strings.Clone(name)] = struct{}{}
		}
		if value := strings.TrimSpace(f.Value); value != "" && len(value) <= FieldValueMax {
			add(fieldTerm(name, fieldTermValue), []byte(value), at)
		}
		if v, ok := fieldNumber(f.Value); ok {
			add(numberTerm(name, v), nil, at)
		}
		words := fieldTerm(name, fieldTermWord)
		b.walked = append(b.walked[:0], f.Value...)
		at = partGap + b.analyzer.Walk(b.walked, at, func(t *analysis.Token) {
			add(words, t.Term, t.Position)
		})
	}
}

// takeFieldNames returns the names of the fields of the index segment under construction.
func (b *segmentBuilder) takeFieldNames() []string { return slices.Sorted(maps.Keys(b.fieldNames)) }

// mergedFieldNames returns the names of the fields of all index segments of a group.
func mergedFieldNames(group []*segment) []string {
	all := map[string]struct{}{}
	for _, seg := range group {
		for _, name := range seg.info.Fields {
			all[name] = struct{}{}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// hasField reports whether a document has, or had, a stored field of a name.
func (st *state) hasField(name string) bool {
	return slices.ContainsFunc(st.segments, func(seg *segment) bool {
		_, ok := slices.BinarySearch(seg.info.Fields, name)
		return ok
	})
}

// fieldIter walks the documents that have a term of an interval: a number of a range. It makes bits of the terms' lists
// before its first document. It scores 0.
type fieldIter struct {
	x    *execution
	part *part
	n    *node
	bits bitset // nil until they are made
}

// load makes the bits, once for all iterators of a search; false means that the search is to end.
func (it *fieldIter) load() bool {
	if it.bits != nil {
		return !it.x.work.over
	}
	known := it.x.ranges[it.part.number]
	if it.bits = known[it.n]; it.bits != nil {
		return !it.x.work.over
	}
	it.bits = make(bitset, (uint64(it.part.docs)+countDocs-1)/countDocs*(countDocs/64))
	all := window{0, it.bits}
	lists := it.part.lists(it.n.from, it.n.to, it.x.work)
	for lists.next() {
		lists.mark(&all)
	}
	lists.close()
	if !it.x.work.over {
		known[it.n] = it.bits
	}
	return !it.x.work.over
}

func (it *fieldIter) seek(doc uint32) uint32 {
	if doc >= it.part.docs || !it.load() {
		return end
	}
	if next := nextBit(it.bits, int(doc)); next >= 0 {
		return uint32(next)
	}
	return end
}

func (*fieldIter) matches() bool            { return true }
func (*fieldIter) score() points            { return 0 }
func (*fieldIter) bound(_, _ uint32) points { return 0 }
func (*fieldIter) most() points             { return 0 }
func (it *fieldIter) cost() uint64          { return uint64(it.part.docs) }
func (it *fieldIter) fill(s *sums)          { fillEach(it, s) }
func (it *fieldIter) look(*sums)            {} // it scores 0

func (it *fieldIter) shallow(doc uint32) (from, upTo uint32) {
	if from = it.seek(doc); from == end {
		return end, end
	}
	return from, it.part.docs - 1
}

func (it *fieldIter) mark(w *window) {
	if !it.load() || int(w.from/64) >= len(it.bits) {
		return
	}
	for i, b := range it.bits[w.from/64 : min(int(w.from/64)+len(w.bits), len(it.bits))] {
		w.bits[i] |= b
	}
}
