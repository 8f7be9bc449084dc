// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/seine-crawler/seine/storage"
)

// Stored values are what an index filter adds to a document for people to see, and where in its text the words are. A
// search reads them for the hits that it returns, never while it ranks.
//
// Layout, a value of kindStored; times and numbers are varints, texts have their length before them:
//
//	1 byte    version, 2
//	1 byte    1 = date, 2 = title, 4 = text, 8 = fields, 16 = author, 32 = steps follow
//	varint    date, in milliseconds since 1970
//	text      title
//	text      text
//	uvarint   number of fields, then each: text name, text value
//	text      author
//	uvarint   number of steps, then each: varint of how much longer it is than the one before (wordsteps.go)
//
// Example, a title "Net" and one field price=5: 02 0a 03 4e6574 01 05 7072696365 01 35.
type stored struct {
	fields      []storage.Field
	date        time.Time // UTC, whole milliseconds
	title, text string
	author      string
	steps       wordSteps
}

const (
	storedVersion = 2

	storedDate   = 1
	storedTitle  = 2
	storedText   = 4
	storedFields = 8
	storedAuthor = 16
	storedSteps  = 32
)

// appendStored appends the encoding of a document's stored values, nothing if it has none.
func appendStored(dst []byte, d *Document, steps wordSteps) []byte {
	what := byte(0)
	if !d.Date.IsZero() {
		what |= storedDate
	}
	if d.ShowTitle != "" {
		what |= storedTitle
	}
	if d.ShowText != "" {
		what |= storedText
	}
	if len(d.Stored) > 0 {
		what |= storedFields
	}
	if d.Author != "" {
		what |= storedAuthor
	}
	if len(steps) > 0 {
		what |= storedSteps
	}
	if what == 0 {
		return dst
	}
	dst = append(dst, storedVersion, what)
	if what&storedDate != 0 {
		dst = binary.AppendVarint(dst, d.Date.UnixMilli())
	}
	if what&storedTitle != 0 {
		dst = appendText(dst, d.ShowTitle)
	}
	if what&storedText != 0 {
		dst = appendText(dst, cutText(d.ShowText, ShowTextMax))
	}
	if what&storedFields != 0 {
		dst = binary.AppendUvarint(dst, uint64(len(d.Stored)))
		for _, f := range d.Stored {
			dst = appendText(appendText(dst, f.Name), f.Value)
		}
	}
	if what&storedAuthor != 0 {
		dst = appendText(dst, d.Author)
	}
	if what&storedSteps != 0 {
		dst = steps.append(dst)
	}
	return dst
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// decodeStored decodes a value of kindStored, copying its texts.
func decodeStored(b []byte) (s stored, err error) {
	r := storedReader{b: b}
	if version := r.byte(); version != storedVersion {
		return s, fmt.Errorf("%w: stored values of version %d", storage.ErrCorrupt, version)
	}
	head := r.byte()
	if head&storedDate != 0 {
		s.date = time.UnixMilli(r.varint()).UTC()
	}
	if head&storedTitle != 0 {
		s.title = r.text()
	}
	if head&storedText != 0 {
		s.text = r.text()
	}
	if head&storedFields != 0 {
		n := r.uvarint()
		if n > StoredFieldsMax {
			r.bad = true
		}
		for ; n > 0 && !r.bad; n-- {
			s.fields = append(s.fields, storage.Field{Name: r.text(), Value: r.text()})
		}
	}
	if head&storedAuthor != 0 {
		s.author = r.text()
	}
	if head&storedSteps != 0 {
		s.steps = readSteps(&r)
	}
	if r.bad || len(r.b) > 0 {
		return stored{}, fmt.Errorf("%w: stored values of %d bytes", storage.ErrCorrupt, len(b))
	}
	return s, nil
}

// storedReader reads pieces off the front of b. The first that does not fit sets bad; later ones are zero.
type storedReader struct {
	b   []byte
	bad bool
}

func (r *storedReader) take(n uint64) []byte {
	if r.bad || n > uint64(len(r.b)) {
		r.bad = true
		return nil
	}
	p := r.b[:n]
	r.b = r.b[n:]
	return p
}

func (r *storedReader) byte() byte {
	if p := r.take(1); p != nil {
		return p[0]
	}
	return 0
}

func (r *storedReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	r.bad = r.bad || n <= 0
	r.take(uint64(max(n, 0)))
	return v
}

func (r *storedReader) varint() int64 {
	v, n := binary.Varint(r.b)
	r.bad = r.bad || n <= 0
	r.take(uint64(max(n, 0)))
	return v
}

func (r *storedReader) text() string { return string(r.take(r.uvarint())) }

// stepsOnly returns 1 for a value of kindStored that has steps and no more, else 0.
func stepsOnly(value []byte) uint32 {
	if len(value) > 1 && value[1] == storedSteps {
		return 1
	}
	return 0
}

// readStored reads the stored values of a document. Without steps it reads nothing where its index segment counts no
// others.
func (seg *segment) readStored(rd storage.Reader, doc uint32, steps bool) (stored, error) {
	if seg.info.Stored == 0 || !steps && seg.info.Stored == seg.info.StepsOnly {
		return stored{}, nil
	}
	v, ok, err := rd.Get(storage.IndexSegmentRange(seg.number, kindStored), numberKey(doc), nil)
	if err != nil || !ok {
		return stored{}, err
	}
	s, err := decodeStored(v)
	if err != nil {
		return stored{}, fmt.Errorf("document %d of index segment %d: %w", doc, seg.number, err)
	}
	return s, nil
}

// storedSource walks the stored values of one index segment, for merges and digests.
type storedSource struct {
	s    *source
	sc   *storage.Scanner
	more bool
	doc  uint32 // as source.number has it
}

func newStoredSource(rd storage.Reader, s *source) *storedSource {
	return &storedSource{s: s, sc: rd.Scan(storage.IndexSegmentRange(s.seg.number, kindStored), nil, nil)}
}

// step moves to the next document that is not deleted.
func (st *storedSource) step() error {
	for st.more = false; st.sc.Next(); {
		key := st.sc.Key()
		if len(key) != 4 || binary.BigEndian.Uint32(key) >= st.s.seg.info.Docs {
			return fmt.Errorf("%w: index segment %d has stored values of document %x, beyond its %d",
				storage.ErrCorrupt, st.s.seg.number, key, st.s.seg.info.Docs)
		}
		if st.doc, st.more = st.s.number(binary.BigEndian.Uint32(key)); st.more {
			return nil
		}
	}
	return st.sc.Err()
}

// mergeStored writes the stored values of all sources under their new numbers, and counts them and those of steps only.
func mergeStored(
	p *pace, rd storage.Reader, sources []*source, w *storage.TableWriter,
) (count, bare uint32, err error) {
	var all []*storedSource
	for _, s := range sources {
		if s.seg.info.Stored == 0 {
			continue
		}
		st := newStoredSource(rd, s)
		defer st.sc.Close()
		if err := st.step(); err != nil {
			return 0, 0, err
		}
		all = append(all, st)
	}
	for {
		if err := p.step(docUnits); err != nil {
			return count, bare, err
		}
		var least *storedSource
		for _, st := range all {
			if st.more && (least == nil || st.doc < least.doc) {
				least = st
			}
		}
		if least == nil {
			return count, bare, nil
		}
		if err := w.Set(numberKey(least.doc), least.sc.Value()); err != nil {
			return count, bare, err
		}
		count++
		bare += stepsOnly(least.sc.Value())
		if err := least.step(); err != nil {
			return count, bare, err
		}
	}
}
