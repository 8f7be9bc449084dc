// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/internal/segment"
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
