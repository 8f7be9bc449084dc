// SPDX-License-Identifier: Apache-2.0

package segment_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/warc"
)

// TestLostBegin: where the record cannot be read that says that a segment begins in the middle of a file, what is sound
// behind it is not lost, and the file has nothing at its end that is no segment's.
func TestLostBegin(t *testing.T) {
	const second, third = "example,b,)/ http", "example,c,)/ http"
	hole := func(part []byte, pages []int64) { clear(part[:pages[1]-3]) }
	for _, v := range []struct {
		name  string
		spoil func(part []byte, pages []int64) // where its two pages begin, from the part on
		known bool                             // the store has the segment
		keys  string
		warns bool
	}{
		{"a flipped bit", func(part []byte, _ []int64) { part[60] ^= 1 }, true, second + " " + third, true},
		{"its first byte", func(part []byte, _ []int64) { part[0] ^= 1 }, true, second + " " + third, true},
		{"a hole", hole, true, third, true},
		{"a hole, and a lost segment", hole, false, third, true},
		{"all but the last bytes", func(part []byte, _ []int64) { clear(part[:len(part)-3]) }, true, "", false},
		{"all", func(part []byte, _ []int64) { clear(part) }, true, "", false},
	} {
		t.Run(v.name, func(t *testing.T) {
			w := newWorld(t)
			first, open := w.create(), w.create()
			w.storeAll(first, page(t, "http://a.example/"))
			first.End()
			w.storeAll(open, page(t, "http://b.example/"), page(t, "http://c.example/"))
			_, err := first.Finish(ctx)
			w.must(err)
			w.must(open.Abandon())
			path, list := w.path(1, 0), []storage.Segment{w.record(1), w.record(2)}
			end := list[0].WARC[0].End()
			var pages []int64
			for _, r := range w.records(path) {
				if r.Type == warc.TypeRequest && r.Offset > end {
					pages = append(pages, r.Offset-end)
				}
			}
			b := w.bytes(path)
			v.spoil(b[end:], pages)
			w.replace(path, b)
			if !v.known {
				list = list[:1]
			}
			next := segment.New(w.env(w.store))
			unknown, err := next.Survey(ctx, list)
			if err != nil || v.known != (len(unknown) == 0) || !v.known && !slices.Equal(unknown, []uint32{2}) {
				t.Errorf("unknown: %d, %v", unknown, err)
			}
			_, err = next.Seal(ctx, w.record(2))
			w.must(err)
			if keys := w.keys(2); keys != v.keys {
				t.Errorf("%q, want %q", keys, v.keys)
			}
			about := func(s string) bool { return strings.Contains(s, path) }
			if slices.ContainsFunc(w.warns, about) != v.warns {
				t.Errorf("warnings: %q", w.warns)
			}
			list = []storage.Segment{w.record(1), w.record(2)}
			parts, size := storage.WARCParts(list)[strings.TrimPrefix(path, warcDir+"/")], int64(len(w.bytes(path)))
			if last := parts[len(parts)-1].End(); last != size {
				t.Errorf("%d bytes, of which %d are of segments: %+v", size, last, parts)
			}
			w.warns = nil
			again := segment.New(w.env(w.store))
			if unknown, err := again.Survey(ctx, list); err != nil || len(unknown)+len(w.warns) > 0 {
				t.Errorf("later: %d, %v, %q", unknown, err, w.warns)
			}
		})
	}
}
