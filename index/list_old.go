// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"math"

	"github.com/seine-crawler/seine/storage"
)

// decodedList is a posting list in memory.
type decodedList struct {
	last     []uint32
	postings []posting
	pos      [][fieldCount][]uint32
}

func (l *decodedList) df() uint64         { return uint64(len(l.postings)) }
func (l *decodedList) lastDocs() []uint32 { return l.last }
func (l *decodedList) impacts() []uint16  { return nil }

func (l *decodedList) block(b int) []posting {
	return l.postings[b*blockDocs : min((b+1)*blockDocs, len(l.postings))]
}

func (l *decodedList) docs(block int, dst *[blockDocs]uint32) (int, error) {
	for i, p := range l.block(block) {
		dst[i] = p.doc
	}
	return len(l.block(block)), nil
}

func (l *decodedList) freqs(block int, dst *blockFreqs) error {
	for i, p := range l.block(block) {
		dst.mask[i] = 0
		for f, n := range p.freqs {
			if dst.n[f][i] = n; n > 0 {
				dst.mask[i] |= 1 << f
			}
		}
	}
	return nil
}

func (l *decodedList) positions(block, i int, field int, dst []uint32) ([]uint32, error) {
	return append(dst, l.pos[block*blockDocs+i][field]...), nil
}

// openList decodes a term's list; nil means that the segment has none.
func (seg *segment) openList(rd storage.Reader, term string) (list, error) {
	from := termKey(term, 0)
	head := from[:len(from)-4]
	to := append(append([]byte(nil), head[:len(head)-1]...), 1)
	sc := rd.Scan(storage.IndexSegmentRange(seg.number, kindTerms), from, to)
	defer sc.Close()
	r := listReader{last: -1}
	r.next = func() ([]byte, bool, error) {
		if !sc.Next() || !bytes.HasPrefix(sc.Key(), head) {
			return nil, false, sc.Err()
		}
		return sc.Value(), true, nil
	}
	l := &decodedList{}
	for r.advance(r.last + 1) {
		var pos [fieldCount][]uint32
		if !r.readPositions(&pos) {
			break
		}
		l.postings, l.pos = append(l.postings, r.at), append(l.pos, pos)
		if len(l.postings)%blockDocs == 0 {
			l.last = append(l.last, r.at.doc)
		}
	}
	if r.err != nil || len(l.postings) == 0 {
		return nil, r.err
	}
	if len(l.postings)%blockDocs != 0 {
		l.last = append(l.last, r.at.doc)
	}
	return l, nil
}

func impactBound(code uint16) float64 { return float64(code) / 16 }

var normLength = func() (t [256]float64) {
	for i := range t {
		if t[i] = float64(i); i > 64 {
			t[i] = math.Round(64 * math.Pow(1.038, float64(i-64)))
		}
	}
	return t
}()

func normOf(n int) byte {
	code := byte(0)
	for int(code) < 255 && int(normLength[code+1]) <= n {
		code++
	}
	return code
}

func (seg *segment) code() {
	for f := range seg.norms {
		seg.norms[f] = make([]byte, len(seg.lengths))
		for i, l := range seg.lengths {
			seg.norms[f][i] = normOf(int(l[f]))
		}
	}
}
