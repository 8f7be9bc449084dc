// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"sync"

	"github.com/seine-crawler/seine/storage"
)

// lexicon is the vocabulary of an index segment in memory: terms in order, front-coded in blocks, with their document
// frequencies. Reading a term takes some nanoseconds, so that all terms with a first letter are walked in a
// millisecond. It needs about 9 bytes a term.
//
//	entry = bytes shared with the term before, byte | other bytes, byte | document frequency, uvarint | other bytes
//
// The first entry of a block of 64 shares nothing. Terms are at most 255 bytes; longer ones are left out, and so are
// those of fewer documents than least.
type lexicon struct {
	data    []byte
	blocks  []uint32 // where each begins in data
	largest []uint32 // document frequency in each, at most
	least   uint64
	n       int
	last    []byte // term added last
}

const lexiconBlock = 64

func (l *lexicon) add(term []byte, df uint64) {
	if df < l.least || len(term) > 255 {
		return
	}
	shared := 0
	if l.n%lexiconBlock == 0 {
		l.blocks, l.largest = append(l.blocks, uint32(len(l.data))), append(l.largest, 0)
	} else {
		shared = sharedBytes(l.last, term)
	}
	largest := &l.largest[len(l.largest)-1]
	*largest = max(*largest, uint32(min(df, math.MaxUint32)))
	l.data = append(l.data, byte(shared), byte(len(term)-shared))
	l.data = binary.AppendUvarint(l.data, df)
	l.data = append(l.data, term[shared:]...)
	l.last = append(l.last[:0], term...)
	l.n++
}

func sharedBytes(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// thin leaves out the terms of fewer documents than least.
func (l *lexicon) thin(least uint64) {
	kept := lexicon{least: least}
	c := lexiconCursor{l: l}
	for c.next(256) {
		kept.add(c.term, c.df)
	}
	*l = kept
}

// readLexicon reads the vocabulary of an index segment. It leaves out the rarest terms when it would need more than
// most bytes. stop ends it early: it then returns nil.
func readLexicon(rd storage.Reader, seg *segment, most int, stop func() bool) (*lexicon, error) {
	sc := seg.vocabulary(rd, nil, []byte(fieldTermMark)) // without the terms of stored fields
	defer sc.Close()
	l := &lexicon{}
	for n := 1; sc.Next(); n++ {
		if n%4096 == 0 && stop() {
			return nil, nil
		}
		l.add(sc.Term(), sc.DF())
		l.fit(most)
	}
	if err := sc.Err(); err != nil {
		return nil, err
	}
	l.clip()
	return l, nil
}

// size returns about how many bytes a lexicon needs.
func (l *lexicon) size() int { return len(l.data) + 8*len(l.blocks) }

// fit leaves out the rarest terms until the lexicon needs at most most bytes.
func (l *lexicon) fit(most int) {
	for l.size() > most {
		l.thin(max(2, 2*l.least))
	}
}

// clip gives back spare memory.
func (l *lexicon) clip() {
	l.data, l.blocks, l.largest = bytes.Clone(l.data), slices.Clone(l.blocks), slices.Clone(l.largest)
}

// lexiconCursor walks a lexicon.
type lexiconCursor struct {
	l      *lexicon
	at     int // in data
	i      int // entries read
	term   []byte
	df     uint64
	shared int // bytes that term shares with the term of the call before, or fewer
}

// seek moves so that next moves to the first term that is at least from.
func (c *lexiconCursor) seek(from []byte) {
	lo, hi := 0, len(c.l.blocks) // the first block that begins after from
	for lo < hi {
		mid := (lo + hi) / 2
		b := c.l.data[c.l.blocks[mid]:]
		_, n := binary.Uvarint(b[2:])
		if bytes.Compare(b[2+n:2+n+int(b[1])], from) > 0 {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	block := max(0, lo-1)
	if c.i = block * lexiconBlock; len(c.l.blocks) > 0 {
		c.at = int(c.l.blocks[block])
	}
	c.term, c.shared = c.term[:0], 0
	for {
		at, i := c.at, c.i
		if !c.next(256) {
			return
		}
		if bytes.Compare(c.term, from) >= 0 {
			// Stand before this term again. Its first bytes are in c.term already, as its entry needs them.
			c.at, c.i = at, i
			return
		}
	}
}

// skip passes blocks without a term of more than df documents, as far as the cursor is at the begin of one: of all
// words with a letter, few blocks have one of the most frequent.
func (c *lexiconCursor) skip(df uint64) {
	for c.i%lexiconBlock == 0 && c.i < c.l.n {
		block := c.i / lexiconBlock
		if df >= math.MaxUint32 || uint64(c.l.largest[block]) > df {
			return
		}
		c.i += lexiconBlock
		if c.at = len(c.l.data); block+1 < len(c.l.blocks) {
			c.at = int(c.l.blocks[block+1])
		}
	}
}

// next moves to the next term that shares less than dead bytes with the current one. Terms that are passed are not put
// together.
func (c *lexiconCursor) next(dead int) bool {
	shared := 256
	for c.at < len(c.l.data) {
		b := c.l.data[c.at:]
		s, n := int(b[0]), int(b[1])
		df, k := uint64(b[2]), 1
		if df >= 0x80 {
			df, k = binary.Uvarint(b[2:])
		}
		rest := b[2+k : 2+k+n]
		c.at += 2 + k + n
		first := c.i%lexiconBlock == 0
		c.i++
		if first {
			// The entry is whole, whatever it shares with the one before.
			s = sharedBytes(c.term[:min(len(c.term), dead)], rest)
			rest = rest[s:]
		}
		if shared = min(shared, s); s >= dead {
			if first {
				c.term = append(c.term[:s], rest...)
			}
			continue
		}
		c.shared, c.df = shared, df
		c.term = append(c.term[:s], rest...)
		return true
	}
	return false
}

// lexicons is where a segment keeps its lexicon. The states that have the segment share it.
type lexicons struct {
	mu      sync.Mutex
	busy    bool     // it is being read or made smaller
	lexicon *lexicon // nil: not read yet
}

// lexicon returns the lexicon of a segment, nil while it is not there. The first call begins to read it, in the
// background, for which it holds the state. A lexicon that cannot be read is tried again at the next call: until then
// terms are read from the store, which reports the error. Where segments have come since, and one's share is less, it
// is made smaller.
func (x *Index) lexicon(st *state, seg *segment) *lexicon {
	h := seg.lexicons
	most := int(float64(x.o.MemoryBytes) / lexiconShare * float64(seg.info.Terms) / float64(max(st.terms, 1)))
	h.mu.Lock()
	defer h.mu.Unlock()
	was := h.lexicon
	if h.busy || was != nil && was.size() <= most {
		return was
	}
	h.busy = true
	st.refs.Add(1) // the caller holds one
	x.held.Add(1)
	go func() {
		var l *lexicon
		if was == nil {
			l, _ = readLexicon(st.snap, seg, most, x.closed)
		} else { // others read it
			less := *was
			less.fit(most)
			less.clip()
			l = &less
		}
		h.mu.Lock()
		h.lexicon, h.busy = l, false
		h.mu.Unlock()
		_ = x.release(st) // closing a snapshot that was only read loses nothing
	}()
	return was
}

// lexiconShare is the part of Options.MemoryBytes that the lexicons of all index segments may need: a fourth.
const lexiconShare = 4

func (x *Index) closed() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.state == nil
}
