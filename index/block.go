// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
)

// A block is up to 128 documents of a posting list. Its length, the last document of the block before it (-1 for none)
// and its own last document are in the list's directory.
//
//	block = docs | masks | frequencies
//	docs  = group of gaps - 1, or blockBitmap and a bit per document number after the block before up to the last
//	masks = number of different masks, 1 byte | the masks, most frequent first | group of places there, if there are two
//	frequencies = for each field in ascending order of which the block has any: group of the frequencies - 1 of the
//	              documents that have the field
//
// A mask has a bit per field. Example, documents 4 and 6 after document 3, each once in the body: the bitmap would take
// ff 05, the group takes 01 02 (gaps 1 and 2, less 1); then 01 01 and 00.
const blockBitmap = 0xff

// blockWriter gathers the documents of one block.
type blockWriter struct {
	n     int
	docs  [blockDocs]uint32
	masks [blockDocs]uint8
	freqs [fieldCount][blockDocs]uint32 // less 1; of the documents that have the field, without gaps
	count [fieldCount]int               // of freqs
}

// add adds a document, which must be above the one before it.
func (w *blockWriter) add(doc uint32, freqs *[fieldCount]uint32) {
	mask := uint8(0)
	for f, n := range freqs {
		if n > 0 {
			mask |= 1 << f
			w.freqs[f][w.count[f]] = n - 1
			w.count[f]++
		}
	}
	w.docs[w.n], w.masks[w.n] = doc, mask
	w.n++
}

// reset begins the next block.
func (w *blockWriter) reset() {
	w.n = 0
	w.count = [fieldCount]int{}
}

// append appends the block; before is the last document of the block before it, or -1.
func (w *blockWriter) append(dst []byte, before int64) []byte {
	dst = appendDocs(dst, w.docs[:w.n], before)
	dst = w.appendMasks(dst)
	for f, n := range w.count {
		if n > 0 {
			dst = appendGroup(dst, w.freqs[f][:n])
		}
	}
	return dst
}

// appendDocs appends the documents of a block; before is the one before them, or -1.
func appendDocs(dst []byte, docs []uint32, before int64) []byte {
	var gaps [blockDocs]uint32
	last := before
	for i, doc := range docs {
		gaps[i] = uint32(int64(doc) - last - 1)
		last = int64(doc)
	}
	at := len(dst)
	dst = appendGroup(dst, gaps[:len(docs)])
	span := last - before
	size := 1 + (span+7)/8
	if size >= int64(len(dst)-at) {
		return dst
	}
	dst = append(dst[:at], blockBitmap)
	dst = append(dst, make([]byte, size-1)...)
	for _, doc := range docs {
		bit := int64(doc) - before - 1
		dst[at+1+int(bit/8)] |= 1 << (bit & 7)
	}
	return dst
}

func (w *blockWriter) appendMasks(dst []byte) []byte {
	first, same := w.masks[0], true
	for _, m := range w.masks[1:w.n] {
		same = same && m == first
	}
	if same {
		return append(dst, 1, first)
	}
	var count [256]uint8
	var different [blockDocs]uint8
	k := 0
	for _, m := range w.masks[:w.n] {
		if count[m] == 0 {
			different[k] = m
			k++
		}
		count[m]++
	}
	slices.SortFunc(different[:k], func(a, b uint8) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	dst = append(append(dst, byte(k)), different[:k]...)
	var place [256]uint8
	for i, m := range different[:k] {
		place[m] = uint8(i)
	}
	var places [blockDocs]uint32
	for i, m := range w.masks[:w.n] {
		places[i] = uint32(place[m])
	}
	return appendGroup(dst, places[:w.n])
}

// readBlockDocs decodes the n documents of a block into dst and returns the rest of it. before and last are as in the
// directory.
func readBlockDocs(b []byte, before int64, last uint32, dst []uint32) (rest []byte, err error) {
	if len(b) > 0 && b[0] == blockBitmap {
		return readBitmap(b[1:], before, last, dst)
	}
	rest, ok := readGroup(b, dst)
	if !ok {
		return nil, corruptPostings("documents of a block")
	}
	doc := before
	for i, gap := range dst {
		doc += int64(gap) + 1
		dst[i] = uint32(doc)
	}
	if doc != int64(last) {
		return nil, corruptPostings("last document of a block")
	}
	return rest, nil
}

func readBitmap(b []byte, before int64, last uint32, dst []uint32) (rest []byte, err error) {
	size := bitmapBytes(before, last)
	if size > int64(len(b)) {
		return nil, corruptPostings("bitmap of a block")
	}
	n, first := 0, uint32(before+1)
	for words := b[:size]; len(words) > 0; first += 64 {
		var w uint64
		if len(words) >= 8 {
			w, words = binary.LittleEndian.Uint64(words), words[8:]
		} else {
			for i, c := range words {
				w |= uint64(c) << (8 * i)
			}
			words = nil
		}
		if n+bits.OnesCount64(w) > len(dst) {
			return nil, corruptPostings("bitmap of a block")
		}
		for ; w != 0; w &= w - 1 {
			dst[n] = first + uint32(bits.TrailingZeros64(w))
			n++
		}
	}
	if n != len(dst) || dst[n-1] != last {
		return nil, corruptPostings("bitmap of a block")
	}
	return b[size:], nil
}

// markBitmap sets the bits of the n documents of a bitmap in a window, which has them all.
func markBitmap(b []byte, before int64, last uint32, n int, w *window) error {
	size := bitmapBytes(before, last)
	if size > int64(len(b)) || b[size-1]>>uint((int64(last)-before-1)&7) != 1 { // the last bit is the last document
		return corruptPostings("bitmap of a block")
	}
	from := uint32(before+1) - w.from
	at, shift := from>>6, from&63
	for b = b[:size]; len(b) > 0; b = b[min(8, len(b)):] {
		v := eightBytes(b)
		n -= bits.OnesCount64(v)
		w.bits[at] |= v << shift
		at++
		if over := v >> 1 >> (63 - shift); over != 0 {
			w.bits[at] |= over
		}
	}
	if n != 0 {
		return corruptPostings("bitmap of a block")
	}
	return nil
}

func bitmapBytes(before int64, last uint32) int64 { return (int64(last) - before + 7) / 8 }

// skipBlockDocs returns the rest of a block of n documents after its documents.
func skipBlockDocs(b []byte, before int64, last uint32, n int) (rest []byte, err error) {
	size := int64(0)
	if len(b) > 0 && b[0] == blockBitmap {
		size = 1 + bitmapBytes(before, last)
	} else {
		size = int64(groupBytes(b, n))
	}
	if size == 0 || size > int64(len(b)) {
		return nil, corruptPostings("documents of a block")
	}
	return b[size:], nil
}

// readBlockFreqs decodes what follows the n documents of a block, up to its end.
func readBlockFreqs(b []byte, n int, dst *blockFreqs) error {
	b, all, several, ok := readMasks(b, &dst.mask, n)
	if !ok {
		return corruptMasks()
	}
	dst.all |= all
	var v [blockDocs]uint32
	for f := range fieldCount {
		if dst.all&(1<<f) == 0 {
			continue // it is clear
		}
		out := &dst.n[f]
		if all&(1<<f) == 0 {
			clear(out[:])
			continue
		}
		have, into := n, out[:n]
		if several {
			if have = withField(&dst.mask, f); have == 0 { // a mask of no document
				return corruptMasks()
			}
			if have < n {
				into = v[:have]
			}
		}
		rest, ok := readFreqs(b, into)
		if !ok {
			return corruptPostings("frequencies of a block")
		}
		b = rest
		if have < n {
			spread(out[:n], &v, dst.mask[:n], f)
		}
	}
	dst.all = all
	if len(b) > 0 {
		return corruptPostings("length of a block")
	}
	return nil
}

// readMasks decodes the masks of n documents, and clears the others. all has the fields of any; several says that not
// all masks are the same. ok is false if they are damaged.
func readMasks(b []byte, dst *[blockDocs]uint8, n int) (rest []byte, all uint8, several, ok bool) {
	if len(b) < 2 || b[0] == 0 || int(b[0]) > n || len(b) < 1+int(b[0]) {
		return nil, 0, false, false
	}
	k := int(b[0])
	masks := b[1 : 1+k]
	b = b[1+k:]
	for _, m := range masks {
		if m == 0 || m >= 1<<fieldCount {
			return nil, 0, false, false
		}
		all |= m
	}
	if k == 1 {
		for i := range n {
			dst[i] = masks[0]
		}
		return b, all, false, true
	}
	var places [blockDocs]uint32
	if b, ok = readGroup(b, places[:n]); !ok {
		return nil, 0, false, false
	}
	var table [blockDocs]uint8
	copy(table[:], masks)
	most := uint32(0)
	for i, place := range places[:n] {
		most = max(most, place)
		dst[i] = table[place%blockDocs]
	}
	clear(dst[n:])
	return b, all, true, most < uint32(k)
}

// readFreqs decodes a group of frequencies. ok is false if it is damaged.
func readFreqs(b []byte, dst []uint32) (rest []byte, ok bool) {
	rest, ok = readGroup(b, dst)
	any := uint32(0) // bits of all frequencies less 1
	for i, less := range dst {
		any |= less
		dst[i] = less + 1
	}
	return rest, ok && any < freqMax
}

// spread gives each document that has field f its frequency, the others 0. Which have it nobody can foresee, so there
// is no branch: with one, half of the time went into those that the processor took wrongly.
func spread(out []uint32, freqs *[blockDocs]uint32, masks []uint8, f int) {
	at := uint32(0)
	out = out[:len(masks)]
	for i, m := range masks {
		has := uint32(m>>f) & 1
		out[i] = freqs[at%blockDocs] & -has
		at += has
	}
}

// withField returns how many masks have field f. Eight are counted at once.
func withField(masks *[blockDocs]uint8, f int) (n int) {
	const each = 0x0101010101010101
	for i := 0; i < blockDocs; i += 8 {
		n += bits.OnesCount64(binary.LittleEndian.Uint64(masks[i:]) >> f & each)
	}
	return n
}

func corruptMasks() error { return corruptPostings("fields of a block") }
