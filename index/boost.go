// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/seine-crawler/seine/storage"
)

// boosts are the factors of an index segment's documents that have one, by blocks of normDocs documents; nil for a
// block without any. Few factors are shared by many documents, since a static score has steps. A segment keeps them in
// memory, as ranking needs the factor of each match: 2 bytes a document of a block that has any.
//
// On disk, kindBoosts, a value per block that has any:
//
//	uvarint   distinct factors
//	8 bytes   each, IEEE 754, little-endian, ascending
//	numbers   (columns.go) for each document 0, or 1 + the place of its factor
//
// Example, four documents of which the last counts double: 01 0000000000000040 01 00 00 00 00 01.
type boosts []*boostBlock

type boostBlock struct {
	factors []float64
	codes   []uint16 // by document: 0 for none, else 1 + the place in factors
}

// boostWriter writes the factors of an index segment.
type boostWriter struct {
	w     *storage.TableWriter
	block uint32
	of    []float64 // of the block's documents
	value []byte
	count uint32 // of documents with a factor
}

// add adds the factor of the next document, 0 for none.
func (b *boostWriter) add(factor float64) error {
	if b.of = append(b.of, factor); len(b.of) == normDocs {
		return b.flush()
	}
	return nil
}

func (b *boostWriter) flush() error {
	factors := slices.Clone(b.of)
	slices.Sort(factors)
	if factors = slices.Compact(factors); len(factors) > 0 && factors[0] == 0 {
		factors = factors[1:]
	}
	b.value = binary.AppendUvarint(b.value[:0], uint64(len(factors)))
	for _, f := range factors {
		b.value = binary.LittleEndian.AppendUint64(b.value, math.Float64bits(f))
	}
	codes := make([]uint64, len(b.of))
	for i, f := range b.of {
		if f != 0 {
			at, _ := slices.BinarySearch(factors, f)
			codes[i] = uint64(at) + 1
			b.count++
		}
	}
	b.of = b.of[:0]
	b.block++
	if len(factors) == 0 {
		return nil
	}
	b.value = appendNumbers(b.value, codes)
	return b.w.Set(numberKey(b.block-1), b.value)
}

// loadBoosts reads the factors; an index segment that counts none is not looked at.
func (seg *segment) loadBoosts(rd storage.Reader) error {
	damaged := func(what string) error {
		return fmt.Errorf("%w: boosts of index segment %d: %s", storage.ErrCorrupt, seg.number, what)
	}
	if seg.info.Boosts == 0 {
		return nil
	}
	if seg.info.Boosts > seg.info.Docs {
		return damaged("more than documents")
	}
	blocks := (seg.info.Docs + normDocs - 1) / normDocs
	seg.boosts = make(boosts, blocks)
	sc := rd.Scan(storage.IndexSegmentRange(seg.number, kindBoosts), nil, nil)
	defer sc.Close()
	count := uint32(0)
	for sc.Next() {
		if len(sc.Key()) != 4 || binary.BigEndian.Uint32(sc.Key()) >= blocks {
			return damaged("number of a block")
		}
		at := binary.BigEndian.Uint32(sc.Key())
		block, boosted, err := decodeBoosts(sc.Value(), int(min(seg.info.Docs-at*normDocs, normDocs)))
		if err != nil {
			return damaged(err.Error())
		}
		seg.boosts[at] = block
		count += boosted
	}
	if err := sc.Err(); err != nil {
		return err
	}
	if count != seg.info.Boosts {
		return damaged(fmt.Sprintf("%d, not %d", count, seg.info.Boosts))
	}
	return nil
}

// decodeBoosts decodes a block of n documents, and returns how many have a factor.
func decodeBoosts(b []byte, n int) (block *boostBlock, count uint32, err error) {
	r := storedReader{b: b}
	of := r.uvarint()
	if of == 0 || of > uint64(n) || of*8 > uint64(len(r.b)) {
		return nil, 0, fmt.Errorf("%d factors", of)
	}
	block = &boostBlock{factors: make([]float64, of), codes: make([]uint16, n)}
	last := 0.0
	for i := range block.factors {
		f := math.Float64frombits(binary.LittleEndian.Uint64(r.take(8)))
		if !validBoost(f) || f <= last {
			return nil, 0, fmt.Errorf("factor %v", f)
		}
		block.factors[i], last = f, f
	}
	var codes columnBlock
	if err := codes.decode(columnSize, r.b, n); err != nil {
		return nil, 0, err
	}
	for i, c := range codes.numbers {
		if c > of {
			return nil, 0, fmt.Errorf("factor %d of %d", c, of)
		}
		if c > 0 {
			count++
		}
		block.codes[i] = uint16(c)
	}
	return block, count, nil
}

// LeastBoost is the smallest Document.Boost. With far smaller ones products have no digits left: scores that differ
// would be equal, in one order of multiplication and not in another.
const LeastBoost = 1e-100

func validBoost(f float64) bool { return f >= LeastBoost && f <= math.MaxFloat64 }

// factor returns a document's factor; ok is false for none.
func (b boosts) factor(doc uint32) (f float64, ok bool) {
	if len(b) == 0 || b[doc/normDocs] == nil {
		return 0, false
	}
	block := b[doc/normDocs]
	code := block.codes[doc%normDocs]
	if code == 0 {
		return 0, false
	}
	return block.factors[code-1], true
}

// most returns the largest factor, at least 1, which documents without have.
func (b boosts) most() float64 {
	most := 1.0
	for _, block := range b {
		if block != nil {
			most = max(most, block.factors[len(block.factors)-1])
		}
	}
	return most
}
