// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// TestPhasesGiveWay: each phase that sorts or joins gives way to searches again and again while it works.
func TestPhasesGiveWay(t *testing.T) {
	t.Parallel()
	const pages = 400
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>page %s</title><p>text of %[1]s", r.URL.Path)
		for i := range 10 {
			fmt.Fprintf(w, `<a href="%s-%d">further</a> `, r.URL.Path, i)
		}
	}))
	defer s.Close()
	e, err := Open(Options{Dir: t.TempDir(), AllowPrivate: true, Delay: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if e.w.giveWay == nil {
		t.Fatal("phases give way to nothing")
	}
	var gave atomic.Int64
	e.w.giveWay = func(worked time.Duration) {
		if worked < 0 {
			t.Errorf("worked for %v", worked)
		}
		gave.Add(1)
	}
	ctx, urls := context.Background(), []string{}
	for i := range pages {
		urls = append(urls, fmt.Sprintf("%s/%d", s.URL, i))
	}
	for _, phase := range []struct {
		name  string
		least int64
		run   func() error
	}{
		{"inject", pages / 64 / 2, func() error { _, err := e.Inject(ctx, InjectOptions{URLs: urls}); return err }},
		{"generate", 0, func() error { _, err := e.Generate(ctx, GenerateOptions{}); return err }},
		{"fetch", 0, func() error { _, err := e.Fetch(ctx, FetchOptions{Segment: 1}); return err }},
		{"updatedb", 10 * pages / 64, func() error { _, err := e.UpdateDB(ctx, 1); return err }},
		{"invertlinks", 10 * pages / 64, func() error { _, err := e.InvertLinks(ctx, 1); return err }},
		{"dedup", pages / 64 / 2, func() error { _, err := e.Dedup(ctx, DedupOptions{}); return err }},
		{"index", pages / 64 / 2, func() error { _, err := e.Index(ctx, IndexOptions{}); return err }},
	} {
		gave.Store(0)
		if err := phase.run(); err != nil {
			t.Fatalf("%s: %v", phase.name, err)
		}
		if n := gave.Load(); n < phase.least {
			t.Errorf("%s gave way %d times, want at least %d", phase.name, n, phase.least)
		}
	}
}

// answeredContext calls answered whenever the search looks whether it is to end.
type answeredContext struct {
	context.Context
	answered func()
}

func (c answeredContext) Err() error {
	c.answered()
	return nil
}

// TestAnswersGoFirst: what gives way does so until a search has the texts of its hits.
func TestAnswersGoFirst(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>page %s</title><p>net", r.URL.Path)
	}))
	defer s.Close()
	e, err := Open(Options{Dir: t.TempDir(), AllowPrivate: true, Delay: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ctx, urls := context.Background(), []string{}
	for i := range 3 * describeStep {
		urls = append(urls, fmt.Sprintf("%s/%d", s.URL, i))
	}
	if _, err := e.Crawl(ctx, CrawlOptions{Inject: InjectOptions{URLs: urls}}); err != nil {
		t.Fatal(err)
	}
	first, begun, looks := false, 0, 0
	e.w.answering = func() (end func()) {
		first = true
		begun++
		return func() { first = false }
	}
	r, err := e.Search(answeredContext{ctx, func() {
		if looks++; !first {
			t.Error("a search looks at its context and nothing gives way to it")
		}
	}}, "net", SearchOptions{Limit: len(urls)})
	if err != nil || len(r.Hits) != len(urls) || looks < 3 {
		t.Fatalf("%d hits after %d looks, %v", len(r.Hits), looks, err)
	}
	if first || begun != 1 {
		t.Errorf("%d answers began, and one has not ended: %v", begun, first)
	}
}
