// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Spool is a temporary file that is written once, item by item, and then read from its beginning as often as needed:
// what a phase passes over many times and has no memory for. Like a spilled run it need not survive the process, so it
// is never synced, and its blocks are checksummed. Open removes what a crash left. One goroutine writes it; after Seal
// any number may read it. Make it with Store.NewSpool.
//
//	file    block …
//	block   length of the items (4, little-endian), crc32c of the items (4), items
//
// Items are not marked: each block begins with one, and whoever wrote them knows where the next begins. They are not
// compressed: a reader that decodes numbers from them should be as fast as the disk cache.
type Spool struct {
	fs    FS
	name  string
	file  vfs.File
	block []byte // what is not written yet, behind room for a block's head
	size  int64
}

// spoolHead is the size of a block's head.
const spoolHead = 8

// NewSpool makes an empty spool. Close it.
func (s *Store) NewSpool() (*Spool, error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	fs, dir := s.fs, s.SortDir()
	if err := fs.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making %s: %w", dir, err)
	}
	p := &Spool{fs: fs, block: make([]byte, spoolHead)}
	p.name = fs.PathJoin(dir, fmt.Sprintf("%p.spool", p))
	var err error
	if p.file, err = fs.Create(p.name, vfs.WriteCategoryUnspecified); err != nil {
		return nil, fmt.Errorf("making the temporary file %s: %w", p.name, err)
	}
	return p, nil
}

// Add appends an item of at most SpoolItemMax bytes.
func (p *Spool) Add(item []byte) error {
	if len(item) > SpoolItemMax {
		return fmt.Errorf("temporary file %s: an item of %d bytes, want at most %d", p.name, len(item), SpoolItemMax)
	}
	if len(p.block)+len(item) > spoolBlockBytes && len(p.block) > spoolHead {
		if err := p.flush(); err != nil {
			return err
		}
	}
	p.block = append(p.block, item...)
	return nil
}

func (p *Spool) flush() error {
	items := p.block[spoolHead:]
	binary.LittleEndian.PutUint32(p.block, uint32(len(items)))
	binary.LittleEndian.PutUint32(p.block[4:], crc32.Checksum(items, crc32.MakeTable(crc32.Castagnoli)))
	if _, err := p.file.Write(p.block); err != nil {
		return fmt.Errorf("writing the temporary file %s: %w", p.name, err)
	}
	p.size += int64(len(p.block))
	p.block = p.block[:spoolHead]
	return nil
}

// Seal ends writing.
func (p *Spool) Seal() error {
	var err error
	if len(p.block) > spoolHead {
		err = p.flush()
	}
	p.block = nil
	err = errors.Join(err, p.file.Close())
	p.file = nil
	return err
}

// Bytes is the size of the file so far, in bytes.
func (p *Spool) Bytes() int64 { return p.size }

// Close removes the file. Close its readers first. A second Close does nothing.
func (p *Spool) Close() error {
	if p.name == "" {
		return nil
	}
	var err error
	if p.file != nil {
		err = p.file.Close()
	}
	if rerr := p.fs.Remove(p.name); rerr != nil && !errors.Is(rerr, os.ErrNotExist) {
		err = errors.Join(err, fmt.Errorf("removing the temporary file %s: %w", p.name, rerr))
	}
	p.file, p.name = nil, ""
	return err
}

// SpoolReader reads a spool block by block. It belongs to one goroutine at a time.
type SpoolReader struct {
	name  string
	file  vfs.File
	block []byte
}

// Read returns a reader at the beginning of a sealed spool. Close it.
func (p *Spool) Read() (*SpoolReader, error) {
	file, err := p.fs.Open(p.name, vfs.SequentialReadsOption)
	if err != nil {
		return nil, fmt.Errorf("reading the temporary file %s: %w", p.name, err)
	}
	return &SpoolReader{name: p.name, file: file}, nil
}

// Next returns the items of the next block, valid until the next call; none at the end.
func (r *SpoolReader) Next() ([]byte, error) {
	var head [spoolHead]byte
	if _, err := io.ReadFull(r.file, head[:]); err == io.EOF {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("reading the temporary file %s: %w", r.name, err)
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n == 0 || n > spoolBlockBytes+SpoolItemMax {
		return nil, corrupt("temporary file %s: a block of %d bytes", r.name, n)
	}
	if cap(r.block) < int(n) {
		r.block = make([]byte, n)
	}
	r.block = r.block[:n]
	if _, err := io.ReadFull(r.file, r.block); err != nil {
		return nil, fmt.Errorf("reading the temporary file %s: %w", r.name, err)
	}
	want := binary.LittleEndian.Uint32(head[4:])
	if sum := crc32.Checksum(r.block, crc32.MakeTable(crc32.Castagnoli)); sum != want {
		return nil, corrupt("temporary file %s: checksum %08x, expected %08x", r.name, sum, want)
	}
	return r.block, nil
}

// Close ends reading.
func (r *SpoolReader) Close() error { return r.file.Close() }
