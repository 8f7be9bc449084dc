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
	var least [nearBins]uint64
	for i := range least {
		least[i] = ^uint64(0)
	}
	// a and b are the hashes of the two previous words; a shingle is an ordered mix of three, as for simHash.
	var a, b, h uint64
	words := 0
	for i := 0; i < len(text); {
		word, n := nearBytes(eight(text, i))
		if n > 0 {
			h = nearHash(h, word)
		}
		if i += n; n == 8 && i < len(text) {
			continue
		}
		if h != 0 {
			if words >= 2 {
				nearKeep(&least, a, b, h)
			}
			a, b, h = b, h, 0
			words++
		}
		if i+2 < len(text) && text[i] >= 0xe3 && text[i] <= 0xed { // U+3000 to U+DFFF: a word of its own
			h = uint64(text[i])<<16 | uint64(text[i+1])<<8 | uint64(text[i+2])
			if words >= 2 {
				nearKeep(&least, a, b, h)
			}
			a, b, h = b, h, 0
			words++
			i += 2
		}
		i++
	}
	if words > 0 && words < 3 {
		nearKeep(&least, a, b, 0)
	}
	group := uint64(0)
	for _, h := range least {
		group = mix(group + h)
	}
	return max(group>>16, 1)
}

// nearBins is the number of hashes that near-duplicates have in common.
const nearBins = 8

// nearKeep keeps the hash of the shingle of three words.
func nearKeep(least *[nearBins]uint64, a, b, c uint64) {
	h := mix(bits.RotateLeft64(a, 21) + bits.RotateLeft64(b, 42) + c)
	if bin := &least[h%nearBins]; h < *bin {
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

// nearBytes returns the bytes of a word that x begins with, in lower case, zeros after them, and their number. Words
// are those of simHash: of ASCII letters and digits, and all bytes beyond ASCII but 0xe3 to 0xed. They are read eight
// bytes at a time: byte by byte, NearGroup took a seventh of the time of indexing a page.
func nearBytes(x uint64) (lower uint64, n int) {
	const each, high = 0x0101010101010101, 0x8080808080808080
	c := x &^ high // so that no sum carries into the next byte; the high bits of the sums are the comparisons
	l := c | 0x20*each
	letter := (l + (0x80-'a')*each) &^ (l + (0x80-'z'-1)*each) &^ x
	digit := (c + (0x80-'0')*each) &^ (c + (0x80-'9'-1)*each) &^ x
	alone := (c + (0x80-0x63)*each) &^ (c + (0x80-0x6e)*each)
	n = bits.TrailingZeros64(^(letter|digit|x&^alone)&high) / 8 // 8 if there is none
	return (x | letter&high>>2) & (uint64(1)<<(8*n) - 1), n
}
