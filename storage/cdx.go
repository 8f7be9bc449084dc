// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/seine-crawler/seine/storage/warc"
)

// CDX is the place of one capture of a URL in the WARC files. URL and time are in the key (AppendCDXKey).
type CDX struct {
	Segment    uint32        // number of the segment that holds the capture
	Location   warc.Location // of the response record; Length is its length in the file, in bytes
	HTTPStatus uint16        // of the response
	MediaType  string        // "" = unknown, warc.MediaTypeRevisit = of a revisit record
	Digest     [20]byte      // SHA-1 of the payload, which a revisit record shares with the one that it refers to
}

// HasContent reports whether a capture is a page, or what else was requested, and not an error or a redirect. A part
// that nobody requested (status 206) is not parsed, so it has no media type.
func (c *CDX) HasContent() bool {
	return c.HTTPStatus >= 200 && c.HTTPStatus < 300 && (c.HTTPStatus != 206 || c.MediaType != "")
}

// Layout of a CDX:
//
//	1 byte    version 1
//	uvarint   segment
//	text      WARC file
//	uvarint   offset
//	uvarint   length
//	uvarint   HTTP status
//	text      media type
//	20 bytes  digest
const cdxVersion = 1

// AppendCDX appends the encoding of c to dst.
func AppendCDX(dst []byte, c *CDX) []byte {
	dst = binary.AppendUvarint(append(dst, cdxVersion), uint64(c.Segment))
	dst = appendText(dst, c.Location.File)
	dst = binary.AppendUvarint(dst, uint64(c.Location.Offset))
	dst = binary.AppendUvarint(dst, uint64(c.Location.Length))
	dst = binary.AppendUvarint(dst, uint64(c.HTTPStatus))
	dst = appendText(dst, c.MediaType)
	return append(dst, c.Digest[:]...)
}

// DecodeCDX decodes b into c; the strings are copies. If AppendCDX did not make b, the error is
// ErrCorrupt and c is zero.
func DecodeCDX(b []byte, c *CDX) error {
	d := decoder{b: b}
	version := d.byte()
	c.Segment = d.uint32()
	c.Location.File = d.text()
	c.Location.Offset, c.Location.Length = int64(d.uint(1<<63-1)), int64(d.uint(1<<63-1))
	c.HTTPStatus = d.uint16()
	c.MediaType = d.text()
	copy(c.Digest[:], d.bytes(uint64(len(c.Digest))))
	if !d.done() || version != cdxVersion {
		*c = CDX{}
		return corrupt("cdx record of %d bytes: % .32x", len(b), b)
	}
	return nil
}

// NewestCapture returns the number of the segment with the last capture of a URL; 0: there is none. (That is not always
// the highest: fetchlists are fetched in any order.) captures is a scan of CDXRange, which it moves.
func NewestCapture(captures *Scanner, url []byte) (newest uint32, err error) {
	var c CDX
	for ok := captures.SeekGE(AppendCDXKey(nil, url, 0)); ok; ok = captures.Next() {
		of, _, err := SplitCDXKey(captures.Key())
		if err != nil {
			return 0, err
		}
		if !bytes.Equal(of, url) {
			break
		}
		if err := DecodeCDX(captures.Value(), &c); err != nil {
			return 0, fmt.Errorf("cdx of %s: %w", url, err)
		}
		newest = c.Segment // they come in the order of time
	}
	return newest, captures.Err()
}
