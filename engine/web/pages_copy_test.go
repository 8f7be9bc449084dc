// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seine-crawler/seine/engine"
)

// TestCopyWhileCrawling: while a crawl fills a segment, the page of a stored copy says that what it fetched since then
// is not among the copies yet, also where there is none; afterwards it shows the copy and says nothing.
func TestCopyWhileCrawling(t *testing.T) {
	var seen atomic.Bool
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(path.Base(r.URL.Path))
		fmt.Fprintf(w, "<title>Net %d</title><p>The net %x. ", n, sha256.Sum256([]byte(r.URL.Path)))
		if !seen.Load() { // there is always one page more, so that segments are filled and sealed again and again
			fmt.Fprintf(w, `<a href="/%d">next</a>`, n+1)
		}
	}))
	defer site.Close()
	e, err := engine.Open(engine.Options{
		Dir: t.TempDir(), Memory: 64 << 20, AllowPrivate: true, Delay: -1, TrapDuplicates: -1,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { must(t, e.Close()) }()
	crawled := make(chan error, 1)
	go func() {
		_, err := e.Crawl(context.Background(), engine.CrawlOptions{
			Inject: engine.InjectOptions{URLs: []string{site.URL}},
		})
		crawled <- err
	}()
	h := New(e, Options{})
	const notice = "is listed here when that segment is sealed"
	first, none := site.URL+"/", site.URL+"/none"
	missing := map[string]int{first: http.StatusOK, none: http.StatusNotFound}
	for len(missing) > 0 {
		for address, want := range missing {
			status, _, body := opens(t, h, "/copy?url="+url.QueryEscape(address))
			if status == want && strings.Contains(body, notice) {
				delete(missing, address)
			}
		}
		select {
		case err := <-crawled:
			t.Fatalf("the crawl ended, and no notice was seen at %v: %v", missing, err)
		default:
		}
	}
	seen.Store(true)
	if err := <-crawled; err != nil {
		t.Fatal(err)
	}
	status, _, body := opens(t, h, "/copy?url="+url.QueryEscape(first))
	if status != http.StatusOK || strings.Contains(body, notice) {
		t.Errorf("after the crawl: status %d\n%s", status, body)
	}
}
