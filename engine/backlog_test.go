// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
)

// waitingFilter keeps the index busy until a channel is closed.
type waitingFilter struct {
	until <-chan struct{}
	late  func()
}

func (f waitingFilter) Filter(*index.Document, *storage.Record, *storage.ParseText) string {
	select {
	case <-f.until:
	case <-time.After(2 * time.Minute):
		f.late()
	}
	return ""
}

// TestDryBesideIndex: a crawl that has nothing to fetch before the open segment is updated goes on while the index is
// busy, however many segments wait for it.
func TestDryBesideIndex(t *testing.T) {
	const pages = 20 // in a chain: each is a segment of its own
	last := make(chan struct{})
	var once sync.Once
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n int
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &n)
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>page %d</title><p>This is page %d.", n, n)
		if n+1 < pages {
			fmt.Fprintf(w, " <a href=/%d>on</a>", n+1)
		} else {
			once.Do(func() { close(last) })
		}
	}))
	defer site.Close()
	e, err := engine.Open(engine.Options{
		Dir: t.TempDir(), Delay: -1, AllowPrivate: true, Memory: 64 << 20,
		IndexFilters: []policy.IndexFilter{waitingFilter{last, func() {
			t.Error("fetchers wait for the index")
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	r, err := e.Crawl(context.Background(), engine.CrawlOptions{Inject: engine.InjectOptions{URLs: []string{site.URL}}})
	if err != nil || r.Documents != pages || r.Segments < pages {
		t.Errorf("%d documents, %d segments, %v; want %d of each", r.Documents, r.Segments, err, pages)
	}
}
