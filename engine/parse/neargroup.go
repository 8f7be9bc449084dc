// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"encoding/binary"
	"math/bits"
)

// NearGroup returns a number of 48 bits that near-duplicates have in common; 0 for less than 512 bytes of text, which
// are too few to tell. The text is cut into shingles as for SimHash. Of each eighth of the shingles' hashes the least
// one is kept (Broder 1997, "On the resemblance and containment of documents", with one permutation for all eight, as
// Li, Owen and Zhang 2012), and the eight together are the group. So two texts that share the part p of their shingles
// are of one group with a probability of about p to the power of 8: .92 for .99, .66 for .95, .17 for .8, .004 for .5.
// It may be called concurrently.
func NearGroup(text []byte) uint64 {
	if len(text) < shortContent {
		return 0
	}
	s := nearShingles{}
	for i := range s.least {
		s.least[i] = ^uint64(0)
	}
	for i := s.readWords(text); i < len(text); {
		word, n := nearBytes(eight(text, i))
		if n > 0 {
			s.h = nearHash(s.h, word)
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
	if s.words > 0 && s.words < 3 {
		s.keep(s.a, s.b, 0)
	}
	group := uint64(0)
	for _, h := range s.least {
		group = mix(group + h)
	}
	return max(group>>16, 1)
}

// nearShingles keeps the least hashes of the shingles of a text's words.
type nearShingles struct {
	least [nearBins]uint64
	// a and b are the hashes of the two previous words, h that of the current one; a shingle is an ordered mix of
	// three, as for simHash.
	a, b, h uint64
	words   int
}

// end ends a word, if there is one.
func (s *nearShingles) end() {
	if s.h == 0 {
		return
	}
	if s.words >= 2 {
		s.keep(s.a, s.b, s.h)
	}
	s.a, s.b, s.h = s.b, s.h, 0
	s.words++
}

// nearAtOnce is the number of bytes whose kinds readWords finds out together.
const nearAtOnce = 64

// readWords reads words from the beginning of a text, and returns where it stopped: at the first character that is a
// word of its own, at a word that is too long, or near the end. To find out which bytes are words' for many of them at
// once halves the time of NearGroup, because no word then waits for the end of the one before.
func (s *nearShingles) readWords(text []byte) (i int) {
	for i+nearAtOnce+8 <= len(text) {
		kinds, alone := uint64(0), uint64(0)
		for j := 0; j < nearAtOnce; j += 8 {
			_, word, high := nearKinds(binary.LittleEndian.Uint64(text[i+j:]))
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
			if at+n >= nearAtOnce { // it may not end here
				break
			}
			for ; n > 0; n -= 8 {
				// Of words' bytes, those are letters that have bit 6 and not bit 7.
				x := binary.LittleEndian.Uint64(text[i+at:])
				x |= x &^ (x >> 1) & 0x4040404040404040 >> 1
				s.h = nearHash(s.h, x&(^uint64(0)>>(64-8*min(n, 8))))
				at += min(n, 8)
			}
			s.end()
		}
		if kinds>>at == 0 {
			at = nearAtOnce
		}
		if at == 0 {
			return i
		}
		i += at
	}
	return i
}

// nearBins is the number of hashes that near-duplicates have in common.
const nearBins = 8

// keep keeps the hash of the shingle of three words.
func (s *nearShingles) keep(a, b, c uint64) {
	h := mix(bits.RotateLeft64(a, 21) + bits.RotateLeft64(b, 42) + c)
	if bin := &s.least[h%nearBins]; h < *bin {
		*bin = h
	}
}

// nearHash adds up to eight bytes to the hash of a word. A product of an odd number tells words of up to eight bytes
// apart; mix does the rest.
func nearHash(h, word uint64) uint64 { return (bits.RotateLeft64(h, 29) ^ word) * 0x9e3779b97f4a7c15 }

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

// nearBytes returns the bytes of a word that x begins with, in lower case, zeros after them, and their number. They are
// read eight bytes at a time: byte by byte, NearGroup took a seventh of the time of indexing a page.
func nearBytes(x uint64) (lower uint64, n int) {
	lower, word, _ := nearKinds(x)
	n = bits.TrailingZeros64(^word&(0x80*eachByte)) / 8 // 8 if there is none
	return lower & (uint64(1)<<(8*n) - 1), n
}

const eachByte = 0x0101010101010101

// nearKinds returns x in lower case, and the highest bits of its bytes that are words', and of those beyond ASCII.
// Words are those of simHash: of ASCII letters and digits, and all bytes beyond ASCII but 0xe3 to 0xed.
func nearKinds(x uint64) (lower, word, beyond uint64) {
	const each, high = eachByte, 0x80 * eachByte
	c := x &^ high // so that no sum carries into the next byte; the high bits of the sums are the comparisons
	l := c | 0x20*each
	letter := (l + (0x80-'a')*each) &^ (l + (0x80-'z'-1)*each) &^ x & high
	digit := (c + (0x80-'0')*each) &^ (c + (0x80-'9'-1)*each) &^ x & high
	alone := (c + (0x80-0x63)*each) &^ (c + (0x80-0x6e)*each)
	return x | letter>>2, letter | digit | x&^alone&high, x & high
}
