// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
)

// silent is an engine that never answers: each write fails at once until await is called, and lasts as long as its
// context after that.
type silent struct {
	*remote
	mu      sync.Mutex
	reached chan context.Context // of the first write that waits
}

func (s *silent) await() <-chan context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reached == nil {
		s.reached = make(chan context.Context, 1)
	}
	return s.reached
}

func (s *silent) Write(ctx context.Context, _ []policy.IndexChange) ([]policy.IndexRefusal, error) {
	s.mu.Lock()
	reached := s.reached
	s.mu.Unlock()
	if reached == nil {
		return nil, errors.New("not yet")
	}
	select {
	case reached <- ctx:
	default:
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestSendEndsWithClose: at the end of a crawl, an engine that never answers is waited for no longer than some minutes,
// and not at all once the Engine is closed. The next call sends what it did not get.
func TestSendEndsWithClose(t *testing.T) {
	w := newWorld(t, 2, 20)
	s := &silent{remote: newRemote(t)}
	o := w.options(t.TempDir())
	o.IndexWriters = []policy.IndexWriter{s}
	e := open(t, o)
	closed := make(chan error, 1)
	abort, cancel := context.WithCancel(context.Background())
	defer cancel()
	settling := sync.OnceFunc(func() {
		reached := s.await()
		go func() {
			within := <-reached
			if until, ok := within.Deadline(); !ok || time.Until(until) > 15*time.Minute {
				t.Errorf("a write at the end has until %s", until)
				cancel()
			}
			closed <- e.Close()
		}()
	})
	r, err := e.Crawl(context.Background(), engine.CrawlOptions{
		Inject: w.seeds(), Abort: abort, Progress: func(p engine.Progress) {
			if p.Phase == "settling" {
				settling()
			}
		},
	})
	if err != nil || r.Stopped != engine.StopDone || len(r.Writers) != 1 || r.Writers[0].Failed == "" {
		t.Errorf("%v: stopped %s, %v", err, r.Stopped, r.Writers)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	o.IndexWriters = []policy.IndexWriter{s.remote}
	e = open(t, o)
	defer mustClose(t, e)
	if _, err := e.Index(ctx, engine.IndexOptions{}); err != nil {
		t.Error(err)
	}
	s.equals(t, e)
}

// TestSendBesideCall: when another call sends to an engine that never answers, Close ends the crawl that waits for its
// turn.
func TestSendBesideCall(t *testing.T) {
	w := newWorld(t, 2, 20)
	s := &silent{remote: newRemote(t)}
	o := w.options(t.TempDir())
	o.IndexWriters = []policy.IndexWriter{s}
	e := open(t, o)
	if _, err := e.Crawl(ctx, engine.CrawlOptions{Inject: w.seeds()}); err != nil {
		t.Fatal(err)
	}
	reached := s.await()
	within, cancel := context.WithCancel(context.Background())
	indexed, closed, crawled := make(chan error, 1), make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := e.Index(within, engine.IndexOptions{})
		indexed <- err
	}()
	<-reached
	settling := sync.OnceFunc(func() { go func() { closed <- e.Close() }() })
	go func() {
		_, err := e.Crawl(context.Background(), engine.CrawlOptions{Abort: within, Progress: func(p engine.Progress) {
			if p.Phase == "settling" {
				settling()
			}
		}})
		crawled <- err
	}()
	select {
	case err := <-crawled:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("the crawl waits for the other call")
	}
	cancel()
	if err := <-indexed; !errors.Is(err, context.Canceled) || !errors.Is(err, engine.ErrNotSent) {
		t.Errorf("the other call says %v", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}
