// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
)

// encoder builds records, one gzip member each, in its own memory. Compression is most of a record's cost, and this
// keeps it outside the Writer's lock. Encoders are pooled per Writer.
type encoder struct {
	header  []byte // the WARC header of the record being built
	head    []byte // the HTTP head or the warc-fields of the record being built
	out     []byte // finished members
	scratch [64]byte
	mark    []byte
	record  []byte // the whole uncompressed record, at the fastest level
	gz      *gzip.Writer
	small   *gzip.Writer // of request records; gz unless the level is the fastest
	fastest bool
}

func (w *Writer) encoder() *encoder {
	if e, ok := w.pool.Get().(*encoder); ok {
		e.out = e.out[:0]
		return e
	}
	e := &encoder{mark: w.mark}
	e.gz, _ = gzip.NewWriterLevel(e, w.o.Level) // the level was checked by NewWriter
	e.small = e.gz
	if w.o.Level == 1 {
		e.fastest = true
		// Building a Huffman table for 600 bytes takes 8 µs, a sixth of the exchange, and saves 200 of 4,700 bytes.
		// So the fastest level stores request records uncompressed.
		e.small, _ = gzip.NewWriterLevel(e, gzip.NoCompression)
	}
	return e
}

func (w *Writer) release(e *encoder) {
	if cap(e.out) > maxPooledBytes {
		e.out = nil
	}
	if cap(e.head) > maxPooledBytes {
		e.head = nil
	}
	w.pool.Put(e)
}

// Write collects compressed bytes: gz writes into the encoder.
func (e *encoder) Write(p []byte) (int, error) {
	e.out = append(e.out, p...)
	return len(p), nil
}

// begin starts a header. The uri, if any, has passed checkURI.
func (e *encoder) begin(recordType string, id [16]byte, date time.Time, uri string) {
	e.header = append(e.header[:0], "WARC/1.1\r\nWARC-Type: "...)
	e.header = append(e.header, recordType...)
	e.header = append(e.header, "\r\nWARC-Record-ID: "...)
	e.header = appendID(e.header, id)
	e.header = append(e.header, "\r\nWARC-Date: "...)
	e.header = appendDate(e.header, date)
	e.header = append(e.header, '\r', '\n')
	if uri != "" {
		e.header = append(e.header, "WARC-Target-URI: "...)
		e.header = append(e.header, uri...)
		e.header = append(e.header, '\r', '\n')
	}
}

// field adds one field and escapes its value. The name is a constant, or was checked.
func (e *encoder) field(name, value string) {
	e.header = appendField(e.header, name, value)
}

// fieldBytes adds one field whose value needs no escaping.
func (e *encoder) fieldBytes(name string, value []byte) {
	e.header = append(e.header, name...)
	e.header = append(e.header, ':', ' ')
	e.header = append(e.header, value...)
	e.header = append(e.header, '\r', '\n')
}

func (e *encoder) fields(fields []Field) {
	for i := range fields {
		e.field(fields[i].Name, fields[i].Value)
	}
}

func (e *encoder) address(addr netip.Addr) {
	if addr.IsValid() {
		// A zone names an interface of this machine. ::ffff:192.0.2.1 is written as 192.0.2.1.
		e.fieldBytes("WARC-IP-Address", addr.Unmap().WithZone("").AppendTo(e.scratch[:0]))
	}
}

// member ends the header and appends the record to e.out as one gzip member. The block is head followed by body.
func (e *encoder) member(gz *gzip.Writer, contentType string, head, body []byte) {
	e.header = append(e.header, "Content-Type: "...)
	e.header = append(e.header, contentType...)
	e.header = append(e.header, "\r\nContent-Length: "...)
	e.header = strconv.AppendInt(e.header, int64(len(head)+len(body)), 10)
	e.header = append(e.header, "\r\n\r\n"...)
	if e.fastest && gz == e.gz {
		e.memberFast(head, body)
		return
	}
	gz.Reset(e)
	gz.Extra = e.mark
	for _, part := range [...][]byte{e.header, head, body, recordEnd} {
		if _, err := gz.Write(part); err != nil {
			panic("BUG: compressing into memory failed: " + err.Error())
		}
	}
	if err := gz.Close(); err != nil {
		panic("BUG: compressing into memory failed: " + err.Error())
	}
}

// memberFast is member for the fastest level. Stateless deflate has a table of 16 KB, the other deflate one of half
// a megabyte. The other is as fast only while its table is in the CPU cache, which it is not in a working crawler. The
// outputs differ by a few percent in size. A body that is already compressed, as most web traffic is, is stored:
// compressing 4 KB of gzip again takes 13 µs and gains nothing, detecting it takes 1 µs.
//
// Of writing records, the compressor takes 78%, SHA-1 11%, the system call 4%. Tried and dropped: a deflate of our own
// from S2's matches, which assembly finds, was as fast and its output as small; one that keeps its Huffman codes from
// page to page was 18% faster, too little to maintain one. Measure compressors on a thousand different pages: gzip
// takes 60 µs a page, but 27 on one page repeated, because the processor learns its branches.
func (e *encoder) memberFast(head, body []byte) {
	in := append(e.record[:0], e.header...)
	in = append(in, head...)
	in = append(in, body...)
	in = append(in, recordEnd...)
	// RFC 1952: deflate, extra field, no time, fastest, unknown system.
	e.out = append(e.out, 0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 4, 255)
	e.out = binary.LittleEndian.AppendUint16(e.out, uint16(len(e.mark)))
	e.out = append(e.out, e.mark...)
	if incompressible(body) {
		e.stored(in)
	} else if err := flate.StatelessDeflate(e, in, true, nil); err != nil {
		panic("BUG: compressing into memory failed: " + err.Error())
	}
	e.out = binary.LittleEndian.AppendUint32(e.out, crc32.ChecksumIEEE(in))
	e.out = binary.LittleEndian.AppendUint32(e.out, uint32(len(in)))
	if e.record = in; cap(in) > maxPooledBytes {
		e.record = nil
	}
}

// stored appends a deflate stream of stored blocks, which contain p unchanged (RFC 1951, 3.2.4).
func (e *encoder) stored(p []byte) {
	for final := byte(0); final == 0; {
		n := min(len(p), math.MaxUint16)
		if n == len(p) {
			final = 1
		}
		e.out = append(e.out, final)
		e.out = binary.LittleEndian.AppendUint16(e.out, uint16(n))
		e.out = binary.LittleEndian.AppendUint16(e.out, ^uint16(n))
		e.out = append(e.out, p[:n]...)
		p = p[n:]
	}
}

// sampleBytes is how many bytes from the middle of a body are examined to see whether it can be compressed.
const sampleBytes = 1024

// incompressible reports whether a body's bytes are distributed as evenly as those of compressed data. The measure is
// Pearson's χ² against a uniform distribution: 190 to 325 for random bytes, some 280 for gzip, 360 for JPEG, 3,400
// for base64, 11,000 for a page. A wrong answer costs space or time, but no data.
func incompressible(body []byte) bool {
	if len(body) < sampleBytes/4 {
		return false
	}
	if cut := (len(body) - sampleBytes) / 2; cut > 0 {
		body = body[cut : cut+sampleBytes]
	}
	var counts [256]uint16
	for _, b := range body {
		counts[b]++
	}
	squares := 0
	for _, n := range counts {
		squares += int(n) * int(n)
	}
	n := len(body)
	return squares*len(counts)/n-n < 320+3*n/10
}

var recordEnd = []byte("\r\n\r\n")

// request appends a request record that refers to the response record responseID, and returns its length in bytes; 0
// if there is no request head.
func (e *encoder) request(
	w *Writer, uri string, addr netip.Addr, date time.Time, head []byte, responseID [16]byte,
) int64 {
	if !visible(head) {
		return 0
	}
	e.head = appendHead(e.head[:0], head, requestHead, 0)
	e.begin(TypeRequest, w.o.NewID(), date, uri)
	e.address(addr)
	e.fieldBytes("WARC-Concurrent-To", appendID(e.scratch[:0], responseID))
	e.fieldBytes("WARC-Block-Digest", AppendSHA1(e.scratch[:0], sha1.Sum(e.head)))
	e.member(e.small, "application/http; msgtype=request", e.head, nil)
	return int64(len(e.out))
}

// appendID appends "<urn:uuid:…>".
func appendID(dst []byte, id [16]byte) []byte {
	const hexDigits = "0123456789abcdef"
	dst = append(dst, "<urn:uuid:"...)
	for i, b := range id {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		dst = append(dst, hexDigits[b>>4], hexDigits[b&15])
	}
	return append(dst, '>')
}

// appendDate appends a WARC-Date in UTC with milliseconds, the resolution of the store.
func appendDate(dst []byte, t time.Time) []byte {
	t = t.UTC()
	ms := t.Nanosecond() / int(time.Millisecond)
	// Package time has a fast path for RFC 3339, but not with exactly three digits.
	dst = t.Truncate(time.Second).AppendFormat(dst, time.RFC3339)
	return append(dst[:len(dst)-1], '.', '0'+byte(ms/100), '0'+byte(ms/10%10), '0'+byte(ms%10), 'Z')
}

// appendField appends "Name: value" and a line end. It percent-encodes bytes that could end the line or are not text
// (control characters, invalid UTF-8), so that a value from outside stays one value. Percent signs are not escaped:
// the encoding protects the file and need not be reversible.
func appendField(dst []byte, name, value string) []byte {
	dst = append(dst, name...)
	dst = append(dst, ':', ' ')
	for i := 0; i < len(value); {
		c := value[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != 0x7f {
				dst = append(dst, c)
			} else {
				dst = append(dst, '%', upperHex[c>>4], upperHex[c&15])
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(value[i:])
		// Some text readers take U+0080–U+009F and the two separators for line ends.
		if r == utf8.RuneError && n == 1 || r < 0xa0 || r == '\u2028' || r == '\u2029' {
			for _, b := range []byte(value[i : i+n]) {
				dst = append(dst, '%', upperHex[b>>4], upperHex[b&15])
			}
		} else {
			dst = append(dst, value[i:i+n]...)
		}
		i += n
	}
	return append(dst, '\r', '\n')
}

// appendBlockFields appends fields as the block of an application/warc-fields record.
func appendBlockFields(dst []byte, fields []Field) []byte {
	for i := range fields {
		dst = appendField(dst, fields[i].Name, fields[i].Value)
	}
	return dst
}

// ownFields are the header fields that only the Writer may set, in lower case.
var ownFields = [...]string{
	"warc-type", "warc-record-id", "warc-date", "warc-target-uri", "warc-ip-address", "warc-concurrent-to",
	"warc-payload-digest", "warc-block-digest", "warc-truncated", "warc-profile", "warc-refers-to",
	"warc-refers-to-target-uri", "warc-refers-to-date", "warc-filename",
}

// checkHeaderFields checks the caller's fields of a WARC header.
func checkHeaderFields(fields []Field) error {
	if err := checkBlockFields("header", "", fields); err != nil {
		return err
	}
	for i := range fields {
		name := fields[i].Name
		if !hasPrefixFold(name, "warc-") && !hasPrefixFold(name, "x-") {
			return &InputError{"field", name, "an extra header field must begin with WARC- or X-"}
		}
		for _, own := range ownFields {
			if strings.EqualFold(name, own) {
				return &InputError{"field", name, "is set by the Writer"}
			}
		}
	}
	return nil
}

// checkBlockFields checks names and sizes of fields.
func checkBlockFields(what, uri string, fields []Field) error {
	if len(fields) > MaxFields {
		return &InputError{what, uri, fmt.Sprintf("has %d fields, at most %d", len(fields), MaxFields)}
	}
	total := 0
	for i := range fields {
		name, value := fields[i].Name, fields[i].Value
		if name == "" || len(name) > 128 || !isToken(name) {
			return &InputError{"field name", name, "is not a token of 1 to 128 bytes"}
		}
		if len(value) > MaxFieldBytes {
			return &InputError{"field", name, fmt.Sprintf("has %d bytes, at most %d", len(value), MaxFieldBytes)}
		}
		total += len(name) + 3*len(value) + 4
	}
	if total > maxFieldsBytes {
		return &InputError{what, uri,
			fmt.Sprintf("fields may take %d bytes after escaping, at most %d", total, maxFieldsBytes)}
	}
	return nil
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// isToken reports whether a name consists of the token characters of RFC 9110, 5.6.2.
func isToken(name string) bool {
	for i := 0; i < len(name); i++ {
		c := name[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' {
			continue
		}
		if strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return true
}
