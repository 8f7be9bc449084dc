// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
)

// TestCopyWhileCrawling: while a crawl fills a segment, what it has fetched into it is on the page of the URL and on
// that of the stored copy, and in the answers of the API; when it is sealed it is there once, as before.
func TestCopyWhileCrawling(t *testing.T) {
	asked, released := make(chan struct{}), make(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/first":
			fmt.Fprint(w, "<title>A net</title><p>The net is mended.")
		case "/held": // behind it in the order of keys
			close(asked)
			<-released
		}
	}))
	defer site.Close()
	release := sync.OnceFunc(func() { close(released) })
	defer release()
	now := time.Now() // it stands still, so that the segment does not become too old
	e, err := engine.Open(engine.Options{
		Dir: t.TempDir(), Memory: 64 << 20, AllowPrivate: true, Delay: -1, Now: func() time.Time { return now },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { must(t, e.Close()) }()
	crawled := make(chan error, 1)
	go func() {
		_, err := e.Crawl(context.Background(), engine.CrawlOptions{
			Inject: engine.InjectOptions{URLs: []string{site.URL + "/first", site.URL + "/held"}},
		})
		crawled <- err
	}()
	h := New(e, Options{})
	page := url.QueryEscape(site.URL + "/first")
	<-asked
	for status := 0; status != http.StatusOK; { // it is durable soon
		status, _, _ = opens(t, h, "/copy?url="+page)
		select {
		case err := <-crawled:
			t.Fatalf("the crawl ended: %v", err)
		default:
		}
	}
	look := func(when string) (api string) {
		t.Helper()
		for address, want := range map[string][]string{
			"/url?url=" + page:       {"1 fetch<", "HTTP 200", ">copy</a>"},
			"/copy?url=" + page:      {"1 fetch<", "HTTP 200", "<iframe"},
			"/copy/page?url=" + page: {"The net is mended."},
		} {
			status, _, body := opens(t, h, address)
			for _, text := range want {
				if status != http.StatusOK || !strings.Contains(body, text) {
					t.Errorf("%s, %s: %q is not in %s", when, address, text, body)
				}
			}
		}
		_, _, body := opens(t, h, "/api/v1/captures?url="+page)
		return body
	}
	open := look("open")
	if status, _, body := opens(t, h, "/copy?url="+url.QueryEscape(site.URL+"/held")); status != http.StatusNotFound {
		t.Errorf("a page that was not fetched: status %d\n%s", status, body)
	}
	release()
	must(t, <-crawled)
	if sealed := look("sealed"); sealed != open || !strings.Contains(open, site.URL+"/first") {
		t.Errorf("captures %s, and before it was sealed %s", sealed, open)
	}
}

// TestCopyOfError: what a server said of a page that is gone can be read.
func TestCopyOfError(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusGone)
		fmt.Fprint(w, "<title>Gone</title><p>The net is sold.")
	}))
	defer site.Close()
	e, err := engine.Open(engine.Options{Dir: t.TempDir(), Memory: 64 << 20, AllowPrivate: true, Delay: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { must(t, e.Close()) }()
	seeds := engine.InjectOptions{URLs: []string{site.URL + "/sold"}}
	_, err = e.Crawl(t.Context(), engine.CrawlOptions{Inject: seeds})
	must(t, err)
	h := New(e, Options{})
	for path, says := range map[string]string{"/copy": "<iframe", "/copy/page": "The net is sold."} {
		address := path + "?url=" + url.QueryEscape(site.URL+"/sold")
		if status, _, body := opens(t, h, address); status != http.StatusOK || !strings.Contains(body, says) {
			t.Errorf("%s: status %d, %q is not in %s", address, status, says, body)
		}
	}
}
