// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
)

// TestCopyWhileCrawling: while a crawl fills a segment, the page of a stored copy says that what it fetched since then
// is not among the copies yet, also where there is none; afterwards it shows the copy and says nothing.
func TestCopyWhileCrawling(t *testing.T) {
	held := make(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			<-held
		}
		fmt.Fprint(w, `<title>Nets</title><p>All of them. <a href="/slow">slow</a>`)
	}))
	defer site.Close()
	e, err := engine.Open(engine.Options{Dir: t.TempDir(), Memory: 64 << 20, AllowPrivate: true, Delay: -1})
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
	address := "/copy?url=" + url.QueryEscape(site.URL+"/")
	for {
		status, _, body := opens(t, h, address)
		if status == http.StatusNotFound && strings.Contains(body, notice) {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	close(held)
	if err := <-crawled; err != nil {
		t.Fatal(err)
	}
	if status, _, body := opens(t, h, address); status != http.StatusOK || strings.Contains(body, notice) {
		t.Errorf("after the crawl: status %d\n%s", status, body)
	}
}
