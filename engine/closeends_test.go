// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
)

// momentFS counts what is done by name on a file system, and calls then at one of these moments.
type momentFS struct {
	storage.FS
	count, at atomic.Int64
	then      func()
}

func (m *momentFS) step() {
	if m.count.Add(1) == m.at.Load() {
		m.then()
	}
}

func (m *momentFS) PathJoin(elem ...string) string {
	m.step()
	return m.FS.PathJoin(elem...)
}

func (m *momentFS) List(dir string) ([]string, error) {
	m.step()
	return m.FS.List(dir)
}

func (m *momentFS) MkdirAll(dir string, perm fs.FileMode) error {
	m.step()
	return m.FS.MkdirAll(dir, perm)
}

func (m *momentFS) Rename(from, to string) error {
	m.step()
	return m.FS.Rename(from, to)
}

func (m *momentFS) Remove(name string) error {
	m.step()
	return m.FS.Remove(name)
}

// watchedContext never ends, and tells when the context has ended that a call of the engine made of it: package context
// then calls what AfterFunc returns.
type watchedContext struct {
	context.Context
	once  sync.Once
	ended chan struct{}
}

func newWatchedContext() *watchedContext {
	return &watchedContext{Context: context.Background(), ended: make(chan struct{})}
}

func (c *watchedContext) Done() <-chan struct{} { return make(chan struct{}) }

func (c *watchedContext) AfterFunc(func()) (stop func() bool) {
	return func() bool {
		c.once.Do(func() { close(c.ended) })
		return true
	}
}

// closedAt opens an engine and calls do, which one of the moments on the file system finds closed: the moment lasts
// until do can know. 0 means none. It returns the error of do and the number of moments.
func closedAt(
	t *testing.T, o engine.Options, at int64, do func(ctx context.Context, e *engine.Engine) error,
) (moments int64, err error) {
	t.Helper()
	m := &momentFS{FS: o.FS}
	o.FS = m
	e := open(t, o)
	ctx, closed := newWatchedContext(), make(chan error, 1)
	begin := sync.OnceFunc(func() { go func() { closed <- e.Close() }() })
	m.then = func() {
		begin()
		select {
		case <-ctx.ended:
		case <-time.After(patient):
			t.Error("Close does not end the context of the call")
		}
	}
	before := m.count.Load()
	if at > 0 {
		m.at.Store(before + at)
	}
	err = do(ctx, e)
	moments = m.count.Load() - before
	begin()
	if err := <-closed; err != nil {
		t.Error(err)
	}
	return moments, err
}

// endsByClose reports whether an error is that of a call which Close ended.
func endsByClose(t *testing.T, err error) bool {
	t.Helper()
	ended := errors.Is(err, engine.ErrClosed)
	if err != nil && (!ended || errors.Is(err, context.Canceled)) {
		t.Fatalf("%v, want %v", err, engine.ErrClosed)
	}
	return ended
}

// closedWeb returns a filesystem with a crawl of splitWeb in /crawl, and the options of a directory of a copy of it.
func closedWeb(t *testing.T) (base *storage.CrashableFS, with func(fs storage.FS, dir string) engine.Options) {
	base = storage.NewCrashableFS()
	_, options := splitWeb(t, base, 25)
	return base, func(fs storage.FS, dir string) engine.Options {
		o := options(dir)
		o.FS = fs
		return o
	}
}

// TestCloseEndsSplitDB closes an engine at many moments of a SplitDB: that returns ErrClosed, and what it did not say
// is moved is here as before. The same call again gives what one that was not ended gives.
func TestCloseEndsSplitDB(t *testing.T) {
	t.Parallel()
	base, with := closedWeb(t)
	before := digestOf(t, with(base, "/crawl"))
	for _, move := range []bool{false, true} {
		o := engine.SplitDBOptions{Dir: "/part", Part: 2, Parts: 2, Move: move}
		var r engine.SplitDBReport
		split := func(ctx context.Context, e *engine.Engine) (err error) {
			r, err = e.SplitDB(ctx, o)
			return err
		}
		fs := base.Crash(0, 0)
		moments, err := closedAt(t, with(fs, "/crawl"), 0, split)
		if err != nil {
			t.Fatal(err)
		}
		here, there := digestOf(t, with(fs, "/crawl")), digestOf(t, with(fs, "/part"))
		ended, half := 0, 0
		for at := int64(1); at <= moments; at += max(moments/25, 1) {
			fs := base.Crash(0, 0)
			_, err := closedAt(t, with(fs, "/crawl"), at, split)
			again := endsByClose(t, err)
			if again {
				ended++
				if now := digestOf(t, with(fs, "/crawl")); !r.Moved {
					sameDigest(t, now, before)
				} else {
					half++
				}
				if _, err := closedAt(t, with(fs, "/crawl"), 0, split); err != nil {
					t.Fatalf("moment %d of %d: again: %v", at, moments, err)
				}
			}
			if r.Moved != move {
				t.Errorf("moment %d of %d: %s", at, moments, r)
			}
			sameDigest(t, digestOf(t, with(fs, "/crawl")), here)
			sameDigest(t, digestOf(t, with(fs, "/part")), there)
			e := open(t, with(fs, "/crawl"))
			verify(t, e)
			mustClose(t, e)
			if t.Failed() {
				t.Fatalf("moment %d of %d, move %v, ended %v", at, moments, move, again)
			}
		}
		if ended == half || move == (half == 0) {
			t.Errorf("move %v: of %d moments %d ended it, %d after the move", move, moments, ended, half)
		}
	}
}

// TestCloseEndsMergeDB closes an engine at many moments of a MergeDB of two directories: that returns ErrClosed, each
// directory is added or not, and both are as before. The same call again gives what one that was not ended gives.
func TestCloseEndsMergeDB(t *testing.T) {
	t.Parallel()
	base, with := closedWeb(t)
	e := open(t, with(base, "/crawl"))
	dirs, before := []string{"/part1", "/part2"}, []string{}
	plans := []map[string]string{{}} // after so many directories
	for i, dir := range dirs {
		splitInto(t, e, engine.SplitDBOptions{Dir: dir, Part: i + 1, Parts: len(dirs)})
		part := open(t, with(base, dir))
		before = append(before, digest(t, part))
		all := plan(t, part)
		maps.Copy(all, plans[i])
		plans = append(plans, all)
		mustClose(t, part)
	}
	mustClose(t, e)
	mustClose(t, open(t, with(base, "/merged")))
	planOf := func(fs storage.FS) map[string]string {
		e := open(t, with(fs, "/merged"))
		defer mustClose(t, e)
		verify(t, e)
		return plan(t, e)
	}
	var r engine.MergeDBReport
	merge := func(ctx context.Context, e *engine.Engine) (err error) {
		r, err = e.MergeDB(ctx, engine.MergeDBOptions{Dirs: dirs})
		return err
	}
	fs := base.Crash(0, 0)
	moments, err := closedAt(t, with(fs, "/merged"), 0, merge)
	if err != nil || !maps.Equal(planOf(fs), plans[2]) {
		t.Fatalf("%s, %v: %s", r, err, planDiff(planOf(fs), plans[2]))
	}
	ended := map[int]int{}
	for at := int64(1); at <= moments; at += max(moments/25, 1) {
		fs := base.Crash(0, 0)
		_, err := closedAt(t, with(fs, "/merged"), at, merge)
		if endsByClose(t, err) {
			ended[r.Dirs]++
			if got := planOf(fs); !maps.Equal(got, plans[r.Dirs]) {
				t.Errorf("moment %d of %d: %s%s", at, moments, r, planDiff(got, plans[r.Dirs]))
			}
			if _, err := closedAt(t, with(fs, "/merged"), 0, merge); err != nil {
				t.Fatalf("moment %d of %d: again: %v", at, moments, err)
			}
		}
		if got := planOf(fs); !maps.Equal(got, plans[2]) {
			t.Errorf("moment %d of %d: in the end: %s", at, moments, planDiff(got, plans[2]))
		}
		now := []string{}
		for _, dir := range dirs {
			now = append(now, digestOf(t, with(fs, dir)))
		}
		if !slices.Equal(now, before) {
			t.Errorf("moment %d of %d: what was added is not as before", at, moments)
		}
	}
	if ended[0] == 0 || ended[1] == 0 {
		t.Errorf("of %d moments %v ended it after so many directories", moments, ended)
	}
}

// canceledReader fails with the end of a context that is not that of the engine's call.
type canceledReader struct{}

func (canceledReader) Read([]byte) (int, error) { return 0, context.Canceled }

// canceledWriter is as canceledReader.
type canceledWriter struct{}

func (canceledWriter) Write([]byte) (int, error) { return 0, context.Canceled }

// TestCallersErrorIsNotClose: what a caller's own function, writer or reader returns is returned, while the engine is
// open, though it is what a call finds that Close ends.
func TestCallersErrorIsNotClose(t *testing.T) {
	t.Parallel()
	base, with := closedWeb(t)
	e := open(t, with(base, "/crawl"))
	defer mustClose(t, e)
	_, dedup := e.Upkeep.DedupURLs(ctx, engine.DedupURLsOptions{Readers: []io.Reader{canceledReader{}}})
	for name, err := range map[string]error{
		"Documents":  e.Inspect().Documents(ctx, func(*policy.IndexChange) error { return context.Canceled }),
		"ExportCDXJ": e.Inspect().ExportCDXJ(ctx, canceledWriter{}),
		"DedupURLs":  dedup,
	} {
		if !errors.Is(err, context.Canceled) || errors.Is(err, engine.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
