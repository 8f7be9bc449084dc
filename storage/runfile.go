// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"sort"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/klauspost/compress/s2"
)

// runFile is a sorted run on disk, written once and read once. It need not survive the process, so it is
// never synced. Its blocks are checksummed nevertheless, because a bit that flips here would enter the
// store with a valid checksum.
//
//	file    block …
//	block   uvarint stored length, crc32c(4) of what follows, s2 block
//	s2 block, decoded: pair …                       about runBlockBytes
//	pair    uvarint bytes shared with the previous key (0 for a block's first)
//	        uvarint length of the rest of the key
//	        uvarint length of the value
//	        rest of the key, value
//
// Example: the keys "com,a,)/x" and "com,a,)/y" with empty values are
//
//	00 09 00 "com,a,)/x"   08 01 00 "y"
//
// s2 reduces front-coded keys to about a third at 600 MB/s and more, so compressing costs less than
// writing the other two thirds would.
type runFile struct {
	fs     vfs.FS
	name   string
	size   int64
	starts []runStart // in order
}

// runStart is a block from which on a run can be read, and its first key.
type runStart struct {
	offset int64
	key    []byte
}

// write writes all pairs of src.
func (f *runFile) write(src source) error {
	file, err := f.fs.Create(f.name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	w := runWriter{w: bufio.NewWriterSize(file, runBlockBytes), block: make([]byte, 0, runBlockBytes+256), every: 1}
	for {
		key, value, ok, err := src.next()
		if err == nil && ok {
			err = w.add(key, value)
		}
		if err != nil {
			return errors.Join(err, file.Close())
		}
		if !ok {
			err := errors.Join(w.flush(), w.w.Flush(), file.Close())
			f.size, f.starts = w.written, w.starts
			return err
		}
	}
}

func (f *runFile) remove() error {
	if err := f.fs.Remove(f.name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing the sorted run %s: %w", f.name, err)
	}
	return nil
}

// open starts reading.
func (f *runFile) open() (source, error) {
	parts, err := f.openParts(nil)
	if err != nil {
		return nil, err
	}
	return parts[0], nil
}

// openParts starts reading the parts between bounds: the first before the first bound, the last from the last bound on.
// They share an open file, and different goroutines may read them.
func (f *runFile) openParts(bounds [][]byte) ([]source, error) {
	file, err := f.fs.Open(f.name, vfs.SequentialReadsOption)
	if err != nil {
		return nil, err
	}
	shared := &sharedFile{File: file}
	parts := make([]source, len(bounds)+1)
	shared.readers.Store(int32(len(parts)))
	for i := range parts {
		from, to := boundsOfPart(bounds, i)
		in := io.NewSectionReader(file, f.startOf(from), math.MaxInt64-f.startOf(from))
		parts[i] = &runReader{name: f.name, file: shared, r: bufio.NewReaderSize(in, runBlockBytes)}
		if from != nil || to != nil {
			parts[i] = &partSource{source: parts[i], from: from, to: to}
		}
	}
	return parts, nil
}

// startOf returns an offset from which on all keys are found that are not below from. Of equal keys some may be in the
// block before that which begins with one.
func (f *runFile) startOf(from []byte) int64 {
	i := sort.Search(len(f.starts), func(i int) bool { return bytes.Compare(f.starts[i].key, from) >= 0 })
	if i == 0 {
		return 0
	}
	return f.starts[i-1].offset
}

// sharedFile is closed when its last reader closes it.
type sharedFile struct {
	vfs.File
	readers atomic.Int32
}

// Close is called once by each reader.
func (f *sharedFile) Close() error {
	if f.readers.Add(-1) > 0 {
		return nil
	}
	return f.File.Close()
}

// partSource is what a source has between two keys.
type partSource struct {
	source
	from, to []byte
	began    bool
}

func (p *partSource) next() (key, value []byte, ok bool, err error) {
	key, value, ok, err = p.source.next()
	for ; ok && !p.began && bytes.Compare(key, p.from) < 0; key, value, ok, err = p.source.next() {
	}
	p.began = true
	if !ok || err != nil || p.to != nil && bytes.Compare(key, p.to) >= 0 {
		return nil, nil, false, err
	}
	return key, value, true, nil
}

type runWriter struct {
	w     *bufio.Writer
	block []byte // pairs of the current block
	last  []byte // previous key
	out   []byte // compressed block

	written int64
	starts  []runStart
	every   int // so many blocks one is in starts
	skip    int // blocks before the next one
}

func (w *runWriter) add(key, value []byte) error {
	if len(w.block) > 0 && len(w.block)+len(key)+len(value) > runBlockBytes {
		if err := w.flush(); err != nil {
			return err
		}
	}
	shared := 0
	if len(w.block) > 0 {
		shared = sharedBytes(w.last, key)
	} else {
		w.noteStart(key)
	}
	w.block = binary.AppendUvarint(w.block, uint64(shared))
	w.block = binary.AppendUvarint(w.block, uint64(len(key)-shared))
	w.block = binary.AppendUvarint(w.block, uint64(len(value)))
	w.block = append(append(w.block, key[shared:]...), value...)
	w.last = append(w.last[:0], key...)
	return nil
}

// noteStart notes that a block begins with a key. Of a long run, every second start is dropped again and again.
func (w *runWriter) noteStart(key []byte) {
	if w.skip--; w.skip > 0 {
		return
	}
	if len(w.starts) == runStartsMax {
		for i := range runStartsMax / 2 {
			w.starts[i] = w.starts[2*i]
		}
		w.starts = w.starts[:runStartsMax/2]
		w.every *= 2
	}
	w.starts = append(w.starts, runStart{w.written, bytes.Clone(key)})
	w.skip = w.every
}

func (w *runWriter) flush() error {
	if len(w.block) == 0 {
		return nil
	}
	if need := s2.MaxEncodedLen(len(w.block)); cap(w.out) < need {
		w.out = make([]byte, need)
	}
	out := s2.Encode(w.out[:cap(w.out)], w.block)
	w.block = w.block[:0]
	var head [binary.MaxVarintLen64 + 4]byte
	n := binary.PutUvarint(head[:], uint64(len(out)))
	binary.LittleEndian.PutUint32(head[n:], crc32.Checksum(out, crc32.MakeTable(crc32.Castagnoli)))
	w.written += int64(n + 4 + len(out))
	if _, err := w.w.Write(head[:n+4]); err != nil {
		return err
	}
	_, err := w.w.Write(out)
	return err
}

type runReader struct {
	name   string
	file   vfs.File
	r      *bufio.Reader
	stored []byte // compressed block
	buf    []byte // decoded block
	block  []byte // unread part of buf
	key    []byte
}

// runBlockMax bounds what a damaged length can make the reader allocate. It leaves room for one pair of
// the greatest size.
const runBlockMax = KeyMaxBytes + ValueMaxBytes + runBlockBytes

func (r *runReader) next() (key, value []byte, ok bool, err error) {
	if len(r.block) == 0 {
		if ok, err := r.load(); !ok || err != nil {
			return nil, nil, false, err
		}
		r.key = r.key[:0]
	}
	d := decoder{b: r.block}
	shared, rest, length := d.uvarint(), d.uvarint(), d.uvarint()
	suffix := d.bytes(rest)
	value = d.bytes(length)
	if d.bad || shared > uint64(len(r.key)) {
		return nil, nil, false, corrupt("sorted run %s", r.name)
	}
	r.key = append(r.key[:shared], suffix...)
	r.block = d.b
	return r.key, value, true, nil
}

// load reads and decodes the next block; false at the end of the file.
func (r *runReader) load() (bool, error) {
	n, err := binary.ReadUvarint(r.r)
	if err == io.EOF {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if n > uint64(s2.MaxEncodedLen(runBlockMax)) {
		return false, corrupt("sorted run %s: block of %d bytes", r.name, n)
	}
	if n += 4; uint64(cap(r.stored)) < n {
		r.stored = make([]byte, n)
	}
	r.stored = r.stored[:n]
	if _, err := io.ReadFull(r.r, r.stored); err != nil {
		return false, err
	}
	data := r.stored[4:]
	want := binary.LittleEndian.Uint32(r.stored)
	if sum := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)); sum != want {
		return false, corrupt("sorted run %s: checksum %08x, expected %08x", r.name, sum, want)
	}
	if size, err := s2.DecodedLen(data); err != nil || size > runBlockMax || size == 0 {
		return false, corrupt("sorted run %s: block decodes to %d bytes", r.name, size)
	}
	if r.buf, err = s2.Decode(r.buf[:cap(r.buf)], data); err != nil {
		return false, corrupt("sorted run %s: %v", r.name, err)
	}
	r.block = r.buf
	return true, nil
}

func (r *runReader) close() error {
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.file, r.r, r.stored, r.buf, r.block = nil, nil, nil, nil, nil
	return err
}
