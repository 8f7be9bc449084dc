// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"encoding/binary"
	"math"
	"math/bits"
	"unsafe"
)

// The building blocks of all record codecs. Values begin with a version byte, so that a record's form can
// change without rewriting the store. Numbers are varints (encoding/binary); a string's length precedes
// it. Decoding accepts any bytes: it returns ErrCorrupt for bytes that no encoder made, never reads past
// the end, and allocates at most a small multiple of the input.

// decoder reads values from the front of b. The first value that does not fit sets bad; later reads
// return zeros, so that callers check once, at the end.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) fail() { d.bad, d.b = true, nil }

func (d *decoder) byte() byte {
	if len(d.b) == 0 {
		d.fail()
		return 0
	}
	c := d.b[0]
	d.b = d.b[1:]
	return c
}

func (d *decoder) bytes(n uint64) []byte {
	if n > uint64(len(d.b)) {
		d.fail()
		return nil
	}
	p := d.b[:n:n]
	d.b = d.b[n:]
	return p
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.b = d.b[n:]
	return v
}

// uint reads a number that must not exceed limit.
func (d *decoder) uint(limit uint64) uint64 {
	v := d.uvarint()
	if v > limit {
		d.fail()
		return 0
	}
	return v
}

func (d *decoder) uint16() uint16 { return uint16(d.uint(math.MaxUint16)) }
func (d *decoder) uint32() uint32 { return uint32(d.uint(math.MaxUint32)) }

func (d *decoder) simHash() SimHash {
	if b := d.bytes(8); len(b) == 8 {
		return SimHash(binary.BigEndian.Uint64(b))
	}
	return 0
}

// text reads a string and copies it.
func (d *decoder) text() string { return string(d.bytes(d.uvarint())) }

// done reports whether everything was read and nothing failed.
func (d *decoder) done() bool { return !d.bad && len(d.b) == 0 }

func appendText[S ~string | ~[]byte](dst []byte, s S) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

// A score is a float64, but nearly all scores are multiples of 2^-16 (package policy rounds to them).
// As integers those take few bytes:
//
//	mode   bytes
//	0      –                          score is 0
//	1      varint of score × 2^16     multiples of 2^-16 below 2^31
//	2      8, little-endian IEEE 754  everything else
const (
	scoreZero  = 0
	scoreFixed = 1
	scoreFloat = 2

	scoreUnit  = 1 << 16
	scoreLimit = 1 << 31
)

func scoreMode(score float64) uint32 {
	if math.Float64bits(score) == 0 {
		return scoreZero
	}
	if x := score * scoreUnit; math.Abs(score) < scoreLimit && x == math.Trunc(x) && score != 0 {
		return scoreFixed
	}
	return scoreFloat // fractions, infinities, NaN and -0
}

func appendScore(dst []byte, mode uint32, score float64) []byte {
	switch mode {
	case scoreFixed:
		return binary.AppendVarint(dst, int64(score*scoreUnit))
	case scoreFloat:
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(score))
	}
	return dst
}

func (d *decoder) score(mode uint32) float64 {
	switch mode {
	case scoreZero:
		return 0
	case scoreFixed:
		return float64(d.varint()) / scoreUnit
	case scoreFloat:
		if p := d.bytes(8); p != nil {
			return math.Float64frombits(binary.LittleEndian.Uint64(p))
		}
		return 0
	}
	d.fail()
	return 0
}

// cutText shortens s to at most limit bytes without splitting a rune.
func cutText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	n := limit
	for n > 0 && s[n]&0xc0 == 0x80 { // a continuation byte: the rune began before
		n--
	}
	return s[:n]
}

// sharedPrefix is the number of leading bytes that a and b have in common.
func sharedPrefix[A, B ~string | ~[]byte](a A, b B) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// sharedBytes is sharedPrefix of long keys, eight bytes at a time.
func sharedBytes(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n; i += 8 {
		if x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); x != 0 {
			return i + bits.TrailingZeros64(x)/8
		}
	}
	for ; i < n && a[i] == b[i]; i++ {
	}
	return i
}

// stringOf shares b's bytes as a string. Only for bytes that nobody will write to again: decoders
// gather all strings of a record in one buffer and cut it up, one allocation instead of hundreds.
func stringOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
