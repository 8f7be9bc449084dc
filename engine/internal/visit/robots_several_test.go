// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"fmt"
	"testing"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
)

// TestSeveralWaitForRobots: of several visits to a host at once, those that waited for its robots.txt do not all send
// their requests when it comes: a Crawl-delay that it demands lies between them.
func TestSeveralWaitForRobots(t *testing.T) {
	const visits = 3
	table, err := policy.NewHostTable(map[string]policy.HostSettings{"own.example": {PerHost: visits}})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, admission.Options{Hosts: table})
	l, let := newList(w), make(chan struct{})
	w.web.set("http://own.example/robots.txt", stuck(let, robotsTxt("User-agent: *\nCrawl-delay: 200")))
	for i := range 100 { // more than the URLs of three visits without a delay
		u := fmt.Sprintf("http://own.example/%d", i)
		w.web.set(u, html("page"))
		l.add(Choice{Key: w.url(u).Key(), Score: 1})
	}
	r := w.start(NewHosts(w.env), l, 8, Limits{})
	w.until("visits that wait for robots.txt", func() bool { return r.Busy() == visits })
	close(let)
	w.until("the end of these visits", func() bool {
		s := r.front.Stats()
		return r.Busy() == 0 && s.Pending == 0 && s.Ready+s.InFlight == 0
	})
	r.end()
	if n := len(w.web.requests()); n != 1 {
		t.Errorf("%d requests, want one for robots.txt and no other for 200 seconds", n)
	}
}
