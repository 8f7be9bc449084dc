// SPDX-License-Identifier: Apache-2.0

package crawllog

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Options of a Log.
type Options struct {
	Path   string // of the file that grows
	Format Format
	// MaxBytes is the size at which a file is renamed; 0: never. Keep is the number of older files that stay; 0: all.
	MaxBytes int64
	Keep     int
}

// Log is a log that is open. Safe for concurrent use.
type Log struct {
	o Options

	mu    sync.Mutex
	file  *os.File // nil after a failure: the next use opens it again, which cuts off what is no whole line
	size  int64
	buf   []byte
	ended bool // by Close
}

// Open opens a log, and creates it and its folder if they do not exist.
func Open(o Options) (*Log, error) {
	l := &Log{o: o}
	err := l.open()
	if err == nil && l.size > 0 && !l.sameFormat() {
		err = l.rotate()
	}
	if err != nil {
		return nil, fmt.Errorf("opening the crawl log: %w", err)
	}
	return l, nil
}

// open opens the file, makes its folder, and cuts off a line that is not whole.
func (l *Log) open() error {
	if err := os.MkdirAll(filepath.Dir(l.o.Path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(l.o.Path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	size, err := wholeLines(f)
	if err == nil {
		err = checkRest(f, size)
	}
	if err == nil {
		err = f.Truncate(size)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	l.file, l.size = f, size
	return nil
}

// follow opens the file of the log's path if somebody renamed or removed the one that is open, as logrotate does, and
// sees what was cut off.
func (l *Log) follow() error {
	switch {
	case l.ended:
		return fs.ErrClosed
	case l.file == nil:
		return l.open()
	}
	is, err := l.file.Stat()
	if err != nil {
		return err
	}
	l.size = is.Size()
	switch at, err := os.Stat(l.o.Path); {
	case err == nil && os.SameFile(at, is):
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	old := l.file
	err = errors.Join(old.Sync(), l.open())
	if l.file != old {
		err = errors.Join(err, old.Close())
	}
	return err
}

// checkRest returns an error if what follows the last line feed of a file, at end, is not what a crash may have left of
// a line, in any format: then the file is another's, and nothing of it may be removed.
func checkRest(f *os.File, end int64) error {
	var first [1]byte
	n, err := f.ReadAt(first[:], end)
	switch {
	case n == 0 && err != io.EOF:
		return err
	case n > 0 && !bytes.Contains(lineBegins, first[:]):
		return fmt.Errorf("%s ends with a line of another program that has no line feed: name another file", f.Name())
	}
	return nil
}

// lineBegins are the bytes with which a line may begin: an object, a year, or zeros that a crash of the system left.
var lineBegins = []byte("{123456789\x00")

// wholeLines returns the length of a file up to its last line feed.
func wholeLines(f *os.File) (int64, error) {
	end, err := f.Seek(0, io.SeekEnd)
	block := make([]byte, 64<<10)
	for err == nil && end > 0 {
		from := max(end-int64(len(block)), 0)
		part := block[:end-from]
		if _, err = f.ReadAt(part, from); err != nil {
			break
		}
		if at := bytes.LastIndexByte(part, '\n'); at >= 0 {
			return from + int64(at) + 1, nil
		}
		end = from
	}
	return 0, err
}

// sameFormat reports whether the file begins with a line of the log's format.
func (l *Log) sameFormat() bool {
	line, err := bufio.NewReader(io.NewSectionReader(l.file, 0, l.size)).ReadBytes('\n')
	_, _, ok := l.o.Format.read(line)
	return ok || err != nil
}

// Write appends the lines of entries. After an error none or the first of them are written, and the next Write goes on.
func (l *Log) Write(entries []Entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.follow(); err != nil {
		return err
	}
	l.buf = l.buf[:0]
	for i := range entries {
		before := len(l.buf)
		l.buf = l.o.Format.append(l.buf, &entries[i])
		if l.o.MaxBytes > 0 && l.size+int64(len(l.buf)) > l.o.MaxBytes && l.size+int64(before) > 0 {
			line := append([]byte(nil), l.buf[before:]...)
			if err := errors.Join(l.write(l.buf[:before]), l.rotate()); err != nil {
				return err
			}
			l.buf = append(l.buf[:0], line...)
		}
	}
	return l.write(l.buf)
}

// write appends lines to the file; after an error none of them is there.
func (l *Log) write(lines []byte) error {
	if len(lines) == 0 {
		return nil
	}
	n, err := l.file.Write(lines)
	if err == nil {
		l.size += int64(n)
		return nil
	}
	if cut := l.file.Truncate(l.size); cut != nil {
		err = errors.Join(err, cut, l.file.Close())
		l.file = nil
	}
	return err
}

// rotate renames the file to the next number and begins a new one.
func (l *Log) rotate() error {
	old, err := l.older()
	if err != nil {
		return err
	}
	next := 1
	if len(old) > 0 {
		next = old[len(old)-1] + 1
	}
	err = errors.Join(l.file.Sync(), l.file.Close(), os.Rename(l.o.Path, l.numbered(next)))
	if l.file = nil; err != nil {
		return err
	}
	old = append(old, next)
	for l.o.Keep > 0 && len(old) > l.o.Keep {
		if err := os.Remove(l.numbered(old[0])); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(err, l.open())
		}
		old = old[1:]
	}
	return l.open()
}

func (l *Log) numbered(n int) string { return fmt.Sprintf("%s.%05d", l.o.Path, n) }

// older returns the numbers of the older files, oldest first.
func (l *Log) older() (numbers []int, err error) {
	list, err := os.ReadDir(filepath.Dir(l.o.Path))
	for _, e := range list {
		if n, ok := l.number(e.Name()); ok {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, err
}

// number returns the number of an older file.
func (l *Log) number(name string) (n int, ok bool) {
	digits, ok := strings.CutPrefix(name, filepath.Base(l.o.Path)+".")
	n, err := strconv.Atoi(digits)
	return n, ok && err == nil && n > 0 && l.numbered(n) == l.o.Path+"."+digits
}

// others returns the paths of files beside the log that somebody else named after it, as logrotate does, and that
// changed since a time.
func (l *Log) others(from time.Time) (paths []string, err error) {
	folder, base := filepath.Split(l.o.Path)
	list, err := os.ReadDir(filepath.Dir(l.o.Path))
	for _, e := range list {
		rest, named := strings.CutPrefix(e.Name(), base)
		if _, own := l.number(e.Name()); own || !named || rest == "" || rest[0] != '.' && rest[0] != '-' {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && !info.ModTime().Before(from) {
			paths = append(paths, folder+e.Name())
		}
	}
	return paths, err
}

// Sync makes what was written durable.
func (l *Log) Sync() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.follow(); err != nil {
		return err
	}
	return l.file.Sync()
}

// Close makes what was written durable and closes the file.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	file := l.file
	if l.file, l.ended = nil, true; file == nil {
		return nil // what failed was returned
	}
	return errors.Join(file.Sync(), file.Close())
}

// Since calls fn with the URL and the begin of each fetch in the log that began at a time or later. It also reads what
// others renamed, unless they compressed it or moved it to another folder.
func (l *Log) Since(from time.Time, fn func(url string, begun time.Time)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.follow(); err != nil {
		return err
	}
	old, err := l.older()
	if err != nil {
		return err
	}
	paths := []string{l.o.Path}
	for i := len(old) - 1; i >= 0; i-- {
		paths = append(paths, l.numbered(old[i]))
	}
	for _, path := range paths {
		lines, late, err := l.readFile(path, from, fn)
		if err != nil {
			return err
		}
		if lines > 0 && late == 0 { // older files are older still
			break
		}
	}
	if paths, err = l.others(from); err != nil {
		return err
	}
	for _, path := range paths {
		if _, _, err := l.readFile(path, from, fn); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// readFile is Since for one file. It returns how many lines there are, and how many of them were passed on.
func (l *Log) readFile(path string, from time.Time, fn func(string, time.Time)) (lines, late int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r := bufio.NewReaderSize(f, 1<<20)
	for {
		line, err := r.ReadSlice('\n')
		switch {
		case err == io.EOF:
			return lines, late, nil
		case err == bufio.ErrBufferFull: // no line of ours
			continue
		case err != nil:
			return lines, late, err
		}
		lines++
		if url, begun, ok := l.o.Format.read(line); ok && !begun.Before(from) {
			late++
			fn(url, begun)
		}
	}
}
