// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/binary"

	"github.com/seine-crawler/seine/storage"
)

// A term's row says what is needed to run over its list:
//
//	row       = documents<<2 | kind, uvarint | code of the largest impact, 1 byte | the rest by kind
//	rowTiny   = for each document: gap - 1 uvarint | mask, 1 byte | frequencies - 1, uvarints, unless tinyOnce is in
//	            the mask | positions, uvarints
//	rowInline = directory | blocks | positions
//	rowLong   = directory | number of the list, uvarint
//	directory = for each 128 blocks: group of gaps between last documents, less 1 | group of the largest impact less
//	            the blocks' impacts, if the list has two blocks | group of the blocks' sizes | group of their
//	            positions' sizes
//
// Lists of few documents are tiny, short ones inline. The blocks of a long list are in range p and its positions in
// range q, under keys of the list's number and a chunk's, four bytes each; a chunk ends with the first block that
// makes it listChunk bytes, so the directory also says where each block is. Lists are numbered in the order of their
// terms. Example, a word at positions 3 and 5 of the body of document 7 and nowhere else, with impact code 98:
// 04 62 | 07 01 01 | 03 02, where the last 01 is its frequency less 1.
const (
	rowTiny   = 0
	rowInline = 1
	rowLong   = 2

	tinyDocs  = 8      // a list of fewer documents is tiny
	tinyOnce  = 1 << 6 // in a mask of a tiny list: each field has the term once
	inlined   = 512    // a longer list is not inline, in bytes of blocks and positions
	listChunk = 16 << 10
)

// listWriter writes posting lists, one after the other, in the order of their terms.
type listWriter struct {
	postings  *storage.TableWriter // range p
	positions *storage.TableWriter // range q
	list      uint32               // of the next long list

	block   blockWriter
	numbers []uint32 // of the block's positions
	tf      float64  // largest of the block
	before  int64    // last document before the block
	df      uint64

	docs, pos chunkWriter
	dir       directory
	row       []byte
}

// directory says what is in each block of a list.
type directory struct {
	gaps      []uint32 // between last documents, less 1
	impacts   []uint32
	docs, pos []uint32 // bytes
}

// chunkWriter gathers one of the two streams of a list.
type chunkWriter struct {
	b     []byte
	chunk uint32 // of the list, to be written next
}

func (c *chunkWriter) flush(w *storage.TableWriter, list uint32) error {
	if len(c.b) == 0 {
		return nil
	}
	var key [8]byte
	err := w.Set(appendChunkKey(key[:0], list, c.chunk), c.b)
	c.b = c.b[:0]
	c.chunk++
	return err
}

func appendChunkKey(dst []byte, list, chunk uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(dst, list), chunk)
}

// begin begins a list.
func (w *listWriter) begin() {
	w.block.reset()
	w.numbers, w.tf, w.before, w.df = w.numbers[:0], 0, -1, 0
	w.docs.b, w.docs.chunk, w.pos.b, w.pos.chunk = w.docs.b[:0], 0, w.pos.b[:0], 0
	d := &w.dir
	d.gaps, d.impacts, d.docs, d.pos = d.gaps[:0], d.impacts[:0], d.docs[:0], d.pos[:0]
}

// add adds a document, which must be above the one before it: its frequencies, of which one is not 0 and none above
// freqMax, its positions as positions.go has them, and its impact before rounding.
func (w *listWriter) add(doc uint32, freqs *[fieldCount]uint32, numbers []uint32, tf float64) error {
	w.block.add(doc, freqs)
	w.numbers = append(w.numbers, numbers...)
	w.tf = max(w.tf, tf)
	w.df++
	if w.block.n < blockDocs {
		return nil
	}
	return w.endBlock()
}

func (w *listWriter) endBlock() error {
	if w.block.n == 0 {
		return nil
	}
	docs, pos := len(w.docs.b), len(w.pos.b)
	w.docs.b = w.block.append(w.docs.b, w.before)
	w.pos.b = appendPositions(w.pos.b, w.numbers)
	last, tf := w.block.docs[w.block.n-1], w.tf
	w.block.reset()
	w.numbers, w.tf = w.numbers[:0], 0
	return w.ended(last, tf, docs, pos)
}

// atBlock reports whether the next document begins a block.
func (w *listWriter) atBlock() bool { return w.block.n == 0 }

// copyBlock adds the documents of a block of another list: what follows the documents there, and positions, as it has
// them, and the largest impact. atBlock must be true, and each block but the last has blockDocs documents.
func (w *listWriter) copyBlock(documents []uint32, rest, positions []byte, tf float64) error {
	docs, pos := len(w.docs.b), len(w.pos.b)
	w.docs.b = append(appendDocs(w.docs.b, documents, w.before), rest...)
	w.pos.b = append(w.pos.b, positions...)
	w.df += uint64(len(documents))
	return w.ended(documents[len(documents)-1], tf, docs, pos)
}

// ended notes a block that was appended to the two streams, which had so many bytes before.
func (w *listWriter) ended(last uint32, tf float64, docs, pos int) error {
	d := &w.dir
	d.gaps = append(d.gaps, uint32(int64(last)-w.before-1))
	d.impacts = append(d.impacts, uint32(impactCode(tf)))
	d.docs = append(d.docs, uint32(len(w.docs.b)-docs))
	d.pos = append(d.pos, uint32(len(w.pos.b)-pos))
	w.before = int64(last)
	if len(w.docs.b) >= listChunk {
		if err := w.docs.flush(w.postings, w.list); err != nil {
			return err
		}
	}
	if len(w.pos.b) >= listChunk {
		return w.pos.flush(w.positions, w.list)
	}
	return nil
}

// finish ends the list and returns its row, valid until the next call; nil for a list without documents.
func (w *listWriter) finish() ([]byte, error) {
	switch {
	case w.df == 0:
		return nil, nil
	case w.df < tinyDocs:
		w.tiny()
		return w.row, nil
	}
	if err := w.endBlock(); err != nil {
		return nil, err
	}
	kind := uint64(rowInline)
	if w.docs.chunk+w.pos.chunk > 0 || len(w.docs.b)+len(w.pos.b) > inlined {
		kind = rowLong
	}
	most := uint32(0)
	for _, code := range w.dir.impacts {
		most = max(most, code)
	}
	w.row = append(binary.AppendUvarint(w.row[:0], w.df<<2|kind), byte(most))
	w.row = w.dir.append(w.row, most)
	if kind == rowInline {
		w.row = append(append(w.row, w.docs.b...), w.pos.b...)
		return w.row, nil
	}
	w.row = binary.AppendUvarint(w.row, uint64(w.list))
	if err := w.docs.flush(w.postings, w.list); err != nil {
		return nil, err
	}
	if err := w.pos.flush(w.positions, w.list); err != nil {
		return nil, err
	}
	w.list++
	return w.row, nil
}

func (d *directory) append(dst []byte, most uint32) []byte {
	for i := range d.impacts {
		d.impacts[i] = most - d.impacts[i]
	}
	for from := 0; from < len(d.gaps); from += groupSize {
		to := min(from+groupSize, len(d.gaps))
		dst = appendGroup(dst, d.gaps[from:to])
		if len(d.gaps) > 1 {
			dst = appendGroup(dst, d.impacts[from:to])
		}
		dst = appendGroup(dst, d.docs[from:to])
		dst = appendGroup(dst, d.pos[from:to])
	}
	return dst
}

// tiny makes the row of a list of less than tinyDocs documents.
func (w *listWriter) tiny() {
	b := &w.block
	w.row = append(binary.AppendUvarint(w.row[:0], w.df<<2|rowTiny), impactCode(w.tf))
	before := int64(-1)
	var at [fieldCount]int
	numbers := w.numbers
	for i, doc := range b.docs[:b.n] {
		w.row = binary.AppendUvarint(w.row, uint64(int64(doc)-before-1))
		before = int64(doc)
		once, n := true, 0
		place := len(w.row)
		w.row = append(w.row, b.masks[i])
		for f := range fieldCount {
			if b.masks[i]&(1<<f) != 0 {
				less := b.freqs[f][at[f]]
				at[f]++
				w.row = binary.AppendUvarint(w.row, uint64(less))
				once = once && less == 0
				n += int(less) + 1
			}
		}
		if once {
			w.row = append(w.row[:place], b.masks[i]|tinyOnce)
		}
		for _, p := range numbers[:n] {
			w.row = binary.AppendUvarint(w.row, uint64(p))
		}
		numbers = numbers[n:]
	}
}
