// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// A group is up to 128 numbers of 32 bits, of which most are small: their low bits are packed with one width, and what
// exceeds it is kept apart, in one of two ways. In a patched group only a few numbers exceed the width, and those are
// listed: this is the patched frame of reference of Zukowski, Héman, Nes and Boncz (2006), with the exceptions of
// Lemire and Boytsov (2015) and a frame that begins at 0. In a unary group half of the numbers exceed it, each by
// little, and for each there is as many zeros and a one: Rice's code (1979), with the low bits apart, so that they are
// read many at once. The number of numbers is not stored; the reader knows it.
//
//	group = head | n × width bits | exceptions or high bits
//	head  = width 0 to 32 | groupPatched, if exceptions follow | groupUnary, if high bits do
//	exceptions = count, 1 byte | their width, 1 byte | count × place, 1 byte | count × width bits
//	high bits  = bytes, 1 byte | for each number: its high part in zeros, and a one
//
// Bits fill each byte from the lowest up. Examples: 1 0 3 2 is 02 b1, width 2 and 10 11 00 01; as a unary group of
// width 1 it would be 81 05 01 2b, low bits 1 0 1 0 and high parts 0 0 1 1.
const (
	groupSize    = 128
	groupPatched = 0x40
	groupUnary   = 0x80

	unaryWidthMost = 20 // so that no high part reaches beyond 32 bits
	unaryBytesMost = 255
)

// packedBytes returns the size of n numbers of a width.
func packedBytes(n int, width uint) int { return (n*int(width) + 7) / 8 }

// groupWidth chooses the width that makes a group smallest, and returns how many numbers exceed it and the bits of the
// largest.
func groupWidth(v []uint32) (width uint, exceptions int, most uint) {
	var count [33]int // by bits
	for _, n := range v {
		count[bits.Len32(n)]++
	}
	for most = 32; most > 0 && count[most] == 0; most-- {
	}
	width = most
	best := packedBytes(len(v), most)
	for w, above := most, 0; w > 0; {
		above += count[w]
		w--
		size := packedBytes(len(v), w) + 2 + above + packedBytes(above, most-w)
		if size < best {
			best, width, exceptions = size, w, above
		}
	}
	return width, exceptions, most
}

// appendGroup appends the group of at most groupSize numbers.
func appendGroup(dst []byte, v []uint32) []byte {
	width, exceptions, most := groupWidth(v)
	return appendPatched(dst, v, width, exceptions, most)
}

// appendPatched appends a group of a width that some numbers exceed; most is the bits of the largest.
func appendPatched(dst []byte, v []uint32, width uint, exceptions int, most uint) []byte {
	if exceptions == 0 {
		return appendPacked(append(dst, byte(width)), v, width)
	}
	dst = appendPacked(append(dst, byte(width)|groupPatched), v, width)
	dst = append(dst, byte(exceptions), byte(most-width))
	var high [groupSize]uint32
	k := 0
	for i, n := range v {
		if n>>width != 0 {
			dst = append(dst, byte(i))
			high[k] = n >> width
			k++
		}
	}
	return appendPacked(dst, high[:k], most-width)
}

// patchedBytes returns the size of appendPatched.
func patchedBytes(n int, width uint, exceptions int, most uint) int {
	size := 1 + packedBytes(n, width)
	if exceptions > 0 {
		size += 2 + exceptions + packedBytes(exceptions, most-width)
	}
	return size
}

// appendTightGroup is appendGroup for numbers that are read seldom and take much of the index: a unary group, if that
// is smaller. Gaps and positions of words have about a geometric distribution, for which Rice's code is within some
// hundredths of the least possible, while packed bits are half a bit to a bit above it: positions took .151 bytes a
// byte of text in groups of packed bits and take .138 (passages), .180 and .168 (manuals). Reading takes
// three to five times as long.
func appendTightGroup(dst []byte, v []uint32) []byte {
	sum := uint64(0)
	for _, n := range v {
		sum += uint64(n)
	}
	patched, exceptions, most := groupWidth(v)
	// The best width is near the logarithm of ln 2 times the mean.
	near := bits.Len64(sum * 7 / 10 / uint64(max(len(v), 1)))
	best, width, high := patchedBytes(len(v), patched, exceptions, most), uint(0), 0
	least := uint(max(near-2, 0))
	over := highBits(v, least)
	for w := least; w <= uint(min(near, unaryWidthMost)); w++ {
		over := over[w-least]
		unary := int(over+7) / 8
		if size := 2 + packedBytes(len(v), w) + unary; size < best && over <= 8*unaryBytesMost {
			best, width, high = size, w, unary
		}
	}
	if high == 0 {
		return appendPatched(dst, v, patched, exceptions, most)
	}
	dst = append(dst, byte(width)|groupUnary)
	dst = append(appendPacked(dst, v, width), byte(high))
	from := len(dst)
	dst = slices.Grow(dst, high)[:from+high]
	out := dst[from:]
	clear(out)
	bit := uint32(0)
	for _, n := range v {
		bit += n >> (width & 31)
		out[bit/8] |= 1 << (bit % 8)
		bit++
	}
	return dst
}

// highBits returns the bits of the high parts of a unary group of a width, and of the two widths above it.
func highBits(v []uint32, width uint) (bits [3]uint64) {
	a, b, c := uint64(len(v)), uint64(len(v)), uint64(len(v))
	for _, n := range v {
		high := uint64(n) >> (width & 63)
		a, b, c = a+high, b+high>>1, c+high>>2
	}
	return [3]uint64{a, b, c}
}

// appendPacked appends the low bits of numbers.
func appendPacked(dst []byte, v []uint32, width uint) []byte {
	if width == 0 {
		return dst
	}
	size := packedBytes(len(v), width)
	at := len(dst)
	dst = slices.Grow(dst, size+8)[:at+size+8] // whole words are written
	mask := uint64(1)<<width - 1
	out := dst[at:]
	var word uint64
	filled := uint(0)
	for _, n := range v {
		x := uint64(n) & mask
		word |= x << (filled & 63)
		if filled += width; filled >= 64 {
			binary.LittleEndian.PutUint64(out, word)
			out = out[8:]
			filled -= 64
			word = x >> ((width - filled) & 63) // of a width of at most 32 something is left
		}
	}
	binary.LittleEndian.PutUint64(out, word)
	return dst[:at+size]
}

// groupBytes returns the size of a group of n numbers that b begins with, 0 if b is too short or damaged.
func groupBytes(b []byte, n int) int {
	if len(b) == 0 {
		return 0
	}
	width := uint(b[0] &^ (groupPatched | groupUnary))
	size := 1 + packedBytes(n, width)
	if width > 32 || size > len(b) {
		return 0
	}
	if b[0]&groupUnary != 0 {
		if b[0]&groupPatched != 0 || width > unaryWidthMost || size == len(b) || size+1+int(b[size]) > len(b) {
			return 0
		}
		return size + 1 + int(b[size])
	}
	if b[0]&groupPatched == 0 {
		return size
	}
	if size+2 > len(b) {
		return 0
	}
	count, more := int(b[size]), uint(b[size+1])
	size += 2 + count + packedBytes(count, more)
	if count > n || width+more > 32 || size > len(b) {
		return 0
	}
	return size
}

// readGroup decodes the group of len(dst) numbers, at most groupSize, that b begins with, and returns what follows it.
// ok is false if the group is damaged.
func readGroup(b []byte, dst []uint32) (rest []byte, ok bool) {
	size := groupBytes(b, len(dst))
	if size == 0 {
		return nil, false
	}
	width := uint(b[0] &^ (groupPatched | groupUnary))
	unpack(dst, b[1:], width)
	switch {
	case b[0]&groupUnary != 0:
		return b[size:], addUnary(dst, b[2+packedBytes(len(dst), width):size], width)
	case b[0]&groupPatched == 0:
		return b[size:], true
	}
	e := b[1+packedBytes(len(dst), width) : size]
	count, more := int(e[0]), uint(e[1])
	var high [groupSize]uint32
	unpack(high[:count], e[2+count:], more)
	for i, place := range e[2 : 2+count] {
		if int(place) >= len(dst) {
			return nil, false
		}
		dst[place] |= high[i] << width
	}
	return b[size:], true
}

// addUnary adds the high parts of a unary group to the low ones. It reports whether there is one for each number.
func addUnary(dst []uint32, b []byte, width uint) bool {
	width &= 31 // it is at most unaryWidthMost; the compiler then knows that shifts are below 32
	i, begin := 0, 0
	for base := 0; len(b) > 0; base += 64 {
		word := eightBytes(b)
		for ; word != 0; word &= word - 1 {
			if i == len(dst) {
				return false
			}
			one := base + bits.TrailingZeros64(word)
			dst[i] |= uint32(one-begin) << width
			begin = one + 1
			i++
		}
		b = b[min(8, len(b)):]
	}
	return i == len(dst)
}

// eightBytes reads eight bytes, little-endian, with zeros beyond the end.
func eightBytes(b []byte) (x uint64) {
	if len(b) >= 8 {
		return binary.LittleEndian.Uint64(b)
	}
	for i, c := range b {
		x |= uint64(c) << (8 * i)
	}
	return x
}

// unpack reads len(dst) numbers of a width of at most 32 from b, which has them all and may go on. One load of eight
// bytes gives eight numbers of up to 8 bits, four of up to 15, or two of up to 28.
func unpack(dst []uint32, b []byte, width uint) {
	mask := uint64(1)<<width - 1
	i := 0
	switch {
	case width == 0:
		clear(dst)
		return
	case width <= 8:
		w := width & 15 // the compiler then knows that shifts are below 64
		for ; i+8 <= len(dst) && len(b) >= 8; i += 8 {
			x, d := binary.LittleEndian.Uint64(b), dst[i:i+8:i+8]
			d[0], d[1], d[2] = uint32(x&mask), uint32(x>>w&mask), uint32(x>>(2*w&63)&mask)
			d[3], d[4], d[5] = uint32(x>>(3*w&63)&mask), uint32(x>>(4*w&63)&mask), uint32(x>>(5*w&63)&mask)
			d[6], d[7] = uint32(x>>(6*w&63)&mask), uint32(x>>(7*w&63)&mask)
			b = b[width:]
		}
	case width <= 15:
		w := width & 15
		for ; i+8 <= len(dst) && len(b) >= 16; i += 8 {
			d := dst[i : i+8 : i+8]
			x := binary.LittleEndian.Uint64(b)
			d[0], d[1] = uint32(x&mask), uint32(x>>w&mask)
			d[2], d[3] = uint32(x>>(2*w&63)&mask), uint32(x>>(3*w&63)&mask)
			x = binary.LittleEndian.Uint64(b[w/2:]) >> (4 * w & 7)
			d[4], d[5] = uint32(x&mask), uint32(x>>w&mask)
			d[6], d[7] = uint32(x>>(2*w&63)&mask), uint32(x>>(3*w&63)&mask)
			b = b[width:]
		}
	case width <= 28:
		for ; i+8 <= len(dst) && len(b) >= 32; i += 8 {
			d := dst[i : i+8 : i+8]
			for j := range 4 {
				at := 2 * width * uint(j)
				x := binary.LittleEndian.Uint64(b[at/8:]) >> (at & 7)
				d[2*j], d[2*j+1] = uint32(x&mask), uint32(x>>(width&63)&mask)
			}
			b = b[width:]
		}
	}
	// i is a multiple of 8 here, so the next number begins a byte.
	at := uint(0)
	for ; i < len(dst); i++ {
		p := b[at/8:]
		dst[i] = uint32(eightBytes(p) >> (at & 7) & mask)
		at += width
	}
}
