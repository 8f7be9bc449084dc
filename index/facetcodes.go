// SPDX-License-Identifier: Apache-2.0

package index

import (
	"math"
	"math/bits"
)

// heldColumn has the values of a column that a facet counts, as long as searches hold it (held.go): one byte a
// document, none where all documents of a block have the same value. Each search with facets would otherwise read and
// decode all blocks of three columns that have a match. It never changes.
type heldColumn struct {
	texts  []string // by code, of a column of texts; texts[0] is "", of documents without one
	years  []int    // by code, of columnDate; years[0] is noYear
	blocks []columnCodes
}

// noYear is the year of documents without a date.
const noYear = math.MinInt

// columnCodes are the codes of a block of normDocs documents.
type columnCodes struct {
	same  uint8 // that of all documents, if codes is nil
	codes []uint8
}

// codeCounts counts documents by code.
type codeCounts [math.MaxUint8 + 1]int

func (c *heldColumn) bytes() int64 {
	n := int64(32 * (len(c.texts) + len(c.years) + len(c.blocks)))
	for i := range c.blocks {
		n += int64(len(c.blocks[i].codes))
	}
	return n
}

// count counts the documents of a block whose bits are set.
func (c *heldColumn) count(block uint32, of []uint64, counts *codeCounts) {
	b := &c.blocks[block]
	if b.codes == nil {
		n := 0
		for _, w := range of {
			n += bits.OnesCount64(w)
		}
		counts[b.same] += n
		return
	}
	for at, w := range of {
		if w == 0 {
			continue
		}
		codes := b.codes[at*64:]
		for ; w != 0; w &= w - 1 {
			counts[codes[bits.TrailingZeros64(w)]]++
		}
	}
}

// heldColumn returns a column of a part that is held, and holds one that was used before: nil if it is not held.
func (x *execution) heldColumn(p *part, letter byte) (*heldColumn, error) {
	if p.held == nil {
		return nil, nil
	}
	key := heldColumns + string(rune(letter))
	u, hold := p.held.use(key, int64(p.docs))
	if u != nil {
		return u.column, nil
	}
	if !hold || !p.held.making(key) {
		return nil, nil
	}
	forget := func() {
		p.held.forget(key)
		p.held.made(key)
	}
	if x.holdLater(p, func(x *execution, p *part) { _, _ = x.holdColumn(p, letter, key) }, forget) {
		return nil, nil
	}
	return x.holdColumn(p, letter, key)
}

// holdColumn makes a column and holds it; nil if it has too many values, or cannot be made in time.
func (x *execution) holdColumn(p *part, letter byte, key string) (*heldColumn, error) {
	defer p.held.made(key)
	column, ok, err := x.newHeldColumn(p, letter)
	if !ok {
		p.held.forget(key)
		return nil, err
	}
	u := &heldUse{column: column}
	if column != nil {
		u.size = column.bytes()
	}
	p.held.keep(key, u)
	return column, nil
}

// newHeldColumn reads a column of a part. It is nil if there are too many values for a byte; ok is false if reading all
// of it takes too much of the search's time.
func (x *execution) newHeldColumn(p *part, letter byte) (_ *heldColumn, ok bool, err error) {
	defer x.making()()
	c := &heldColumn{texts: []string{""}}
	texts, years := map[string]uint8{"": 0}, map[int]uint8{noYear: 0}
	if letter == columnDate {
		c.texts, c.years = nil, []int{noYear}
	}
	var decoded columnBlock
	var codes []uint8
	for block := uint32(0); block*normDocs < p.docs; block++ {
		if !x.work.spend(valueUnits) {
			return nil, false, nil
		}
		if err := p.column(letter, block, &decoded); err != nil {
			return nil, false, err
		}
		ok = true
		if codes = codes[:0]; letter == columnDate {
			for _, v := range decoded.numbers {
				year := noYear
				if ms, has := columnTimeMS(v); has {
					year = yearOf(ms)
				}
				codes = append(codes, codeOf(years, &c.years, year, &ok))
			}
		} else {
			of := make([]uint8, len(decoded.texts))
			for i, t := range decoded.texts {
				of[i] = codeOf(texts, &c.texts, t, &ok)
			}
			for _, place := range decoded.numbers {
				codes = append(codes, of[place])
			}
		}
		if !ok {
			return nil, true, nil
		}
		c.blocks = append(c.blocks, newColumnCodes(codes))
	}
	return c, true, nil
}

// codeOf returns the code of a value, a new one if it has none yet; ok becomes false where there are no more.
func codeOf[V comparable](codes map[V]uint8, values *[]V, value V, ok *bool) uint8 {
	code, known := codes[value]
	if known {
		return code
	}
	if len(*values) == len(codeCounts{}) {
		*ok = false
		return 0
	}
	code = uint8(len(*values))
	codes[value], *values = code, append(*values, value)
	return code
}

// newColumnCodes copies the codes of a block.
func newColumnCodes(codes []uint8) columnCodes {
	for _, c := range codes {
		if c != codes[0] {
			return columnCodes{codes: append([]uint8(nil), codes...)}
		}
	}
	return columnCodes{same: codes[0]}
}
