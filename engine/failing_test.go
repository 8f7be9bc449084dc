// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/storage"
)

// TestFailingPage: a page that fails for the moment is found, or not, as before: one that is gone, has moved or is a
// copy of another does not come back by a failure. That is so in a crawl and in phases, and of an index that is made
// again.
func TestFailingPage(t *testing.T) {
	t.Run("crawl", func(t *testing.T) {
		testFailingPage(t, func(e *engine.Engine, in engine.InjectOptions) {
			if _, err := e.Crawl(context.Background(), engine.CrawlOptions{Inject: in}); err != nil {
				t.Fatal(err)
			}
		})
	})
	t.Run("phases", func(t *testing.T) {
		testFailingPage(t, func(e *engine.Engine, in engine.InjectOptions) { batch(t, e, in, 0) })
	})
}

func testFailingPage(t *testing.T, crawl func(*engine.Engine, engine.InjectOptions)) {
	var round atomic.Int32
	var urls []string
	serve := func(path string, page func(w http.ResponseWriter, round int32)) { // each on a host of its own
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != path {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", "text/html")
			page(w, round.Load())
		}))
		t.Cleanup(s.Close)
		urls = append(urls, s.URL+path)
	}
	text := func(w http.ResponseWriter, word string) {
		fmt.Fprintf(w, "<title>%s</title><p>%s", word, strings.Repeat(word+" at the sea ", 20))
	}
	failing := func(word string, before func(w http.ResponseWriter)) func(http.ResponseWriter, int32) {
		return func(w http.ResponseWriter, round int32) {
			switch {
			case round == 1 || before == nil && round == 2:
				text(w, word)
			case round == 2:
				before(w)
			default:
				w.WriteHeader(http.StatusInternalServerError)
			}
		}
	}
	serve("/", func(w http.ResponseWriter, _ int32) { text(w, "lighthouse") })
	serve("/copy", failing("lighthouse", nil))
	serve("/stays", failing("harbour", nil))
	serve("/gone", failing("lantern", func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) }))
	serve("/moved", failing("semaphore", func(w http.ResponseWriter) {
		w.Header().Set("Location", urls[0])
		w.WriteHeader(http.StatusMovedPermanently)
	}))
	o := siteOptions(t)
	o.NoIndex = false
	var later time.Duration
	o.Now = func() time.Time { return time.Now().Add(later) }
	find := func(words map[string]int) {
		t.Helper()
		e := open(t, o)
		defer mustClose(t, e)
		if !o.RebuildIndex {
			crawl(e, seeds(urls...))
		} else if _, err := e.Index(context.Background(), engine.IndexOptions{Refresh: true}); err != nil {
			t.Fatal(err)
		}
		verify(t, e)
		for word, want := range words {
			hits, err := e.Search(context.Background(), word, engine.SearchOptions{Deadline: patient})
			if err != nil || hits.Total != want {
				t.Errorf("round %d: %q is found %d times, want %d, %v", round.Load(), word, hits.Total, want, err)
			}
		}
		if round.Load() < 3 {
			return
		}
		for _, url := range urls[1:] {
			if r, err := e.Inspect().Record(url); err != nil || r.Status != storage.StatusUnfetched {
				t.Errorf("%s: %+v, %v", url, r, err)
			}
		}
	}
	round.Store(1)
	find(map[string]int{"lighthouse": 1, "harbour": 1, "lantern": 1, "semaphore": 1})
	later += 60 * 24 * time.Hour
	round.Store(2)
	find(map[string]int{"lighthouse": 1, "harbour": 1, "lantern": 0, "semaphore": 0})
	later += 60 * 24 * time.Hour
	round.Store(3)
	find(map[string]int{"lighthouse": 1, "harbour": 1, "lantern": 0, "semaphore": 0})
	o.RebuildIndex = true
	find(map[string]int{"lighthouse": 1, "harbour": 1, "lantern": 0, "semaphore": 0})
}
