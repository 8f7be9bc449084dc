// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"bytes"
	"io"

	"github.com/klauspost/compress/gzip"
)

// After damage a Reader searches for the next gzip member that contains a record. A page that does not compress is in
// the file almost unchanged. If that page is itself a .warc.gz file, the search would find its members and records. So
// every member of a Writer carries a mark that no page can know: eight random bytes in the gzip header's extra field
// (RFC 1952, 2.3.1.1):
//
//	1f 8b 08 04 00 00 00 00 XX ff   gzip header, FLG.FEXTRA
//	0c 00                           length of the extra field
//	's' 'n' 08 00                   subfield and its length
//	R R R R R R R R                 the mark
//
// A Reader that has seen a marked record continues only at a member with the same mark; one that begins in the middle
// of a file, where the first record cannot be read, at one with the mark of the file's first record. The mark costs 14
// bytes per record. Not done: WARC-Warcinfo-ID in every record would serve the same purpose, but it takes 60 bytes,
// and when a record is compressed its file is not known yet. Files of other tools have no mark; in them the Reader
// continues at any member that begins with "WARC/".
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

// markOf returns the mark in a gzip extra field, nil if there is none. An extra field with more subfields was changed
// by other software and does not count.
func markOf(extra []byte) []byte {
	if len(extra) == markBytes && extra[0] == 's' && extra[1] == 'n' && extra[2] == 8 && extra[3] == 0 {
		return extra
	}
	return nil
}

// findMember returns the offset of the first gzip member at or after from that seems to contain a record. It returns -1
// if there is none, or if the file cannot be read (then src.err is set).
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
		from += int64(n - len(gzipMagic) + 1) // the magic may cross the border of two chunks
	}
	return -1
}

// plausible reports whether a member with a record seems to begin at offset: the mark matches, and the decompressed
// bytes begin with "WARC/".
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
		return false // damaged, or undecided after probeBytes: no place to continue from
	}
	return string(magic[:]) == recordMagic
}

// probe decompresses the first bytes of a member.
type probe struct {
	window []byte
	in     bytes.Reader
	zr     gzip.Reader
}

// onlyZeros reports whether the file contains only zero bytes from an offset to its end. A power loss leaves such a
// tail if it comes after the file was extended and before its data was written. It returns false if the file cannot be
// read.
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
