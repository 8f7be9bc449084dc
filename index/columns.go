// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Columns are values of documents for filters, orders and counts, normDocs documents to a value of range v, under the
// block's number and the column's letter. A block in which no document has the value is left out, except for hosts.
// Letters are on disk.
//
//	numbers = for each 128 documents: bytes of a number, 1 byte | least number, uvarint | the numbers less the least,
//	          little-endian
//	texts   = count uvarint | texts with their lengths before them | numbers: 0 for none, else the text's place plus 1
//	names   = for each host of which the block has the first document: hash of its key, 8 bytes
const (
	columnDate     = 'd' // timeNumber
	columnFetched  = 'f' // timeNumber; index segments of older versions have none
	columnGroup    = 'g' // Document.Group
	columnHost     = 'h' // ordinal of the host in the index segment, from 0
	columnHostName = 'i' // names: what tells the hosts of several index segments apart
	columnLanguage = 'l' // text
	columnSize     = 's' // Document.Size, bytes
	columnType     = 't' // text
)

// columns are a document's values.
type columns struct {
	language, kind             string
	date, fetched, size, group uint64
}

func columnsOf(d *Document) columns {
	return columns{
		language: languageCode(d.Language), kind: d.Type,
		date: timeNumber(d.Date), fetched: timeNumber(d.Fetched), size: uint64(d.Size), group: d.Group,
	}
}

// timeNumber returns a time as a number of a column: 0 for none, else milliseconds since 1970 in zigzag form, plus 1.
func timeNumber(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	ms := t.UnixMilli()
	return uint64(ms<<1^ms>>63) + 1
}

// columnTimeMS returns the milliseconds since 1970 of a number of a column of times; ok is false for none.
func columnTimeMS(v uint64) (ms int64, ok bool) {
	if v == 0 {
		return 0, false
	}
	v--
	return int64(v>>1) ^ -int64(v&1), true
}

// columnWriter writes the columns of an index segment.
type columnWriter struct {
	w               *storage.TableWriter
	block           uint32
	numbers         [5][]uint64 // by place in numberColumns
	languages, kind textColumn
	host            urlkey.HostKey
	hosts           uint64
	names           []byte // of the block's new hosts
	value           []byte
}

// numberColumns are the columns of numbers, in the order of their letters.
var numberColumns = [5]byte{columnDate, columnFetched, columnGroup, columnHost, columnSize}

// textColumn is a block of a column of texts.
type textColumn struct {
	texts  []string
	places map[string]uint64
	of     []uint64
}

func (c *textColumn) add(text string) {
	if text == "" {
		c.of = append(c.of, 0)
		return
	}
	if c.places == nil {
		c.places = map[string]uint64{}
	}
	place := c.places[text]
	if place == 0 {
		c.texts = append(c.texts, text)
		place = uint64(len(c.texts))
		c.places[text] = place
	}
	c.of = append(c.of, place)
}

func (w *columnWriter) add(key urlkey.Key, c *columns) error {
	if host := key.HostKey(); host != w.host || w.hosts == 0 {
		w.host = host
		w.hosts++
		w.names = binary.LittleEndian.AppendUint64(w.names, hostID(host))
	}
	for i, v := range [5]uint64{c.date, c.fetched, c.group, w.hosts - 1, c.size} {
		w.numbers[i] = append(w.numbers[i], v)
	}
	w.languages.add(c.language)
	w.kind.add(c.kind)
	if len(w.numbers[0]) == normDocs {
		return w.flush()
	}
	return nil
}

// flush writes the block, columns in the order of their letters.
func (w *columnWriter) flush() error {
	if len(w.numbers[0]) == 0 {
		return nil
	}
	set := func(letter byte, value []byte) error {
		w.value = value
		return w.w.Set(columnKey(w.block, letter), value)
	}
	numbers := func(i int) error {
		v := w.numbers[i]
		w.numbers[i] = v[:0]
		if numberColumns[i] != columnHost && allZero(v) {
			return nil
		}
		return set(numberColumns[i], appendNumbers(w.value[:0], v))
	}
	texts := func(letter byte, c *textColumn) error {
		defer func() { *c = textColumn{of: c.of[:0]} }()
		if len(c.texts) == 0 {
			return nil
		}
		value := binary.AppendUvarint(w.value[:0], uint64(len(c.texts)))
		for _, t := range c.texts {
			value = appendText(value, t)
		}
		return set(letter, appendNumbers(value, c.of))
	}
	for _, step := range []func() error{
		func() error { return numbers(0) },
		func() error { return numbers(1) },
		func() error { return numbers(2) },
		func() error { return numbers(3) },
		func() error {
			defer func() { w.names = w.names[:0] }()
			if len(w.names) == 0 {
				return nil
			}
			return set(columnHostName, w.names)
		},
		func() error { return texts(columnLanguage, &w.languages) },
		func() error { return numbers(4) },
		func() error { return texts(columnType, &w.kind) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	w.block++
	return nil
}

func allZero(v []uint64) bool {
	for _, n := range v {
		if n != 0 {
			return false
		}
	}
	return true
}

func columnKey(block uint32, letter byte) []byte { return append(numberKey(block), letter) }

func appendNumbers(dst []byte, v []uint64) []byte {
	for len(v) > 0 {
		n := min(len(v), groupSize)
		least, most := v[0], v[0]
		for _, x := range v[:n] {
			least, most = min(least, x), max(most, x)
		}
		width := (bits.Len64(most-least) + 7) / 8
		dst = binary.AppendUvarint(append(dst, byte(width)), least)
		for _, x := range v[:n] {
			dst = appendWide(dst, x-least, width)
		}
		v = v[n:]
	}
	return dst
}

// columnBlock is a decoded block of a column. Of a column of texts, numbers are places in texts, where texts[0] is "".
type columnBlock struct {
	numbers []uint64
	texts   []string
}

// decode reads a value of n documents.
func (c *columnBlock) decode(letter byte, b []byte, n int) error {
	return c.decodeOf(letter, b, n, nil)
}

// decodeOf is decode of the groups of 128 documents that have bits; the numbers of others are any. nil: all.
func (c *columnBlock) decodeOf(letter byte, b []byte, n int, wanted []uint64) error {
	r := storedReader{b: b}
	c.texts = c.texts[:0]
	if letter == columnLanguage || letter == columnType {
		count := r.uvarint()
		if count > uint64(len(b)) || count > uint64(n) {
			r.bad = true
		}
		c.texts = append(c.texts, "")
		for i := uint64(0); i < count && !r.bad; i++ {
			c.texts = append(c.texts, r.text())
		}
	}
	c.numbers = slices.Grow(c.numbers[:0], n)
	for left := n; left > 0 && !r.bad; left -= groupSize {
		width, least := int(r.byte()), r.uvarint()
		if width > 8 {
			r.bad = true
			break
		}
		in := r.take(uint64(width) * uint64(min(left, groupSize)))
		if at := (n - left) / 64; wanted != nil && wanted[at]|wanted[at+1] == 0 && !r.bad {
			c.numbers = c.numbers[:len(c.numbers)+min(left, groupSize)]
			continue
		}
		if r.bad {
			break
		}
		group := c.numbers[len(c.numbers) : len(c.numbers)+min(left, groupSize)]
		readGroupOf(group, in, width, least)
		c.numbers = c.numbers[:len(c.numbers)+len(group)]
		for _, v := range group {
			r.bad = r.bad || len(c.texts) > 0 && v >= uint64(len(c.texts))
		}
	}
	if r.bad || len(r.b) > 0 {
		return fmt.Errorf("%w: column %c of %d bytes", storage.ErrCorrupt, letter, len(b))
	}
	return nil
}

// readGroupOf reads numbers of some bytes each, to which least is to be added.
func readGroupOf(dst []uint64, in []byte, width int, least uint64) {
	mask := ^uint64(0) >> (64 - 8*width)
	i := 0
	for at := 0; i < len(dst) && at+8 <= len(in); i, at = i+1, at+width {
		dst[i] = least + binary.LittleEndian.Uint64(in[at:])&mask
	}
	for ; i < len(dst); i++ {
		dst[i] = least + readWide(in[i*width:(i+1)*width])
	}
}

// readColumn reads a block of a column; documents without the value have the number 0.
func (seg *segment) readColumn(rd storage.Reader, letter byte, block uint32, dst *columnBlock) error {
	return seg.readColumnOf(rd, letter, block, nil, dst)
}

// readColumnOf is readColumn of the documents whose bits are set; the numbers of others are any. nil: all.
func (seg *segment) readColumnOf(
	rd storage.Reader, letter byte, block uint32, wanted []uint64, dst *columnBlock,
) error {
	from := uint64(block) * normDocs
	if from >= uint64(seg.info.Docs) {
		return fmt.Errorf("BUG: index: block %d of a column of %d documents", block, seg.info.Docs)
	}
	n := int(min(uint64(seg.info.Docs)-from, normDocs))
	key := columnKey(block, letter)
	ok, err := rd.View(storage.IndexSegmentRange(seg.number, kindColumns), key, func(b []byte) error {
		if err := dst.decodeOf(letter, b, n, wanted); err != nil {
			return fmt.Errorf("index segment %d: %w", seg.number, err)
		}
		return nil
	})
	if err == nil && !ok {
		dst.texts = append(dst.texts[:0], "")
		dst.numbers = resize(dst.numbers, uint64(n))
		clear(dst.numbers)
	}
	return err
}

// readNumber reads the number of one document. It keeps the group of 128 that has it: a whole block is up to 64 KiB,
// and those of a page of hits are mostly in as many blocks.
func (seg *segment) readNumber(rd storage.Reader, letter byte, doc uint32) (uint64, error) {
	group := doc / groupSize
	var memory [16]byte
	name := append(binary.BigEndian.AppendUint32(append(memory[:0], kindColumns), group), letter, groupName)
	v, ok := seg.values.get(string(name))
	if !ok {
		var err error
		if v, err = seg.readGroup(rd, letter, group); err != nil {
			return 0, fmt.Errorf("index segment %d: column %c: %w", seg.number, letter, err)
		}
		seg.values.add(string(name), v, int64(len(name)+cap(v.b)+recentBytes))
	}
	if !v.ok {
		return 0, nil
	}
	r := storedReader{b: v.b}
	return r.number(doc%groupSize, min(seg.info.Docs-group*groupSize, groupSize))
}

// groupName ends the name of a group among the values that a segment keeps, which that of a block does not have.
const groupName = 'g'

// readGroup reads a group of 128 numbers of a column, as appendNumbers writes it.
func (seg *segment) readGroup(rd storage.Reader, letter byte, group uint32) (v storedValue, err error) {
	block := group / (normDocs / groupSize)
	key := columnKey(block, letter)
	v.ok, err = rd.View(storage.IndexSegmentRange(seg.number, kindColumns), key, func(b []byte) error {
		r, docs := storedReader{b: b}, seg.info.Docs-block*normDocs
		for range group % (normDocs / groupSize) {
			r.group(groupSize)
			docs -= groupSize
		}
		v.b = bytes.Clone(r.group(min(docs, groupSize)))
		if r.bad {
			return fmt.Errorf("%w: numbers of a column", storage.ErrCorrupt)
		}
		return nil
	})
	return v, err
}

// group reads n numbers that appendNumbers wrote together, 128 at most, without decoding them.
func (r *storedReader) group(n uint32) []byte {
	all := r.b
	width := uint64(r.byte())
	r.uvarint()
	r.take(width * uint64(n))
	r.bad = r.bad || width > 8
	return all[:len(all)-len(r.b)]
}

// number reads one of n numbers, as appendNumbers writes them.
func (r *storedReader) number(at, n uint32) (uint64, error) {
	for ; ; at, n = at-groupSize, n-groupSize {
		width, least := uint64(r.byte()), r.uvarint()
		in := r.take(width * uint64(min(n, groupSize)))
		if r.bad || width > 8 {
			return 0, fmt.Errorf("%w: numbers of a column", storage.ErrCorrupt)
		}
		if at < groupSize {
			return least + readWide(in[uint64(at)*width:uint64(at+1)*width]), nil
		}
	}
}

// readValue reads the text of one document, without decoding more numbers than its own.
func (seg *segment) readValue(rd storage.Reader, letter byte, doc uint32) (string, error) {
	b, ok, err := seg.get(rd, kindColumns, columnKey(doc/normDocs, letter))
	if err != nil || !ok {
		return "", err
	}
	r := storedReader{b: b}
	texts := make([][]byte, 1, 8)
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		texts = append(texts, r.take(r.uvarint()))
	}
	place, err := r.number(doc%normDocs, min(seg.info.Docs-doc/normDocs*normDocs, normDocs))
	if err != nil || place >= uint64(len(texts)) {
		return "", fmt.Errorf("%w: index segment %d: column %c", storage.ErrCorrupt, seg.number, letter)
	}
	return string(texts[place]), nil
}

// columnCursor reads the columns of documents in their order.
type columnCursor struct {
	rd     storage.Reader
	seg    *segment
	block  int64
	blocks [len(cursorColumns)]columnBlock
}

// cursorColumns are the columns that a columnCursor reads.
var cursorColumns = [...]byte{columnDate, columnFetched, columnGroup, columnSize, columnLanguage, columnType}

func newColumnCursor(rd storage.Reader, seg *segment) *columnCursor {
	return &columnCursor{rd: rd, seg: seg, block: -1}
}

// of returns the values of a document.
func (c *columnCursor) of(doc uint32) (v columns, err error) {
	if block := int64(doc / normDocs); block != c.block {
		for i, letter := range cursorColumns {
			if err := c.seg.readColumn(c.rd, letter, uint32(block), &c.blocks[i]); err != nil {
				return v, err
			}
		}
		c.block = block
	}
	i := doc % normDocs
	number := func(column int) uint64 { return c.blocks[column].numbers[i] }
	text := func(column int) string { return c.blocks[column].texts[number(column)] }
	v.date, v.fetched, v.group, v.size = number(0), number(1), number(2), number(3)
	v.language, v.kind = text(4), text(5)
	return v, nil
}
