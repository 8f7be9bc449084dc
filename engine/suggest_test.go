// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/seine-crawler/seine/engine"
)

// TestSuggestAndComplete: both see the pages that were indexed, and end with the engine.
func TestSuggestAndComplete(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<title>Light</title><p>The lighthous of the harbor is lit at night. <a href=/2>two</a>"))
	}))
	defer server.Close()
	e := open(t, engine.Options{Dir: t.TempDir(), Memory: 64 << 20, Delay: -1, AllowPrivate: true})
	ctx := context.Background()
	if _, err := e.Inject(ctx, seeds(server.URL)); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Crawl(ctx, engine.CrawlOptions{}); err != nil {
		t.Fatal(err)
	}
	s, err := e.Suggest(ctx, "ligthhous harbor", patient)
	if err != nil || s.Query != "lighthous harbor" || s.Total < 1 {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := e.Suggest(ctx, "lighthous", patient); err != nil || s.Query != "" {
		t.Errorf("%+v, %v", s, err)
	}
	list, err := e.Complete(ctx, "the har", 5)
	if err != nil || len(list) != 1 || list[0].Text != "the harbor" || list[0].Documents < 1 {
		t.Errorf("%+v, %v", list, err)
	}
	mustClose(t, e)
	if _, err := e.Suggest(ctx, "harbor", 0); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if _, err := e.Complete(ctx, "har", 0); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}
