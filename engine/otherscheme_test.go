// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/fetch"
)

// TestOtherSchemeIsDown: a site that answers on one of http and https alone is crawled on that one, whatever links lead
// to the other, and whichever comes first.
func TestOtherSchemeIsDown(t *testing.T) {
	t.Parallel()
	const pages = 6
	for _, up := range []string{"http", "https"} {
		down := map[string]string{"http": "https", "https": "http"}[up]
		links := fmt.Sprintf("<a href=%s://nets.test/0>0</a> <a href=%s://nets.test/9>9</a>", down, down)
		for i := 1; i < pages; i++ {
			links += fmt.Sprintf(` <a href="/%d">%[1]d</a>`, i)
		}
		o := engine.Options{Dir: t.TempDir(), Delay: time.Millisecond, NoIndex: true}
		o.Protocol = protocolFunc(func(req *fetch.Request) *fetch.Response {
			switch {
			case req.URL.Scheme() == down && req.URL.Path() != "/robots.txt":
				t.Errorf("%s is requested without its robots.txt", req.URL)
			case req.URL.Scheme() == down:
				return &fetch.Response{Failure: fetch.FailRefused}
			case req.URL.Path() == "/robots.txt":
				return &fetch.Response{Head: []byte("HTTP/1.1 404 Not Found\r\n\r\n")}
			}
			head := "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
			return &fetch.Response{Head: []byte(head), Body: []byte("<p>" + req.URL.Path() + links)}
		})
		e := open(t, o)
		c := crawlFrom(up + "://nets.test/")
		c.Patience = time.Millisecond
		r, err := e.Crawl(t.Context(), c)
		if err != nil || r.Fetched != pages || r.Failed > 0 {
			t.Errorf("%s: %d of %d pages fetched, %d failed: %v", up, r.Fetched, pages, r.Failed, err)
		}
		mustClose(t, e)
	}
}
