// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
	"github.com/seine-crawler/seine/storage/warc"
)

// TestSharedWARCFiles: the segments of a crawl share one WARC file. It is indexed, purged and made a store of as files
// of one segment each are.
func TestSharedWARCFiles(t *testing.T) {
	w := anyHostWeb(t, 6, 30)
	o := w.options(dataDir(t))
	e := open(t, o)
	if _, err := e.Crawl(context.Background(), engine.CrawlOptions{Inject: w.seeds}); err != nil {
		t.Fatal(err)
	}
	segments, files := sharing(t, e)
	if segments < 2 || files != 1 {
		t.Fatalf("%d segments in %d files", segments, files)
	}
	verify(t, e)
	captures := cdxReadsBack(t, e, o)

	var gone string
	for r, err := range e.Inspect().Records(context.Background(), engine.RecordFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Status == storage.StatusFetched {
			gone = r.URL
		}
	}
	if _, err := e.Delete(context.Background(), gone); err != nil {
		t.Fatal(err)
	}
	p, err := e.Purge(context.Background())
	if err != nil || p.Rewritten != 1 || p.Removed != 0 || p.Captures == 0 {
		t.Errorf("%+v, %v", p, err)
	}
	left, files := sharing(t, e) // the page may have been all of its segment
	if left < segments-1 || files != 1 {
		t.Errorf("%d segments in %d files, %d in %d after a purge", segments, 1, left, files)
	}
	verify(t, e)
	if n := cdxReadsBack(t, e, o); n != captures-int(p.Captures) {
		t.Errorf("%d captures, %d after %+v", captures, n, p)
	}
	mustClose(t, e)

	if err := os.RemoveAll(filepath.Join(o.Dir, "store")); err != nil {
		t.Fatal(err)
	}
	r, err := engine.Rebuild(ctx, o)
	if err != nil || int(r.Segments) != left || len(r.Changed) > 0 {
		t.Fatalf("%s, %v", r, err)
	}
	e = open(t, o)
	defer mustClose(t, e)
	verify(t, e)
	if s, f := sharing(t, e); s != left || f != 1 {
		t.Errorf("%d segments in %d files after a rebuild", s, f)
	}
}

// TestDamagedBegin: where the record that begins a segment in the middle of a shared file cannot be read, Repair gives
// the segment a file of its own: its pages do not count as those of the segment before, and none is fetched again.
func TestDamagedBegin(t *testing.T) {
	w := anyHostWeb(t, 6, 30)
	o, want := crawled(t, w)
	e := open(t, o)
	list, err := e.Store().SegmentList()
	if err != nil {
		t.Fatal(err)
	}
	segments, _ := sharing(t, e)
	mustClose(t, e)
	last := storage.WARCFile{} // where the last segment begins
	for _, seg := range list {
		for _, f := range seg.WARC {
			if f.Start > last.Start {
				last = f
			}
		}
	}
	begins := recordsOf(t, o.Dir, "warcinfo")
	at := slices.IndexFunc(begins, func(l warc.Location) bool { return l.Offset == last.Start })
	if at <= 0 {
		t.Fatal("no segment begins in the middle of a file")
	}
	path := filepath.Join(o.Dir, "warc", last.Name)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[last.Start+begins[at].Length/2] ^= 0xff
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	r, err := engine.Repair(ctx, o)
	if err != nil || r.Left.Problems > 0 || r.Due > 0 {
		t.Fatalf("%v\n%s\nleft:\n%s", err, r, r.Left)
	}
	e = open(t, o)
	verify(t, e)
	if s, files := sharing(t, e); s != segments || files != 2 {
		t.Errorf("%d segments in %d files, want %d in 2", s, files, segments)
	}
	mustClose(t, e)
	sameDigest(t, withoutScores(digestOf(t, o)), withoutScores(want))
}

// TestRepairAgain: a repair that ended after it had mended the WARC files is followed by one that does as if it had
// come to its end: of segments that have other places by then, or a file of their own, nothing is lost.
func TestRepairAgain(t *testing.T) {
	w := anyHostWeb(t, 6, 30)
	whole, _ := crawled(t, w)
	for _, kind := range []string{"response", "warcinfo"} {
		t.Run(kind, func(t *testing.T) {
			var dues []uint64
			var digests []string
			for _, interrupted := range []bool{false, true} {
				o := w.options(dataDir(t))
				copyDir(t, whole.Dir, o.Dir)
				at := recordsOf(t, o.Dir, kind)[1] // a begin in the middle, or a page of the first segment
				path := filepath.Join(o.Dir, "warc", at.File)
				b, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				b[at.Offset+at.Length/2] ^= 0xff
				if err := os.WriteFile(path, b, 0o666); err != nil {
					t.Fatal(err)
				}
				if interrupted {
					interruptRepair(t, o)
				}
				r, err := engine.Repair(ctx, o)
				if err != nil || r.Left.Problems > 0 {
					t.Fatalf("%v\n%s\nleft:\n%s", err, r, r.Left)
				}
				dues, digests = append(dues, r.Due), append(digests, withoutScores(digestOf(t, o)))
			}
			if dues[0] != dues[1] {
				t.Errorf("%d pages are due after a repair that was interrupted, %d after another", dues[1], dues[0])
			}
			sameDigest(t, digests[1], digests[0])
		})
	}
}

// interruptRepair begins a repair, which ends while it brings the first segment into the new store.
func interruptRepair(t *testing.T, o engine.Options) {
	t.Helper()
	ends, cancel := context.WithCancel(ctx)
	defer cancel()
	o.Filters = append(policy.DefaultFilters(time.Now()), policy.URLFilterFunc(func(urlkey.URL) string {
		cancel()
		return ""
	}))
	if _, err := engine.Repair(ends, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted: %v", err)
	}
}

// sharing counts the sealed segments with WARC records, and the files that these are in.
func sharing(t *testing.T, e *engine.Engine) (segments, files int) {
	t.Helper()
	list, err := e.Store().SegmentList()
	if err != nil {
		t.Fatal(err)
	}
	for _, seg := range list {
		if len(seg.WARC) > 0 {
			segments++
		}
	}
	return segments, len(storage.WARCParts(list))
}

// cdxReadsBack reads every capture that the exported index names at the place that it names, and returns how many.
func cdxReadsBack(t *testing.T, e *engine.Engine, o engine.Options) (n int) {
	t.Helper()
	var lines bytes.Buffer
	if err := e.Inspect().ExportCDXJ(context.Background(), &lines); err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(lines.Bytes()) {
		_, object, _ := bytes.Cut(line, []byte(" {"))
		var c struct{ URL, Offset, Length, Filename, Digest string }
		if err := json.Unmarshal(append([]byte("{"), object...), &c); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		data, err := os.ReadFile(filepath.Join(o.Dir, "warc", c.Filename))
		if err != nil {
			t.Fatal(err)
		}
		offset, err := strconv.ParseInt(c.Offset, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		length, err := strconv.ParseInt(c.Length, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		at := warc.Location{File: c.Filename, Offset: offset, Length: length}
		rec, err := warc.ReadAt(bytes.NewReader(data), int64(len(data)), at)
		if err != nil || rec.URI != c.URL || rec.Field("WARC-Payload-Digest") != c.Digest {
			t.Fatalf("%s: %+v, %v", line, rec, err)
		}
		n++
	}
	return n
}
