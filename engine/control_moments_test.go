// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
)

func seedsOf(urls ...string) engine.InjectOptions { return engine.InjectOptions{URLs: urls} }

// generated injects seeds and makes a fetchlist of them.
func generated(t testing.TB, e *engine.Engine, urls ...string) {
	t.Helper()
	if _, err := e.Inject(context.Background(), seedsOf(urls...)); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Generate(context.Background(), engine.GenerateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestAbortInFetchlist: Abort also ends a crawl that is still fetching a fetchlist. The server does not answer.
func TestAbortInFetchlist(t *testing.T) {
	requested := make(chan struct{})
	var once sync.Once
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		once.Do(func() { close(requested) })
		<-r.Context().Done()
	}))
	defer s.Close()
	o := siteOptions(t)
	o.FetchTimeout = 10 * time.Minute
	e := open(t, o)
	defer mustClose(t, e)
	generated(t, e, s.URL+"/")
	abort, cancel := context.WithCancel(context.Background())
	go func() {
		<-requested
		cancel()
	}()
	start := time.Now()
	r, err := e.Crawl(context.Background(), engine.CrawlOptions{Abort: abort})
	if !errors.Is(err, context.Canceled) || r.Stopped != engine.StopAborted || time.Since(start) > o.FetchTimeout/2 {
		t.Errorf("%v, %v after %s", r, err, time.Since(start))
	}
	// The fetchlist is still there: the next crawl takes it up.
	if n, err := e.Inspect().NewestSegment(1); err != nil || n == 0 {
		t.Errorf("open segment %d, %v", n, err)
	}
}

// TestEnqueuedIsKept: what Enqueue took is in crawldb when a crawl ends early; later calls are refused.
func TestEnqueuedIsKept(t *testing.T) {
	s := chain(t, 3)
	for _, name := range []string{"in a fetchlist", "in a crawl"} {
		o := siteOptions(t)
		var e *engine.Engine
		o.OnPage = func(p *engine.Page) {
			time.Sleep(100 * time.Millisecond) // until the limit is known to be reached
			if err := e.Enqueue(make([]string, 1_000_001)...); !errors.Is(err, engine.ErrQueueFull) {
				t.Errorf("%s: a queue without a bound: %v", name, err)
			}
			if err := e.Enqueue(s.URL + "/0?late"); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		e = open(t, o)
		in := seedsOf(s.URL + "/0")
		if name == "in a fetchlist" {
			generated(t, e, s.URL+"/0", s.URL+"/1")
			if _, err := e.Inject(context.Background(), seedsOf(s.URL+"/2")); err != nil {
				t.Fatal(err)
			}
			if _, err := e.Generate(context.Background(), engine.GenerateOptions{}); err != nil {
				t.Fatal(err)
			}
			in = engine.InjectOptions{}
		}
		c := engine.CrawlOptions{Inject: in, Limits: engine.Limits{MaxPages: 1}}
		r, err := e.Crawl(context.Background(), c)
		if err != nil || r.Stopped != engine.StopMaxPages {
			t.Errorf("%s: %v, %v", name, r, err)
		}
		if _, err := e.Inspect().Record(s.URL + "/0?late"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		mustClose(t, e)
	}
}

// TestMaxTimeCountsFromStart: a limit that is set while a crawl runs counts from the crawl's start, once.
func TestMaxTimeCountsFromStart(t *testing.T) {
	s := chain(t, 10_000)
	o := siteOptions(t)
	o.Delay = 5 * time.Millisecond
	e := open(t, o)
	defer mustClose(t, e)
	var once sync.Once
	c := engine.CrawlOptions{Inject: seedsOf(s.URL + "/0"), ProgressEvery: time.Millisecond}
	c.Progress = func(p engine.Progress) {
		if p.Elapsed > 700*time.Millisecond {
			once.Do(func() {
				if err := e.SetLimits(engine.Limits{MaxTime: 1200 * time.Millisecond}); err != nil {
					t.Error(err)
				}
			})
		}
	}
	r, err := e.Crawl(context.Background(), c)
	if err != nil || r.Stopped != engine.StopMaxTime || r.Took < engine.Duration(1200*time.Millisecond) {
		t.Errorf("%v, %v", r, err)
	}
}

// TestOneWriter: what reads an open segment's WARC back, and may cut its end off, does not run while URLs are fetched.
func TestOneWriter(t *testing.T) {
	s := chain(t, 3)
	o := siteOptions(t)
	var e *engine.Engine
	o.OnPage = func(*engine.Page) {
		if err := e.Recover(context.Background()); !errors.Is(err, engine.ErrBusy) {
			t.Errorf("Recover beside a crawl: %v", err)
		}
		if _, err := e.Seal(context.Background(), 1); !errors.Is(err, engine.ErrBusy) {
			t.Errorf("Seal beside a crawl: %v", err)
		}
	}
	e = open(t, o)
	defer mustClose(t, e)
	r, err := e.Crawl(context.Background(), engine.CrawlOptions{Inject: seedsOf(s.URL + "/0")})
	if err != nil || r.Fetched != 4 {
		t.Errorf("%v, %v", r, err)
	}
	verify(t, e)
}

// TestCrawlDeadline: a context that ended by its deadline stops a crawl as cleanly as a canceled one, at any moment.
func TestCrawlDeadline(t *testing.T) {
	s := chain(t, 3)
	e := open(t, siteOptions(t))
	defer mustClose(t, e)
	ctx, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel()
	r, err := e.Crawl(ctx, engine.CrawlOptions{Inject: seedsOf(s.URL + "/0")})
	if err != nil || r.Stopped != engine.StopInterrupted {
		t.Errorf("%v, %v", r, err)
	}
}

// TestControlAtAnyMoment: settings may change while a crawl begins and ends. None is lost, none is a crash.
func TestControlAtAnyMoment(t *testing.T) {
	s := chain(t, 1)
	e := open(t, siteOptions(t))
	defer mustClose(t, e)
	var stop atomic.Bool
	var wg sync.WaitGroup
	for _, change := range []func(i int) error{
		func(i int) error { return e.SetConcurrency(1 + i%8) },
		func(i int) error {
			if i%2 == 0 {
				return e.Pause()
			}
			return e.Resume()
		},
		func(int) error { return e.SetDelay(-1) },
		func(int) error {
			if err := e.SetLimits(engine.Limits{MaxTime: time.Hour}); !errors.Is(err, engine.ErrNotCrawling) {
				return err
			}
			return nil
		},
	} {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := 0; !stop.Load() || i%2 == 1; i++ { // an even number: the last one resumes
				if err := change(i); err != nil {
					t.Error(err)
					return
				}
			}
		}()
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := range 15 {
			in := seedsOf(fmt.Sprintf("%s/0?%d", s.URL, i))
			if r, err := e.Crawl(context.Background(), engine.CrawlOptions{Inject: in}); err != nil || r.Fetched == 0 {
				t.Errorf("%v, %v", r, err)
			}
		}
	}()
	select {
	case <-ended:
		stop.Store(true)
		wg.Wait()
	case <-time.After(5 * time.Second):
		stop.Store(true)
		wg.Wait()
		select {
		case <-ended: // resumed by the last call
		case <-time.After(2 * time.Minute):
			t.Fatal("a crawl stays paused after Resume")
		}
	}
}

// TestMaxIntervalFits: an interval that a record cannot hold is refused.
func TestMaxIntervalFits(t *testing.T) {
	o := siteOptions(t)
	o.MaxInterval = (math.MaxUint32 + 1) * time.Second
	if e, err := engine.Open(o); err == nil || !strings.Contains(err.Error(), "MaxInterval") {
		t.Errorf("%v", err)
		mustClose(t, e)
	}
}
