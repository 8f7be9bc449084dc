// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestRefusedByOwnSettings: hosts that the crawl's own settings forbid to reach are named with the flag that helps. No
// wait helps, so crawl and fetch do not wait for them, and no time is named. Every check says the same.
func TestRefusedByOwnSettings(t *testing.T) {
	const permits = "--allow-private permits it"
	for _, c := range []struct {
		url        string
		private    bool
		kind       engine.CauseKind
		says, help string
	}{
		{"http://10.1.2.3/", false, engine.CauseAddress, "10.1.2.3 has a private or special address", permits},
		{"http://10.1.2.3:8080/", false, engine.CausePort, "10.1.2.3:8080 has a port other than 80 and 443", permits},
		{"http://169.254.169.254/", true, engine.CauseAddress,
			"169.254.169.254 has a special address, to which nothing is ever sent", ""},
	} {
		for _, way := range []string{"crawl", "fetch"} {
			o := siteOptions(t)
			o.AllowPrivate, o.Contact = c.private, "https://crawler.example/"
			var mu sync.Mutex
			var until []time.Time
			o.Events.HostAsleep = func(_ urlkey.HostKey, at time.Time, _ engine.Cause) {
				mu.Lock()
				defer mu.Unlock()
				until = append(until, at)
			}
			e := open(t, o)
			ctx := context.Background()
			var got engine.Cause
			if way == "crawl" {
				r, err := e.Crawl(ctx, engine.CrawlOptions{Inject: seeds(c.url), Patience: time.Hour})
				if got = r.Cause; err != nil || !r.NothingFetched() {
					t.Errorf("%s: %s, %v", c.url, r, err)
				}
			} else {
				generated(t, e, c.url)
				r, err := e.Fetch(ctx, engine.FetchOptions{Segment: 1, Patience: time.Hour})
				if got = r.Cause; err != nil || !r.NothingFetched() {
					t.Errorf("%s: %s, %v", c.url, r, err)
				}
			}
			if got.Kind != c.kind || !strings.Contains(got.Text, c.says) || got.Help != c.help {
				t.Errorf("%s %s: %s: %s", way, c.url, got.Kind, got)
			}
			if len(until) != 1 || !until[0].IsZero() {
				t.Errorf("%s %s: asleep until %s", way, c.url, until)
			}
			check, err := e.Inspect().Check(c.url, policy.NormalizeInject)
			if err != nil || !strings.Contains(check.Blocked, c.says) {
				t.Errorf("check %s: %v, %v", c.url, check, err)
			}
			mustClose(t, e)
			if _, err := engine.CheckPage(ctx, o, c.url); err == nil || !strings.Contains(err.Error(), c.says) ||
				strings.Contains(err.Error(), "robots") {
				t.Errorf("check page %s: %v", c.url, err)
			}
		}
	}
}

// TestCheckPageNamesCause: a page that cannot be looked at because of its robots.txt is refused with the true cause.
func TestCheckPageNamesCause(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
	}))
	defer s.Close()
	o := siteOptions(t)
	_, err := engine.CheckPage(context.Background(), o, s.URL+"/")
	if !errors.Is(err, engine.ErrRobots) || !strings.Contains(err.Error(), "robots.txt with status 500") {
		t.Error(err)
	}
	s.Close()
	_, err = engine.CheckPage(context.Background(), o, s.URL+"/")
	if !errors.Is(err, engine.ErrRobots) || !strings.Contains(err.Error(), "refuses connections") {
		t.Error(err)
	}
}

// TestContactOfSome: without a contact a crawl of loopback goes on, and so does a fetch, also when a link to the
// outside has become due: nothing is sent there. What is all outside is refused at once.
func TestContactOfSome(t *testing.T) {
	const outside = "http://a.outside.example/"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<title>Page</title><a href="` + outside + `">outside</a>`))
	}))
	defer s.Close()
	ctx := context.Background()
	o := siteOptions(t)
	o.Scope, o.Hosts = policy.ScopeAny, fetch.Hosts{"a.outside.example": {netip.MustParseAddr("93.184.216.34")}}
	e := open(t, o)
	defer mustClose(t, e)
	for _, path := range []string{"/1", "/2"} {
		r, err := e.Crawl(ctx, crawlFrom(s.URL+path))
		if err != nil || r.Fetched != 1 || !strings.Contains(r.Cause.String(), "--contact") {
			t.Fatalf("%s: %s, %v", path, r, err)
		}
	}
	generated(t, e, s.URL+"/3")
	segment, err := e.Inspect().NewestSegment(storage.SegmentOpen)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := e.Fetch(ctx, engine.FetchOptions{Segment: segment}); err != nil || r.Fetched != 1 {
		t.Errorf("%s, %v", r, err)
	}
	if err := e.Recover(ctx); err != nil {
		t.Error(err)
	}
	if r, err := e.Crawl(ctx, engine.CrawlOptions{}); !errors.Is(err, engine.ErrNoContact) {
		t.Errorf("of the outside alone: %s, %v", r, err)
	}
}

// countedLookups counts the names that are looked up: all are public.
type countedLookups struct{ n atomic.Int64 }

func (r *countedLookups) Lookup(context.Context, string) ([]netip.Addr, error) {
	r.n.Add(1)
	return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
}

// TestContactOfMany: without a contact a crawl of very many hosts is refused before all of them are looked up.
func TestContactOfMany(t *testing.T) {
	r := &countedLookups{}
	o := siteOptions(t)
	o.Resolver = r
	e := open(t, o)
	defer mustClose(t, e)
	var urls []string
	for i := range 1000 {
		urls = append(urls, fmt.Sprintf("http://h%d.example/", i))
	}
	if _, err := e.Crawl(t.Context(), crawlFrom(urls...)); !errors.Is(err, engine.ErrNoContact) {
		t.Errorf("%v", err)
	}
	if n := r.n.Load(); n == 0 || n > 100 {
		t.Errorf("%d lookups", n)
	}
}
