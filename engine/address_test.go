// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/fetch"
)

// TestOneAtATimeAtAnAddress: an address never gets two requests at once, though hosts come to it because their first
// address takes no connection.
func TestOneAtATimeAtAnAddress(t *testing.T) {
	var now, most, pages atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer now.Add(-1)
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		time.Sleep(50 * time.Millisecond)
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		pages.Add(1)
		fmt.Fprintf(w, "<p>This is %s.", r.Host)
	}))
	defer s.Close()
	server := netip.MustParseAddrPort(s.Listener.Addr().String())
	o := siteOptions(t)
	o.Delay, o.Hosts = time.Millisecond, fetch.Hosts{}
	var urls []string
	for i := range 6 {
		name := fmt.Sprintf("h%d.test", i)
		o.Hosts[name] = []netip.Addr{netip.MustParseAddr("127.0.0.9"), server.Addr()}
		urls = append(urls, fmt.Sprintf("http://%s:%d/", name, server.Port()))
	}
	e := open(t, o)
	defer mustClose(t, e)
	r, err := e.Crawl(context.Background(), engine.CrawlOptions{Inject: seeds(urls...)})
	if err != nil || r.Fetched != 6 || pages.Load() != 6 {
		t.Errorf("%v, %v, %d pages", r, err, pages.Load())
	}
	if most.Load() != 1 {
		t.Errorf("%d requests at once", most.Load())
	}
}
