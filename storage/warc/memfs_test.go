// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

var errInjected = errors.New("injected fault")

// memFS is an FS in memory. It counts the calls of each kind (create, write, sync, syncdir, …); fail may make the nth
// one fail. It records what each file's last successful sync covered.
type memFS struct {
	mu    sync.Mutex
	files map[string]*memFile
	calls map[string]int
	log   []string
	// fail returns an error for the nth call (from 1) of an operation; nil lets all pass. A failed write still writes
	// the first half of its bytes.
	fail func(op string, n int) error
}

type memFile struct {
	fs     *memFS
	name   string
	data   []byte
	synced int
	closed bool
}

func newMemFS() *memFS { return &memFS{files: map[string]*memFile{}, calls: map[string]int{}} }

// failNth fails one call of one operation, once.
func (m *memFS) failNth(op string, nth int) {
	m.fail = func(o string, n int) error {
		if o == op && n == nth {
			return errInjected
		}
		return nil
	}
}

// call counts an operation; the caller holds mu.
func (m *memFS) call(op, name string) error {
	m.calls[op]++
	m.log = append(m.log, op+" "+filepath.Base(name))
	if m.fail != nil {
		return m.fail(op, m.calls[op])
	}
	return nil
}

func (m *memFS) Create(name string) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.call("create", name); err != nil {
		return nil, err
	}
	if m.files[name] != nil {
		return nil, fmt.Errorf("create %s: %w", name, os.ErrExist)
	}
	m.files[name] = &memFile{fs: m, name: name}
	return m.files[name], nil
}

func (m *memFS) Open(name string) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.files[name] == nil {
		return nil, fmt.Errorf("open %s: %w", name, os.ErrNotExist)
	}
	return &memFile{fs: m, name: name, data: m.files[name].data}, nil
}

func (m *memFS) List(dir string) (names []string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name := range m.files {
		if filepath.Dir(name) == filepath.Clean(dir) {
			names = append(names, filepath.Base(name))
		}
	}
	return names, nil
}

func (m *memFS) Size(name string) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.files[name] == nil {
		return 0, os.ErrNotExist
	}
	return int64(len(m.files[name].data)), nil
}

func (m *memFS) MkdirAll(string) error { return nil }

func (m *memFS) Truncate(name string, size int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.call("truncate", name); err != nil {
		return err
	}
	m.files[name].data = m.files[name].data[:size]
	return nil
}

func (m *memFS) SyncDir(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.call("syncdir", dir)
}

func (m *memFS) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.files, name)
	return nil
}

func (f *memFile) Write(p []byte) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if f.closed {
		return 0, os.ErrClosed
	}
	if err := f.fs.call("write", f.name); err != nil {
		f.data = append(f.data, p[:len(p)/2]...)
		return len(p) / 2, err
	}
	f.data = append(f.data, p...)
	return len(p), nil
}

func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.fs.call("read", f.name); err != nil {
		return 0, err
	}
	return bytes.NewReader(f.data).ReadAt(p, off)
}

func (f *memFile) Sync() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if f.closed {
		return os.ErrClosed
	}
	if err := f.fs.call("sync", f.name); err != nil {
		return err
	}
	f.synced = len(f.data)
	return nil
}

func (f *memFile) Close() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	f.closed = true
	return nil
}

// bytesOf returns the content of a file.
func (m *memFS) bytesOf(name string) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := m.files[name]; f != nil {
		return append([]byte(nil), f.data...)
	}
	return nil
}

var _ io.ReaderAt = (*memFile)(nil)

func (m *memFS) Rename(oldname, newname string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.call("rename", newname); err != nil {
		return err
	}
	f, ok := m.files[oldname]
	if !ok {
		return os.ErrNotExist
	}
	delete(m.files, oldname)
	f.name = newname
	m.files[newname] = f
	return nil
}
