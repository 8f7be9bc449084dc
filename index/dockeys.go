// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// URL keys and stamps of documents, keyDocs to a value of range d, under the block's number. Documents are in key
// order, so a key repeats only the end of the one before it:
//
//	count - 1, 1 byte | for each key: bytes shared with the key before uvarint | bytes of the rest uvarint | the rest
//	| bytes of a stamp, 1 byte | the stamps, little-endian
//
// Example, keys a)/b and a)/c with stamps 1 and 2: 01 | 00 04 "a)/b" 03 01 "c" | 01 01 02.
const keyDocs = 64

// keyWriter writes the keys of an index segment.
type keyWriter struct {
	w      *storage.TableWriter
	block  uint32
	count  int
	last   []byte
	value  []byte
	stamps [keyDocs]uint64
}

func (k *keyWriter) add(key urlkey.Key, stamp uint64) error {
	if k.count == 0 {
		k.value, k.last = append(k.value[:0], 0), k.last[:0]
	}
	shared := 0
	for shared < min(len(k.last), len(key)) && k.last[shared] == key[shared] {
		shared++
	}
	k.value = binary.AppendUvarint(k.value, uint64(shared))
	k.value = binary.AppendUvarint(k.value, uint64(len(key)-shared))
	k.value = append(k.value, key[shared:]...)
	k.last = append(k.last[:shared], key[shared:]...)
	k.stamps[k.count] = stamp
	k.count++
	if k.count == keyDocs {
		return k.flush()
	}
	return nil
}

func (k *keyWriter) flush() error {
	if k.count == 0 {
		return nil
	}
	k.value[0] = byte(k.count - 1)
	all := uint64(0)
	for _, s := range k.stamps[:k.count] {
		all |= s
	}
	width := (bits.Len64(all) + 7) / 8
	k.value = append(k.value, byte(width))
	for _, s := range k.stamps[:k.count] {
		k.value = appendWide(k.value, s, width)
	}
	k.count = 0
	k.block++
	return k.w.Set(numberKey(k.block-1), k.value)
}

// appendWide appends the low bytes of a number, little-endian.
func appendWide(dst []byte, v uint64, width int) []byte {
	for range width {
		dst = append(dst, byte(v))
		v >>= 8
	}
	return dst
}

func readWide(b []byte) (v uint64) {
	for i := len(b) - 1; i >= 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	return v
}

// keyBlock is a decoded value of range d.
type keyBlock struct {
	text   []byte
	ends   [keyDocs]int // in text
	stamps [keyDocs]uint64
	count  int
}

func (k *keyBlock) key(i int) []byte {
	from := 0
	if i > 0 {
		from = k.ends[i-1]
	}
	return k.text[from:k.ends[i]]
}

// decode reads a value; damage, as keys that do not ascend, is a storage.ErrCorrupt.
func (k *keyBlock) decode(b []byte) error {
	r := storedReader{b: b}
	k.count = int(r.byte()) + 1
	if k.count > keyDocs {
		r.bad = true
	}
	k.text = k.text[:0]
	from := 0 // of the key before
	for i := 0; i < k.count && !r.bad; i++ {
		shared := r.uvarint()
		rest := r.take(r.uvarint())
		if shared > uint64(len(k.text)-from) || i > 0 && bytes.Compare(k.text[from+int(shared):], rest) >= 0 {
			r.bad = true
			break
		}
		start := len(k.text)
		k.text = append(k.text, k.text[from:from+int(shared)]...)
		k.text = append(k.text, rest...)
		k.ends[i], from = len(k.text), start
	}
	width := int(r.byte())
	if width > 8 || len(r.b) != width*k.count {
		r.bad = true
	}
	if r.bad {
		return fmt.Errorf("%w: document keys of %d bytes", storage.ErrCorrupt, len(b))
	}
	for i := range k.count {
		k.stamps[i] = readWide(r.b[i*width : (i+1)*width])
	}
	return nil
}

// keyReader looks up keys of an index segment. It keeps the last block, so that neighbors cost one read.
type keyReader struct {
	rd    storage.Reader
	seg   *segment
	block int64 // of keys; -1: none
	keys  keyBlock
}

func newKeyReader(rd storage.Reader, seg *segment) *keyReader {
	return &keyReader{rd: rd, seg: seg, block: -1}
}

// key returns the URL key and the stamp of a document; the key is valid until the next call.
func (k *keyReader) key(doc uint32) (key []byte, stamp uint64, err error) {
	block, i := doc/keyDocs, int(doc%keyDocs)
	if k.block != int64(block) {
		k.block = -1
		b, ok, err := k.seg.get(k.rd, kindDocs, numberKey(block))
		if err != nil {
			return nil, 0, err
		}
		if !ok {
			return nil, 0, k.missing(doc)
		}
		if err := k.keys.decode(b); err != nil {
			return nil, 0, fmt.Errorf("index segment %d: %w", k.seg.number, err)
		}
		k.block = int64(block)
	}
	if i >= k.keys.count {
		return nil, 0, k.missing(doc)
	}
	return k.keys.key(i), k.keys.stamps[i], nil
}

// only is key without the stamp, and without what follows the key in its block: a hit is mostly the only one there.
func (k *keyReader) only(doc uint32) (key []byte, err error) {
	block, i := doc/keyDocs, int(doc%keyDocs)
	if k.block == int64(block) {
		key, _, err = k.key(doc)
		return key, err
	}
	b, ok, err := k.seg.get(k.rd, kindDocs, numberKey(block))
	if err != nil {
		return nil, err
	}
	r := storedReader{b: b}
	if !ok || i > int(r.byte()) {
		return nil, k.missing(doc)
	}
	k.block = -1 // k.keys.text is overwritten
	key = k.keys.text[:0]
	for range i + 1 {
		shared := r.uvarint()
		rest := r.take(r.uvarint())
		if r.bad || shared > uint64(len(key)) {
			return nil, fmt.Errorf("%w: index segment %d: keys of %d bytes", storage.ErrCorrupt, k.seg.number, len(b))
		}
		key = append(key[:shared], rest...)
	}
	k.keys.text = key
	return key, nil
}

func (k *keyReader) missing(doc uint32) error {
	return fmt.Errorf("%w: index segment %d has no document %d", storage.ErrCorrupt, k.seg.number, doc)
}

// keyScanner walks all keys of an index segment.
type keyScanner struct {
	seg  *segment
	sc   *storage.Scanner
	keys keyBlock
	doc  uint32
	i    int
	last []byte // key of the block before
}

func newKeyScanner(rd storage.Reader, seg *segment) *keyScanner {
	sc := rd.Scan(storage.IndexSegmentRange(seg.number, kindDocs), nil, nil)
	return &keyScanner{seg: seg, sc: sc, doc: end, i: -1}
}

// next moves to the next document; ok is false after the last. Fewer documents than the index segment has are a
// storage.ErrCorrupt, and so are keys that do not ascend.
func (k *keyScanner) next() (ok bool, err error) {
	k.doc++
	if k.doc == k.seg.info.Docs {
		return false, k.sc.Err()
	}
	if k.i++; k.doc == 0 || k.i == k.keys.count {
		full := k.doc == 0 || k.keys.count == keyDocs
		if !k.sc.Next() {
			if err := k.sc.Err(); err != nil {
				return false, err
			}
			full = false
		}
		if !full {
			return false, fmt.Errorf("%w: index segment %d has no document %d", storage.ErrCorrupt, k.seg.number, k.doc)
		}
		if k.doc > 0 {
			k.last = append(k.last[:0], k.keys.key(k.keys.count-1)...)
		}
		if err := k.keys.decode(k.sc.Value()); err != nil {
			return false, fmt.Errorf("index segment %d: %w", k.seg.number, err)
		}
		if k.i = 0; k.doc > 0 && bytes.Compare(k.last, k.key()) >= 0 {
			return false, fmt.Errorf("%w: index segment %d: document %d comes before %d by its key",
				storage.ErrCorrupt, k.seg.number, k.doc, k.doc-1)
		}
	}
	return true, nil
}

func (k *keyScanner) key() []byte   { return k.keys.key(k.i) }
func (k *keyScanner) stamp() uint64 { return k.keys.stamps[k.i] }
