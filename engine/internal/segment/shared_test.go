// SPDX-License-Identifier: Apache-2.0

package segment_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/warc"
)

// sharing is a crawl of a few URLs, again and again, into small segments and smaller WARC files, on a disk that can
// lose what was not synced. It knows what must be where.
type sharing struct {
	*rapid.T
	tb    testing.TB
	fs    *storage.CrashableFS
	store *storage.Store
	*segment.Segments
	max int64 // bytes of a WARC file

	now    time.Time
	open   *segment.Writer
	ended  []*segment.Writer
	bodies map[string]string // what was fetched, by URL and time
	// acked are the newest fetches that were acknowledged, by URL; fresh are those stored since the last sync.
	acked, fresh map[string]string
	deleted      map[string]bool // URLs
}

const (
	sharedURLs = 6
	// sharedDir is in a directory of which the store makes sure that a power loss leaves it.
	sharedDir = "store/warc"
)

func (x *sharing) must(err error) {
	x.Helper()
	if err != nil {
		x.Fatal(err)
	}
}

// start is what a new process does: it seals what the one before has left open.
func (x *sharing) start() {
	store, err := storage.Open("store", storage.Options{FS: x.fs, MemTableBytes: 256 << 10})
	x.must(err)
	x.store, x.ended = store, nil
	x.must(store.WARCFS().MkdirAll(sharedDir))
	x.Segments = segment.New(segment.Env{
		Store: store, FS: store.WARCFS(), Dir: sharedDir, Now: func() time.Time { return x.now }, Agent: "seine",
		FileBytes: x.max, FileAge: time.Hour,
		Sorter: func(combine func(dst, a, b []byte) []byte) *storage.Sorter {
			return storage.NewSorter(storage.SorterOptions{Dir: store.SortDir(), FS: x.fs, Combine: combine})
		},
	})
	list, err := store.SegmentList()
	x.must(err)
	unknown, err := x.Survey(ctx, list)
	x.must(err)
	if len(unknown) > 0 {
		x.Fatalf("segments %v are in no store", unknown)
	}
	for _, seg := range list {
		if seg.State == storage.SegmentOpen {
			_, err := x.Seal(ctx, seg)
			x.must(err)
		}
	}
	x.open, err = x.Create()
	x.must(err)
}

// fetch stores a version of a URL.
func (x *sharing) fetch() {
	url := fmt.Sprintf("http://h.example/%d", rapid.IntRange(0, sharedURLs-1).Draw(x.T, "url"))
	x.now = x.now.Add(time.Second)
	words := rapid.IntRange(0, 200).Draw(x.T, "words")
	body := fmt.Sprintf("<p>%s at %s %s", url, x.now, strings.Repeat("word ", words))
	a := response(x.tb, url, "HTTP/1.1 200 OK\nContent-Type: text/html", body, "")
	a.Response.Start, a.Response.End, a.At = x.now, x.now, x.now
	var s segment.Scratch
	_, err := x.open.Store(a, &s)
	x.must(err)
	x.bodies[versionKey(url, x.now.UnixMilli())] = body
	x.fresh[url] = body
	delete(x.deleted, url)
}

func versionKey(url string, ms int64) string { return fmt.Sprint(url, " ", ms) }

func (x *sharing) sync(w *segment.Writer) {
	_, err := w.Sync()
	x.must(err)
	maps.Copy(x.acked, x.fresh)
	clear(x.fresh)
}

// rotate begins the next segment.
func (x *sharing) rotate() {
	x.sync(x.open)
	next, err := x.Create()
	x.must(err)
	x.open.End()
	x.ended, x.open = append(x.ended, x.open), next
}

// seal seals one of the segments that have ended, or all of them.
func (x *sharing) seal(n int) {
	for range n {
		if len(x.ended) == 0 {
			return
		}
		i := rapid.IntRange(0, len(x.ended)-1).Draw(x.T, "seal")
		_, err := x.ended[i].Finish(ctx)
		x.must(err)
		x.ended = slices.Delete(x.ended, i, i+1)
	}
}

// link takes sealed segments to linked in order, and crawldb with them, up to the first that is open.
func (x *sharing) link() {
	list, err := x.store.SegmentList()
	x.must(err)
	for _, seg := range list {
		if seg.State == storage.SegmentOpen {
			return
		}
		for seg.State < storage.SegmentLinked {
			ing := x.store.NewIngestion()
			if seg.State++; seg.State == storage.SegmentUpdated {
				sc := x.store.Scan(storage.ParseLinks(seg.Number), nil, nil)
				for sc.Next() {
					r := storage.Record{Status: storage.StatusFetched, Segment: seg.Number}
					x.must(ing.Table(storage.Crawldb()).Set(sc.Key(), storage.AppendRecord(nil, &r)))
				}
				x.must(sc.Close())
			}
			x.must(ing.PutSegment(seg))
			x.must(ing.Commit())
		}
	}
}

// remove deletes a URL as package phases does, if no segment that is not linked has it.
func (x *sharing) remove(url string) {
	if x.fresh[url] != "" || len(x.ended) > 0 {
		return
	}
	x.rotate()
	x.seal(1)
	x.link()
	key := []byte(parseURL(x.tb, url).Key())
	list, err := x.store.SegmentList()
	x.must(err)
	sc := x.store.Scan(storage.CDXRange(), storage.AppendCDXKey(nil, key, 0), storage.AppendCDXKey(nil, key, 1<<62))
	defer sc.Close()
	x.must(x.store.Apply(func(b *storage.Batch) error {
		for sc.Next() {
			var c storage.CDX
			x.must(storage.DecodeCDX(sc.Value(), &c))
			x.must(b.Delete(storage.CDXRange(), sc.Key()))
			x.must(b.Set(storage.Meta(), storage.AppendDeletedInKey(nil, c.Segment), nil))
		}
		for _, seg := range list {
			x.must(b.Delete(storage.ParseLinks(seg.Number), key))
			x.must(b.Delete(storage.ParseTextRange(seg.Number), key))
		}
		return b.Delete(storage.Crawldb(), key)
	}))
	delete(x.acked, url)
	x.deleted[url] = true
}

// end ends the process. What is acknowledged by then stays.
func (x *sharing) end(percent int, seed uint64) {
	left := x.fs.Crash(percent, seed)
	x.seal(len(x.ended))
	x.must(x.open.Abandon())
	x.must(x.store.Close())
	x.fs = left
	clear(x.fresh) // may be there or not
}

// check reads everything that the store names, and everything that sealed segments have in files. whole says that all
// segments are sealed: then what was acknowledged is there.
func (x *sharing) check(whole bool) {
	x.Helper()
	list, err := x.store.SegmentList()
	x.must(err)
	newest := map[string]string{}
	sc := x.store.Scan(storage.CDXRange(), nil, nil)
	defer sc.Close()
	for sc.Next() {
		var c storage.CDX
		x.must(storage.DecodeCDX(sc.Value(), &c))
		_, ms, err := storage.SplitCDXKey(sc.Key())
		x.must(err)
		if seg := list[c.Segment-1]; !slices.ContainsFunc(seg.WARC, func(f storage.WARCFile) bool {
			return f.Holds(c.Location)
		}) {
			x.Fatalf("%+v is not in %+v", c, seg)
		}
		rec := x.read(c.Location)
		_, body, err := rec.HTTP()
		x.must(err)
		if want := x.bodies[versionKey(rec.URI, ms)]; string(body) != want {
			x.Fatalf("%s at %d is %q, want %q", rec.URI, ms, body, want)
		}
		newest[rec.URI] = string(body)
	}
	x.must(sc.Err())
	for url, body := range x.acked {
		if whole && (newest[url] == "" || versionOf(newest[url]) < versionOf(body)) {
			x.Fatalf("%s has %.60q, want %.60q or newer", url, newest[url], body)
		}
	}
	for name, parts := range storage.WARCParts(list) {
		x.checkFile(name, parts)
	}
}

// versionOf is the time in a body.
func versionOf(body string) string {
	_, rest, _ := strings.Cut(body, " at ")
	return rest[:len("2026-03-04 05:06:07")]
}

// read reads a record.
func (x *sharing) read(l warc.Location) *warc.Record {
	x.Helper()
	f, size := x.file(l.File)
	defer f.Close()
	rec, err := warc.ReadAt(f, size, l)
	x.must(err)
	return rec
}

func (x *sharing) file(name string) (f warc.File, size int64) {
	x.Helper()
	size, err := x.store.WARCFS().Size(sharedDir + "/" + name)
	x.must(err)
	f, err = x.store.WARCFS().Open(sharedDir + "/" + name)
	x.must(err)
	return f, size
}

// checkFile: parts of sealed segments are sound, have as many records as they say, and overlap nowhere.
func (x *sharing) checkFile(name string, parts []storage.WARCPart) {
	x.Helper()
	f, _ := x.file(name)
	defer f.Close()
	at := int64(0)
	for _, p := range parts {
		n := uint64(0)
		x.must(warc.ScanPart(f, name, p.Start, p.End(), func(*warc.Record) error { n++; return nil },
			func(fault warc.Fault) error { return fmt.Errorf("%s: segment %d: %v", name, p.Segment, fault) }))
		if n != p.Records || p.Start < at {
			x.Fatalf("%s: %+v after %d has %d records", name, p, at, n)
		}
		at = p.End()
	}
}

// TestSharedFiles: whatever the order of pages, segments, files, crashes, deletions and purges, every page that was
// acknowledged reads back its own bytes, and a page that was deleted is in no file after a purge of everything.
func TestSharedFiles(t *testing.T) {
	checks := flag.Lookup("rapid.checks")
	if was := checks.Value.String(); was == checks.DefValue { // each opens a store several times
		if err := checks.Value.Set("20"); err != nil {
			t.Fatal(err)
		}
		defer checks.Value.Set(was)
	}
	rapid.Check(t, func(rt *rapid.T) {
		x := &sharing{
			T: rt, tb: t, fs: storage.NewCrashableFS(), now: start,
			bodies: map[string]string{}, acked: map[string]string{},
			fresh: map[string]string{}, deleted: map[string]bool{}, max: rapid.Int64Range(1, 20_000).Draw(rt, "max"),
		}
		x.start()
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			switch rapid.IntRange(0, 15).Draw(rt, "step") {
			default:
				x.fetch()
			case 6:
				x.sync(x.open)
			case 7, 8:
				x.rotate()
			case 9, 10:
				x.seal(1)
			case 11:
				x.link()
			case 12:
				x.remove(fmt.Sprintf("http://h.example/%d", rapid.IntRange(0, sharedURLs-1).Draw(rt, "url")))
			case 13:
				_, err := x.Purge(ctx, nil)
				x.must(err)
				x.check(false)
			case 14:
				x.now = x.now.Add(20 * time.Minute)
			case 15:
				x.end(rapid.SampledFrom([]int{0, 50, 100}).Draw(rt, "percent"), rapid.Uint64().Draw(rt, "seed"))
				x.start()
				x.check(true)
			}
		}
		x.end(100, 0)
		x.start()
		x.must(x.open.Abandon())
		_, err := x.Seal(ctx, storage.Segment{Number: x.open.Number(), State: storage.SegmentOpen, Created: x.now})
		x.must(err)
		x.link()
		_, err = x.Purge(ctx, nil)
		x.must(err)
		x.check(true)
		x.checkDeleted()
		x.must(x.store.Close())
	})
}

// checkDeleted: no file holds a deleted page, and no segment is said to.
func (x *sharing) checkDeleted() {
	x.Helper()
	if marked, err := x.store.DeletedIn(); err != nil || len(marked) > 0 {
		x.Fatalf("marked: %v, %v", marked, err)
	}
	names, err := x.store.WARCFS().List(sharedDir)
	x.must(err)
	for _, name := range names {
		f, size := x.file(name)
		b := make([]byte, size)
		_, err := f.ReadAt(b, 0)
		x.must(err)
		x.must(f.Close())
		r := warc.NewReader(bytes.NewReader(b), size)
		for {
			rec, err := r.Next()
			if err != nil {
				break
			}
			if rec.Type == warc.TypeResponse && x.deleted[rec.URI] {
				x.Fatalf("%s holds %s at %d", name, rec.URI, rec.Offset)
			}
		}
	}
}
