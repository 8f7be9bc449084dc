// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Words that queries use again are held in memory, decoded and weighed: who searches a word in five forms then walks
// one list in place of five, and neither decodes it nor looks it up in the store. That caches of posting lists answer
// most queries of a search engine with little memory, because few words make most of its queries, and that how often a
// word is used is the better rule of what to keep than when, is from Baeza-Yates, Gionis, Junqueira, Murdock,
// Plachouras and Silvestri, "The impact of caching on search engines" (SIGIR 2007). A document takes 4 bytes, one of a
// frequent word little more than 2.

// heldWord has the documents of a part in which any form of a word occurs and that are not deleted, and their weighted
// frequencies, in which the forms are added up. It never changes, but for the table.
type heldWord struct {
	heldDocs
	codes []uint16  // of their weighted frequencies, by number
	most  []uint16  // the largest of heldBlock codes
	tfs   []float64 // of each code, ascending
	found *heldPositions
	table atomic.Pointer[heldTable]
}

// heldTable has the points of a word's codes with a gain: that of the query which used the word last with another.
type heldTable struct {
	gain   gain
	points []points
}

// heldBlock is the number of documents that have one bound.
const heldBlock = 128

// heldPrice is what is held costs beside its documents or bytes and its key, about.
const heldPrice = 300

func (h *heldWord) bytes() int64 {
	return h.heldDocs.bytes() + int64(2*(cap(h.codes)+cap(h.most))+16*cap(h.tfs))
}

// bound returns the largest code of some documents, or one that is larger.
func (h *heldWord) bound(from, to uint32) (most uint16) {
	for _, code := range h.most[from/heldBlock : (to+heldBlock-1)/heldBlock] {
		most = max(most, code)
	}
	return most
}

// Chunks of lists are held by the same rule: the second phase reads positions of words in a few documents, and finding
// a chunk in Pebble takes longer than reading what is needed of it.

// heldWords are the held words and chunks of an index segment. The states of the index that have it share them as long
// as their averages, on which the weights of occurrences depend, and its deletes are the same. Safe for concurrent use;
// the zero value holds none.
type heldWords struct {
	index *atomic.Int64 // bytes that all segments of the index may hold; nil: none
	part  atomic.Uint64 // of them: the segment's, as the bits of a float64
	// chunks holds the chunks; nil: none are held.
	chunks *heldWords
	mu     sync.Mutex
	size   int64 // bytes
	words  map[string]*heldUse
	// located are the words that have their positions, which take foundSize of size and give way to words.
	located   map[string]bool
	foundSize int64
	// seen counts the uses of words that are not held, in two generations of heldSeen words.
	seen, seenBefore map[string]uint32
	uses             int // of all words
	// begun are the words that some search makes, or reads positions of: others that come meanwhile read the lists.
	begun map[string]bool
}

type heldUse struct {
	word  *heldWord // nil: it cannot be held
	chunk []byte    // of a chunk, which must not be changed
	uses  uint32
	size  int64
	found int64 // of it: the positions
	gone  bool  // the positions gave way

	column *heldColumn // that facets count; nil: it has too many values
	filter bitset      // of documents that fit a filter of a value
}

// as returns a use of a word in place of u, which searches may have, with some bytes of positions.
func (u *heldUse) as(w *heldWord, found int64) *heldUse {
	return &heldUse{word: w, uses: u.uses, size: u.size - u.found + found, found: found}
}

const (
	heldSeen = 1 << 12
	// heldLargest is the part of all bytes that one word may take: an eighth.
	heldLargest = 8
	// heldChunks is the part of all bytes that is for chunks: an eighth. They are counted apart, because they are many,
	// one search uses several, and each saves some µs: 2,700 chunks and nine words had all 64 MiB where 970 words were
	// used in turn, and the uses of words were forgotten before the next.
	heldChunks = 8
	// heldHalving is the number of uses after which those of before count half.
	heldHalving = 1 << 14
	// heldTries is how many held words are looked at for one that is used less than another.
	heldTries = 8
	// heldPatience is how many times as often as a held word another must be used to take its place. Making a word
	// costs several times what one search saves by it. Where as many words are used as often as each other and not all
	// have room, each would take another's place just before that is used again: at 10^6 documents and 1,200 words in
	// turn, making words was a third of all work.
	heldPatience = 2
)

// worth says of what is held, by uses and bytes, what is to stay: what is used more, and of what is used as much the
// smaller, since more of them have room. A word in a few thousand documents saves a fifth of a millisecond, one in most
// documents eight times as much at thirty times the bytes.
func worth(uses uint32, size int64) float64 { return float64(uses) / math.Sqrt(float64(size)) }

// newHeldWords holds the words and chunks of a part of the index, of whose bytes give is to give it some.
func newHeldWords(bytes *atomic.Int64) *heldWords {
	return &heldWords{index: bytes, chunks: &heldWords{index: bytes}}
}

// withoutWords returns what else is held: chunks, columns and filters, which depend on neither weights nor deletes.
func (h *heldWords) withoutWords() *heldWords {
	h.mu.Lock()
	defer h.mu.Unlock()
	left := &heldWords{index: h.index, chunks: h.chunks}
	for key, u := range h.words {
		if strings.HasPrefix(key, heldColumns) {
			if left.words == nil {
				left.words = map[string]*heldUse{}
			}
			own := *u
			left.words[key], left.size = &own, left.size+own.size
		}
	}
	return left
}

// give gives a part of the index its share of all bytes. Words that have no room any more are dropped.
func (h *heldWords) give(part float64) {
	if h.chunks != nil {
		h.chunks.give(part / heldChunks)
		part -= part / heldChunks
	}
	h.part.Store(math.Float64bits(part))
	h.trim()
}

// most returns how many bytes the segment may hold.
func (h *heldWords) most() int64 {
	if h.index == nil {
		return 0
	}
	return int64(float64(h.index.Load()) * math.Float64frombits(h.part.Load()))
}

// trim drops words, any ones, until the others have room.
func (h *heldWords) trim() {
	if h.chunks != nil {
		h.chunks.trim()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for key := range h.words {
		for h.size > h.most() && h.strip() {
		}
		if h.size <= h.most() {
			return
		}
		h.drop(key)
	}
}

// drop drops a word.
func (h *heldWords) drop(key string) {
	u := h.words[key]
	h.size -= u.size
	h.foundSize -= u.found
	delete(h.words, key)
	delete(h.located, key)
}

// use returns what is held, nil if it is not. Then it reports whether it should be, with about as many bytes: it was
// used before, and there is room for it or what is used less gave way.
func (h *heldWords) use(key string, size int64) (u *heldUse, hold bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.most() == 0 {
		return nil, false
	}
	if h.uses++; h.uses%heldHalving == 0 {
		for key, u := range h.words {
			if u.uses /= 2; u.gone {
				h.words[key] = u.as(u.word.with(nil), 0) // it may have them again
			}
		}
		for _, seen := range []map[string]uint32{h.seen, h.seenBefore} { // or they would displace what is held
			for key, n := range seen {
				seen[key] = (n + 1) / 2
			}
		}
	}
	if u := h.words[key]; u != nil {
		u.uses++
		return u, false
	}
	n := h.seen[key] + 1
	if n == 1 {
		n += h.seenBefore[key]
	}
	if h.seen == nil || n == 1 && len(h.seen) >= heldSeen {
		h.seen, h.seenBefore = map[string]uint32{}, h.seen
	}
	h.seen[key] = n
	size += heldPrice
	return nil, n > 1 && size <= h.most()/heldLargest && h.fits(size, worth(n, size))
}

// peek returns a held word without using it, nil if it is not held.
func (h *heldWords) peek(key string) *heldWord {
	h.mu.Lock()
	defer h.mu.Unlock()
	if u := h.words[key]; u != nil {
		return u.word
	}
	return nil
}

// making reports whether the caller is to make a word, and nobody else does. It calls made in the end.
func (h *heldWords) making(key string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.begun[key] {
		return false
	}
	h.begin(key)
	return true
}

func (h *heldWords) begin(key string) {
	if h.begun == nil {
		h.begun = map[string]bool{}
	}
	h.begun[key] = true
}

// forget lets what could not be made in a search's time be used as often again before it is tried again.
func (h *heldWords) forget(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.seen, key)
	delete(h.seenBefore, key)
}

func (h *heldWords) made(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.begun, key)
}

// fits reports whether there is room for something, or what is worth half as much, if that gives way. It drops nothing:
// the caller may yet find that a query has other words that cannot be held, and the room of those that it dropped would
// go to words that are worth less.
func (h *heldWords) fits(size int64, worth float64) bool {
	if h.size-h.foundSize+size <= h.most() {
		return true
	}
	_, at := h.least()
	return at*heldPatience < worth
}

// room makes room for something by dropping positions, if these are enough, and else first others that are worth less.
func (h *heldWords) room(size int64, worth float64) bool {
	for h.size+size > h.most() {
		if h.size-h.foundSize+size <= h.most() && h.strip() {
			continue
		}
		key, at := h.least()
		if at >= worth {
			return false
		}
		u := h.words[key]
		h.drop(key)
		if h.seen != nil { // or it would come back for less than what it made room for
			h.seen[key] = u.uses
		}
	}
	return true
}

// least returns what is worth least of some that are held, and infinity if nothing is.
func (h *heldWords) least() (least string, at float64) {
	at = math.Inf(1)
	tries := 0
	for key, u := range h.words { // in any order
		if w := worth(u.uses, u.size); w < at {
			least, at = key, w
		}
		if tries++; tries == heldTries {
			break
		}
	}
	return least, at
}

// hold keeps a word, unless there is no room for it any more; nil is a word that cannot be held.
func (h *heldWords) hold(key string, w *heldWord) {
	u := &heldUse{word: w}
	if w != nil {
		u.size = w.bytes()
	}
	h.keep(key, u)
}

// keep keeps a word or a chunk, unless there is no room for it any more.
func (h *heldWords) keep(key string, u *heldUse) {
	u.size += int64(len(key)) + heldPrice
	h.mu.Lock()
	defer h.mu.Unlock()
	u.uses = h.seen[key]
	if u.size > h.most()/heldLargest { // it was taken for a smaller one; what has its room now is used, too
		delete(h.seen, key)
		delete(h.seenBefore, key)
		return
	}
	if h.words[key] != nil || !h.room(u.size, worth(u.uses, u.size)) {
		return
	}
	if h.words == nil {
		h.words = map[string]*heldUse{}
	}
	delete(h.seen, key)
	h.words[key] = u
	h.size += u.size
}

// heldChunk is the first byte of the keys of chunks, which no term begins with.
const heldChunk = 0xff

// heldColumns begins the keys of columns and filters.
const heldColumns = "\xff" + string(rune(kindColumns))

// chunk returns a chunk that is held, nil if it is not; hold is as in use.
func (h *heldWords) chunk(kind byte, list, chunk uint32) (b []byte, hold bool) {
	if h.chunks == nil {
		return nil, false
	}
	u, hold := h.chunks.use(chunkKey(kind, list, chunk), listChunk)
	if u == nil {
		return nil, hold
	}
	return u.chunk, false
}

// holdChunk keeps a copy of a chunk.
func (h *heldWords) holdChunk(kind byte, list, chunk uint32, b []byte) {
	h.chunks.keep(chunkKey(kind, list, chunk), &heldUse{chunk: bytes.Clone(b), size: int64(len(b))})
}

func chunkKey(kind byte, list, chunk uint32) string {
	var memory [16]byte
	return string(appendChunkKey(append(memory[:0], heldChunk, kind), list, chunk))
}

// heldKey returns the key of a word: its forms and their weights.
func (n *node) heldKey() string {
	if n.kind == nodeTerm {
		return n.term
	}
	var memory [128]byte
	key := memory[:0]
	for _, c := range n.children {
		key = append(append(key, c.term...), 0)
		key = binary.LittleEndian.AppendUint64(key, math.Float64bits(cmp.Or(c.weight, 1)))
	}
	return string(key)
}

// heldTime is the part of the time that a search has left which making something to be held may take: a search that has
// little must not lose it to what only later ones gain from.
const heldTime = 4

// making makes heldTime bound what follows, until its end.
func (x *execution) making() (end func()) {
	work := x.work
	now := work.now()
	x.work = newBudget(work.ctx, now.Add(work.deadline.Sub(now)/heldTime))
	x.work.now, x.work.over = work.now, work.over
	return func() {
		if err := x.work.err; err != nil {
			work.fail(err)
		}
		x.work, work.left = work, 0 // the clock is read next
	}
}

// newHeldWord reads a word of a part; nil if the word has too many different weighted frequencies. ok is false if
// reading it takes too much of the search's time.
func (x *execution) newHeldWord(p *part, n *node) (_ *heldWord, ok bool) {
	defer x.making()()
	forms := []*node{n}
	if n.kind == nodeAny {
		forms = n.children
	}
	it, docs := anyIter{weigher: x.weigher(p)}, uint64(0)
	for _, c := range forms {
		if l := x.list(p, c.term); l != nil {
			it.forms = append(it.forms, x.cursor(p, l))
			it.weights = append(it.weights, cmp.Or(c.weight, 1))
			docs += l.df()
		}
	}
	h := &heldWord{heldDocs: newHeldDocs(p.docs), codes: make([]uint16, 0, min(docs, uint64(p.docs)))}
	coder := tfCoder{}
	s := sumsPool.Get().(*sums)
	for s.lo = 0; s.lo < p.docs && !x.work.over; s.lo += sumDocs {
		s.hi = s.lo + sumDocs - 1
		it.weighForms(s, 0, len(it.forms))
		s.own = s.touched
		(&window{s.lo, s.own[:]}).alive(p.dead)
		h.add(&s.own)
		for at, some := range s.touched {
			for s.touched[at] = 0; some != 0; some &= some - 1 {
				i := at*64 + bits.TrailingZeros64(some)
				if s.own[at]&(some&-some) != 0 {
					h.codes = append(h.codes, coder.code(s.tf[i]))
				}
				s.tf[i] = 0
			}
		}
	}
	if x.work.over {
		return nil, false
	}
	sumsPool.Put(s)
	h.clip()
	if h.tfs = coder.tfs; len(h.tfs) > math.MaxUint16 {
		return nil, true
	}
	h.sortCodes()
	return h, true
}

// sortCodes gives larger frequencies larger codes, and bounds the codes of blocks.
func (h *heldWord) sortCodes() {
	type coded struct {
		bits uint64 // of a frequency: those of numbers above 0 compare as they do
		code uint16
	}
	order := make([]coded, len(h.tfs))
	for i, tf := range h.tfs {
		order[i] = coded{math.Float64bits(tf), uint16(i)}
	}
	slices.SortFunc(order, func(a, b coded) int { return cmp.Compare(a.bits, b.bits) })
	code, tfs := make([]uint16, len(order)), make([]float64, len(order))
	for i, o := range order {
		code[o.code], tfs[i] = uint16(i), h.tfs[o.code]
	}
	h.tfs, h.most = tfs, make([]uint16, (len(h.codes)+heldBlock-1)/heldBlock)
	for i, old := range h.codes {
		h.codes[i] = code[old]
		h.most[i/heldBlock] = max(h.most[i/heldBlock], code[old])
	}
}

// tfCoder numbers different frequencies as they come. It is a hash table with open addressing: with a map of Go's, as
// much time went into numbers as into the frequencies themselves.
type tfCoder struct {
	tfs  []float64
	slot []tfSlot // a power of two, at most half of them taken
	down int      // 64 less the bits of a place in slot
}

type tfSlot struct {
	tf   float64 // 0: none
	code uint16
}

// code returns the number of a frequency, which is above 0. Beyond math.MaxUint16 numbers repeat.
func (c *tfCoder) code(tf float64) uint16 {
	if 2*len(c.tfs) >= len(c.slot) {
		c.grow()
	}
	s := c.find(tf)
	if s.tf == 0 {
		s.tf, s.code = tf, uint16(len(c.tfs))
		c.tfs = append(c.tfs, tf)
	}
	return s.code
}

// find returns the slot of a frequency, or a free one.
func (c *tfCoder) find(tf float64) *tfSlot {
	at := math.Float64bits(tf) * 0x9e3779b97f4a7c15 >> c.down
	for c.slot[at].tf != tf && c.slot[at].tf != 0 {
		at = (at + 1) & uint64(len(c.slot)-1)
	}
	return &c.slot[at]
}

// grow doubles the table.
func (c *tfCoder) grow() {
	old := c.slot
	c.slot = make([]tfSlot, max(2*len(old), 1024))
	c.down = 64 - bits.TrailingZeros(uint(len(c.slot)))
	for _, s := range old {
		if s.tf != 0 {
			*c.find(s.tf) = s
		}
	}
}
