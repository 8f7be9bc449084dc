// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/storage"
)

// Lengths of fields are kept in one byte a field and document, a norm. Up to 32 words it is exact; above, neighbouring
// codes are 3.5% apart, up to maxLength. Scores and averages see the coded length only, so that they do not depend on
// what else is known of a document.

// exactLength is the largest length up to which each has its code.
const exactLength = 32

// normLength is the length that a code stands for.
var normLength = func() (t [256]float64) {
	step := math.Pow(maxLength/float64(exactLength), 1/float64(255-exactLength))
	at := float64(exactLength)
	for c := range t {
		if c <= exactLength {
			t[c] = float64(c)
			continue
		}
		at *= step
		t[c] = max(math.Round(at), t[c-1]+1)
	}
	t[255] = maxLength
	return t
}()

// normOf returns the code of a length in words: that of the largest coded length that is not above it.
func normOf(words int) uint8 {
	if words <= exactLength {
		return uint8(max(words, 0))
	}
	lo, hi := exactLength, 256
	for hi-lo > 1 {
		mid := (lo + hi) / 2
		if normLength[mid] <= float64(words) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return uint8(lo)
}

// Impacts. The impact of a posting is what a score saturates: the sum over the fields of weight × frequency / (1 - b +
// b × length / reference), where the references are the average lengths when the index segment was written. A code is
// the logarithm of the largest impact of a block, in steps of 1/16 of a doubling, rounded up: impactOne is an impact
// of 1.
const (
	impactSteps = 16
	impactOne   = 96
	impactMost  = 255 // code of all impacts above
	// impactNone is above all impacts, since frequencies have a bound, and finite, so that a score can be computed
	// of it.
	impactNone = 1e12
)

// impactCode returns the code of an impact, from 1 to impactMost.
func impactCode(tf float64) uint8 {
	code := math.Ceil(math.Log2(tf*(1+1e-9))*impactSteps) + impactOne
	return uint8(min(max(code, 1), impactMost)) // tf is not NaN
}

// impactBound returns what no impact with this code or a lower one exceeds: impactNone for the highest code.
func impactBound(code uint16) float64 {
	if code >= impactMost {
		return impactNone
	}
	return impactBounds[code]
}

var impactBounds = func() (bounds [impactMost]float64) {
	for code := range bounds {
		bounds[code] = math.Exp2((float64(code) - impactOne) / impactSteps)
	}
	return bounds
}()

// impactTable gives the impact of one occurrence by field and norm.
type impactTable [fieldCount][256]float64

func newImpactTable(refs *[fieldCount]float64) *impactTable {
	t := new(impactTable)
	for f := range t {
		for c := range t[f] {
			t[f][c] = fieldWeight[f] / (1 - fieldB[f] + fieldB[f]*normLength[c]/refs[f])
		}
	}
	return t
}

// of returns the impact of a posting.
func (t *impactTable) of(freqs *[fieldCount]uint32, codes *norms) (tf float64) {
	for f, n := range freqs {
		if n > 0 {
			tf += float64(n) * t[f][codes[f]]
		}
	}
	return tf
}

// weightsHash names the weights that impacts are computed with: those of an index segment with another hash are no
// bounds.
func weightsHash() uint64 {
	var b []byte
	for f := range fieldCount {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(fieldWeight[f]))
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(fieldB[f]))
	}
	return xxh3.Hash(b)
}

// impactFactor returns by what the bounds of an index segment must be multiplied when the average lengths are not those
// that its impacts refer to: impactNone if they are no bounds because the weights were others.
func (seg *segment) impactFactor(averages *[fieldCount]float64) float64 {
	if seg.info.Weights != weightsHash() {
		return impactNone
	}
	factor := 1.0
	for f, ref := range seg.info.Averages {
		factor = max(factor, averages[f]/ref)
	}
	return factor
}

// norms are the coded lengths of a document's fields.
type norms [fieldCount]uint8

// normWriter writes the norms of an index segment: a value of range n for normDocs documents, under the block's number:
//
//	for each field: 0 and the code that all documents have, or 1 and a code for each document
type normWriter struct {
	w      *storage.TableWriter
	block  uint32
	fields [fieldCount][]byte
	value  []byte
}

func (n *normWriter) add(codes *norms) error {
	for f, c := range codes {
		n.fields[f] = append(n.fields[f], c)
	}
	if len(n.fields[0]) == normDocs {
		return n.flush()
	}
	return nil
}

func (n *normWriter) flush() error {
	if len(n.fields[0]) == 0 {
		return nil
	}
	n.value = n.value[:0]
	for f, codes := range n.fields {
		same := true
		for _, c := range codes {
			same = same && c == codes[0]
		}
		if same {
			n.value = append(n.value, 0, codes[0])
		} else {
			n.value = append(append(n.value, 1), codes...)
		}
		n.fields[f] = codes[:0]
	}
	n.block++
	return n.w.Set(numberKey(n.block-1), n.value)
}

// readNorms decodes a value of n documents and appends the codes of each field to dst.
func readNorms(b []byte, n int, dst *[fieldCount][]byte) error {
	for f := range dst {
		switch {
		case len(b) >= 2 && b[0] == 0:
			for range n {
				dst[f] = append(dst[f], b[1])
			}
			b = b[2:]
		case len(b) >= 1+n && b[0] == 1:
			dst[f] = append(dst[f], b[1:1+n]...)
			b = b[1+n:]
		default:
			return fmt.Errorf("%w: lengths of field %d", storage.ErrCorrupt, f)
		}
	}
	if len(b) > 0 {
		return fmt.Errorf("%w: %d bytes after the lengths", storage.ErrCorrupt, len(b))
	}
	return nil
}

// loadNorms reads the norms of all documents.
func (seg *segment) loadNorms(rd storage.Reader) error {
	sc := rd.Scan(storage.IndexSegmentRange(seg.number, kindNorms), nil, nil)
	defer sc.Close()
	left := int(seg.info.Docs)
	for sc.Next() && left > 0 {
		n := min(left, normDocs)
		if err := readNorms(sc.Value(), n, &seg.norms); err != nil {
			return fmt.Errorf("index segment %d: %w", seg.number, err)
		}
		left -= n
	}
	if err := sc.Err(); err != nil {
		return err
	}
	if left > 0 {
		return fmt.Errorf("%w: index segment %d has %d documents without lengths", storage.ErrCorrupt, seg.number, left)
	}
	return nil
}

// normsOf returns the norms of a document.
func (seg *segment) normsOf(doc uint32) (n norms) {
	for f := range n {
		n[f] = seg.norms[f][doc]
	}
	return n
}
