// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/storage"
)

// TestIntervalOutgrown: when the longest interval is shortened between runs, pages whose interval is longer are fetched
// without validators the next time. So a server that would answer 304 sends them, and those that are equal stay
// duplicates of each other.
func TestIntervalOutgrown(t *testing.T) {
	var round, whole atomic.Int32
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("ETag", `"1"`)
		switch {
		case r.Header.Get("If-None-Match") == `"1"`:
			w.WriteHeader(http.StatusNotModified)
			return
		case r.URL.Path == "/":
			fmt.Fprint(w, "<title>front</title><p>mesh <a href=/1>a</a> <a href=/2>b</a>")
		default:
			fmt.Fprint(w, "<title>twin</title><p>net, and these two pages say the same of it, word for word")
		}
		whole.Add(1)
	}))
	defer site.Close()
	start, first := time.Now(), time.Date(2031, 5, 10, 12, 0, 0, 0, time.UTC)
	o := engine.Options{Dir: t.TempDir(), Delay: -1, AllowPrivate: true, Memory: 64 << 20}
	o.Now = func() time.Time { return first.AddDate(0, 0, 40*int(round.Load())).Add(time.Since(start)) }
	for i, want := range []int32{3, 0, 3, 0} { // pages that are sent whole
		round.Store(int32(i))
		whole.Store(0)
		e := open(t, o)
		if r, err := e.Crawl(ctx, crawlFrom(site.URL+"/")); err != nil || whole.Load() != want {
			t.Errorf("round %d: %d pages were sent whole, want %d: %s, %v", i, whole.Load(), want, r, err)
		}
		r, err := e.Inspect().Record(site.URL + "/2")
		if err != nil || i != 1 && r.Signature == "" || i == 1 != (r.Status == storage.StatusUnfetched) {
			t.Errorf("round %d: %+v, %v", i, r, err)
		}
		found, err := e.Search(ctx, "net", engine.SearchOptions{Deadline: patient, Strict: true})
		if err != nil || i != 1 && found.Total != 1 {
			t.Errorf("round %d: %d twins were found, want 1: %v", i, found.Total, err)
		}
		mustClose(t, e)
		o.MaxInterval = 7 * 24 * time.Hour
	}
}
