// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/seine-crawler/seine/storage"
)

// end is a document above all: that of an iterator that has no more.
const end = math.MaxUint32

// chunks reads the chunks of long lists.
type chunks interface {
	// chunk returns a chunk of a list in range p or q; ok is false if there is none.
	chunk(kind byte, list, chunk uint32, buf []byte) (b []byte, ok bool, err error)
	// inBuffer says that chunks are in the memory of buf. Else they are valid until the next call for the range.
	inBuffer() bool
}

// listReader is the list of a term in an index segment. It decodes a block when one is needed, and keeps the last
// chunks of each stream.
type listReader struct {
	from chunks
	head rowHead
	list uint32 // its number, of a long list

	last       []uint32
	codes      []uint16
	sizes      [2][]uint32     // bytes of each block, and of its positions
	places     [2][]blockPlace // of a long list, made when first needed
	streams    [2]stream
	positioned int                   // block of starts and position; -1: none
	starts     [blockDocs + 1]uint32 // numbers before each document
	position   positionReader
	own        *blockFreqs // of a tiny list, or of block owned
	owned      int         // -1: none

	tinyDocs    [tinyDocs]uint32
	tinyNumbers []uint32

	known []uint32 // documents of the list, blockDocs a block, of the blocks that knows has
	knows []uint64 // a bit for each block
}

// knownBlocks is how many blocks a list may have whose documents a reader keeps once they are decoded. Finding what
// words have in common, scoring it, counting, and the second phase walk the same lists one after the other: decoding
// documents four times was a sixth of a search for two words in 10,000 documents each. What is kept of a longer list
// would be out of the processor's caches again before it is needed.
const knownBlocks = 512

// blockPlace is where a block begins.
type blockPlace struct{ chunk, offset uint32 }

// stream is one of the two parts of a list: blocks, or positions.
type stream struct {
	kind  byte
	b     []byte
	chunk int64 // of b; -1: none
	kept  [keptChunks]keptChunk
}

// keptChunks is how many chunks of a stream a reader keeps, 16 KiB each: ranking, counting and the second phase walk a
// list one after the other.
const keptChunks = 8

// keptChunk is a chunk that was read, under its number modulo keptChunks.
type keptChunk struct {
	b     []byte
	held  []byte // by a heldWords, in place of b; nil: b
	after int64  // its number + 1; 0: none
}

// reset makes s a stream without a chunk; the memory stays.
func (s *stream) reset(kind byte) {
	s.kind, s.b, s.chunk = kind, nil, -1
	for i := range s.kept {
		s.kept[i].after, s.kept[i].held = 0, nil
	}
}

// read makes a chunk the current one.
func (s *stream) read(from chunks, list, chunk uint32) error {
	k := &s.kept[chunk%keptChunks]
	if k.after != int64(chunk)+1 || !from.inBuffer() {
		k.after, k.held, s.chunk = 0, nil, -1
		stored, _ := from.(storedChunks)
		hold := false
		if stored.held != nil {
			k.held, hold = stored.held.chunk(s.kind, list, chunk)
		}
		if k.held == nil {
			b, ok, err := from.chunk(s.kind, list, chunk, k.b)
			if err != nil {
				return err
			}
			if !ok {
				return corruptPostings("missing chunk")
			}
			if k.b = b; hold {
				stored.held.holdChunk(s.kind, list, chunk, b)
			}
		}
		k.after = int64(chunk) + 1
	}
	if s.b, s.chunk = k.b, int64(chunk); k.held != nil {
		s.b = k.held
	}
	return nil
}

// rowHead begins a term's row.
type rowHead struct {
	df     uint64
	kind   byte
	impact uint8
}

func readRowHead(row []byte) (h rowHead, rest []byte, err error) {
	v, n := binary.Uvarint(row)
	h = rowHead{df: v >> 2, kind: byte(v & 3)}
	if n <= 0 || n >= len(row) || h.df == 0 || h.df > math.MaxUint32 || h.kind > rowLong ||
		(h.kind == rowTiny) != (h.df < tinyDocs) {
		return h, nil, corruptPostings("head of a row")
	}
	h.impact = row[n]
	return h, row[n+1:], nil
}

// reset makes r the list of another row.
func (r *listReader) reset(row []byte) (err error) {
	if r.head, row, err = readRowHead(row); err != nil {
		return err
	}
	r.positioned, r.owned = -1, -1
	r.streams[0].reset(kindPostings)
	r.streams[1].reset(kindPositions)
	r.places[0], r.places[1] = r.places[0][:0], r.places[1][:0]
	if r.head.kind == rowTiny {
		return r.readTiny(row)
	}
	if row, err = r.readDirectory(row); err != nil {
		return err
	}
	if blocks := uint64(len(r.last)); blocks <= knownBlocks {
		r.known, r.knows = resize(r.known, blocks*blockDocs), resize(r.knows, (blocks+63)/64)
		clear(r.knows)
	}
	if r.head.kind == rowLong {
		v, n := binary.Uvarint(row)
		if n <= 0 || n != len(row) || v > math.MaxUint32 {
			return corruptPostings("number of a list")
		}
		r.list = uint32(v)
		return nil
	}
	docs, pos := uint64(0), uint64(0)
	for i := range r.last {
		docs += uint64(r.sizes[0][i])
		pos += uint64(r.sizes[1][i])
	}
	if docs+pos != uint64(len(row)) {
		return corruptPostings("length of a row")
	}
	r.streams[0].b, r.streams[0].chunk = row[:docs:docs], 0
	r.streams[1].b, r.streams[1].chunk = row[docs:], 0
	return nil
}

func (r *listReader) readDirectory(b []byte) (rest []byte, err error) {
	blocks := (r.head.df + blockDocs - 1) / blockDocs
	if blocks > uint64(len(b))*groupSize { // each group takes a byte
		return nil, corruptPostings("directory")
	}
	r.last, r.codes = resize(r.last, blocks), resize(r.codes, blocks)
	r.sizes[0], r.sizes[1] = resize(r.sizes[0], blocks), resize(r.sizes[1], blocks)
	before := int64(-1)
	var less [groupSize]uint32
	for from := uint64(0); from < blocks; from += groupSize {
		to := min(from+groupSize, blocks)
		last := r.last[from:to]
		var ok bool
		if b, ok = readGroup(b, last); ok && blocks > 1 {
			b, ok = readGroup(b, less[:to-from])
		}
		if ok {
			b, ok = readGroup(b, r.sizes[0][from:to])
		}
		if ok {
			b, ok = readGroup(b, r.sizes[1][from:to])
		}
		if !ok {
			return nil, corruptPostings("directory")
		}
		for i, gap := range last {
			before += int64(gap) + 1
			if before >= end || less[i] > uint32(r.head.impact) {
				return nil, corruptPostings("directory")
			}
			last[i] = uint32(before)
			r.codes[from+uint64(i)] = uint16(uint32(r.head.impact) - less[i])
		}
	}
	return b, nil
}

// resize returns a slice of n elements, in the memory of s if it is large enough.
func resize[T any](s []T, n uint64) []T {
	if uint64(cap(s)) < n {
		return make([]T, n)
	}
	return s[:n]
}

func (r *listReader) readTiny(b []byte) error {
	before := int64(-1)
	r.tinyNumbers = r.tinyNumbers[:0]
	if r.own == nil {
		r.own = new(blockFreqs)
	}
	r.own.all = 1<<fieldCount - 1
	for i := range int(r.head.df) {
		gap, n := binary.Uvarint(b)
		if n <= 0 || n >= len(b) || gap >= end || before+int64(gap)+1 >= end {
			return corruptPostings("documents of a row")
		}
		before += int64(gap) + 1
		mask := b[n]
		b = b[n+1:]
		once := mask&tinyOnce != 0
		mask &^= tinyOnce
		if mask == 0 || mask >= 1<<fieldCount {
			return corruptPostings("fields of a row")
		}
		r.tinyDocs[i], r.own.mask[i] = uint32(before), mask
		r.starts[i] = uint32(len(r.tinyNumbers))
		count := uint64(0)
		for f := range fieldCount {
			v := uint64(0)
			if mask&(1<<f) != 0 {
				if v = 1; !once {
					less, n := binary.Uvarint(b)
					if n <= 0 || less >= freqMax {
						return corruptPostings("frequencies of a row")
					}
					v, b = less+1, b[n:]
				}
			}
			r.own.n[f][i] = uint32(v)
			count += v
		}
		if count > uint64(len(b)) {
			return corruptPostings("positions of a row")
		}
		for range count {
			v, n := binary.Uvarint(b)
			if n <= 0 || v > math.MaxUint32 {
				return corruptPostings("positions of a row")
			}
			r.tinyNumbers, b = append(r.tinyNumbers, uint32(v)), b[n:]
		}
	}
	if len(b) > 0 {
		return corruptPostings("length of a row")
	}
	r.starts[r.head.df] = uint32(len(r.tinyNumbers))
	r.last = append(r.last[:0], uint32(before))
	r.codes = append(r.codes[:0], uint16(r.head.impact))
	return nil
}

func (r *listReader) df() uint64         { return r.head.df }
func (r *listReader) lastDocs() []uint32 { return r.last }
func (r *listReader) impacts() []uint16  { return r.codes }

// length returns the number of documents in a block.
func (r *listReader) length(block int) int {
	return int(min(r.head.df-uint64(block)*blockDocs, blockDocs))
}

func (r *listReader) before(block int) int64 {
	if block == 0 {
		return -1
	}
	return int64(r.last[block-1])
}

func (r *listReader) docs(block int, dst *[blockDocs]uint32) (n int, err error) {
	n = r.length(block)
	if r.head.kind == rowTiny {
		return copy(dst[:], r.tinyDocs[:n]), nil
	}
	keep, bit := len(r.last) <= knownBlocks, uint64(1)<<(block&63)
	if keep && r.knows[block>>6]&bit != 0 {
		return copy(dst[:n], r.known[block*blockDocs:]), nil
	}
	b, err := r.bytes(0, block)
	if err != nil {
		return 0, err
	}
	_, err = readBlockDocs(b, r.before(block), r.last[block], dst[:n])
	if keep && err == nil {
		copy(r.known[block*blockDocs:], dst[:n])
		r.knows[block>>6] |= bit
	}
	return n, err
}

func (r *listReader) markBlock(block int, w *window) (ok bool, err error) {
	before := r.before(block)
	if r.head.kind == rowTiny || before+1 < int64(w.from) || r.last[block] > w.last() {
		return false, nil
	}
	b, err := r.bytes(0, block)
	if err != nil || len(b) == 0 || b[0] != blockBitmap {
		return false, err
	}
	return true, markBitmap(b[1:], before, r.last[block], r.length(block), w)
}

func (r *listReader) freqs(block int, dst *blockFreqs) error {
	n := r.length(block)
	if r.head.kind == rowTiny {
		copy(dst.mask[:n], r.own.mask[:n])
		for f := range dst.n {
			copy(dst.n[f][:n], r.own.n[f][:n])
		}
		dst.all = r.own.all
		return nil
	}
	b, err := r.afterDocs(block)
	if err != nil {
		return err
	}
	return readBlockFreqs(b, n, dst)
}

// afterDocs returns what follows the documents of a block, of a list that is not tiny.
func (r *listReader) afterDocs(block int) ([]byte, error) {
	b, err := r.bytes(0, block)
	if err != nil {
		return nil, err
	}
	return skipBlockDocs(b, r.before(block), r.last[block], r.length(block))
}

// bytes returns a block of a stream.
func (r *listReader) bytes(which, block int) ([]byte, error) {
	s := &r.streams[which]
	if len(r.places[which]) == 0 {
		r.place(which)
	}
	at := r.places[which][block]
	if s.chunk != int64(at.chunk) {
		if r.head.kind != rowLong {
			return nil, corruptPostings("inline list")
		}
		if err := s.read(r.from, r.list, at.chunk); err != nil {
			return nil, err
		}
	}
	from, size := uint64(at.offset), uint64(r.sizes[which][block])
	if from+size > uint64(len(s.b)) {
		return nil, corruptPostings("short chunk")
	}
	return s.b[from : from+size], nil
}

// place finds where the blocks of a stream begin.
func (r *listReader) place(which int) {
	places := resize(r.places[which], uint64(len(r.last)))
	at := blockPlace{}
	offset := uint64(0)
	for i, size := range r.sizes[which] {
		places[i] = at
		offset += uint64(size)
		at.offset = uint32(min(offset, math.MaxUint32))
		if offset >= listChunk && r.head.kind == rowLong {
			at, offset = blockPlace{chunk: at.chunk + 1}, 0
		}
	}
	r.places[which] = places
}

// numbers returns the position numbers of document i of a block, and its fields and frequencies: counts is what freqs
// decoded of the block, nil to have it decoded.
func (r *listReader) numbers(block, i int, counts *blockFreqs) ([]uint32, *blockFreqs, error) {
	if r.head.kind == rowTiny {
		return r.tinyNumbers[r.starts[i]:r.starts[i+1]], r.own, nil
	}
	if counts == nil {
		var err error
		if counts, err = r.ownFreqs(block); err != nil {
			return nil, nil, err
		}
	}
	if r.positioned != block {
		if err := r.loadPositions(block, counts); err != nil {
			return nil, nil, err
		}
	}
	v, err := r.position.read(uint64(r.starts[i]), uint64(r.starts[i+1]-r.starts[i]))
	return v, counts, err
}

// blockNumbers returns the position numbers of all documents of a block, and where those of each begin and end.
func (r *listReader) blockNumbers(block int, counts *blockFreqs) (numbers, starts []uint32, err error) {
	starts = r.starts[:r.length(block)+1]
	if r.head.kind == rowTiny {
		return r.tinyNumbers, starts, nil
	}
	if r.positioned != block {
		if err := r.loadPositions(block, counts); err != nil {
			return nil, nil, err
		}
	}
	numbers, err = r.position.read(0, uint64(len(r.position.numbers)))
	return numbers, starts, err
}

// ownFreqs decodes the frequencies of a block once.
func (r *listReader) ownFreqs(block int) (*blockFreqs, error) {
	if r.owned == block {
		return r.own, nil
	}
	if r.own == nil {
		r.own = new(blockFreqs)
	}
	r.owned = -1
	err := r.freqs(block, r.own)
	if err == nil {
		r.owned = block
	}
	return r.own, err
}

func (r *listReader) loadPositions(block int, counts *blockFreqs) error {
	r.positioned = -1
	sum := uint32(0) // at most blockDocs × fieldCount × freqMax
	n := r.length(block)
	if all := counts.all; all&(all-1) == 0 {
		for i, v := range counts.n[bits.TrailingZeros8(all)][:n] {
			r.starts[i] = sum
			sum += v
		}
	} else {
		starts := r.starts[:n]
		clear(starts)
		for f := 0; all != 0; f, all = f+1, all>>1 {
			if all&1 != 0 {
				for i, v := range counts.n[f][:n] {
					starts[i] += v
				}
			}
		}
		for i, v := range starts {
			starts[i] = sum
			sum += v
		}
	}
	r.starts[n] = sum
	b, err := r.bytes(1, block)
	if err != nil {
		return err
	}
	if err := r.position.reset(b, uint64(sum)); err != nil {
		return err
	}
	r.positioned = block
	return nil
}

func (r *listReader) gaps(block, i, field int, counts *blockFreqs) ([]uint32, error) {
	numbers, counts, err := r.numbers(block, i, counts)
	if err != nil {
		return nil, err
	}
	from := uint32(0)
	if counts.all&(1<<field-1) != 0 {
		for f := range field {
			from += counts.n[f][i]
		}
	}
	return numbers[from : from+counts.n[field][i]], nil
}

func (r *listReader) positions(block, i, field int, counts *blockFreqs, dst []uint32) ([]uint32, error) {
	numbers, err := r.gaps(block, i, field, counts)
	if err != nil {
		return dst, err
	}
	n, at := len(dst), uint32(0)
	dst = slices.Grow(dst, len(numbers))[:n+len(numbers)]
	for i, gap := range numbers {
		at += gap
		dst[n+i] = at
	}
	return dst, nil
}

// storedChunks reads chunks by their keys, for searches.
type storedChunks struct {
	rd     storage.Reader
	number uint32     // of the index segment
	held   *heldWords // that may hold chunks; nil: none
}

func (c storedChunks) chunk(kind byte, list, chunk uint32, buf []byte) ([]byte, bool, error) {
	var key [8]byte
	return c.rd.Get(storage.IndexSegmentRange(c.number, kind), appendChunkKey(key[:0], list, chunk), buf)
}

func (storedChunks) inBuffer() bool { return true }

// listPool keeps the memory of lists between searches; see execution.release.
var listPool = sync.Pool{New: func() any { return new(listReader) }}

// openList returns the list of a term, nil if the index segment does not have it.
func (seg *segment) openList(rd storage.Reader, term string) (list, error) {
	r := listPool.Get().(*listReader)
	row, ok, err := seg.get(rd, kindTerms, []byte(term))
	if err == nil && ok {
		r.from = storedChunks{rd, seg.number, seg.held}
		err = r.reset(row)
	}
	if err != nil || !ok {
		r.from = nil
		listPool.Put(r)
		return nil, err
	}
	return r, nil
}

func corruptPostings(what string) error {
	return fmt.Errorf("%w: posting list: %s", storage.ErrCorrupt, what)
}
