// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
)

// sentWorld is a directory of a crawl that was sent to two engines. Only the second was told that a page was deleted
// since.
func sentWorld(t *testing.T) (o engine.Options, behind, current *remote, gone string) {
	t.Helper()
	w := newWorld(t, 3, 60)
	behind, current = newRemote(t), newRemote(t)
	current.name = "current"
	o = w.options(dataDir(t))
	o.IndexWriters = []policy.IndexWriter{behind, current}
	e := open(t, o)
	if _, err := e.Crawl(ctx, engine.CrawlOptions{Inject: w.seeds()}); err != nil {
		t.Fatal(err)
	}
	mustClose(t, e)
	o.IndexWriters = []policy.IndexWriter{current}
	e = open(t, o)
	gone = slices.Sorted(maps.Keys(current.docs))[len(current.docs)/2]
	if _, err := e.Delete(ctx, gone); err != nil {
		t.Fatal(err)
	}
	current.equals(t, e)
	mustClose(t, e)
	o.IndexWriters = []policy.IndexWriter{behind, current}
	return o, behind, current, gone
}

// TestSendRepair: after a repair each engine gets what it missed, as if there had been no damage, and deletions too.
// What the old store has of an engine and cannot be decoded is left behind.
func TestSendRepair(t *testing.T) {
	o, behind, current, gone := sentWorld(t)
	s, err := storage.Open(filepath.Join(o.Dir, "store"), storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	number, err := s.SentNumber(behind.name)
	if err == nil {
		err = s.Apply(func(b *storage.Batch) error {
			return b.Set(storage.SentRange(number), []byte("example,never,)/ http"), []byte{0})
		})
	}
	if err == nil {
		err = s.PutSettings(map[string]string{"index-writer lost": "none"})
	}
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	what := spoil(t, rand.New(rand.NewPCG(1, 1)), o.Dir, "request", "", false)
	r, err := engine.Repair(ctx, o)
	if err != nil || what == "" || r.Found.Problems < 3 || r.Left.Problems > 0 {
		t.Fatalf("%s: %v: %s\n%s\n%s", what, err, r, r.Found, r.Left)
	}
	documents := len(behind.docs)
	behind.changes, behind.deleted, current.changes = 0, 0, 0
	e := open(t, o)
	defer mustClose(t, e)
	if _, err := e.Index(ctx, engine.IndexOptions{}); err != nil {
		t.Fatal(err)
	}
	behind.equals(t, e)
	current.equals(t, e)
	_, kept := behind.docs[gone]
	if kept || behind.deleted != 1 || behind.changes >= documents || current.changes > 0 {
		t.Errorf("%s there: %t; %d deletions, %d and %d changes for %d documents",
			gone, kept, behind.deleted, behind.changes, current.changes, documents)
	}
}

// TestSendRebuild: a store that is made of WARC files alone does not know what was sent. All documents are sent again,
// and what was deleted meanwhile stays in the other engine.
func TestSendRebuild(t *testing.T) {
	o, behind, current, gone := sentWorld(t)
	o.IndexWriters = []policy.IndexWriter{current}
	e := open(t, o)
	if _, err := e.Purge(ctx); err != nil { // else the page is back
		t.Fatal(err)
	}
	current.equals(t, e)
	mustClose(t, e)
	current.changes = 0
	o.IndexWriters = append(o.IndexWriters, behind)
	if err := os.RemoveAll(filepath.Join(o.Dir, "store")); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Rebuild(ctx, o); err != nil {
		t.Fatal(err)
	}
	e = open(t, o)
	defer mustClose(t, e)
	if _, err := e.Index(ctx, engine.IndexOptions{}); err != nil {
		t.Fatal(err)
	}
	current.equals(t, e)
	if current.changes != len(current.docs) {
		t.Errorf("%d changes for %d documents", current.changes, len(current.docs))
	}
	if _, kept := behind.docs[gone]; !kept || len(behind.docs) != len(current.docs)+1 {
		t.Errorf("%d documents, %d in the index", len(behind.docs), len(current.docs))
	}
}
