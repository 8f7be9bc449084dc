// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// trickle answers robots.txt at once, and sends pages of hosts whose names begin with "slow" a little faster than the
// minimum rate, without end. The other hosts have a page with links to pages.
type trickle struct {
	names
	links       string
	flying, cut atomic.Int64 // slow pages that are under way; that ended
}

func (n *trickle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/robots.txt":
		http.NotFound(w, r)
		return
	case !strings.HasPrefix(r.Host, "slow"):
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>%s%s</title>%s", r.Host, r.URL.Path, n.links)
		return
	}
	n.flying.Add(1)
	defer func() {
		n.flying.Add(-1)
		n.cut.Add(1)
	}()
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for some := []byte(strings.Repeat("x", 1<<10)); ; {
		if _, err := w.Write(some); err != nil {
			return
		}
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
	}
}

// TestSlowHosts: 175 hosts that trickle just above the minimum rate do not keep the pages of 25 other hosts, links that
// are found on the way included, from 64 fetchers: all of these come while all of those trickle.
func TestSlowHosts(t *testing.T) {
	const slow, quick, each = 175, 25, 21
	n := &trickle{names: names{hosts: fetch.Hosts{}}}
	var urls []string
	for i := range slow {
		n.hosts[fmt.Sprintf("slow%d.test", i)] = nil
	}
	for i := range quick {
		n.hosts[fmt.Sprintf("quick%d.test", i)] = nil
	}
	for i := range each - 1 {
		n.links += fmt.Sprintf(`<a href="/%d">%d</a>`, i, i)
	}
	n.serveBy(t, n)
	for host := range n.hosts {
		for _, path := range []string{"/", "/more", "/still-more"} {
			if path == "/" || strings.HasPrefix(host, "slow") {
				urls = append(urls, "http://"+host+":"+n.port+path)
			}
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var came, ended atomic.Int64
	all := make(chan struct{})
	e := open(t, engine.Options{
		// What the slow pages grow to meanwhile must fit into the share of bodies, or some of them give way.
		Dir: dataDir(t), Memory: 1 << 30, Hosts: n.hosts, Delay: -1, AllowPrivate: true, Scope: policy.ScopeHost,
		FetchTimeout: 10 * time.Minute,
		Events: engine.EventListener{PageStored: func(u urlkey.URL, o *storage.FetchOutcome) {
			switch {
			case !strings.HasPrefix(u.Host(), "quick"):
				ended.Add(1)
			case o.Status == storage.FetchSuccess:
				if came.Add(1) == quick*each {
					close(all)
				}
			}
		}},
	})
	defer mustClose(t, e)
	go func() {
		defer stop()
		select {
		case <-all:
		case <-time.After(2 * time.Minute): // the slow hosts have kept the others waiting
		}
		for began := time.Now(); n.flying.Load() < slow && time.Since(began) < time.Minute; {
			time.Sleep(10 * time.Millisecond)
		}
		t.Logf("%d quick pages, %d slow ones under way, %d ended", came.Load(), n.flying.Load(), ended.Load())
		if came.Load() != quick*each || n.flying.Load() != slow || n.cut.Load() != 0 || ended.Load() != 0 {
			t.Error("want all quick pages while all slow ones are under way")
		}
	}()
	if _, err := e.Crawl(ctx, engine.CrawlOptions{Inject: seeds(urls...)}); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
}
