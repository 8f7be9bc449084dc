// SPDX-License-Identifier: Apache-2.0

package segment_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/warc"
)

// sealed stores what was fetched as one segment.
func (w *world) sealed(attempts ...*segment.Attempt) uint32 {
	w.Helper()
	open := w.create()
	w.storeAll(open, attempts...)
	open.End()
	_, err := open.Finish(ctx)
	w.must(err)
	return open.Number()
}

// linked takes sealed segments to linked. content says of URLs in which segment crawldb has their content.
func (w *world) linked(content map[string]uint32, numbers ...uint32) {
	w.Helper()
	for _, number := range numbers {
		for seg := w.record(number); seg.State < storage.SegmentLinked; {
			seg.State++
			ing := w.store.NewIngestion()
			w.must(ing.PutSegment(seg))
			w.must(ing.Commit())
		}
	}
	w.must(w.store.Apply(func(b *storage.Batch) error {
		for url, number := range content {
			r := storage.Record{Status: storage.StatusFetched, Segment: number}
			key := []byte(parseURL(w.TB, url).Key())
			if err := b.Set(storage.Crawldb(), key, storage.AppendRecord(nil, &r)); err != nil {
				return err
			}
		}
		return nil
	}))
}

// TestPurgeReplaced: of a segment go the parse records that are neither the content of their URL nor its newest fetch,
// with their links; a file without any other goes with its captures; and all of it is counted. Files of others stay.
func TestPurgeReplaced(t *testing.T) {
	w := newWorld(t)
	const again, once, kept, late = "http://h.example/again", "http://h.example/once", "http://h.example/kept",
		"http://h.example/late"
	first := w.sealed(page(t, again), failed(t, late, fetch.FailDNS))
	file := w.path(first, 0)
	size, err := w.files.Size(file)
	w.must(err)
	at := func(a *segment.Attempt, minutes int) *segment.Attempt {
		a.At = a.At.Add(time.Duration(minutes) * time.Minute)
		a.Response.Start, a.Response.End = a.At, a.At
		return a
	}
	second := w.sealed(page(t, once), page(t, kept))
	third := w.sealed(at(page(t, again), 3), at(page(t, late), 3), failed(t, kept, fetch.FailDNS))
	fourth := w.sealed(at(page(t, kept), 4)) // and its content is the old one
	w.linked(map[string]uint32{again: third, once: second, kept: second, late: third}, first, second, third, fourth)
	next := parseURL(t, "http://h.example/next").Key()
	w.must(w.store.Apply(func(b *storage.Batch) error {
		for number, url := range map[uint32]string{first: again, second: once} {
			row := storage.AppendInlinks(nil, []storage.Inlink{{From: parseURL(t, url).Key(), Anchor: "next"}})
			if err := b.Set(storage.Linkdb(), storage.AppendLinkdbKey(nil, []byte(next), number), row); err != nil {
				return err
			}
		}
		return nil
	}))
	// What a crash leaves of a file that is written again goes too; what may be another's stays.
	torn, others := segment.FileName(third, 7), []string{
		segment.FileName(fourth+1, 0), fmt.Sprintf("seine-%d-mine.warc.gz", third), "mine.warc.gz",
	}
	for _, name := range append(others, torn) {
		w.replace(warcDir+"/"+name, []byte("some"))
	}
	var relinked []string
	purged, err := w.Purge(ctx, func(key []byte) error {
		relinked = append(relinked, string(key))
		return nil
	})
	want := segment.Purged{Parsed: 3, Inlinks: 1, Captures: 1, Removed: 1, Bytes: size + int64(len("some"))}
	if err != nil || purged != want {
		t.Errorf("purged %+v (%v), want %+v", purged, err, want)
	}
	if !slices.Equal(relinked, []string{string(next)}) {
		t.Errorf("lost links: %q", relinked)
	}
	links, err := w.store.Inlinks(next, 10)
	if err != nil || len(links) != 1 || links[0].From != parseURL(t, once).Key() {
		t.Errorf("links that are left: %v, %v", links, err)
	}
	key := func(url string) string { return string(parseURL(t, url).Key()) }
	for number, left := range map[uint32]string{
		first: "", second: key(kept) + " " + key(once), third: key(again) + " " + key(late), fourth: key(kept),
	} {
		if keys := w.keys(number); keys != left {
			t.Errorf("segment %d has %q, want %q", number, keys, left)
		}
	}
	if _, err := w.files.Size(file); err == nil || len(w.record(first).WARC) > 0 {
		t.Errorf("%s is left, or %+v", file, w.record(first))
	}
	if names, err := w.files.List(warcDir); err != nil || slices.Contains(names, torn) ||
		slices.ContainsFunc(others, func(name string) bool { return !slices.Contains(names, name) }) {
		t.Errorf("files %q, %v", names, err)
	}
	if purged, err := w.Purge(ctx, nil); err != nil || purged != (segment.Purged{}) {
		t.Errorf("again: %+v, %v", purged, err)
	}
}

// TestPurgeOlderList: the newest fetch of a URL stays also where a later segment has the content: its fetchlist was
// fetched after a newer one.
func TestPurgeOlderList(t *testing.T) {
	w := newWorld(t)
	const moved, other = "http://h.example/moved", "http://h.example/other"
	late := page(t, moved)
	late.At = late.At.Add(time.Minute)
	late.Response.Start, late.Response.End = late.At, late.At
	first := w.sealed(late)
	second := w.sealed(page(t, moved), page(t, other))
	w.linked(map[string]uint32{moved: second, other: second}, first, second)
	if purged, err := w.Purge(ctx, nil); err != nil || purged != (segment.Purged{}) {
		t.Errorf("purged %+v, %v", purged, err)
	}
	if keys := w.keys(first); keys != string(parseURL(t, moved).Key()) {
		t.Errorf("segment %d has %q", first, keys)
	}
}

// TestPurgeFailures: of a URL without an answer in one segment after another only the newest failure stays, whether
// there is content or not. The others keep no WARC file.
func TestPurgeFailures(t *testing.T) {
	w := newWorld(t)
	const down, lost, other = "http://h.example/down", "http://h.example/lost", "http://h.example/other"
	at := func(a *segment.Attempt, minutes int) *segment.Attempt {
		a.At = start.Add(time.Duration(minutes) * time.Minute)
		return a
	}
	segments := []uint32{w.sealed(page(t, lost))}
	for i := 2; i < 5; i++ {
		segments = append(segments, w.sealed(
			at(failed(t, down, fetch.FailDNS), i), at(failed(t, lost, fetch.FailDNS), i)))
	}
	segments = append(segments, w.sealed(page(t, other)))
	w.linked(map[string]uint32{other: segments[4]}, segments...)
	w.must(w.store.Apply(func(b *storage.Batch) error {
		for url, content := range map[string]uint32{down: 0, lost: segments[0]} {
			r := storage.Record{
				Status: storage.StatusGone, Segment: content, LastFetch: start.Add(4 * time.Minute).UnixMilli(),
			}
			key := []byte(parseURL(t, url).Key())
			if err := b.Set(storage.Crawldb(), key, storage.AppendRecord(nil, &r)); err != nil {
				return err
			}
		}
		return nil
	}))
	purged, err := w.Purge(ctx, nil)
	if err != nil || purged.Parsed != 4 || purged.Removed == 0 {
		t.Errorf("purged %+v, %v", purged, err)
	}
	key := func(url string) string { return string(parseURL(t, url).Key()) }
	for i, left := range []string{key(lost), "", "", key(down) + " " + key(lost), key(other)} {
		if keys := w.keys(segments[i]); keys != left {
			t.Errorf("segment %d has %q, want %q", segments[i], keys, left)
		}
		if files := w.record(segments[i]).WARC; (len(files) == 0) != (left == "") {
			t.Errorf("segment %d has files %+v", segments[i], files)
		}
	}
	if purged, err := w.Purge(ctx, nil); err != nil || purged != (segment.Purged{}) {
		t.Errorf("again: %+v, %v", purged, err)
	}
}

// delete removes URLs of a segment as package phases deletes pages.
func (w *world) delete(number uint32, urls ...string) {
	w.Helper()
	w.must(w.store.Apply(func(b *storage.Batch) error {
		for _, url := range urls {
			key := []byte(parseURL(w.TB, url).Key())
			end := storage.AppendCDXKey(nil, key, 1<<62)
			sc := w.store.Scan(storage.CDXRange(), storage.AppendCDXKey(nil, key, 0), end)
			for sc.Next() {
				w.must(b.Delete(storage.CDXRange(), sc.Key()))
			}
			w.must(sc.Close())
			w.must(b.Delete(storage.ParseLinks(number), key))
			w.must(b.Delete(storage.ParseTextRange(number), key))
		}
		return b.Set(storage.Meta(), storage.AppendDeletedInKey(nil, number), nil)
	}))
}

// TestPurgeWaits: a file with a part of a segment that is not linked yet waits for a later Purge, and so does the mark
// of its deleted pages. Whoever writes it goes on in another file. At last the file is written again without the
// records of these pages, and with all others.
func TestPurgeWaits(t *testing.T) {
	w := newWorld(t)
	const gone, stays, more, other = "http://h.example/gone", "http://h.example/stays", "http://h.example/more",
		"http://h.example/other"
	const same, sameGone = "http://h.example/same", "http://h.example/same/gone"
	const failedGone, failedStays = "http://h.example/failed/gone", "http://h.example/failed/stays"
	old := w.create()
	w.storeAll(old, page(t, gone), failed(t, failedGone, fetch.FailDNS), failed(t, failedStays, fetch.FailDNS),
		page(t, stays), response(t, same, "HTTP/1.1 304 Not Modified", "", ""),
		response(t, sameGone, "HTTP/1.1 304 Not Modified", "", ""))
	open := w.create()
	old.End()
	_, err := old.Finish(ctx)
	w.must(err)
	w.storeAll(open, page(t, more))
	w.linked(map[string]uint32{stays: old.Number(), failedStays: old.Number(), same: old.Number()}, old.Number())
	file := w.path(old.Number(), 0)
	w.delete(old.Number(), gone, failedGone, sameGone)
	records := func(path string, without ...string) (list []string) {
		for _, r := range w.records(path) {
			if r.Type != warc.TypeWarcinfo && !slices.Contains(without, r.URI) {
				list = append(list, fmt.Sprint(r.Type, " ", r.URI))
			}
		}
		return list
	}
	all := records(file)
	waits := func(step string) {
		t.Helper()
		purged, err := w.Purge(ctx, nil)
		marked, markedErr := w.store.DeletedIn()
		if err != nil || markedErr != nil || purged != (segment.Purged{Waiting: 1}) || !marked[old.Number()] {
			t.Errorf("%s: purged %+v, marked %v: %v, %v", step, purged, marked, err, markedErr)
		}
		if list := records(file); !slices.Equal(list, all) {
			t.Errorf("%s: the file has %q, not %q", step, list, all)
		}
	}
	waits("while it is written")
	w.storeAll(open, page(t, other))
	open.End()
	_, err = open.Finish(ctx)
	w.must(err)
	if files := w.record(open.Number()).WARC; len(files) != 2 {
		t.Fatalf("the segment that was written has %+v", files)
	}
	waits("before its other segment is linked")
	was, want := int64(len(w.bytes(file))), records(file, gone, failedGone, sameGone)
	w.linked(map[string]uint32{more: open.Number(), other: open.Number()}, open.Number())
	purged, err := w.Purge(ctx, nil)
	marked, markedErr := w.store.DeletedIn()
	if err != nil || markedErr != nil || purged.Rewritten != 1 || purged.Removed != 0 || purged.Captures != 3 ||
		purged.Waiting != 0 || len(marked) > 0 {
		t.Errorf("at last: purged %+v, marked %v: %v, %v", purged, marked, err, markedErr)
	}
	var left []string
	for _, number := range []uint32{old.Number(), open.Number()} {
		files := w.record(number).WARC
		for _, o := range w.outcomes(number) {
			if !slices.ContainsFunc(files, func(f storage.WARCFile) bool { return f.Holds(o.Location) }) {
				t.Errorf("%+v is not in the files of segment %d: %+v", o.Location, number, files)
			}
		}
		for _, f := range files {
			if path := warcDir + "/" + f.Name; !slices.Contains(left, path) {
				left = append(left, path)
			}
		}
	}
	if now := int64(len(w.bytes(left[0]))); purged.Bytes != was-now {
		t.Errorf("%d bytes less, not %d less %d", purged.Bytes, was, now)
	}
	if slices.Contains(left, file) || len(left) != 2 {
		t.Errorf("files %q", left)
	}
	if list := records(left[0]); len(want) == len(all) || !slices.Equal(list, want) {
		t.Errorf("%s has %q, want %q", left[0], list, want)
	}
}

// sizedFS is a file system that says how much is free.
type sizedFS struct {
	storage.FS
	free, total uint64
}

func (fs *sizedFS) GetDiskUsage(string) (storage.DiskUsage, error) {
	return storage.DiskUsage{AvailBytes: fs.free, TotalBytes: fs.total, UsedBytes: fs.total - fs.free}, nil
}

func (fs *sizedFS) Unwrap() storage.FS { return fs.FS }

const purgeGone, purgeStays, purgeOld, purgeNew = "http://h.example/gone", "http://h.example/stays",
	"http://old.example/", "http://new.example/"

// purgeable has three segments with a file each: a page of the first is deleted, all of the second is replaced by the
// third.
func (w *world) purgeable() {
	w.Helper()
	later := page(w.TB, purgeOld)
	later.At = later.At.Add(time.Minute)
	later.Response.Start, later.Response.End = later.At, later.At
	segments := []uint32{
		w.sealed(page(w.TB, purgeGone), page(w.TB, purgeStays)), w.sealed(page(w.TB, purgeOld)),
		w.sealed(later, page(w.TB, purgeNew)),
	}
	w.linked(map[string]uint32{purgeStays: 1, purgeOld: 3, purgeNew: 3}, segments...)
	w.delete(1, purgeGone)
}

// TestPurgeFullDisk: a WARC file is not written again where that would fill up the disk, from which the store could not
// recover. It waits, and what needs no room is done.
func TestPurgeFullDisk(t *testing.T) {
	fs := &sizedFS{storage.NewMemFS(), 0, 160 << 10}
	w := newWorldOn(t, fs)
	w.purgeable()
	file, replaced := w.path(1, 0), w.path(2, 0)
	fs.free = 10<<10 + uint64(len(w.bytes(file))) - 1 // a 16th of the disk stays free
	purged, err := w.Purge(ctx, nil)
	marked, markedErr := w.store.DeletedIn()
	if !errors.Is(err, syscall.ENOSPC) || markedErr != nil || !marked[1] || purged.Rewritten != 0 ||
		purged.Removed != 1 {
		t.Errorf("purged %+v, marked %v: %v, %v", purged, marked, err, markedErr)
	}
	if _, err := w.files.Size(file); err != nil {
		t.Error(err)
	}
	if _, err := w.files.Size(replaced); err == nil {
		t.Errorf("%s is still there", replaced)
	}
	fs.free++
	purged, err = w.Purge(ctx, nil)
	if marked, markedErr := w.store.DeletedIn(); err != nil || purged.Rewritten != 1 || len(marked) > 0 ||
		markedErr != nil {
		t.Errorf("with room: purged %+v, marked %v: %v, %v", purged, marked, err, markedErr)
	}
	if keys := w.keys(1); keys != string(parseURL(t, purgeStays).Key()) {
		t.Errorf("segment 1 has %q", keys)
	}
}

// TestPurgeFails: what a purge has written before an error is removed at once: it may have filled up the disk. The next
// one does what is left.
func TestPurgeFails(t *testing.T) {
	writes := 0
	for name, fail := range map[string]func(op, file string) error{
		"create": failOn("create"), "first write": failOn("write"), "sync": failOn("sync"),
		"later write": func(op, _ string) error {
			if op == "write" {
				if writes++; writes > 1 {
					return os.ErrPermission
				}
			}
			return nil
		},
		"canceled": nil,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.purgeable()
			within, cancel := context.WithCancel(ctx)
			defer cancel()
			if fail == nil {
				fail = func(op, _ string) error {
					if op == "create" {
						cancel()
					}
					return nil
				}
			}
			want := w.records(w.path(1, 0))
			w.files.failing(fail)
			_, err := w.Purge(within, nil)
			w.files.failing(nil)
			if !errors.Is(err, os.ErrPermission) && !errors.Is(err, context.Canceled) {
				t.Fatalf("%v", err)
			}
			if names, err := w.Files(1); err != nil || len(names) != 1 || len(w.records(w.path(1, 0))) != len(want) {
				t.Errorf("files %q, %v", names, err)
			}
			if purged, err := w.Purge(ctx, nil); err != nil || purged.Rewritten != 1 || purged.Removed != 1 {
				t.Errorf("again: %+v, %v", purged, err)
			}
		})
	}
}
