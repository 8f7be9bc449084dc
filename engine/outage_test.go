// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/fetch"
)

// TestOutageAtFirst: a crawl that begins while the local network is cut fetches each host soon after it is back, also
// those whose robots.txt was requested before the outage was seen: else it would be held to be unreachable for five
// minutes, and the crawl would end without them.
func TestOutageAtFirst(t *testing.T) {
	t.Parallel()
	const hosts, cut = 60, 40 // the outage is seen after 32 failures
	var requests atomic.Int64
	o := engine.Options{Dir: t.TempDir(), Delay: -1, Concurrency: 2, NoIndex: true}
	o.Protocol = protocolFunc(func(req *fetch.Request) *fetch.Response {
		if requests.Add(1) <= cut {
			return &fetch.Response{Failure: fetch.FailUnreachable}
		}
		head := "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
		if req.URL.Path() == "/robots.txt" {
			head = "HTTP/1.1 404 Not Found\r\n\r\n"
		}
		return &fetch.Response{Head: []byte(head), Body: []byte("<p>text")}
	})
	var urls []string
	for i := range hosts {
		urls = append(urls, fmt.Sprintf("http://h%d.example/", i))
	}
	r, err := open(t, o).Crawl(context.Background(), engine.CrawlOptions{Inject: engine.InjectOptions{URLs: urls}})
	if err != nil || r.Fetched != hosts || r.Failed > 0 {
		t.Errorf("%d of %d fetched, %d failed: %v", r.Fetched, hosts, r.Failed, err)
	}
}
