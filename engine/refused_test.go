// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestRefusedByOwnSettings: hosts that the crawl's own settings forbid to reach are named with the flag that helps. No
// wait helps, so crawl and fetch do not wait for them, and no time is named. Every check says the same.
func TestRefusedByOwnSettings(t *testing.T) {
	for _, c := range []struct {
		url     string
		private bool
		kind    engine.CauseKind
		says    string
	}{
		{"http://10.1.2.3/", false, engine.CauseAddress, "10.1.2.3 has a private or special address"},
		{"http://10.1.2.3:8080/", false, engine.CausePort, "10.1.2.3:8080 has a port other than 80 and 443"},
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
			if got.Kind != c.kind || !strings.Contains(got.Text, c.says) || got.Help != "--allow-private permits it" {
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
