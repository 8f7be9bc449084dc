// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// slow is far beyond what any step of these tests takes; soon is for what must not happen.
const slow, soon = time.Minute, 50 * time.Millisecond

// gate blocks goroutines that pass it until it opens, at the latest at the end of the test.
type gate struct {
	arrived, opened chan struct{}
	arrive, open    func()
}

func newGate(t *testing.T) *gate {
	g := &gate{arrived: make(chan struct{}), opened: make(chan struct{})}
	g.arrive = sync.OnceFunc(func() { close(g.arrived) })
	g.open = sync.OnceFunc(func() { close(g.opened) })
	t.Cleanup(g.open) // before the index closes, which waits
	return g
}

func (g *gate) pass() {
	g.arrive()
	<-g.opened
}

// gatedContext stops a search at its end, where it reads the context's error and still holds the index.
type gatedContext struct {
	context.Context
	*gate
}

func (c gatedContext) Err() error { c.pass(); return nil }

func await[T any](t *testing.T, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(slow):
		t.Fatalf("%s does not end", what)
	}
	return v
}

func begin[T any](fn func() T) <-chan T {
	c := make(chan T, 1)
	go func() { c <- fn() }()
	return c
}

// commit is put without Refresh.
func commit(t *testing.T, s *storage.Store, x *index.Index, d index.Document) {
	t.Helper()
	ing := s.NewIngestion()
	defer ing.Abort()
	b := x.NewBuilder(ing)
	if err := b.Add(&d); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Finish(); err != nil {
		t.Fatal(err)
	}
	if err := ing.Commit(); err != nil {
		t.Fatal(err)
	}
}

// TestReadersNeverWait: while a Refresh is half way, everything that reads goes on with the index as it was.
func TestReadersNeverWait(t *testing.T) {
	s, x := newStore(t)
	put(t, s, x, []index.Document{doc(0, "net", "net of the crew")})
	digest := mustDigest(t, x)
	commit(t, s, x, doc(1, "net", "another net"))

	g := newGate(t)
	x.OnLoad(func() error { g.pass(); return nil })
	refreshed := begin(x.Refresh)
	await(t, "reaching the segments", g.arrived)
	second := begin(x.Refresh) // waits for its turn

	await(t, "reading beside a Refresh", begin(func() error {
		if n := search(t, x, "net").Total; n != 1 {
			t.Errorf("%d found before the Refresh ends", n)
		}
		if d := mustDigest(t, x); d != digest {
			t.Error("the digest changes before the Refresh ends")
		}
		if st := x.Stats(); st.Documents != 1 {
			t.Errorf("%+v", st)
		}
		if text := x.Snippet(index.ParseQuery("net"), "a net").Text; text != "a net" {
			t.Errorf("%q", text)
		}
		ing := s.NewIngestion()
		defer ing.Abort()
		x.NewBuilder(ing).Abort()
		return nil
	}))
	select {
	case err := <-refreshed:
		t.Fatalf("the Refresh was not blocked: %v", err)
	case err := <-second:
		t.Fatalf("a second Refresh did not take its turn: %v", err)
	case <-time.After(soon):
	}
	g.open()
	if err := errors.Join(await(t, "Refresh", refreshed), await(t, "Refresh", second)); err != nil {
		t.Fatal(err)
	}
	if n := search(t, x, "net").Total; n != 2 {
		t.Errorf("%d found after the Refresh", n)
	}
}

// TestRefreshDuringSearch: a Refresh does not wait for a search, which ends on the index that it began with.
func TestRefreshDuringSearch(t *testing.T) {
	s, x := newStore(t)
	put(t, s, x, []index.Document{doc(0, "net", "net of the crew")})
	g := newGate(t)
	found := begin(func() index.Result {
		r, err := x.Search(gatedContext{context.Background(), g}, "net", index.SearchOptions{Deadline: slow})
		if err != nil {
			t.Error(err)
		}
		return r
	})
	await(t, "searching", g.arrived)
	for n := 1; n < 4; n++ {
		put(t, s, x, []index.Document{doc(n, "net", "another net")})
	}
	if n := search(t, x, "net").Total; n != 4 {
		t.Errorf("%d found beside the old search", n)
	}
	g.open()
	if r := await(t, "Search", found); r.Total != 1 || len(r.Hits) != 1 {
		t.Errorf("the old search finds %d", r.Total)
	}
}

// TestCloseDuringSearch: Close waits for the search, so that the store may be closed after it.
func TestCloseDuringSearch(t *testing.T) {
	s, x := newStore(t)
	put(t, s, x, []index.Document{doc(0, "net", "net of the crew")})
	g := newGate(t)
	found := begin(func() error {
		r, err := x.Search(gatedContext{context.Background(), g}, "net", index.SearchOptions{Deadline: slow})
		if len(r.Hits) != 1 {
			err = errors.Join(err, fmt.Errorf("%d hits", len(r.Hits)))
		}
		return err
	})
	await(t, "searching", g.arrived)
	closed := begin(x.Close)
	select {
	case err := <-closed:
		t.Fatalf("Close does not wait for the search: %v", err)
	case <-time.After(soon):
	}
	var err error
	for until := time.Now().Add(slow); !errors.Is(err, index.ErrClosed); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("a search while Close waits: %v", err)
		}
		_, err = x.Search(context.Background(), "net", index.SearchOptions{})
	}
	g.open()
	if err := errors.Join(await(t, "Search", found), await(t, "Close", closed), s.Close()); err != nil {
		t.Fatal(err) // the store would complain of a snapshot left open
	}
}

// TestClosed: each method says ErrClosed after Close.
func TestClosed(t *testing.T) {
	s, x := newStore(t)
	put(t, s, x, []index.Document{doc(0, "net", "net of the crew")})
	for range 2 {
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
	}
	ctx := context.Background()
	ing := s.NewIngestion()
	defer ing.Abort()
	b := x.NewBuilder(ing)
	defer b.Abort()
	d := doc(1, "", "a net")
	for what, call := range map[string]func() error{
		"Search":         func() error { _, err := x.Search(ctx, "net", index.SearchOptions{}); return err },
		"Search nothing": func() error { _, err := x.Search(ctx, "", index.SearchOptions{}); return err },
		"Digest":         func() error { _, err := x.Digest(ctx); return err },
		"Merge":          func() error { _, err := x.Merge(ctx); return err },
		"Refresh":        x.Refresh,
		"Builder.Add":    func() error { return b.Add(&d) },
		"Builder.Delete": func() error { return b.Delete(d.Key) },
		"Builder.Finish": func() error { _, err := b.Finish(); return err },
	} {
		if err := call(); !errors.Is(err, index.ErrClosed) {
			t.Errorf("%s after Close: %v", what, err)
		}
	}
	if st := x.Stats(); st != (index.Stats{}) {
		t.Errorf("Stats after Close: %+v", st)
	}
	x.Snippet(index.ParseQuery("net"), "a net") // needs no index
}

// TestEverybodyAtOnce: searches, refreshes and a Close at once, for what the race detector and the store's own count of
// snapshots find.
func TestEverybodyAtOnce(t *testing.T) {
	s, x := newStore(t)
	put(t, s, x, []index.Document{doc(0, "net", "net of the crew")})
	commit(t, s, x, doc(1, "net", "another net"))
	var wg sync.WaitGroup
	var done atomic.Int64
	for i := range 8 {
		wg.Go(func() {
			for {
				var err error
				if i%4 == 0 {
					err = x.Refresh()
				} else {
					_, err = x.Search(context.Background(), "net", index.SearchOptions{})
				}
				if errors.Is(err, index.ErrClosed) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				done.Add(1)
			}
		})
	}
	for done.Load() < 200 && !t.Failed() {
		time.Sleep(time.Millisecond)
	}
	if err := errors.Join(x.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	wg.Wait()
}

// TestCloseDuringMerge: Close waits for a merge, and for a Reanchoring, that runs, also for one that has yet to refresh
// the index; that one ends with ErrClosed, and the index that is opened next has all documents.
func TestCloseDuringMerge(t *testing.T) {
	for what, run := range map[string]func(*index.Index) error{
		"merge": func(x *index.Index) error {
			_, err := x.MergeTo(context.Background(), 1)
			return err
		},
		"reanchoring": func(x *index.Index) error {
			x.Writing().Lock()
			defer x.Writing().Unlock()
			r, _, err := x.NewReanchoring(t.Context())
			if err != nil {
				return err
			}
			defer r.Abort()
			if err := r.Add(index.Location{Segment: 1}, &index.Anchors{Texts: []string{"boats"}}); err != nil {
				return err
			}
			_, err = r.Finish(context.Background(), func(urlkey.Key) error { return nil })
			return err
		},
	} {
		s, x := newStore(t)
		put(t, s, x, []index.Document{doc(0, "net", "net of the crew")})
		put(t, s, x, []index.Document{doc(1, "net", "another net")})
		g := newGate(t)
		x.OnMerge(func(string) error { g.pass(); return nil })
		merged := begin(func() error { return run(x) })
		await(t, what, g.arrived)
		closed := begin(x.Close)
		for until := time.Now().Add(slow); !x.Closed(); time.Sleep(time.Millisecond) {
			if time.Now().After(until) {
				t.Fatalf("%s: Close waits before it closes", what)
			}
		}
		g.open()
		if err := await(t, "Close", closed); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if err := await(t, what, merged); !errors.Is(err, index.ErrClosed) {
			t.Errorf("%s: %v", what, err)
		}
		again, err := index.Open(s, index.Options{FS: storage.NewMemFS()})
		if err != nil {
			t.Fatal(err)
		}
		if n := search(t, again, "net").Total; n != 2 {
			t.Errorf("%s: %d found", what, n)
		}
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	}
}
