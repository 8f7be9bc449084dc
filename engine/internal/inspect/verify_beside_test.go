// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/warc"
)

// TestVerifyBesideRemoval: what is deleted, and what a purge writes again, while Verify reads the files is no problem.
func TestVerifyBesideRemoval(t *testing.T) {
	const url, moved = "http://a.example/", "seine-later-00000.warc.gz"
	at := time.UnixMilli(1)
	for _, when := range []string{"list", "size", "open"} {
		t.Run(when, func(t *testing.T) {
			w := newWorld(t, anywhere())
			c := w.capture(url, "first", at)
			d := w.capture("http://b.example/", "second", at)
			w.sealed(1)
			w.segmentBecomes(1, storage.SegmentLinked)
			removed := false
			w.env.FS = hookedFS{w.env.FS, func(op, name string) {
				if op != when || removed || op != "list" && name != w.path(c) {
					return
				}
				removed = true
				w.must(w.store.Apply(func(b *storage.Batch) error { // as Delete does
					key := storage.AppendCDXKey(nil, w.key("http://b.example/"), 1)
					return errors.Join(b.Delete(storage.CDXRange(), key),
						b.Set(storage.Meta(), storage.AppendDeletedInKey(nil, 1), nil))
				}))
				seg, _, err := w.store.Segment(1)
				w.must(err)
				seg.WARC = slices.Clone(seg.WARC)
				seg.WARC[slices.IndexFunc(seg.WARC, func(f storage.WARCFile) bool {
					return f.Name == c.Location.File
				})].Name = moved
				w.must(w.env.FS.Rename(w.path(c), w.env.Dir+"/"+moved)) // as Purge does, but for copying
				c := c
				c.Location.File = moved
				w.cdx(url, at, c)
				in := w.store.NewIngestion()
				w.must(in.PutPurged(seg))
				w.must(in.Commit())
			}}
			v, err := w.Verify(ctx, nil)
			if err != nil || v.Problems > 0 || v.Strays > 0 || !removed {
				t.Errorf("%+v, %v", v, err)
			}
			if v.Captures == 0 {
				t.Errorf("nothing was compared, of %+v", d)
			}
		})
	}
}

// hookedFS calls a function before it does something.
type hookedFS struct {
	warc.FS
	before func(op, name string)
}

func (fs hookedFS) List(dir string) ([]string, error) {
	fs.before("list", dir)
	return fs.FS.List(dir)
}

func (fs hookedFS) Size(name string) (int64, error) {
	fs.before("size", name)
	return fs.FS.Size(name)
}

func (fs hookedFS) Open(name string) (warc.File, error) {
	fs.before("open", name)
	return fs.FS.Open(name)
}
