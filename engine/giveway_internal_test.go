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
