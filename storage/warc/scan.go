// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"path/filepath"
)

// Fault is a part of a file that is not as a Writer wrote it.
type Fault struct {
	Offset, Length int64
	Reason         string
	// Tail says that nothing but the fault follows: a write that was cut short, a damaged last record, or bytes that
	// something appended.
	Tail bool
	// Readable says that the record there can be read: only its gzip header or a digest in it is wrong.
	Readable bool
}

func (f Fault) String() string {
	return fmt.Sprintf("%d bytes at offset %d: %s", f.Length, f.Offset, f.Reason)
}

// Scan reads the first size bytes of a file, every one of them, and calls record for each record whose checksums and
// digests are right, and fault for what is between those, in order. A record that is Readable goes to both, the fault
// first. The record is valid during the call. A Reader with default options must be able to read it.
//
// It finds a changed bit anywhere in a file that a Writer wrote, but for those that mean nothing: a gzip header's hint
// of how it was compressed, and what a compressed record leaves unused. In files of other tools, which have gzip
// headers of their own, it finds those that a checksum covers. An error is one of the file, of a callback, or
// io.ErrUnexpectedEOF if the file is shorter than size.
func Scan(f io.ReaderAt, name string, size int64, record func(*Record) error, fault func(Fault) error) error {
	return ScanPart(f, name, 0, size, record, fault)
}

// ScanPart is Scan for the part of a file from one offset to another, where records begin and end.
func ScanPart(
	f io.ReaderAt, name string, from, size int64, record func(*Record) error, fault func(Fault) error,
) error {
	s := scan{
		f: f, from: from, size: size, record: record, fault: fault, at: from,
		r: NewReaderOptions(f, size, ReaderOptions{File: filepath.Base(name), Start: from, Resync: true}),
	}
	if size > from {
		var last [1]byte
		if _, err := f.ReadAt(last[:], size-1); err == io.EOF {
			return fmt.Errorf("reading WARC file %q: %w: it has fewer than %d bytes", name, io.ErrUnexpectedEOF, size)
		} else if err != nil {
			return fmt.Errorf("reading WARC file %q: %w", name, err)
		}
	}
	for {
		more, err := s.next()
		if err != nil || !more {
			return err
		}
	}
}

// scan is one run of Scan.
type scan struct {
	f      io.ReaderAt
	from   int64
	size   int64
	r      *Reader
	record func(*Record) error
	fault  func(Fault) error
	at     int64  // everything before it was reported
	large  string // what is wrong at it, if a record there was too large
	head   [markedBytes]byte
	mark   []byte // of the record before
	// unmarked counts the records without a mark.
	unmarked int
}

// next reports the next record or fault.
func (s *scan) next() (more bool, err error) {
	rec, err := s.r.Next()
	var corrupt *CorruptError
	var large *TooLargeError
	switch {
	case err == nil:
		if err := s.gap(rec.Offset); err != nil {
			return false, err
		}
		s.at = s.r.pos()
		return true, s.sound(rec)
	case errors.As(err, &large):
		if err := s.gap(large.Offset); err != nil {
			return false, err
		}
		s.large = fmt.Sprintf("the block has %d bytes, at most %d are read", large.Length, large.Limit)
		return true, nil
	case errors.As(err, &corrupt) && s.r.err == nil:
		if err := s.gap(corrupt.Offset); err != nil {
			return false, err
		}
		s.at = corrupt.Next
		length := corrupt.Next - corrupt.Offset
		return true, s.fault(Fault{Offset: corrupt.Offset, Length: length, Reason: reasonOf(corrupt)})
	case errors.As(err, &corrupt):
		if err := s.gap(corrupt.Offset); err != nil {
			return false, err
		}
		return false, s.tail(reasonOf(corrupt))
	case errors.Is(err, ErrTorn):
		return false, s.tail("a record that is damaged or was not written to its end")
	case err == io.EOF:
		return false, s.gap(s.size)
	}
	return false, err
}

// reasonOf is what is wrong, without the place.
func reasonOf(c *CorruptError) string {
	if c.Err != nil {
		return c.Reason + ": " + c.Err.Error()
	}
	return c.Reason
}

// gap reports what is between the last record and an offset: line ends, which a Reader skips and a Writer never wrote,
// or a record that was too large.
func (s *scan) gap(to int64) error {
	from, reason := s.at, s.large
	s.at, s.large = to, ""
	switch {
	case from >= to:
		return nil
	case reason == "" && s.mark == nil:
		return nil // plain records, or those of another tool, may have line ends between them
	case reason == "":
		reason = "bytes that belong to no record"
	}
	return s.fault(Fault{Offset: from, Length: to - from, Reason: reason, Tail: to == s.size})
}

func (s *scan) tail(reason string) error {
	if s.at >= s.size {
		return nil
	}
	return s.fault(Fault{Offset: s.at, Length: s.size - s.at, Reason: reason, Tail: true})
}

// sound reports a record, and what is wrong with it though it can be read.
func (s *scan) sound(rec *Record) error {
	reason, err := s.header(rec)
	if err != nil {
		return err
	}
	if derr := rec.CheckDigests(); derr != nil {
		reason = derr.Error()
	}
	if reason != "" {
		err := s.fault(Fault{Offset: rec.Offset, Length: s.at - rec.Offset, Reason: reason, Readable: true})
		if err != nil {
			return err
		}
	}
	return s.record(rec)
}

// header compares the gzip header of a record, which no checksum covers, with those of the records before.
func (s *scan) header(rec *Record) (reason string, err error) {
	if rec.Length < markedBytes {
		return "", nil
	}
	if _, err := s.f.ReadAt(s.head[:], rec.Offset); err != nil {
		return "", fmt.Errorf("reading the gzip header at offset %d: %w", rec.Offset, err)
	}
	const differs = "its gzip header is not that of the records around it"
	before := s.mark
	mark, ours := headerMark(s.head[:])
	if mark == nil {
		s.unmarked++
		if before == nil {
			return "", nil // a file of another tool, or the next record tells
		}
		return differs, nil
	}
	s.mark = append([]byte(nil), mark...)
	switch {
	case before == nil && s.unmarked > 0:
		err = s.fault(Fault{Offset: s.from, Length: rec.Offset - s.from, Reason: differs, Readable: true})
		return "", err
	case !ours, before != nil && nearMark(before, mark):
		return differs, nil
	}
	return "", nil
}

// headerMark returns the mark in a gzip header of markedBytes, nil if it is not one of a Writer. ours is false if
// anything else in it is not as a Writer makes it.
func headerMark(h []byte) (mark []byte, ours bool) {
	if !bytes.HasPrefix(h, gzipMagic) || h[3] != 4 || h[gzipHeadBytes] != markBytes || h[gzipHeadBytes+1] != 0 {
		return nil, false
	}
	at := [4]byte(h[4:8])
	mark = markOf(h[gzipHeadBytes+2 : markedBytes])
	return mark, mark != nil && (at == zeroTime || at == [4]byte{}) && h[9] == 255
}

// nearMark reports whether two marks are different and so alike that one must be a damaged copy of the other. Marks of
// two Writers, which a file that was put together of others may have, differ in half of their bits.
func nearMark(a, b []byte) bool {
	differ := 0
	for i := range a {
		differ += bits.OnesCount8(a[i] ^ b[i])
	}
	return differ > 0 && differ <= 8
}

// zeroTime is what the library for gzip writes if no time is set. The fastest level writes zeros.
var zeroTime = [4]byte{0x00, 0x09, 0x6e, 0x88}
