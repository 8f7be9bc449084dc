// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/warc"
)

// stuckFS does not end the sync of a file while stuck is set.
type stuckFS struct {
	warc.FS
	stuck atomic.Pointer[chan struct{}]
}

func (fs *stuckFS) Create(name string) (warc.File, error) {
	f, err := fs.FS.Create(name)
	return &stuckFile{f, fs}, err
}

type stuckFile struct {
	warc.File
	fs *stuckFS
}

func (f *stuckFile) Sync() error {
	if let := f.fs.stuck.Load(); let != nil {
		<-*let
	}
	return f.File.Sync()
}

// TestSyncing: a sync that does not end shows, also after that of another segment has ended.
func TestSyncing(t *testing.T) {
	w := newWorld(t, admission.Options{})
	fs := &stuckFS{FS: w.store.WARCFS()}
	w.segments = w.segmentsOn(fs)
	r := w.newRun(NewHosts(w.env), newList(w), Limits{})
	sealed := r.Segment()
	next, err := w.segments.Create()
	w.must(err)
	r.Rotate(next)
	var s segment.Scratch
	_, err = next.Store(&segment.Attempt{URL: w.url("http://a.example/"), At: w.now(), Failure: fetch.FailRefused}, &s)
	w.must(err)
	if d := r.Syncing(w.now().Add(time.Minute)); d != 0 {
		t.Errorf("without a sync one lasts %s", d)
	}
	let, done := make(chan struct{}), make(chan error, 1)
	fs.stuck.Store(&let)
	go func() { done <- r.Sync(next) }()
	w.until("the sync", func() bool { return r.Syncing(w.now()) > 0 })
	w.must(r.Sync(sealed)) // has nothing to sync
	if d := r.Syncing(w.now().Add(time.Minute)); d < time.Minute {
		t.Errorf("a sync that does not end lasts %s after a minute", d)
	}
	close(let)
	w.must(<-done)
	if d := r.Syncing(w.now().Add(time.Minute)); d != 0 {
		t.Errorf("a sync that has ended lasts %s", d)
	}
	_, err = r.Finish(t.Context(), sealed)
	w.must(err)
	w.must(r.Abandon())
	r.front.Close()
}

// TestSegmentHeldWhileSealing: while the last segment is sealed, its size can be read, which a status needs.
func TestSegmentHeldWhileSealing(t *testing.T) {
	mem := storage.NewMemFS()
	fs, hook := hooked(mem, mem.Create, mem.Open)
	w := newWorldOn(t, admission.Options{}, fs)
	var text strings.Builder // so much that sealing makes tables
	for i := range 20_000 {
		fmt.Fprintf(&text, "word%d ", i*i)
	}
	w.web.set("http://a.example/", html(text.String()))
	r := w.start(NewHosts(w.env), newList(w, "http://a.example/"), 1, Limits{})
	r.quiet()
	r.Stop()
	let, waits := make(chan struct{}), make(chan struct{})
	var once sync.Once
	block := func(op, name string) {
		if op == "create" && strings.Contains(name, "tmp-ingest") {
			once.Do(func() { close(waits) })
			<-let
		}
	}
	hook.Store(&block)
	done, held := make(chan error, 1), make(chan int64, 1)
	go func() {
		_, err := r.Finish(t.Context(), r.Segment())
		done <- err
	}()
	select {
	case <-waits:
	case err := <-done:
		t.Fatalf("sealing made no table: %v", err)
	}
	go func() {
		n, _ := r.SegmentHeld()
		held <- n
	}()
	select {
	case n := <-held:
		// The page is compressed with its other strings, so its text alone may take a little more.
		if text := storage.AppendParseText(nil, &storage.ParseText{Text: text.String()}); n < int64(len(text))*9/10 {
			t.Errorf("%d bytes are held, and the text takes %d", n, len(text))
		}
	case <-time.After(10 * time.Second):
		t.Error("the size waits until the segment is sealed")
	}
	close(let)
	w.must(<-done)
}
