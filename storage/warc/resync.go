// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"bytes"
	"io"

	"github.com/klauspost/compress/gzip"
)

// After damage a Reader looks for the next place where a gzip member with a record begins. The bytes of a page lie in
// the file almost as they came when they do not compress: a page that is itself a .warc.gz puts whole members, records
// and all, where such a search would find them. So every member of one Writer carries a mark, eight random bytes in
// the gzip header's extra field (RFC 1952, 2.3.1.1), that no page can know:
//
//	1f 8b 08 04 00 00 00 00 XX ff   gzip header, FLG.FEXTRA
//	0c 00                           length of the extra field
//	's' 'n' 08 00                   subfield and its length
//	R R R R R R R R                 the mark
//
// and a Reader that has seen a marked record takes up reading only at a member of the same mark. It costs 14 bytes per
// record. The path not taken: WARC-Warcinfo-ID in every record would say the same in 60 bytes, and the file is not
// known yet when a record is compressed. Files of other tools have no mark; there any member that begins with "WARC/"
// is believed.
const (
	markBytes     = 12
	gzipHeadBytes = 10
	markedBytes   = gzipHeadBytes + 2 + markBytes
)

var gzipMagic = []byte{0x1f, 0x8b, 0x08}

// appendMark appends the extra field made of an id.
func appendMark(dst []byte, id [16]byte) []byte {
	dst = append(dst, 's', 'n', 8, 0)
	for i := range 8 {
		dst = append(dst, id[i]^id[i+8])
	}
	return dst
}

// markOf returns the mark in a gzip extra field, nil when there is none. A member that other software has given more
// subfields is not ours any more.
func markOf(extra []byte) []byte {
	if len(extra) == markBytes && extra[0] == 's' && extra[1] == 'n' && extra[2] == 8 && extra[3] == 0 {
		return extra
	}
	return nil
}

// findMember returns the offset of the first gzip member at or after from that seems to hold a record, -1 when there
// is none up to the end, or the file cannot be read (src.err says so).
func (r *Reader) findMember(from int64) int64 {
	buf := make([]byte, sourceBufferBytes)
	for from < r.src.end {
		n, err := r.src.at(buf, from)
		if err != nil {
			return -1
		}
		for i := 0; ; i++ {
			k := bytes.Index(buf[i:n], gzipMagic)
			if k < 0 {
				break
			}
			i += k
			if r.plausible(from + int64(i)) {
				return from + int64(i)
			}
		}
		if n < len(buf) {
			return -1
		}
		from += int64(n - len(gzipMagic) + 1) // the magic may lie across two chunks
	}
	return -1
}

// plausible tells whether a record's member seems to begin at offset: the mark fits, and what it decompresses to
// begins with "WARC/".
func (r *Reader) plausible(offset int64) bool {
	if r.probe == nil {
		r.probe = &probe{window: make([]byte, probeBytes)}
	}
	p := r.probe
	n, err := r.src.at(p.window, offset)
	head := p.window[:n]
	if err != nil || n < gzipHeadBytes || head[3]>>5 != 0 {
		return false
	}
	if r.mark != nil && (n < markedBytes || head[3] != 4 || head[10] != markBytes || head[11] != 0 ||
		!bytes.Equal(head[gzipHeadBytes+2:markedBytes], r.mark)) {
		return false
	}
	p.in.Reset(head)
	if p.zr.Reset(&p.in) != nil {
		return false
	}
	var magic [len(recordMagic)]byte
	if _, err := io.ReadFull(&p.zr, magic[:]); err != nil {
		return false // damaged, or not to be decided in probeBytes: not a place to go on from
	}
	return string(magic[:]) == recordMagic
}

// probe looks at the first bytes of a member.
type probe struct {
	window []byte
	in     bytes.Reader
	zr     gzip.Reader
}

// onlyZeros tells whether the file holds nothing but zero bytes from an offset to its end: what a power loss leaves
// where a file was made longer and its data never came. False when the file cannot be read.
func (r *Reader) onlyZeros(from int64) bool {
	buf := make([]byte, sourceBufferBytes)
	for from < r.src.end {
		n, err := r.src.at(buf, from)
		if err != nil || len(bytes.TrimLeft(buf[:n], "\x00")) > 0 {
			return false
		}
		if n == 0 {
			break
		}
		from += int64(n)
	}
	return true
}
