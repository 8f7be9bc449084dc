// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"crypto/rand"
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// WriterOptions configure a Writer.
type WriterOptions struct {
	// FS is the filesystem; nil means OS().
	FS FS
	// Dir is the directory of the files, created if it is missing. Required.
	Dir string
	// Prefix begins the file names: Prefix-00000.warc.gz. Letters, digits, '.', '_' and '-'; "" means "seine".
	Prefix string
	// MaxFileBytes is the compressed size, in bytes, beyond which an exchange goes into the next file; 0 means
	// DefaultMaxFileBytes. An exchange that is larger gets its own file.
	MaxFileBytes int64
	// MaxFileAge is the time after which the next exchange begins the next file; 0: age does not matter. Nothing
	// happens to a file to which nothing is appended.
	MaxFileAge time.Duration
	// Info are the fields of the warcinfo record at the start of each file, in order: software, operator, robots,
	// http-header-user-agent, hostname… The fields software, format and conformsTo are added if missing.
	Info []Field
	// Level is the gzip level, 1 (fastest) to 9; 0 means 1. At level 1 request records are stored uncompressed (but
	// also in a gzip member).
	Level int
	// Now is the clock for warcinfo records and for exchanges without a Start; nil means time.Now. It is called on
	// the goroutines that use the Writer.
	Now func() time.Time
	// NewID returns record ids, which must be globally unique. It is called on the goroutines that use the Writer,
	// several at once; nil means random UUIDs (version 4).
	NewID func() [16]byte
}

// FileInfo describes one file of a Writer, or the part of a file that EndPart returns.
type FileInfo struct {
	Name    string // base name
	Size    int64  // bytes of complete records, compressed
	Records int64  // complete records, warcinfo included
	Start   int64  // where the part begins, in bytes; 0 for a file
}

// Writer appends records to the files of one prefix. It is safe for concurrent use. Any error of a file (of a write, a
// sync, a create) is final: see Sync. The zero value is not usable.
type Writer struct {
	o    WriterOptions
	mark []byte    // gzip extra field of every member of this Writer; see resync.go
	pool sync.Pool // of *encoder

	// syncMu serialises the operations that wait for the disk: Sync, the change of files, Close. Lock it before mu.
	syncMu sync.Mutex
	synced int64 // the first synced bytes of total are on disk

	// mu guards the append. It is held for at most one write of writeBytes, never during a sync.
	mu     sync.Mutex
	cur    *current // nil before the first record, and after Close
	part   openPart
	done   []FileInfo
	total  int64 // bytes appended, all files
	err    error // sticky
	closed bool

	bytes atomic.Int64 // copy of total for Bytes
}

// current is the file to which records are appended.
type current struct {
	f     File
	info  FileInfo
	began time.Time
	full  bool   // by NextFile
	buf   []byte // the last bytes of info.Size, not yet written to the file
}

// ErrClosed is returned by a Writer after Close.
var ErrClosed = errors.New("the WARC writer is closed")

// NewWriter creates the directory if necessary and returns a Writer that continues the numbering of the prefix's files
// in it. It creates no file before the first record. The error of bad options names all of them; other errors come from
// the filesystem.
func NewWriter(o WriterOptions) (*Writer, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	w := &Writer{o: o}
	id := o.NewID()
	w.mark = appendMark(nil, id)
	if err := o.FS.MkdirAll(o.Dir); err != nil {
		return nil, fmt.Errorf("making the WARC directory %q: %w", o.Dir, err)
	}
	// The directory's own entry must survive a power loss too. The parent of a relative name of one element is the
	// working directory, which in-memory filesystems lack.
	if parent := filepath.Dir(filepath.Clean(o.Dir)); parent != "." {
		if err := o.FS.SyncDir(parent); err != nil {
			return nil, fmt.Errorf("syncing %q, parent of the WARC directory: %w", parent, err)
		}
	}
	w.part.prefix = o.Prefix
	var err error
	w.part.next, err = w.nextNumber(o.Prefix)
	return w, err
}

// nextNumber returns the number after those of a prefix's files.
func (w *Writer) nextNumber(prefix string) (next int, err error) {
	names, err := w.o.FS.List(w.o.Dir)
	if err != nil {
		return 0, fmt.Errorf("listing the WARC directory %q: %w", w.o.Dir, err)
	}
	for _, name := range names {
		if n, ok := fileNumber(prefix, name); ok && n >= next {
			next = n + 1
		}
	}
	return next, nil
}

// complete fills in defaults and reports all bad options.
func (o *WriterOptions) complete() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if o.FS == nil {
		o.FS = OS()
	}
	if o.Dir == "" {
		fault("WriterOptions.Dir is empty: name the directory of the WARC files")
	}
	if o.Prefix == "" {
		o.Prefix = "seine"
	}
	if !prefixOK(o.Prefix) {
		fault("WriterOptions.Prefix %q has a byte outside letters, digits, '.', '_' and '-'", o.Prefix)
	}
	if o.MaxFileBytes == 0 {
		o.MaxFileBytes = DefaultMaxFileBytes
	} else if o.MaxFileBytes < 0 {
		fault("WriterOptions.MaxFileBytes is %d, must be positive", o.MaxFileBytes)
	}
	if o.MaxFileAge < 0 {
		fault("WriterOptions.MaxFileAge is %v, must not be negative", o.MaxFileAge)
	}
	if o.Level == 0 {
		o.Level = 1
	} else if o.Level < 0 || o.Level > 9 {
		fault("WriterOptions.Level is %d, must be 1 to 9", o.Level)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = randomID
	}
	o.Info = completeInfo(o.Info)
	if err := checkBlockFields("warcinfo", "", o.Info); err != nil {
		faults = append(faults, err)
	}
	if len(faults) > 0 {
		return fmt.Errorf("options of a WARC writer: %w", errors.Join(faults...))
	}
	return nil
}

// prefixOK reports whether file names may begin with a prefix.
func prefixOK(prefix string) bool {
	for i := 0; i < len(prefix); i++ {
		c := prefix[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("._-", c) >= 0) {
			return false
		}
	}
	return true
}

// completeInfo adds the warcinfo fields that every file should have.
func completeInfo(info []Field) []Field {
	out := append([]Field(nil), info...)
	for _, f := range []Field{
		{"software", "seine"},
		{"format", "WARC File Format 1.1"},
		{"conformsTo", "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"},
	} {
		found := false
		for _, have := range info {
			found = found || strings.EqualFold(have.Name, f.Name)
		}
		if !found {
			out = append(out, f)
		}
	}
	return out
}

// randomID returns a random UUID (RFC 9562, 5.4). crypto/rand.Read never fails (it ends the program instead).
func randomID() (id [16]byte) {
	_, _ = rand.Read(id[:])
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id
}

const fileSuffix = ".warc.gz"

func fileName(prefix string, n int) string { return fmt.Sprintf("%s-%05d%s", prefix, n, fileSuffix) }

// fileNumber reads the number of a file name of the prefix.
func fileNumber(prefix, name string) (int, bool) {
	digits, ok := strings.CutPrefix(name, prefix+"-")
	if !ok {
		return 0, false
	}
	digits, ok = strings.CutSuffix(digits, fileSuffix)
	if !ok || len(digits) == 0 || len(digits) > 9 {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 31)
	return int(n), err == nil
}

// append adds complete members to the current file, adjacent, and returns where they begin. If the current file is
// full, it changes to the next one. That happens outside mu, so appends to the new file need not wait for the sync of
// the old one.
func (w *Writer) append(members []byte, records int64) (file string, offset int64, err error) {
	for {
		w.mu.Lock()
		if err := w.stateLocked(); err != nil {
			w.mu.Unlock()
			return "", 0, err
		}
		c := w.cur
		if c != nil && w.takesLocked(c, len(members)) {
			if err = w.beginPartLocked(c); err == nil {
				file, offset, err = w.appendLocked(c, members, records)
			}
			w.mu.Unlock()
			return file, offset, err
		}
		w.mu.Unlock()
		if err := w.changeFile(c); err != nil {
			return "", 0, err
		}
	}
}

// takesLocked reports whether the current file takes some more bytes.
func (w *Writer) takesLocked(c *current, bytes int) bool {
	if c.info.Records == 1 {
		return true
	}
	if c.full || c.info.Size+int64(len(w.part.marker)+bytes) > w.o.MaxFileBytes {
		return false
	}
	return w.o.MaxFileAge == 0 || w.o.Now().Sub(c.began) < w.o.MaxFileAge
}

// appendLocked collects members and writes writeBytes at a time: a system call for each exchange would cost more than
// anything else that the Writer does, except compression: 16 µs a page instead of 5, on an earlier host. Records are
// not durable before Sync anyway, and Sync writes the rest.
func (w *Writer) appendLocked(c *current, members []byte, records int64) (string, int64, error) {
	offset := c.info.Size
	c.buf = append(c.buf, members...)
	c.info.Size += int64(len(members))
	c.info.Records += records
	w.total += int64(len(members))
	w.bytes.Store(w.total)
	if len(c.buf) >= writeBytes {
		if err := w.flushLocked(c); err != nil {
			return "", 0, err
		}
	}
	return c.info.Name, offset, nil
}

// flushLocked writes the collected members to the file.
func (w *Writer) flushLocked(c *current) error {
	if len(c.buf) == 0 || w.err != nil {
		return w.err
	}
	n, err := c.f.Write(c.buf)
	if err == nil && n != len(c.buf) {
		err = io.ErrShortWrite
	}
	if err != nil {
		// Part of a record may be in the file, so nothing may follow it: the tail is torn and the error final.
		w.err = fmt.Errorf("appending to WARC file %q: %w", w.path(c.info.Name), err)
		return w.err
	}
	if c.buf = c.buf[:0]; cap(c.buf) > maxPooledBytes {
		c.buf = nil
	}
	return nil
}

// changeFile replaces old (nil for the first file) by a new file, and then syncs and closes old. If another goroutine
// has already replaced it, it does nothing.
func (w *Writer) changeFile(old *current) error {
	w.syncMu.Lock()
	defer w.syncMu.Unlock()
	w.mu.Lock()
	same, err := w.cur == old, w.stateLocked()
	w.mu.Unlock()
	if err != nil || !same {
		return err
	}

	c, err := w.create()
	if err != nil {
		return w.fail(err)
	}
	w.mu.Lock()
	w.part.moveTo(old, c)
	w.cur = c
	w.total += c.info.Size
	w.bytes.Store(w.total)
	if old != nil {
		w.done = append(w.done, old.info)
	}
	w.mu.Unlock()
	if old == nil {
		return nil
	}
	// No goroutine can append to old any more. Sync waits for syncMu, so it can't return before old is on disk.
	if err := w.finish(old); err != nil {
		return w.fail(err)
	}
	return nil
}

// create creates a file with its warcinfo record and makes its name durable.
func (w *Writer) create() (*current, error) {
	p := &w.part
	if p.next < 0 {
		var err error
		if p.next, err = w.nextNumber(p.prefix); err != nil {
			return nil, err
		}
	}
	if p.next > maxFileNumber {
		return nil, fmt.Errorf("creating a WARC file: prefix %q has used all its %d numbers: choose another prefix",
			p.prefix, maxFileNumber+1)
	}
	name := fileName(p.prefix, p.next)
	path := w.path(name)
	f, err := w.o.FS.Create(path)
	if err != nil {
		return nil, fmt.Errorf("creating WARC file %q: %w", path, err)
	}
	p.next++
	began := w.o.Now()
	info := w.warcinfo(name, began)
	n, err := f.Write(info)
	if err == nil && n != len(info) {
		err = io.ErrShortWrite
	}
	if err == nil {
		err = w.o.FS.SyncDir(w.o.Dir)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("beginning WARC file %q: %w", path, err), f.Close(), w.o.FS.Remove(path))
	}
	return &current{f: f, info: FileInfo{Name: name, Size: int64(n), Records: 1}, began: began}, nil
}

// warcinfo returns the record that says what follows in a file.
func (w *Writer) warcinfo(name string, at time.Time) []byte {
	e := w.encoder()
	defer w.release(e)
	e.head = appendBlockFields(appendBlockFields(e.head[:0], w.o.Info), w.part.info)
	e.begin(TypeWarcinfo, w.o.NewID(), at, "")
	e.field("WARC-Filename", name)
	e.fieldBytes("WARC-Block-Digest", AppendSHA1(e.scratch[:0], sha1.Sum(e.head)))
	e.member(e.gz, "application/warc-fields", e.head, nil)
	return append([]byte(nil), e.out...)
}

// finish writes the rest of a file that is no longer appended to, and syncs and closes it.
func (w *Writer) finish(c *current) error {
	w.mu.Lock()
	err := w.flushLocked(c)
	w.mu.Unlock()
	if err != nil {
		return errors.Join(err, c.f.Close())
	}
	if err := c.f.Sync(); err != nil {
		return errors.Join(fmt.Errorf("syncing WARC file %q: %w", w.path(c.info.Name), err), c.f.Close())
	}
	if err := c.f.Close(); err != nil {
		return fmt.Errorf("closing WARC file %q: %w", w.path(c.info.Name), err)
	}
	return nil
}

// Sync returns when everything appended before the call is on disk. Callers that wait at the same time share one sync
// of the file.
//
// A failed sync is final: the kernel may have dropped the dirty pages and report success the next time (the "fsyncgate"
// of 2018). So this call and every later one, also appends, return the error. A failed or short write is final too,
// because a record after a torn one could not be found. Records synced before are safe. To continue, make a new Writer.
// After Close the error is ErrClosed.
func (w *Writer) Sync() error {
	w.mu.Lock()
	target, err := w.total, w.stateLocked()
	w.mu.Unlock()
	if err != nil {
		return err
	}
	w.syncMu.Lock()
	defer w.syncMu.Unlock()
	w.mu.Lock()
	total, c, err := w.total, w.cur, w.err
	if err == nil && w.synced < target && c != nil {
		err = w.flushLocked(c)
	}
	w.mu.Unlock()
	if err != nil || w.synced >= target || c == nil {
		// c is nil before the first record and after Close, which has synced.
		return err
	}
	if err := c.f.Sync(); err != nil {
		return w.fail(fmt.Errorf("syncing WARC file %q: %w", w.path(c.info.Name), err))
	}
	w.synced = total
	return nil
}

// Close syncs and closes the current file and returns all files of this Writer, in order. With an error it returns the
// list too, but records that were never synced may be missing from the files, and a file may end in a torn record that
// Mend cuts off. A second call returns the same list and ErrClosed.
func (w *Writer) Close() ([]FileInfo, error) {
	w.syncMu.Lock()
	defer w.syncMu.Unlock()
	w.mu.Lock()
	c, err, closed := w.cur, w.err, w.closed
	w.closed, w.cur = true, nil
	if c != nil {
		w.done = append(w.done, c.info)
	}
	files := append([]FileInfo(nil), w.done...)
	w.mu.Unlock()
	switch {
	case closed:
		return files, ErrClosed
	case c == nil:
		return files, err
	case err != nil:
		return files, errors.Join(err, c.f.Close()) // a failed sync is never tried again
	}
	if err := w.finish(c); err != nil {
		return files, w.fail(err)
	}
	return files, nil
}

// Files returns all files of this Writer so far, in order, the current one last. The current file has the returned size
// after the next Sync.
func (w *Writer) Files() []FileInfo {
	w.mu.Lock()
	defer w.mu.Unlock()
	files := append([]FileInfo(nil), w.done...)
	if w.cur != nil {
		files = append(files, w.cur.info)
	}
	return files
}

// Bytes returns how many compressed bytes have been appended to all files. It takes no lock.
func (w *Writer) Bytes() int64 { return w.bytes.Load() }

// stateLocked returns the error because of which nothing more may be written, or nil. The caller holds mu.
func (w *Writer) stateLocked() error {
	if w.err != nil {
		return w.err
	}
	if w.closed {
		return ErrClosed
	}
	return nil
}

// fail makes an error final, unless there is one already, and returns the final error.
func (w *Writer) fail(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
	return w.err
}

func (w *Writer) path(name string) string { return filepath.Join(w.o.Dir, name) }
