// SPDX-License-Identifier: Apache-2.0

package segment_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
	"github.com/seine-crawler/seine/storage/warc"
)

const warcDir = "warc"

var (
	ctx   = context.Background()
	start = time.Date(2026, 3, 4, 5, 6, 7, 890e6, time.UTC)
)

// world is a store and WARC files in memory.
type world struct {
	testing.TB
	*segment.Segments
	store  *storage.Store
	files  *watchedFS
	sortFS storage.FS

	mu      sync.Mutex
	warns   []string
	sorters []*storage.Sorter
}

func newWorld(t testing.TB) *world { return newWorldOn(t, storage.NewMemFS()) }

// newWorldOn is a world in a file system of its own.
func newWorldOn(t testing.TB, fs storage.FS) *world {
	store, err := storage.Open("store", storage.Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{TB: t, store: store, files: &watchedFS{FS: store.WARCFS(), open: map[string]int{}}}
	if err := w.files.MkdirAll(warcDir); err != nil {
		t.Fatal(err)
	}
	w.sortFS = fs
	w.Segments = segment.New(w.env(store))
	t.Cleanup(func() {
		w.leaksNothing()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// env is what segments of a store need.
func (w *world) env(store *storage.Store) segment.Env {
	return segment.Env{
		Store: store, FS: w.files, Dir: warcDir, Now: func() time.Time { return start }, Agent: "seine",
		Sorter: func(combine func(dst, a, b []byte) []byte) *storage.Sorter {
			s := storage.NewSorter(storage.SorterOptions{Dir: store.SortDir(), FS: w.sortFS, Combine: combine})
			w.mu.Lock()
			w.sorters = append(w.sorters, s)
			w.mu.Unlock()
			return s
		},
		Warn: func(err error) {
			w.mu.Lock()
			w.warns = append(w.warns, err.Error())
			w.mu.Unlock()
		},
	}
}

// leaksNothing checks that every WARC file that was opened is closed, and every sorter too.
func (w *world) leaksNothing() {
	w.Helper()
	w.files.mu.Lock()
	defer w.files.mu.Unlock()
	for name, n := range w.files.open {
		if n != 0 {
			w.Errorf("%s is open %d times", name, n)
		}
	}
	for i, s := range w.sorters {
		if s.Add([]byte("k"), nil) == nil {
			w.Errorf("sorter %d of %d is not closed", i, len(w.sorters))
		}
	}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) create() *segment.Writer {
	w.Helper()
	open, err := w.Create()
	w.must(err)
	return open
}

// record is the segment's record.
func (w *world) record(number uint32) storage.Segment {
	w.Helper()
	seg, ok, err := w.store.Segment(number)
	if err != nil || !ok {
		w.Fatalf("segment %d: %t, %v", number, ok, err)
	}
	return seg
}

// dump is all that sealing a segment wrote: parse records, capture index and the segment's record.
func (w *world) dump(number uint32) string {
	w.Helper()
	var b strings.Builder
	for _, r := range []storage.Range{storage.ParseLinks(number), storage.ParseTextRange(number), storage.CDXRange()} {
		sc := w.store.Scan(r, nil, nil)
		for sc.Next() {
			fmt.Fprintf(&b, "%s %q: %q\n", r, sc.Key(), sc.Value())
		}
		w.must(sc.Close())
	}
	fmt.Fprintf(&b, "%+v\n", w.record(number))
	return b.String()
}

// outcomes are those of a sealed segment by URL key.
func (w *world) outcomes(number uint32) map[urlkey.Key]storage.FetchOutcome {
	w.Helper()
	all := map[urlkey.Key]storage.FetchOutcome{}
	sc := w.store.Scan(storage.ParseLinks(number), nil, nil)
	for sc.Next() {
		var o storage.FetchOutcome
		w.must(storage.DecodeFetchOutcome(bytes.Clone(sc.Value()), &o))
		all[urlkey.Key(sc.Key())] = o
	}
	w.must(sc.Close())
	return all
}

// keys are those of a sealed segment's outcomes, in order.
func (w *world) keys(number uint32) string {
	w.Helper()
	var keys []string
	sc := w.store.Scan(storage.ParseLinks(number), nil, nil)
	for sc.Next() {
		keys = append(keys, string(sc.Key()))
	}
	w.must(sc.Close())
	return strings.Join(keys, " ")
}

// path is that of a segment's n-th WARC file.
func (w *world) path(number uint32, n int) string {
	w.Helper()
	names, err := w.Files(number)
	w.must(err)
	if n >= len(names) {
		w.Fatalf("no file %d among %q", n, names)
	}
	return warcDir + "/" + names[n]
}

// bytes returns the content of a WARC file.
func (w *world) bytes(path string) []byte {
	w.Helper()
	size, err := w.files.Size(path)
	w.must(err)
	b := make([]byte, size)
	f, err := w.files.Open(path)
	w.must(err)
	_, err = f.ReadAt(b, 0)
	w.must(err)
	w.must(f.Close())
	return b
}

// replace writes another content. The file system may scramble what it is given to write, and does so under the race
// detector, so it is given a copy.
func (w *world) replace(path string, b []byte) {
	w.Helper()
	if _, err := w.files.Size(path); err == nil {
		w.must(w.files.Remove(path))
	}
	f, err := w.files.Create(path)
	w.must(err)
	_, err = f.Write(bytes.Clone(b))
	w.must(err)
	w.must(f.Close())
}

// records are the WARC records of a file.
func (w *world) records(path string) (all []warc.Record) {
	w.Helper()
	b := w.bytes(path)
	r := warc.NewReader(bytes.NewReader(b), int64(len(b)))
	for {
		rec, err := r.Next()
		if err != nil {
			return all
		}
		all = append(all, *rec)
	}
}

func parseURL(t testing.TB, raw string) urlkey.URL {
	t.Helper()
	u, err := urlkey.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// response is the end of a fetch of a URL: status line and fields without line ends, and a body.
func response(t testing.TB, url, head, body, truncated string) *segment.Attempt {
	t.Helper()
	r, err := fetch.StoredResponse([]byte(strings.ReplaceAll(head, "\n", "\r\n")+"\r\n\r\n"), []byte(body), truncated)
	if err != nil {
		t.Fatal(err)
	}
	r.Start, r.End = start.Add(123456*time.Microsecond), start.Add(time.Second)
	r.RequestHead, r.Received = []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), 9876
	return &segment.Attempt{URL: parseURL(t, url), At: r.Start, Took: 876543 * time.Microsecond, Response: r}
}

// page is a small page.
func page(t testing.TB, url string) *segment.Attempt {
	t.Helper()
	return response(t, url, "HTTP/1.1 200 OK\nContent-Type: text/html",
		"<title>"+url+"</title><p>Some words. <a href=/next>next</a>", "")
}

func failed(t testing.TB, url string, f fetch.Failure) *segment.Attempt {
	t.Helper()
	return &segment.Attempt{
		URL: parseURL(t, url), At: start.Add(time.Minute), Took: 5 * time.Second, Failure: f, Received: 4321,
	}
}

// storeAll stores and syncs.
func (w *world) storeAll(open *segment.Writer, attempts ...*segment.Attempt) []segment.Stored {
	w.Helper()
	var s segment.Scratch
	for _, a := range attempts {
		_, err := open.Store(a, &s)
		w.must(err)
	}
	stored, err := open.Sync()
	w.must(err)
	return stored
}

// watchedFS counts open files and returns errors on demand.
type watchedFS struct {
	warc.FS
	mu      sync.Mutex
	open    map[string]int
	read    int64                       // bytes
	fail    func(op, name string) error // nil: nothing fails
	reverse bool                        // lists names backwards
}

func (fs *watchedFS) check(op, name string) error {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.fail == nil {
		return nil
	}
	return fs.fail(op, name)
}

func (fs *watchedFS) failing(fail func(op, name string) error) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.fail = fail
}

func (fs *watchedFS) watch(op, name string, open func(string) (warc.File, error)) (warc.File, error) {
	if err := fs.check(op, name); err != nil {
		return nil, err
	}
	f, err := open(name)
	if err != nil {
		return nil, err
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.open[name]++
	return &watchedFile{f, fs, name}, nil
}

func (fs *watchedFS) Create(name string) (warc.File, error) {
	return fs.watch("create", name, fs.FS.Create)
}
func (fs *watchedFS) Open(name string) (warc.File, error) { return fs.watch("open", name, fs.FS.Open) }

func (fs *watchedFS) List(dir string) ([]string, error) {
	if err := fs.check("list", dir); err != nil {
		return nil, err
	}
	names, err := fs.FS.List(dir)
	for i, j := 0, len(names)-1; fs.reverse && i < j; i, j = i+1, j-1 {
		names[i], names[j] = names[j], names[i]
	}
	return names, err
}

type watchedFile struct {
	warc.File
	fs   *watchedFS
	name string
}

func (f *watchedFile) Write(p []byte) (int, error) {
	if err := f.fs.check("write", f.name); err != nil {
		return 0, err
	}
	return f.File.Write(p)
}

func (f *watchedFile) ReadAt(p []byte, at int64) (int, error) {
	if err := f.fs.check("read", f.name); err != nil {
		return 0, err
	}
	n, err := f.File.ReadAt(p, at)
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	f.fs.read += int64(n)
	return n, err
}

func (f *watchedFile) Sync() error {
	if err := f.fs.check("sync", f.name); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f *watchedFile) Close() error {
	f.fs.mu.Lock()
	f.fs.open[f.name]--
	f.fs.mu.Unlock()
	return f.File.Close()
}

// failOn fails one operation with a full disk.
func failOn(op string) func(string, string) error {
	return func(o, name string) error {
		if o == op {
			return fmt.Errorf("%s %s: %w", op, name, os.ErrPermission)
		}
		return nil
	}
}
