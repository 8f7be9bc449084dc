// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/internal/phases"
)

// TestLanesApart: dedup goes on while invertlinks has its memory, and invertlinks while dedup changes crawldb. In a
// crawl they are in two lanes, and each would wait for seconds.
func TestLanesApart(t *testing.T) {
	t.Parallel()
	e, err := Open(Options{Dir: t.TempDir(), Contact: "https://seine.example/"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ctx, lock := context.Background(), &e.w.crawldbMu
	lock.memory.Lock()
	if _, err := e.w.dedup(ctx, DedupOptions{}); err != nil {
		t.Error(err)
	}
	lock.memory.Unlock()
	lock.crawldb.Lock()
	if _, err := e.w.invertLinks(ctx, 1); !errors.Is(err, phases.ErrNoSegment) {
		t.Errorf("invertlinks of a segment that is not there: %v", err)
	}
	lock.crawldb.Unlock()
}

// TestIndexWaits: what changes crawldb and the index has the locks of crawldb only when it has that of the index, too:
// meanwhile updatedb goes on.
func TestIndexWaits(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(context.Context, *work) error{
		"dedup": func(ctx context.Context, w *work) error {
			_, err := w.dedup(ctx, DedupOptions{})
			return err
		},
		"delete": func(ctx context.Context, w *work) error {
			_, err := w.deleteNow(ctx, phases.DeleteOptions{}, 0)
			return err
		},
		"orphans": func(ctx context.Context, w *work) error {
			_, err := w.markNow(ctx)
			return err
		},
		"purge": func(ctx context.Context, w *work) error {
			_, err := w.purgeSegments(ctx, func([]byte) error { return nil })
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, err := Open(Options{Dir: t.TempDir(), Contact: "https://seine.example/"})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			e.w.indexMu.Lock()
			done := make(chan error, 1)
			go func() { done <- change(context.Background(), e.w) }()
			for range 100 {
				e.w.setCrawling(false) // takes the locks, as updatedb does
				time.Sleep(100 * time.Microsecond)
			}
			e.w.indexMu.Unlock()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

// TestControlWhileLooking: who looks at a crawl reads the disk, and one that does not answer keeps nobody from
// controlling the crawl.
func TestControlWhileLooking(t *testing.T) {
	t.Parallel()
	requested := make(chan struct{}, 9)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		requested <- struct{}{}
		<-r.Context().Done()
	}))
	defer s.Close()
	e, err := Open(Options{Dir: t.TempDir(), AllowPrivate: true, Concurrency: 1, NoIndex: true})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	done := make(chan error, 1)
	go func() {
		_, err := e.Crawl(t.Context(), CrawlOptions{Inject: InjectOptions{URLs: []string{s.URL}}})
		done <- err
	}()
	<-requested
	looked := false
	e.crawl.Load().progressNow(func(*fetching) {
		looked = true
		changed := make(chan struct{})
		go func() {
			e.w.live.mu.Lock()
			defer e.w.live.mu.Unlock()
			close(changed)
		}()
		select { // others hold it for a moment now and then
		case <-changed:
		case <-time.After(time.Minute):
			t.Error("the settings cannot be changed meanwhile")
		}
	})
	if !looked {
		t.Error("there was nothing to look at")
	}
	if err := errors.Join(e.Stop(), <-done); err != nil {
		t.Error(err)
	}
}
