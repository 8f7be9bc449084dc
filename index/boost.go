// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/seine-crawler/seine/storage"
)

// boosts are the factors of an index segment's documents that have one, by number. A segment keeps them in memory,
// since ranking needs the factor of each match: 12 bytes a boosted document, nothing for others.
//
// On disk, kindBoosts, a value per block of normDocs documents that has any; blocks without are left out:
//
//	each: document within the block, 2 bytes | factor, 8 bytes IEEE 754; both little-endian
//
// Example, document 3 counts double: 0300 0000000000000040.
type boosts struct {
	docs    []uint32
	factors []float64
}

const boostBytes = 2 + 8

// boostWriter writes the factors of an index segment.
type boostWriter struct {
	w     *storage.TableWriter
	value []byte
	block uint32
	count uint32
}

// add adds the factor of a document, 0 for none; documents come in order.
func (b *boostWriter) add(doc uint32, factor float64) error {
	if factor == 0 {
		return nil
	}
	if doc/normDocs != b.block {
		if err := b.flush(); err != nil {
			return err
		}
		b.block = doc / normDocs
	}
	b.value = binary.LittleEndian.AppendUint16(b.value, uint16(doc%normDocs))
	b.value = binary.LittleEndian.AppendUint64(b.value, math.Float64bits(factor))
	b.count++
	return nil
}

func (b *boostWriter) flush() error {
	if len(b.value) == 0 {
		return nil
	}
	err := b.w.Set(numberKey(b.block), b.value)
	b.value = b.value[:0]
	return err
}

// loadBoosts reads the factors; an index segment that counts none is not looked at.
func (seg *segment) loadBoosts(rd storage.Reader) error {
	n := seg.info.Boosts
	if n == 0 {
		return nil
	}
	damaged := func(what string) error {
		return fmt.Errorf("%w: boosts of index segment %d: %s", storage.ErrCorrupt, seg.number, what)
	}
	if n > seg.info.Docs {
		return damaged("more than documents")
	}
	seg.boosts = boosts{make([]uint32, 0, n), make([]float64, 0, n)}
	sc := rd.Scan(storage.IndexSegmentRange(seg.number, kindBoosts), nil, nil)
	defer sc.Close()
	next := uint64(0) // the least document that may come
	for sc.Next() {
		if len(sc.Key()) != 4 || len(sc.Value())%boostBytes != 0 {
			return damaged("length of a block")
		}
		first := uint64(binary.BigEndian.Uint32(sc.Key())) * normDocs
		for v := sc.Value(); len(v) > 0; v = v[boostBytes:] {
			doc := first + uint64(binary.LittleEndian.Uint16(v))
			factor := math.Float64frombits(binary.LittleEndian.Uint64(v[2:]))
			if doc < next || doc >= uint64(seg.info.Docs) || !validBoost(factor) {
				return damaged(fmt.Sprintf("document %d, factor %v", doc, factor))
			}
			next = doc + 1
			seg.boosts.docs = append(seg.boosts.docs, uint32(doc))
			seg.boosts.factors = append(seg.boosts.factors, factor)
		}
	}
	if err := sc.Err(); err != nil {
		return err
	}
	if len(seg.boosts.docs) != int(n) {
		return damaged(fmt.Sprintf("%d, not %d", len(seg.boosts.docs), n))
	}
	return nil
}

func validBoost(f float64) bool { return f > 0 && f <= math.MaxFloat64 }

// boostCursor looks up factors of documents in their order.
type boostCursor struct {
	boosts
	at int // the last boosted document that is not above the one looked up before, or 0
}

// factor returns a document's factor; ok is false for none. It takes time in the logarithm of the boosted documents
// that it skips.
func (c *boostCursor) factor(doc uint32) (f float64, ok bool) {
	step := 1
	for ; c.at+step < len(c.docs) && c.docs[c.at+step] <= doc; step *= 2 {
		c.at += step
	}
	for step /= 2; step > 0; step /= 2 {
		if c.at+step < len(c.docs) && c.docs[c.at+step] <= doc {
			c.at += step
		}
	}
	if c.at < len(c.docs) && c.docs[c.at] == doc {
		return c.factors[c.at], true
	}
	return 0, false
}
