// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/storage"
)

var ctx = context.Background()

// withoutScores is a digest without the scores: not all of them follow from the WARC files.
func withoutScores(digest string) string {
	return regexp.MustCompile(` score=\S+`).ReplaceAllString(digest, "")
}

// crawled is a directory with a whole crawl, and its digest.
func crawled(t *testing.T, w equalWeb) (o engine.Options, want string) {
	t.Helper()
	o = w.options(dataDir(t))
	crawlInTurns(t, o, w.seeds, 0)
	return o, digestOf(t, o)
}

// TestRebuild: a store that is made of the WARC files alone equals the one that was lost: statuses, signatures, links
// and index; also when a first rebuild was interrupted.
func TestRebuild(t *testing.T) {
	for name, start := range equalWebs {
		t.Run(name, func(t *testing.T) {
			o, want := crawled(t, start(t))
			if _, err := engine.Rebuild(ctx, o); err == nil || !strings.Contains(err.Error(), "there is a store") {
				t.Errorf("beside a store: %v", err)
			}
			if err := os.RemoveAll(filepath.Join(o.Dir, "store")); err != nil {
				t.Fatal(err)
			}
			_, err := engine.Open(o)
			if !errors.Is(err, engine.ErrDamaged) || !strings.Contains(err.Error(), "rebuild") {
				t.Errorf("WARC files without a store: %v", err)
			}
			canceled, cancel := context.WithCancel(ctx)
			cancel()
			if _, err := engine.Rebuild(canceled, o); !errors.Is(err, context.Canceled) {
				t.Errorf("canceled: %v", err)
			}
			r, err := engine.Rebuild(ctx, o)
			if err != nil || r.Segments == 0 || len(r.Changed) > 0 {
				t.Fatalf("%s, %v", r, err)
			}
			e := open(t, o)
			defer mustClose(t, e)
			verify(t, e)
			sameDigest(t, digest(t, e), want)
			if t.Failed() {
				t.Log(r)
			}
		})
	}
}

// TestRepairKeeps: what no WARC file says survives a repair: seeds that were not fetched, their scores, deletions, and
// a fetchlist.
func TestRepairKeeps(t *testing.T) {
	web := anyHostWeb(t, 4, 10)
	o, _ := crawled(t, web)
	e := open(t, o)
	const unfetched = "http://never.example/"
	if _, err := e.Inject(ctx, seeds(unfetched+"\tnutch.score=7\tnote=kept")); err != nil {
		t.Fatal(err)
	}
	var gone string
	for r, err := range e.Inspect().Records(ctx, engine.RecordFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Status.String() == "db_fetched" && r.Depth > 0 {
			gone = r.URL
		}
	}
	if _, err := e.Delete(ctx, gone); err != nil {
		t.Fatal(err)
	}
	list, err := e.Generate(ctx, engine.GenerateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	verify(t, e)
	want := digest(t, e)
	mustClose(t, e)
	rng := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		record, files string
		cut           bool
	}{{record: "request"}, {files: "*.sst"}, {files: "*.sst", cut: true}} {
		what := spoil(t, rng, o.Dir, c.record, c.files, c.cut)
		r, err := engine.Repair(ctx, o)
		if err != nil || r.Found.Problems == 0 || r.Left.Problems > 0 {
			t.Fatalf("%s: %v: %s\n%s\n%s", what, err, r, r.Found, r.Left)
		}
		if again, err := engine.Repair(ctx, o); err != nil || again.Found.Problems > 0 || again.Damaged != "" {
			t.Errorf("%s: repaired again: %v: %s", what, err, again)
		}
		e = open(t, o)
		if c.record != "" { // all of the old store could be read
			sameDigest(t, digest(t, e), want)
			if _, err := e.Inspect().Record(gone); !errors.Is(err, engine.ErrNotFound) {
				t.Errorf("%s: what was deleted is back: %v", what, err)
			}
			seg, err := e.Inspect().Segment(list.Segment)
			if err != nil || !seg.Batch || seg.State.String() != "open" {
				t.Errorf("%s: the fetchlist's segment: %+v, %v", what, seg, err)
			}
			kept, err := e.Inspect().Record(unfetched)
			if err != nil || kept.Score != 7 || len(kept.Meta) != 1 {
				t.Errorf("%s: %+v, %v", what, kept, err)
			}
		}
		mustClose(t, e)
	}
}

// TestReadOnly: an engine that is open for reading only changes no file, also of a directory that a killed process
// left, and refuses to write.
func TestReadOnly(t *testing.T) {
	web := anyHostWeb(t, 4, 10)
	o := web.options(dataDir(t))
	killMidway(t, web, o)
	before := filesOf(t, o.Dir)
	o.ReadOnly = true
	e := open(t, o)
	verify(t, e)
	if _, err := e.Search(ctx, "harbour", engine.SearchOptions{Deadline: patient}); err != nil {
		t.Error(err)
	}
	digest(t, e)
	if _, err := e.Inject(ctx, web.seeds); !errors.Is(err, engine.ErrReadOnly) {
		t.Errorf("inject: %v", err)
	}
	if _, err := e.Crawl(ctx, engine.CrawlOptions{}); !errors.Is(err, engine.ErrReadOnly) {
		t.Errorf("crawl: %v", err)
	}
	mustClose(t, e)
	if after := filesOf(t, o.Dir); !maps.Equal(before, after) {
		t.Errorf("files changed: %q, before %q", slices.Sorted(maps.Keys(after)), slices.Sorted(maps.Keys(before)))
	}
}

// TestReadsOlderFormat: what an older program wrote is read as it is, and no file changes.
func TestReadsOlderFormat(t *testing.T) {
	o, want := crawled(t, anyHostWeb(t, 4, 10))
	e := open(t, o)
	err := e.Store().Apply(func(b *storage.Batch) error { return b.Set(storage.Meta(), []byte("format"), []byte("6")) })
	if err != nil {
		t.Fatal(err)
	}
	mustClose(t, e)
	before := filesOf(t, o.Dir)
	o.ReadOnly = true
	e = open(t, o)
	sameDigest(t, digest(t, e), want)
	if hits, err := e.Search(ctx, "harbour", engine.SearchOptions{Deadline: patient}); err != nil || hits.Total == 0 {
		t.Errorf("%d hits, %v", hits.Total, err)
	}
	for s, err := range e.Inspect().Segments(ctx) {
		if err != nil || s.State != storage.SegmentIndexed {
			t.Errorf("%+v, %v", s, err)
		}
	}
	mustClose(t, e)
	if r, err := engine.Verify(ctx, o); err != nil || r.Problems > 0 {
		t.Errorf("%v: %s", err, r)
	}
	if after := filesOf(t, o.Dir); !maps.Equal(before, after) {
		t.Errorf("files changed: %q, before %q", slices.Sorted(maps.Keys(after)), slices.Sorted(maps.Keys(before)))
	}
}

// filesOf returns the contents of all files below a directory.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			b, rerr := os.ReadFile(path)
			files[path], err = string(b), rerr
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestLostFiles: without its WARC files, or one of them, a directory can be read but not crawled, and the error says
// what helps; so it is beside a lost store.
func TestLostFiles(t *testing.T) {
	web := anyHostWeb(t, 4, 10)
	o, _ := crawled(t, web)
	names, err := filepath.Glob(filepath.Join(o.Dir, "warc", "*"))
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range append(names[:1:1], filepath.Join(o.Dir, "warc")) {
		if err := os.RemoveAll(name); err != nil {
			t.Fatal(err)
		}
		_, err := engine.Open(o)
		if !errors.Is(err, engine.ErrDamaged) || !strings.Contains(err.Error(), "seine verify --dir DIR --repair") {
			t.Errorf("without %s: %v", name, err)
		}
		reading := o
		reading.ReadOnly = true
		digestOf(t, reading)
		r, err := engine.Verify(ctx, o)
		if err != nil || r.Problems < 2 || !strings.Contains(r.String(), "is missing") {
			t.Errorf("without %s: %v: %s", name, err, r)
		}
	}
	r, err := engine.Repair(ctx, o)
	if err != nil || r.Left.Problems > 0 || r.Due == 0 {
		t.Fatalf("%v: %s\n%s", err, r, r.Left)
	}
	crawlInTurns(t, o, web.seeds, 0)
	e := open(t, o)
	defer mustClose(t, e)
	web.check(t, e)
	verify(t, e)
}

// TestRepairReadsOn: one table that is cut short does not cost the rest of the old store. A repair that was interrupted
// while it read the WARC files keeps the directory closed, and the next one ends it.
func TestRepairReadsOn(t *testing.T) {
	web := anyHostWeb(t, 4, 10)
	o, _ := crawled(t, web)
	e := open(t, o)
	const unfetched = "http://never.example/"
	if _, err := e.Inject(ctx, seeds(unfetched+"\tnutch.score=7")); err != nil {
		t.Fatal(err)
	}
	mustClose(t, e)
	tables, err := filepath.Glob(filepath.Join(o.Dir, "store", "*.sst"))
	if err != nil {
		t.Fatal(err)
	}
	var largest string
	size := int64(0)
	for _, name := range tables {
		if info, err := os.Stat(name); err == nil && info.Size() > size {
			largest, size = name, info.Size()
		}
	}
	if err := os.Truncate(largest, size-1); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(o.Dir, "store.rebuild"), 0o755); err != nil {
		t.Fatal(err)
	}
	if e, err := engine.Open(o); !errors.Is(err, engine.ErrDamaged) {
		t.Fatalf("an interrupted repair: %v, %v", e, err)
	}
	r, err := engine.Repair(ctx, o)
	if err != nil || r.Kept == 0 || r.Left.Problems > 0 {
		t.Fatalf("%v: %s\n%s", err, r, r.Left)
	}
	e = open(t, o)
	defer mustClose(t, e)
	if kept, err := e.Inspect().Record(unfetched); err != nil || kept.Score != 7 {
		t.Errorf("%+v, %v", kept, err)
	}
}

// TestRepairLowered: a page whose depth fell and whose record is lost does not wait for ever to pass its depth on.
func TestRepairLowered(t *testing.T) {
	o, _ := crawled(t, anyHostWeb(t, 3, 5))
	s, err := storage.Open(filepath.Join(o.Dir, "store"), storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Apply(func(b *storage.Batch) error {
		return b.Set(storage.LoweredRange(), []byte("example,never,)/ http"), []byte{0})
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	r, err := engine.Repair(ctx, o)
	if err != nil || r.Found.Problems != 1 || r.Left.Problems > 0 {
		t.Fatalf("%v: %s\n%s\n%s", err, r, r.Found, r.Left)
	}
}

// TestRepairKeepsStrays: each repair keeps the files that are none of its own, beside those that earlier ones kept.
func TestRepairKeepsStrays(t *testing.T) {
	o, _ := crawled(t, anyHostWeb(t, 2, 3))
	name := filepath.Join(o.Dir, "warc", "seine-00000077-00000.warc.gz")
	kept := []string{name + ".damaged", name + ".damaged.2", name + ".damaged.3"}
	for i := range kept {
		if err := os.WriteFile(name, fmt.Appendf(nil, "file %d of somebody else", i), 0o644); err != nil {
			t.Fatal(err)
		}
		r, err := engine.Repair(ctx, o)
		if err != nil || r.Left.Problems > 0 {
			t.Fatal(err, r)
		}
	}
	for i, k := range kept {
		text, err := os.ReadFile(k)
		if want := fmt.Sprintf("file %d of somebody else", i); err != nil || string(text) != want {
			t.Errorf("%s has %q, %v, want %q", k, text, err, want)
		}
	}
}

// TestRepairForeign: what came from another directory, and no WARC file has, survives a repair: links in linkdb, links
// that are withheld, and what fetching hosts has cost.
func TestRepairForeign(t *testing.T) {
	fs := storage.NewMemFS()
	_, options := splitWeb(t, fs, 40)
	e := open(t, options("/crawl"))
	splitInto(t, e, engine.SplitDBOptions{Dir: "/part", Part: 1, Parts: 2})
	mustClose(t, e)
	o := options("/part")
	s, err := storage.Open("/part/store", storage.Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	withheld := storage.AppendLinkdbKey(nil, []byte("example,withheld,)/ http"), storage.MergedSegment)
	err = s.Apply(func(b *storage.Batch) error {
		w := storage.Withheld{Reason: storage.WithheldByScope, Link: true}
		return errors.Join(b.Set(storage.WithheldRange(), withheld, storage.AppendWithheld(nil, &w)),
			b.Set(storage.LoweredRange(), []byte("example,never,)/ http"), []byte{0})) // the damage
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	e = open(t, o)
	urls := plan(t, e)
	want, costs := inlinksOf(t, e, urls), hostCosts(t, e)
	mustClose(t, e)
	if len(want) == 0 || !strings.Contains(costs, "received") {
		t.Fatalf("%d links, costs %q", len(want), costs)
	}
	r, err := engine.Repair(ctx, o)
	if err != nil || r.Found.Problems != 1 || r.Left.Problems > 0 {
		t.Fatalf("%v: %s\n%s\n%s", err, r, r.Found, r.Left)
	}
	e = open(t, o)
	defer mustClose(t, e)
	if got := inlinksOf(t, e, urls); !slices.Equal(got, want) {
		t.Errorf("%d links are left of %d", len(got), len(want))
	}
	if got := hostCosts(t, e); got != costs {
		t.Errorf("hosts have cost\n%s\nwant\n%s", got, costs)
	}
	if _, ok, err := e.Store().Get(storage.WithheldRange(), withheld, nil); !ok || err != nil {
		t.Errorf("withheld links are lost: %v", err)
	}
}

// TestRepairSegments: a store whose list of segments cannot be read is read nevertheless, and the report says that
// something is lost.
func TestRepairSegments(t *testing.T) {
	whole, want := crawled(t, anyHostWeb(t, 3, 5))
	e := open(t, whole)
	const unfetched = "http://never.example/"
	if _, err := e.Inject(ctx, seeds(unfetched+"\tnutch.score=7")); err != nil {
		t.Fatal(err)
	}
	mustClose(t, e)
	o := damaged(t, whole, func(kinds []string) bool { return slices.Contains(kinds, "segments") })
	r, err := engine.Repair(ctx, o)
	if err != nil || r.Left.Problems > 0 || r.Unread || r.Gaps == 0 || r.Kept == 0 || r.Due > 0 {
		t.Fatalf("%v: %s\n%s", err, r, r.Left)
	}
	e = open(t, o)
	defer mustClose(t, e)
	if kept, err := e.Inspect().Record(unfetched); err != nil || kept.Score != 7 {
		t.Errorf("%+v, %v", kept, err)
	}
	if _, err := e.Delete(ctx, unfetched); err != nil {
		t.Fatal(err)
	}
	sameDigest(t, digest(t, e), want)
}

// TestRepairLinkdb: links that the WARC files have are not lost with a part of linkdb, and no repair says so.
func TestRepairLinkdb(t *testing.T) {
	whole, _ := crawled(t, anyHostWeb(t, 3, 50))
	// Without neighbours: a small range shares its tables, and what else is lost is told.
	o := damaged(t, whole, func(kinds []string) bool {
		slices.Sort(kinds)
		return slices.Equal(kinds, []string{"linkdb", "tables"})
	})
	r, err := engine.Repair(ctx, o)
	if err != nil || r.Left.Problems > 0 || r.Gaps > 0 {
		t.Errorf("%v: %s\n%s", err, r, r.Left)
	}
}

// damaged copies a directory and damages a place of a table in the copy: the first one of which Verify finds problems
// of the kinds that are meant.
func damaged(t *testing.T, o engine.Options, meant func(kinds []string) bool) engine.Options {
	t.Helper()
	tables, err := filepath.Glob(filepath.Join(o.Dir, "store", "*.sst"))
	if err != nil {
		t.Fatal(err)
	}
	whole := o.Dir
	o.Dir = dataDir(t)
	copyDir(t, whole, o.Dir)
	for _, table := range tables {
		b, err := os.ReadFile(table)
		if err != nil {
			t.Fatal(err)
		}
		copied := filepath.Join(o.Dir, "store", filepath.Base(table))
		for at := 10; at < len(b); at += 4 << 10 {
			b[at] ^= 1
			if err := os.WriteFile(copied, b, 0o666); err != nil {
				t.Fatal(err)
			}
			found, err := engine.Verify(ctx, o)
			if err != nil {
				t.Fatal(err)
			}
			var kinds []string
			for _, k := range found.Kinds {
				kinds = append(kinds, k.Kind)
			}
			if meant(kinds) {
				return o
			}
			b[at] ^= 1
		}
		if err := os.WriteFile(copied, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("no such table")
	return o
}

// hostCosts says what fetching each host has cost.
func hostCosts(t *testing.T, e *engine.Engine) string {
	t.Helper()
	var all strings.Builder
	sc := e.Store().Scan(storage.HostCountsRange(), nil, nil)
	for sc.Next() {
		var c storage.HostCounts
		if err := storage.DecodeHostCounts(sc.Value(), &c); err != nil {
			t.Fatal(err)
		}
		if c.Bytes > 0 {
			fmt.Fprintf(&all, "%s %d bytes received in %d ms\n", sc.Key(), c.Bytes, c.TookMS)
		}
	}
	if err := sc.Close(); err != nil {
		t.Fatal(err)
	}
	return all.String()
}
