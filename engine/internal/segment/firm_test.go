// SPDX-License-Identifier: Apache-2.0

package segment_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/storage"
)

// TestFailedSync: what is in a file whose sync failed is not sealed by syncing it again, which may succeed falsely. The
// next process goes on.
func TestFailedSync(t *testing.T) {
	w := newWorld(t)
	open := w.create()
	var s segment.Scratch
	_, err := open.Store(page(t, "http://a.example/"), &s)
	w.must(err)
	w.files.failing(failOn("sync"))
	if _, err := open.Sync(); !errors.Is(err, os.ErrPermission) {
		t.Errorf("%v", err)
	}
	w.files.failing(nil)
	if err := open.Abandon(); !errors.Is(err, os.ErrPermission) {
		t.Errorf("%v", err)
	}
	for name, goOn := range map[string]func(*world) error{
		"parsed": seal, "fetched on": resume,
	} {
		err := goOn(w)
		if !errors.Is(err, storage.ErrFatal) || !errors.Is(err, os.ErrPermission) ||
			!strings.Contains(err.Error(), "start again") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if state := w.record(1).State; state != storage.SegmentOpen {
		t.Errorf("it is %s", state)
	}
	w.must(store(w, nil)) // into a file of its own
	w.must(sealElsewhere(w))
	if keys := w.keys(1); keys != "example,a,)/ http" {
		t.Errorf("%q", keys)
	}
}

// TestSyncedFirst: what a killed process left is synced before it is read, so that what is read is what stays.
func TestSyncedFirst(t *testing.T) {
	w := newWorld(t)
	open := w.create()
	w.storeAll(open, page(t, "http://a.example/"))
	w.must(open.Abandon())
	var done []string
	w.files.failing(func(op, _ string) error {
		done = append(done, op)
		return nil
	})
	w.must(sealElsewhere(w))
	if sync, read := slices.Index(done, "sync"), slices.Index(done, "read"); sync < 0 || read < sync {
		t.Errorf("%q", done)
	}
}
