// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/binary"
	"fmt"

	"github.com/seine-crawler/seine/storage"
)

// A posting list is a sequence of chunks, each the value of one key (term, 0, chunk number). A chunk is a sequence of
// blocks of up to 128 documents:
//
//	chunk  = blocks…
//	block  = count uvarint | last document uvarint | bytes of docs uvarint | bytes of positions uvarint
//	         | docs | positions
//	docs   = count × ( gap uvarint | fields byte | frequency uvarint per field )
//	positions = count × fields × frequency × ( gap uvarint )
//
// The first gap of a block counts from the block before (from -1 in a list's first block). A seek skips a block by its
// header alone, and only phrases read positions. Example, a word at positions 3 and 5 in the body of document 7 and
// nowhere else: 01 07 03 02 | 08 01 02 | 04 02.

// posting is one document of a list.
type posting struct {
	doc   uint32
	freqs [fieldCount]uint32
}

// occurrences is a document's part of a posting list before it is encoded: positions by field.
type occurrences struct {
	doc       uint32
	positions [fieldCount][]uint32
}

// oldListWriter encodes one posting list and passes each finished chunk to emit.
type oldListWriter struct {
	emit  func(chunk uint32, value []byte) error
	chunk uint32
	value []byte
	docs  []byte
	pos   []byte
	count int
	last  int64 // document before
	df    uint64
}

func (w *oldListWriter) begin(emit func(uint32, []byte) error) {
	*w = oldListWriter{emit: emit, value: w.value[:0], docs: w.docs[:0], pos: w.pos[:0], last: -1}
}

func (w *oldListWriter) add(o *occurrences) error {
	w.docs = binary.AppendUvarint(w.docs, uint64(int64(o.doc)-w.last))
	var mask byte
	for f := range o.positions {
		if len(o.positions[f]) > 0 {
			mask |= 1 << f
		}
	}
	w.docs = append(w.docs, mask)
	for f := range o.positions {
		if n := len(o.positions[f]); n > 0 {
			w.docs = binary.AppendUvarint(w.docs, uint64(n))
			last := uint32(0)
			for i, p := range o.positions[f] {
				gap := p - last
				if i == 0 {
					gap = p + 1
				}
				w.pos = binary.AppendUvarint(w.pos, uint64(gap))
				last = p
			}
		}
	}
	w.last = int64(o.doc)
	w.count++
	w.df++
	if w.count == blockDocs {
		return w.block()
	}
	return nil
}

// addRaw is add with the positions as rawPositions returns them.
func (w *oldListWriter) addRaw(doc uint32, freqs *[fieldCount]uint32, positions []byte) error {
	w.docs = binary.AppendUvarint(w.docs, uint64(int64(doc)-w.last))
	at := len(w.docs)
	w.docs = append(w.docs, 0)
	for f, n := range freqs {
		if n > 0 {
			w.docs[at] |= 1 << f
			w.docs = binary.AppendUvarint(w.docs, uint64(n))
		}
	}
	w.pos = append(w.pos, positions...)
	w.last = int64(doc)
	w.count++
	w.df++
	if w.count == blockDocs {
		return w.block()
	}
	return nil
}

func (w *oldListWriter) block() error {
	if w.count == 0 {
		return nil
	}
	w.value = binary.AppendUvarint(w.value, uint64(w.count))
	w.value = binary.AppendUvarint(w.value, uint64(w.last))
	w.value = binary.AppendUvarint(w.value, uint64(len(w.docs)))
	w.value = binary.AppendUvarint(w.value, uint64(len(w.pos)))
	w.value = append(append(w.value, w.docs...), w.pos...)
	w.docs, w.pos, w.count = w.docs[:0], w.pos[:0], 0
	if len(w.value) >= chunkBytes {
		return w.flush()
	}
	return nil
}

func (w *oldListWriter) flush() error {
	if len(w.value) == 0 {
		return nil
	}
	err := w.emit(w.chunk, w.value)
	w.chunk++
	w.value = w.value[:0]
	return err
}

// finish writes the rest.
func (w *oldListWriter) finish() error {
	if err := w.block(); err != nil {
		return err
	}
	return w.flush()
}

// oldListReader walks a posting list, chunk by chunk.
type oldListReader struct {
	next func() ([]byte, bool, error) // the next chunk
	rest []byte                       // of the chunk, after the current block
	docs []byte
	pos  []byte
	left int   // documents of the block not yet read
	last int64 // document before
	end  int64 // last document of the block
	at   posting
	// skipPositions is the number of positions before those of the current document; consumed says that those of the
	// current document were read, or that there is no current document.
	skipPositions uint64
	consumed      bool
	done          bool
	err           error
}

func corruptPostings(what string) error {
	return fmt.Errorf("%w: posting list: %s", storage.ErrCorrupt, what)
}

// nextBlock loads a block whose last document is at least target.
func (r *oldListReader) nextBlock(target int64) bool {
	for {
		for len(r.rest) == 0 {
			chunk, ok, err := r.next()
			if err != nil || !ok {
				r.err, r.done = err, true
				return false
			}
			r.rest = chunk
		}
		var head [4]uint64
		b := r.rest
		for i := range head {
			v, n := binary.Uvarint(b)
			if n <= 0 {
				return r.fail("block header")
			}
			head[i], b = v, b[n:]
		}
		count, last, docs, pos := head[0], head[1], head[2], head[3]
		if count == 0 || count > blockDocs || last > 1<<32 || docs > uint64(len(b)) || pos > uint64(len(b))-docs {
			return r.fail("block header")
		}
		body := b[:docs+pos]
		r.rest = b[docs+pos:]
		if int64(last) < target {
			r.last = int64(last)
			continue
		}
		r.docs, r.pos, r.left, r.end, r.skipPositions = body[:docs], body[docs:], int(count), int64(last), 0
		r.consumed = true
		return true
	}
}

func (r *oldListReader) fail(what string) bool {
	r.err, r.done = corruptPostings(what), true
	return false
}

// advance moves to the next document that is at least target.
func (r *oldListReader) advance(target int64) bool {
	if r.done {
		return false
	}
	if r.left > 0 && r.end < target {
		r.left, r.last = 0, r.end
	}
	for {
		if r.left == 0 && !r.nextBlock(target) {
			return false
		}
		if !r.readDoc() {
			return false
		}
		if int64(r.at.doc) >= target {
			return true
		}
	}
}

func (r *oldListReader) readDoc() bool {
	if !r.consumed {
		for _, n := range r.at.freqs {
			r.skipPositions += uint64(n)
		}
	}
	r.consumed = false
	if r.left == 0 {
		return r.fail("documents")
	}
	gap, n := binary.Uvarint(r.docs)
	if n <= 0 || n >= len(r.docs) || gap == 0 || r.last+int64(gap) > 1<<32 {
		return r.fail("document")
	}
	mask := r.docs[n]
	r.docs = r.docs[n+1:]
	r.last += int64(gap)
	r.at.doc = uint32(r.last)
	for f := range r.at.freqs {
		r.at.freqs[f] = 0
		if mask&(1<<f) != 0 {
			v, n := binary.Uvarint(r.docs)
			if n <= 0 || v > 1<<24 {
				return r.fail("frequency")
			}
			r.at.freqs[f], r.docs = uint32(v), r.docs[n:]
		}
	}
	r.left--
	return true
}

// rawPositions returns the positions of the current document as they are stored, which does not depend on other
// documents. They may be read once.
func (r *oldListReader) rawPositions() ([]byte, bool) {
	own := uint64(0)
	for _, n := range r.at.freqs {
		own += uint64(n)
	}
	begin := varintsEnd(r.pos, r.skipPositions)
	if begin < 0 {
		return nil, r.fail("positions")
	}
	raw := r.pos[begin:]
	n := varintsEnd(raw, own)
	if n < 0 {
		return nil, r.fail("positions")
	}
	r.pos, r.skipPositions, r.consumed = raw[n:], 0, true
	return raw[:n], true
}

// varintsEnd returns where the first n varints of b end, -1 if there are fewer.
func varintsEnd(b []byte, n uint64) int {
	for i, c := range b {
		if n == 0 {
			return i
		}
		if c < 0x80 {
			n--
		}
	}
	if n > 0 {
		return -1
	}
	return len(b)
}

// readPositions reads the positions of the current document, by field. They may be read once.
func (r *oldListReader) readPositions(into *[fieldCount][]uint32) bool {
	for ; r.skipPositions > 0; r.skipPositions-- {
		_, n := binary.Uvarint(r.pos)
		if n <= 0 {
			return r.fail("positions")
		}
		r.pos = r.pos[n:]
	}
	for f := range into {
		into[f] = into[f][:0]
		last := uint32(0)
		for i := range r.at.freqs[f] {
			v, n := binary.Uvarint(r.pos)
			if n <= 0 || v > 1<<31 {
				return r.fail("positions")
			}
			r.pos = r.pos[n:]
			if i == 0 {
				v--
			}
			last += uint32(v)
			into[f] = append(into[f], last)
		}
	}
	r.consumed = true
	return true
}
