// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
)

// Mend makes a file as a Writer would have written it: it leaves out every part that is not a sound record, and puts
// right the gzip headers of records that can be read. Records whose digests are wrong are left out too. It returns the
// file's length afterwards, the number of its records, and what it changed; nothing if the file was sound.
//
// A crash during Mend leaves the file as it was or as it became, and perhaps a file NAME.part beside it, which the next
// Mend replaces. If only a tail goes, the file is cut. Otherwise the records behind the first fault move. Do not call
// it while the file is being written. A file that neither has a record nor begins like one, or with zeros, is refused
// with a *CorruptError and not changed.
func Mend(fs FS, name string) (size, records int64, faults []Fault, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("mending WARC file %q: %w", name, err)
		}
	}()
	size, err = fs.Size(name)
	if err != nil {
		return 0, 0, nil, err
	}
	f, err := fs.Open(name)
	if err != nil {
		return 0, 0, nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	m := mending{f: f}
	if err := Scan(f, name, size, m.record, m.fault); err != nil {
		return 0, 0, nil, err
	}
	switch {
	case len(m.faults) == 0:
		return size, m.records, nil, nil
	case m.records == 0 && !m.likeWARC():
		return size, 0, m.faults, &CorruptError{filepath.Base(name), 0, -1, "it is no WARC file", nil}
	case m.tail:
		m.end = m.faults[0].Offset // not the sum of the records: other tools put line ends between theirs
		err = Cut(fs, name, m.end)
	case m.shared:
		return size, m.records, m.faults, &CorruptError{filepath.Base(name), m.faults[0].Offset, -1,
			"records share a gzip member, and to leave out what is not sound would lose them", nil}
	default:
		err = m.rewrite(fs, name)
	}
	return m.end, m.records, m.faults, err
}

// mending is what Mend keeps of a file.
type mending struct {
	f       File
	faults  []Fault
	tail    bool   // the only fault is a tail
	parts   []part // to keep, in order
	records int64
	end     int64 // of the file afterwards
	bad     bool  // the record that comes next has a fault
	shared  bool  // some records are not alone in their gzip members
}

// likeWARC reports whether the file begins like a record, or with zeros: its length was on disk before its bytes.
func (m *mending) likeWARC() bool {
	head := make([]byte, 16)
	n, _ := m.f.ReadAt(head, 0)
	head = head[:n]
	return bytes.HasPrefix(head, gzipMagic[:min(n, 2)]) || bytes.HasPrefix(head, []byte(recordMagic)) ||
		len(bytes.Trim(head, "\x00")) == 0
}

// part is a part of the old file: neighbouring records with the same mark, or one whose gzip header is wrong.
type part struct {
	from, to int64
	records  int64
	mark     [markBytes]byte
	patch    bool
}

func (m *mending) fault(f Fault) error {
	if len(m.faults) < mendFaultsMax {
		m.faults = append(m.faults, f)
	}
	m.tail = len(m.faults) == 1 && f.Tail
	m.bad = f.Readable
	return nil
}

func (m *mending) record(rec *Record) error {
	patch := m.bad
	m.bad = false
	if patch && rec.CheckDigests() != nil {
		return nil
	}
	m.records++
	if rec.Length == 0 {
		m.shared = true
		return nil
	}
	m.end += rec.Length
	n := len(m.parts)
	if n > 0 && m.parts[n-1].to == rec.Offset && !patch && !m.parts[n-1].patch {
		m.parts[n-1].to += rec.Length
		m.parts[n-1].records++
		return nil
	}
	p := part{from: rec.Offset, to: rec.Offset + rec.Length, records: 1, patch: patch}
	if rec.Length >= markedBytes {
		head := make([]byte, markedBytes)
		if _, err := m.f.ReadAt(head, rec.Offset); err != nil {
			return err
		}
		mark, ours := headerMark(head)
		copy(p.mark[:], mark)
		p.patch = patch || !ours
	}
	m.parts = append(m.parts, p)
	return nil
}

// Cut shortens a file durably. Nobody may be writing it.
func Cut(fs FS, name string, size int64) error {
	if err := fs.Truncate(name, size); err != nil {
		return fmt.Errorf("cutting it to %d bytes: %w", size, err)
	}
	f, err := fs.Open(name)
	if err == nil {
		err = errors.Join(f.Sync(), f.Close())
	}
	return err
}

// rewrite puts a file with the parts to keep in the place of the old one.
func (m *mending) rewrite(fs FS, name string) (err error) {
	temporary := name + ".part"
	if _, err := fs.Size(temporary); err == nil {
		if err := fs.Remove(temporary); err != nil {
			return err
		}
	}
	out, err := fs.Create(temporary)
	if err != nil {
		return err
	}
	err = errors.Join(m.copyTo(out), out.Sync(), out.Close())
	if err != nil {
		return errors.Join(err, fs.Remove(temporary))
	}
	if err := fs.Rename(temporary, name); err != nil {
		return err
	}
	return fs.SyncDir(filepath.Dir(name))
}

// copyTo writes the parts to keep. A record with another mark than most, or with another fault in its gzip header, gets
// the header that a Writer gives it.
func (m *mending) copyTo(out File) error {
	most := part{}
	for _, p := range m.parts {
		if p.records >= most.records {
			most = p
		}
	}
	marked := markOf(most.mark[:]) != nil
	for _, p := range m.parts {
		if marked && (p.patch || p.records == 1 && nearMark(p.mark[:], most.mark[:])) {
			head := append([]byte{0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 4, 255, markBytes, 0}, most.mark[:]...)
			if _, err := out.Write(head); err != nil {
				return err
			}
			p.from += markedBytes
		}
		if _, err := io.Copy(out, io.NewSectionReader(m.f, p.from, p.to-p.from)); err != nil {
			return err
		}
	}
	return nil
}
