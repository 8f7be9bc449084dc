// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
)

// remote is another search engine: it keeps documents by id, refuses versions that are not higher, and fails when a
// test says so.
type remote struct {
	name string

	mu       sync.Mutex
	docs     map[string]policy.IndexDocument
	versions map[string]int64
	visible  int // documents at the last commit
	writes   int
	changes  int
	deleted  int
	fail     func(write int) (before, after error) // around the changes of a write
	refuse   func(c *policy.IndexChange) string
	t        testing.TB
}

func newRemote(t testing.TB) *remote {
	return &remote{name: "remote", docs: map[string]policy.IndexDocument{}, versions: map[string]int64{}, t: t}
}

func (r *remote) Name() string { return r.name }

func (r *remote) Write(ctx context.Context, list []policy.IndexChange) (refused []policy.IndexRefusal, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.writes++
	var before, after error
	if r.fail != nil {
		before, after = r.fail(r.writes)
	}
	if before != nil {
		return nil, before
	}
	if len(list) > policy.IndexChangesMax {
		r.t.Errorf("a batch of %d changes", len(list))
	}
	r.changes += len(list)
	for i := range list {
		c := &list[i]
		if r.refuse != nil {
			if why := r.refuse(c); why != "" {
				refused = append(refused, policy.IndexRefusal{Change: i, Reason: why})
				continue
			}
		}
		if c.Version <= r.versions[c.ID] {
			r.t.Errorf("%s: version %d after %d", c.ID, c.Version, r.versions[c.ID])
		}
		r.versions[c.ID] = c.Version
		if c.Document == nil {
			r.deleted++
			delete(r.docs, c.ID)
		} else {
			r.docs[c.ID] = *c.Document
		}
	}
	return refused, after
}

func (r *remote) Commit(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.visible = len(r.docs)
	return nil
}

// equals compares the remote engine with the index.
func (r *remote) equals(t *testing.T, e *engine.Engine) {
	t.Helper()
	want := map[string]policy.IndexDocument{}
	err := e.Inspect().Documents(context.Background(), func(c *policy.IndexChange) error {
		want[c.ID] = *c.Document
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	stats, err := e.Inspect().IndexStats()
	if err != nil || uint64(len(want)) != stats.Documents {
		t.Errorf("%d documents, the index has %d, %v", len(want), stats.Documents, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	same := func(a, b policy.IndexDocument) bool { return fmt.Sprint(a) == fmt.Sprint(b) }
	if !maps.EqualFunc(r.docs, want, same) {
		for id := range want {
			if !same(r.docs[id], want[id]) {
				t.Errorf("%s:\n%.300v\n%.300v", id, r.docs[id], want[id])
				break
			}
		}
		t.Errorf("it has %d documents, want %d", len(r.docs), len(want))
	}
	if r.visible != len(want) {
		t.Errorf("%d documents are visible, want %d", r.visible, len(want))
	}
}

// TestSend: a crawl sends each document, with all its fields, and the phases one by one the same; what did not change
// is not sent again; documents that leave the index for any reason are deleted.
func TestSend(t *testing.T) {
	w := newWorld(t, 4, 60)
	ctx := context.Background()
	r := newRemote(t)
	o := w.options(t.TempDir())
	o.IndexWriters = []policy.IndexWriter{r}
	o.IndexFilters = []policy.IndexFilter{policy.IndexFilterFunc(
		func(d *index.Document, _ *storage.Record, _ *storage.ParseText) string {
			d.Stored = append(d.Stored, storage.Field{Name: "kind", Value: "page"})
			d.Boost = 2
			return ""
		})}
	e := open(t, o)
	defer mustClose(t, e)
	report, err := e.Crawl(ctx, engine.CrawlOptions{Inject: w.seeds()})
	if err != nil {
		t.Fatal(err)
	}
	r.equals(t, e)
	if len(report.Writers) != 1 || report.Writers[0].Failed != "" ||
		report.Writers[0].Sent-report.Writers[0].Deleted < report.Documents {
		t.Errorf("%+v, %d documents", report.Writers, report.Documents)
	}
	complete := 0
	for id, d := range r.docs {
		if d.URL != id || d.Host == "" || d.Title == "" || d.Text == "" || d.Content == "" || d.Type != "text/html" ||
			d.FetchTime.IsZero() || d.Segment == 0 || len(d.Digest) != 32 || d.Boost != 2 || len(d.Stored) != 1 {
			t.Fatalf("%s: %+v", id, d)
		}
		if len(d.Anchors) > 0 && d.Language != "" {
			complete++
		}
	}
	if complete == 0 {
		t.Error("no document has anchors and a language")
	}

	before := r.writes
	indexed, err := e.Index(ctx, engine.IndexOptions{Refresh: true})
	if err != nil || r.writes != before || len(indexed.Writers) != 1 || indexed.Writers[0].Sent != 0 {
		t.Errorf("%d writes without a change, %v, %+v", r.writes-before, err, indexed)
	}

	ids := slices.Sorted(maps.Keys(r.docs))
	if _, err := e.Delete(ctx, ids[0], ids[len(ids)/2]); err != nil {
		t.Fatal(err)
	}
	if r.deleted == 0 {
		t.Error("nothing was deleted")
	}
	r.equals(t, e)
	if _, err := e.Purge(ctx); err != nil {
		t.Fatal(err)
	}
	r.equals(t, e)

	clear(r.docs) // the other engine lost everything
	if _, err := e.Index(ctx, engine.IndexOptions{Resend: true}); err != nil {
		t.Fatal(err)
	}
	r.equals(t, e)
}

// TestSendBothWays: the phases one by one send what a crawl sends.
func TestSendBothWays(t *testing.T) {
	w := newWorld(t, 3, 40)
	ctx := context.Background()
	var sent [2]*remote
	for way := range sent {
		sent[way] = newRemote(t)
		o := w.options(t.TempDir())
		o.IndexWriters = []policy.IndexWriter{sent[way]}
		e := open(t, o)
		if way == 0 {
			if _, err := e.Crawl(ctx, engine.CrawlOptions{Inject: w.seeds()}); err != nil {
				t.Fatal(err)
			}
		} else {
			if _, err := e.Inject(ctx, w.seeds()); err != nil {
				t.Fatal(err)
			}
			for {
				g, err := e.Generate(ctx, engine.GenerateOptions{})
				if errors.Is(err, engine.ErrNothingDue) {
					break
				}
				if err == nil {
					_, err = e.Fetch(ctx, engine.FetchOptions{Segment: g.Segment})
				}
				if err == nil {
					_, err = e.UpdateDB(ctx, g.Segment)
				}
				if err == nil {
					_, err = e.InvertLinks(ctx, g.Segment)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if _, err := e.Dedup(ctx, engine.DedupOptions{}); err != nil {
				t.Fatal(err)
			}
			if _, err := e.Index(ctx, engine.IndexOptions{Refresh: true}); err != nil {
				t.Fatal(err)
			}
		}
		sent[way].equals(t, e)
		mustClose(t, e)
	}
	a, b := slices.Sorted(maps.Keys(sent[0].docs)), slices.Sorted(maps.Keys(sent[1].docs))
	if !slices.Equal(a, b) {
		t.Errorf("a crawl sent %d documents, the phases %d", len(a), len(b))
	}
}

// TestSendOutage: an engine that is away during a crawl does not fail it, and gets everything from the next run. Writes
// that fail before or after they took effect lose nothing, whichever they are.
func TestSendOutage(t *testing.T) {
	w := newWorld(t, 3, 60)
	ctx := context.Background()
	r := newRemote(t)
	away := errors.New("the engine is away")
	r.fail = func(int) (error, error) { return away, nil }
	var warned []error
	var mu sync.Mutex
	o := w.options(t.TempDir())
	o.IndexWriters = []policy.IndexWriter{r}
	o.Events.Warning = func(err error) {
		mu.Lock()
		defer mu.Unlock()
		warned = append(warned, err)
	}
	e := open(t, o)
	defer mustClose(t, e)
	report, err := e.Crawl(ctx, engine.CrawlOptions{Inject: w.seeds()})
	if err != nil || len(report.Writers) != 1 || !strings.Contains(report.Writers[0].Failed, away.Error()) ||
		!slices.ContainsFunc(warned, func(err error) bool { return errors.Is(err, away) }) {
		t.Fatal(err, report.Writers, warned)
	}
	if _, err := e.Index(ctx, engine.IndexOptions{}); !errors.Is(err, away) {
		t.Error(err)
	}
	r.fail = func(write int) (before, after error) {
		switch write % 3 {
		case 0:
			return away, nil
		case 1:
			return nil, away
		}
		return nil, nil
	}
	for range 50 {
		if _, err = e.Index(ctx, engine.IndexOptions{Resend: errors.Is(err, away) && r.writes < 10}); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	r.equals(t, e)
}

// TestSendCrash: a power failure at any write loses no document and no deletion, and at most one batch is sent twice.
func TestSendCrash(t *testing.T) {
	w := newWorld(t, 3, 250)
	ctx := context.Background()
	fs := storage.NewCrashableFS()
	o := w.options("data")
	o.FS = fs
	e := open(t, o)
	if _, err := e.Crawl(ctx, engine.CrawlOptions{Inject: w.seeds()}); err != nil {
		t.Fatal(err)
	}
	mustClose(t, e)
	for stop := 1; ; stop++ {
		disk, r := fs.Crash(100, uint64(stop)), newRemote(t)
		var crashed *storage.CrashableFS
		r.fail = func(write int) (error, error) {
			if write == stop { // it took effect, and nobody notes it
				crashed = disk.Crash(0, uint64(stop))
			}
			return nil, nil
		}
		o.FS, o.IndexWriters = disk, []policy.IndexWriter{r}
		o.Memory = 64 << 20
		e := open(t, o)
		if _, err := e.Index(ctx, engine.IndexOptions{}); err != nil {
			t.Fatal(err)
		}
		documents := len(r.docs)
		mustClose(t, e)
		if crashed == nil {
			if stop < 2 {
				t.Error("nothing was written")
			}
			return
		}
		r.fail, o.FS = nil, crashed
		changes := r.changes
		e = open(t, o)
		gone := slices.Sorted(maps.Keys(r.docs))[0]
		if _, err := e.Delete(ctx, gone); err != nil { // also of a document of which nobody noted that it was sent
			t.Fatal(err)
		}
		r.equals(t, e)
		if r.deleted == 0 || r.changes-changes > documents {
			t.Errorf("after a crash at write %d: %d deletions, %d changes", stop, r.deleted, r.changes-changes)
		}
		mustClose(t, e)
	}
}

// TestSendRefusals: documents that are refused are reported and not sent again, until all are to be; a batch of which
// all are refused ends the run, and nothing of it counts as sent.
func TestSendRefusals(t *testing.T) {
	w := newWorld(t, 2, 60)
	ctx := context.Background()
	r := newRemote(t)
	refused := ""
	r.refuse = func(c *policy.IndexChange) string {
		if refused == "" {
			refused = c.ID
		}
		if c.ID == refused {
			return "no such field"
		}
		return ""
	}
	var warned []string
	var mu sync.Mutex
	o := w.options(t.TempDir())
	o.IndexWriters = []policy.IndexWriter{r}
	o.Events.Warning = func(err error) {
		mu.Lock()
		defer mu.Unlock()
		warned = append(warned, err.Error())
	}
	e := open(t, o)
	defer mustClose(t, e)
	report, err := e.Crawl(ctx, engine.CrawlOptions{Inject: w.seeds()})
	told := slices.Contains(warned, "remote refuses "+refused+": no such field")
	if err != nil || report.Writers[0].Refused == 0 || !told {
		t.Fatal(err, report.Writers, warned)
	}
	stats, err := e.Inspect().IndexStats()
	if err != nil || uint64(len(r.docs)) != stats.Documents-1 {
		t.Error(err, len(r.docs), stats.Documents)
	}
	writes := r.writes
	if _, err := e.Index(ctx, engine.IndexOptions{Refresh: true}); err != nil || r.writes != writes {
		t.Error(err, r.writes-writes)
	}
	r.refuse = func(*policy.IndexChange) string { return "no such index" }
	_, err = e.Index(ctx, engine.IndexOptions{Resend: true})
	if err == nil || !strings.Contains(err.Error(), "no such index") {
		t.Error(err)
	}
	r.refuse = nil
	if _, err := e.Index(ctx, engine.IndexOptions{}); err != nil {
		t.Error(err)
	}
	r.equals(t, e)
}

// TestSendAtTheEnd: while the end of a crawl waits for an index writer, the progress names it.
func TestSendAtTheEnd(t *testing.T) {
	w := newWorld(t, 2, 20)
	r := newRemote(t)
	var settling atomic.Bool
	named := make(chan struct{})
	r.fail = func(int) (error, error) {
		if !settling.Load() {
			return errors.New("not yet"), nil
		}
		<-named
		return nil, nil
	}
	o := w.options(t.TempDir())
	o.IndexWriters = []policy.IndexWriter{r}
	e := open(t, o)
	defer mustClose(t, e)
	var last engine.Progress
	once := sync.OnceFunc(func() { close(named) })
	report, err := e.Crawl(context.Background(), engine.CrawlOptions{
		Inject: w.seeds(), ProgressEvery: time.Millisecond, Progress: func(p engine.Progress) {
			if last = p; p.Phase == "settling" {
				settling.Store(true)
			}
			if p.Cause.Kind == engine.CauseWriter {
				if p.Phase != "settling" || !strings.Contains(p.Cause.Text, "remote") {
					t.Errorf("%s: %s", p.Phase, p.Cause)
				}
				once()
			}
		},
	})
	if err != nil || len(report.Writers) != 1 || report.Writers[0].Failed != "" || last.Cause.Kind != engine.CauseDone {
		t.Error(err, report.Writers, last.Cause)
	}
	r.equals(t, e)
}

// TestSendFails: what a call did before it could not send is in its report, and the error says whose fault it is.
func TestSendFails(t *testing.T) {
	w := newWorld(t, 2, 20)
	r := newRemote(t)
	o := w.options(t.TempDir())
	o.IndexWriters = []policy.IndexWriter{r}
	e := open(t, o)
	defer mustClose(t, e)
	if _, err := e.Crawl(ctx, engine.CrawlOptions{Inject: w.seeds()}); err != nil {
		t.Fatal(err)
	}
	away := errors.New("the engine is away")
	r.fail = func(int) (error, error) { return away, nil }
	d, err := e.Delete(ctx, slices.Sorted(maps.Keys(r.docs))[0])
	if !errors.Is(err, away) || !errors.Is(err, engine.ErrNotSent) || d.Documents != 1 || len(d.Writers) != 1 ||
		d.Took == 0 {
		t.Errorf("%v: %s", err, d)
	}
	p, err := e.Purge(ctx)
	if !errors.Is(err, engine.ErrNotSent) || p.Captures != 1 || !strings.Contains(p.String(), "the rest waits") {
		t.Errorf("%v: %s", err, p)
	}
	r.fail = nil
	if p, err = e.Purge(ctx); err != nil || len(p.Writers) != 1 || p.Writers[0].Deleted != 1 {
		t.Errorf("%v: %s", err, p)
	}
	r.equals(t, e)
}
