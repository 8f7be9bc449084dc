// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/seine-crawler/seine/engine/parse/content"
)

// simHash computes Charikar's fingerprint ("Similarity estimation techniques from rounding algorithms", 2002) of a
// page's prose: bit i is set if most of its shingles have bit i set in their hash. Pages that share most of their
// shingles differ in few bits; those of two unrelated pages differ in about half.
//
// Prose is the main content without its short lines, which are headings, captions and lists of links: pages that say
// the same in two site designs, or beside other links, differ in these. A page without blocks is prose as a whole. A
// shingle is three words of one line. Each counts once, however often the page has it: on simweb, whose pages share
// paragraphs, 20% of the pairs within three bits were near-duplicates where each occurrence counted, and 99% where each
// shingle did (bench/measure, BenchmarkNearDuplicates). Words are runs of ASCII letters and digits, ignoring case, and
// of other characters. Each character of Han, Kana and Hangul is a word, since they are written without spaces. Prose
// of less than shortContent bytes is too little to tell: its fingerprint is 0, which no other prose has.
func simHash(text []byte, blocks []content.Block, seen *shingleSet) uint64 {
	if len(blocks) == 0 {
		if len(text) < shortContent {
			return 0
		}
		h := hasher{seen: seen}
		h.add(text)
		return h.sum()
	}
	h, prose := hasher{seen: seen}, 0
	for i := range blocks {
		if b := &blocks[i]; b.Content {
			for line := range bytes.SplitSeq(text[b.From:b.To], newline) {
				if len(line) >= shortLine {
					h.add(line)
					prose += len(line)
				}
			}
		}
	}
	if prose < shortContent {
		seen.reset()
		return 0
	}
	return h.sum()
}

var newline = []byte{'\n'}

// hasher adds up the distinct shingles of a page. It works on lists: words of a line are hashed, then mixed by three,
// then looked up, then counted. One word after the other, each step waited for the one before and for memory, and all
// took two fifths more.
type hasher struct {
	votes votes
	seen  *shingleSet
	h     uint64 // hash of the current word so far
	// words are the hashes of the last words of a line, the first two of them in shingles already if the line is longer
	// than the list; shingles those that are not yet looked up.
	words          [heldWords]uint64
	shingles       [heldWords]uint64
	nWords, nMixed int
	longer         bool
}

const heldWords = 128

// sum is the fingerprint of what was added; the next page can use seen.
func (s *hasher) sum() uint64 {
	s.look()
	s.seen.reset()
	return max(s.votes.majority(), 1)
}

// add adds the shingles of a text.
func (s *hasher) add(text []byte) {
	s.h, s.nWords, s.longer = 0, 0, false
	for i := s.readWords(text); i < len(text); {
		word, n := wordBytes(eight(text, i))
		if n > 0 {
			s.h = wordHash(s.h, word)
		}
		if i += n; n == 8 && i < len(text) {
			continue
		}
		s.end()
		if i+2 < len(text) && text[i] >= 0xe3 && text[i] <= 0xed { // U+3000 to U+DFFF: a word of its own
			s.h = uint64(text[i])<<16 | uint64(text[i+1])<<8 | uint64(text[i+2])
			s.end()
			i += 2
		}
		i++
	}
	s.end()
	switch {
	case s.nWords > 2:
		s.mixWords()
	case s.nWords == 2 && !s.longer:
		s.shingle(s.words[0], s.words[1], 0)
	case s.nWords == 1:
		s.shingle(0, s.words[0], 0)
	}
}

// end ends a word, if there is one.
func (s *hasher) end() {
	if s.h == 0 {
		return
	}
	s.words[s.nWords%heldWords] = s.h
	s.h = 0
	if s.nWords++; s.nWords == heldWords {
		s.mixWords()
	}
}

// mixWords makes shingles of the words, and keeps the last two for the next one.
func (s *hasher) mixWords() {
	n := s.nWords
	if s.nMixed+n > heldWords {
		s.look()
	}
	words, to := s.words[:n], s.shingles[s.nMixed:]
	for i, c := range words[2:] {
		to[i] = mix(bits.RotateLeft64(words[i], 21) + bits.RotateLeft64(words[i+1], 42) + c)
	}
	s.nMixed += n - 2
	s.words[0], s.words[1], s.nWords, s.longer = words[n-2], words[n-1], 2, true
}

// shingle adds one of three words.
func (s *hasher) shingle(a, b, c uint64) {
	if s.nMixed == heldWords {
		s.look()
	}
	s.shingles[s.nMixed] = mix(bits.RotateLeft64(a, 21) + bits.RotateLeft64(b, 42) + c)
	s.nMixed++
}

// look counts those of the shingles that are new.
func (s *hasher) look() {
	s.votes.addAll(s.seen.add(s.shingles[:s.nMixed]))
	s.nMixed = 0
}

// wordsAtOnce is the number of bytes whose kinds readWords finds out together.
const wordsAtOnce = 64

// readWords reads words from the beginning of a text, and returns where it stopped: at the first character that is a
// word of its own, at a word that is too long, or near the end. To find out which bytes are words' for many of them at
// once halves the time of reading, because no word then waits for the end of the one before.
func (s *hasher) readWords(text []byte) (i int) {
	for i+wordsAtOnce+8 <= len(text) {
		if s.nWords > heldWords-wordsAtOnce/2-1 {
			s.mixWords()
		}
		kinds, alone := uint64(0), uint64(0)
		for j := 0; j < wordsAtOnce; j += 8 {
			_, word, high := wordKinds(binary.LittleEndian.Uint64(text[i+j:]))
			alone |= high &^ word
			// The product moves the highest bits of the eight bytes into the highest byte.
			kinds |= word >> 7 * 0x0102040810204080 >> 56 << j
		}
		if alone != 0 {
			return i
		}
		at := 0
		for rest := kinds; rest != 0; rest = kinds >> at {
			at += bits.TrailingZeros64(rest)
			n := bits.TrailingZeros64(^(kinds >> at))
			if at+n >= wordsAtOnce { // it may not end here
				break
			}
			h := uint64(0)
			for ; n > 0; n -= 8 {
				// Of words' bytes, those are letters that have bit 6 and not bit 7.
				x := binary.LittleEndian.Uint64(text[i+at:])
				x |= x &^ (x >> 1) & 0x4040404040404040 >> 1
				h = wordHash(h, x&(^uint64(0)>>(64-8*min(n, 8))))
				at += min(n, 8)
			}
			s.words[s.nWords%heldWords] = h
			if h != 0 {
				s.nWords++
			}
		}
		if kinds>>at == 0 {
			at = wordsAtOnce
		}
		if at == 0 {
			return i
		}
		i += at
	}
	return i
}

// wordHash adds up to eight bytes to the hash of a word. A product of an odd number tells words of up to eight bytes
// apart; mix does the rest.
func wordHash(h, word uint64) uint64 { return (bits.RotateLeft64(h, 29) ^ word) * 0x9e3779b97f4a7c15 }

// eight reads eight bytes of text from i, little-endian, with zeros beyond its end.
func eight(text []byte, i int) (x uint64) {
	if i+8 <= len(text) {
		return binary.LittleEndian.Uint64(text[i:])
	}
	for j := len(text) - 1; j >= i; j-- {
		x = x<<8 | uint64(text[j])
	}
	return x
}

// wordBytes returns the bytes of a word that x begins with, in lower case, zeros after them, and their number. They are
// read eight bytes at a time: byte by byte, that took a third of the time of parsing a page.
func wordBytes(x uint64) (lower uint64, n int) {
	lower, word, _ := wordKinds(x)
	n = bits.TrailingZeros64(^word&(0x80*eachByte)) / 8 // 8 if there is none
	return lower & (uint64(1)<<(8*n) - 1), n
}

const eachByte = 0x0101010101010101

// wordKinds returns x in lower case, and the highest bits of its bytes that are words', and of those beyond ASCII.
// Words are those of simHash: of ASCII letters and digits, and all bytes beyond ASCII but 0xe3 to 0xed.
func wordKinds(x uint64) (lower, word, beyond uint64) {
	const each, high = eachByte, 0x80 * eachByte
	c := x &^ high // so that no sum carries into the next byte; the high bits of the sums are the comparisons
	l := c | 0x20*each
	letter := (l + (0x80-'a')*each) &^ (l + (0x80-'z'-1)*each) &^ x & high
	digit := (c + (0x80-'0')*each) &^ (c + (0x80-'9'-1)*each) &^ x & high
	alone := (c + (0x80-0x63)*each) &^ (c + (0x80-0x6e)*each)
	return x | letter>>2, letter | digit | x&^alone&high, x & high
}

// mix is the finisher of splitmix64: every bit of the input affects every bit of the output.
func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// shingleSet is an open-addressed table of hashes that keeps its memory from page to page. The zero value is empty.
type shingleSet struct {
	slots  []uint64 // 0: free
	used   int
	loaded uint64 // by add
}

// firstShingles is the size of the table that a page starts with, keptShingles the largest that is kept for the next.
const firstShingles, keptShingles = 1 << 10, 1 << 14

// reset empties the set.
func (s *shingleSet) reset() {
	if s.used = 0; len(s.slots) > keptShingles {
		s.slots = nil
	}
	clear(s.slots)
}

// add adds hashes and returns those that are new, in the memory of the list. The hash 0 never is: no one in 2^64
// shingles matters. All slots are loaded before one is looked at: a wrong guess of a branch would end what the
// processor loads in advance.
func (s *shingleSet) add(list []uint64) (fresh []uint64) {
	for 2*(s.used+len(list)) > len(s.slots) {
		s.grow()
	}
	slots, mask := s.slots, uint64(len(s.slots)-1)
	loaded := uint64(0)
	for _, h := range list {
		loaded += slots[h&mask]
	}
	s.loaded = loaded // else the compiler would leave the loads out
	fresh = list[:0]
next:
	for _, h := range list {
		i := h & mask
		for ; slots[i] != 0; i = (i + 1) & mask {
			if slots[i] == h {
				continue next
			}
		}
		if h != 0 {
			slots[i] = h
			fresh = append(fresh, h)
		}
	}
	s.used += len(fresh)
	return fresh
}

func (s *shingleSet) grow() {
	old := s.slots
	s.slots = make([]uint64, max(2*len(old), firstShingles))
	mask := uint64(len(s.slots) - 1)
	for _, h := range old {
		if h != 0 {
			i := h & mask
			for ; s.slots[i] != 0; i = (i + 1) & mask {
			}
			s.slots[i] = h
		}
	}
}

// votes counts the set bits of many 64-bit words, by position, in vertical counters: bit i of planes[k] is digit k of
// the count for bit i. 64 separate counters would take 64 additions a word.
type votes struct {
	planes  [24]uint64 // counts to 16 million, more than MaxText has shingles
	pending uint64     // the first of a pair, when n is odd
	n       uint64
}

// addAll adds words, eight at a time by a tree of full adders (Harley and Seal's, see Muła, Kurz and Lemire, "Faster
// population counts using AVX2 instructions", 2018): a carry into the fourth plane comes once in eight words.
func (v *votes) addAll(list []uint64) {
	p := &v.planes
	for ; len(list) >= 8; list = list[8:] {
		l := (*[8]uint64)(list)
		var a, b, c, d uint64
		a, p[0] = fullAdd(p[0], l[0], l[1])
		b, p[0] = fullAdd(p[0], l[2], l[3])
		c, p[1] = fullAdd(p[1], a, b)
		a, p[0] = fullAdd(p[0], l[4], l[5])
		b, p[0] = fullAdd(p[0], l[6], l[7])
		d, p[1] = fullAdd(p[1], a, b)
		c, p[2] = fullAdd(p[2], c, d)
		for k := 3; c != 0 && k < len(p); k++ {
			p[k], c = p[k]^c, p[k]&c
		}
		v.n += 8
	}
	for _, h := range list {
		v.add(h)
	}
}

// fullAdd adds three digits at each of 64 positions.
func fullAdd(a, b, c uint64) (carry, sum uint64) {
	sum = a ^ b
	return a&b | sum&c, sum ^ c
}

// add adds words in pairs: a full adder adds them to the lowest plane, and carries ripple until there are none.
func (v *votes) add(h uint64) {
	if v.n++; v.n&1 == 1 {
		v.pending = h
		return
	}
	low := v.planes[0] ^ v.pending
	carry := v.planes[0]&v.pending | low&h
	v.planes[0] = low ^ h
	for k := 1; carry != 0 && k < len(v.planes); k++ {
		v.planes[k], carry = v.planes[k]^carry, v.planes[k]&carry
	}
}

// majority returns the bits that are set in more than half of the words: it compares all 64 counts with n/2 at once,
// from the highest digit on.
func (v *votes) majority() (more uint64) {
	carry := v.pending & -(v.n & 1) // 0 when no word waits for its pair
	for k := 0; carry != 0 && k < len(v.planes); k++ {
		v.planes[k], carry = v.planes[k]^carry, v.planes[k]&carry
	}
	equal := ^uint64(0)
	for k := len(v.planes) - 1; k >= 0; k-- {
		digit := -(v.n / 2 >> k & 1) // all bits of it
		more |= equal & v.planes[k] &^ digit
		equal &^= v.planes[k] ^ digit
	}
	return more
}
