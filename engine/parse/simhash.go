// SPDX-License-Identifier: Apache-2.0

package parse

import "math/bits"

// simHash computes Charikar's fingerprint ("Similarity estimation techniques from rounding algorithms", 2002) over
// shingles of three words: bit i is set if most shingles have bit i set in their hash. Texts that share most of their
// shingles differ in few bits. Words are runs of ASCII letters and digits, ignoring case, and of other characters. Each
// character of Han, Kana and Hangul is a word, since they are written without spaces. Empty text has fingerprint 0.
func simHash(text []byte) uint64 {
	var v votes
	shingles(text, v.add)
	return v.majority()
}

// shingles calls fn with the hash of each shingle; of a text of one or two words, with that of all.
func shingles(text []byte, fn func(uint64)) {
	// a and b are the hashes of the two previous words; a shingle is an ordered mix of three.
	var a, b uint64
	words := 0
	word := func(h uint64) {
		if words >= 2 {
			fn(mix(bits.RotateLeft64(a, 21) + bits.RotateLeft64(b, 42) + h))
		}
		a, b = b, h
		words++
	}
	const offset, prime = 14695981039346656037, 1099511628211 // FNV-1a
	h := uint64(offset)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch f := fold[c]; {
		case f != 0:
			h = (h ^ uint64(f)) * prime
		case c >= 0xe3 && c <= 0xed && i+2 < len(text): // U+3000 to U+DFFF: a word of its own
			if h != offset {
				word(h)
			}
			word(uint64(c)<<16 | uint64(text[i+1])<<8 | uint64(text[i+2]))
			h = offset
			i += 2
		case h != offset:
			word(h)
			h = offset
		}
	}
	if h != offset {
		word(h)
	}
	if words > 0 && words < 3 {
		fn(mix(bits.RotateLeft64(a, 21) + bits.RotateLeft64(b, 42)))
	}
}

// fold maps the bytes of words to the values that are hashed, and all other bytes to 0. Bytes 0xe3 to 0xed lead the
// characters that are words by themselves.
var fold = func() (f [256]byte) {
	for c := range 256 {
		switch {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'z', c >= 0x80 && (c < 0xe3 || c > 0xed):
			f[c] = byte(c)
		case 'A' <= c && c <= 'Z':
			f[c] = byte(c) | 0x20
		}
	}
	return f
}()

// mix is the finisher of splitmix64: every bit of the input affects every bit of the output.
func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// votes counts the set bits of many 64-bit words, by position, in vertical counters: bit i of planes[k] is digit k of
// the count for bit i. Words are added in pairs: a full adder adds them to the lowest plane, and carries ripple until
// there are none, after about seven planes. 64 separate counters would take 64 additions a word.
type votes struct {
	planes  [24]uint64 // counts to 16 million, more than MaxText has shingles
	pending uint64     // the first of a pair, when n is odd
	n       uint64
}

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

// majority returns the bits that are set in more than half of the words.
func (v *votes) majority() (out uint64) {
	odd := v.pending & -(v.n & 1) // 0 when no word waits for its pair
	for i := range 64 {
		count := odd >> i & 1
		for k, plane := range v.planes {
			count += (plane >> i & 1) << k
		}
		if 2*count > v.n {
			out |= 1 << i
		}
	}
	return out
}
