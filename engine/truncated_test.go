// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/storage"
)

// truncatingSite serves pages of which some are cut off, differently in each round.
type truncatingSite struct {
	mu    sync.Mutex
	round int
	asked map[string][]string // If-None-Match, by path
}

// page returns the body of a page in a round, and whether it is cut off.
func (s *truncatingSite) page(path string, round int) (body string, cut bool) {
	part := "<title>t</title><p>lighthouse " + strings.Repeat("at the sea ", 20)
	switch path {
	case "/": // whole, then cut off, then it has not changed
		return part + "<p>harbour", round == 2
	case "/part": // cut off, then again, then whole
		return fmt.Sprintf("%s round%d<p>breakwater", part, round), round < 3
	case "/same": // whole, and equal to what comes of /never
		return part, false
	case "/never": // always cut off
		return part, true
	case "/damaged": // whole, then damaged
		return part + "<p>jetty", false
	}
	return "", false
}

func (s *truncatingSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	round := s.round
	s.asked[r.URL.Path] = append(s.asked[r.URL.Path], r.Header.Get("If-None-Match"))
	s.mu.Unlock()
	body, cut := s.page(r.URL.Path, round)
	if body == "" {
		http.NotFound(w, r)
		return
	}
	tag := fmt.Sprintf(`"%s-%d"`, r.URL.Path, round)
	if r.URL.Path == "/" && round == 3 {
		tag = `"/-1"`
	}
	w.Header().Set("Content-Type", "text/html")
	w.Header().Set("ETag", tag)
	switch {
	case r.Header.Get("If-None-Match") == tag:
		w.WriteHeader(http.StatusNotModified)
	case cut:
		w.Header().Set("Content-Length", fmt.Sprint(2*len(body)))
		part, _, _ := strings.Cut(body, "<p>breakwater")
		part, _, _ = strings.Cut(part, "<p>harbour")
		fmt.Fprint(w, part)
	case r.URL.Path == "/damaged" && round == 2:
		w.Header().Set("Content-Encoding", "gzip")
		w.Write([]byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xff\xff\xff\xff\xff"))
	default:
		fmt.Fprint(w, body)
	}
}

// TestTruncated: a page that is cut off displaces a whole one neither in the index nor as a duplicate nor in
// conditional requests nor as the stored copy of what these confirm, in a crawl and in phases.
func TestTruncated(t *testing.T) {
	t.Run("crawl", func(t *testing.T) {
		testTruncated(t, func(e *engine.Engine, in engine.InjectOptions) {
			if _, err := e.Crawl(context.Background(), engine.CrawlOptions{Inject: in}); err != nil {
				t.Fatal(err)
			}
		})
	})
	t.Run("phases", func(t *testing.T) {
		testTruncated(t, func(e *engine.Engine, in engine.InjectOptions) { batch(t, e, in, 0) })
	})
}

func testTruncated(t *testing.T, crawl func(*engine.Engine, engine.InjectOptions)) {
	site := &truncatingSite{asked: map[string][]string{}}
	s := httptest.NewServer(site)
	defer s.Close()
	o := siteOptions(t)
	o.NoIndex = false
	var later time.Duration
	o.Now = func() time.Time { return time.Now().Add(later) }
	in := seeds(s.URL+"/", s.URL+"/part", s.URL+"/same", s.URL+"/never", s.URL+"/damaged")
	record := func(e *engine.Engine, path string) (found engine.RecordView) {
		for r, err := range e.Inspect().Records(context.Background(), engine.RecordFilter{}) {
			if err != nil {
				t.Fatal(err)
			}
			if r.URL == s.URL+path {
				found = r
			}
		}
		return found
	}
	round := func(n int, words map[string]int) {
		t.Helper()
		site.mu.Lock()
		site.round = n
		site.mu.Unlock()
		e := open(t, o)
		defer mustClose(t, e)
		crawl(e, in)
		verify(t, e)
		for word, want := range words {
			hits, err := e.Search(context.Background(), word, engine.SearchOptions{Deadline: patient})
			if err != nil || hits.Total != want {
				t.Errorf("round %d: %q is found %d times, want %d, %v", n, word, hits.Total, want, err)
			}
		}
		for path, truncated := range map[string]bool{"/": false, "/part": n < 3, "/never": true, "/same": false} {
			r := record(e, path)
			if r.Truncated != truncated || r.Truncated == (r.Signature != "") || r.Status == storage.StatusDuplicate {
				t.Errorf("round %d: %s is %+v", n, path, r)
			}
		}
		later += 31 * 24 * time.Hour
	}
	round(1, map[string]int{"harbour": 1, "round1": 1, "breakwater": 0, "jetty": 1, "lighthouse": 5})
	round(2, map[string]int{"harbour": 1, "round1": 0, "round2": 1, "breakwater": 0, "jetty": 1, "lighthouse": 5})
	round(3, map[string]int{"harbour": 1, "round2": 0, "breakwater": 1, "jetty": 1, "lighthouse": 5})
	for path, want := range map[string]string{
		"/": ` "/-1" "/-1"`, "/part": "  ", "/never": "  ", "/damaged": ` "/damaged-1" "/damaged-1"`,
	} {
		if got := strings.Join(site.asked[path], " "); got != want {
			t.Errorf("%s was asked with %q, want %q", path, got, want)
		}
	}
	e := open(t, o)
	defer mustClose(t, e)
	stored, err := e.Inspect().StoredCopy(context.Background(), s.URL+"/", time.Time{})
	if err != nil || stored.Truncated != "" || !strings.Contains(string(stored.Body), "harbour") {
		t.Errorf("the copy that was confirmed in round 3: %s %q, %v", stored.Truncated, stored.Body, err)
	}
}
