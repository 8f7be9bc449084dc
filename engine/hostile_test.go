// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/bench/hostile"
	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/policy"
)

// hostileLeft are cases that the crawl leaves out, because it would take too long.
var hostileLeft = map[string]string{
	"robots-delay-huge": "its page is fetched after the cap of a Crawl-delay, five minutes",
}

// judgeCrawl compares the outcome of a case with the one that it wants.
func judgeCrawl(s *hostile.Server, c *hostile.Case, status string) error {
	var wrong []string
	t, want := s.Log().Tally(c.Name), c.Want.Crawl
	if t.Conns >= t.Requests {
		want = slices.Concat(want, c.Want.CrawlApart)
	}
	if want != nil && !slices.Contains(want, status) {
		wrong = append(wrong, fmt.Sprintf("its page is %s, want %s", status, strings.Join(want, " or ")))
	}
	if c.Want.CrawlRequests > 0 && t.Requests > c.Want.CrawlRequests {
		wrong = append(wrong, fmt.Sprintf("%d requests, want at most %d", t.Requests, c.Want.CrawlRequests))
	}
	// When a client drops a large response, the server notices only at its next write.
	if t.MaxInFlight > 1 && t.BytesOut < 64<<10 {
		wrong = append(wrong, fmt.Sprintf("%d requests at once", t.MaxInFlight))
	}
	if wrong == nil {
		return nil
	}
	return fmt.Errorf("%s: %s", c.Name, strings.Join(wrong, "; "))
}

// TestHostileWeb: a crawl of all cases at once ends. It leaves every page in the right state and a store without a
// fault, and honest pages among them are found. It is alone: how long a server may take is real time, in which under
// the race detector, beside others, the largest pages did not come.
func TestHostileWeb(t *testing.T) {
	var cases []hostile.Case
	for _, c := range hostile.Cases() {
		// Traps are endless: see TestTraps.
		if _, left := hostileLeft[c.Name]; !left && !c.Policy && !c.TLS && c.URL == "" && c.Group != "traps" {
			cases = append(cases, c)
		}
	}
	s, err := hostile.Start(hostile.Options{Cases: cases, Scale: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	// Enough for the largest page of an honest server under the race detector, as is the memory: where bodies wait for
	// it, slow ones are cut off and requested again. Silent servers use all of the time.
	const patience = 10 * time.Second
	o := engine.Options{
		Dir: dataDir(t), Memory: 512 << 20, Delay: -1, AllowPrivate: true, Scope: policy.ScopeHost,
		FetchTimeout: patience,
		Resolver:     fetch.NewResolver(fetch.ResolverOptions{LookUp: s.LookUp, Timeout: patience / 4}),
	}
	e := open(t, o)
	defer mustClose(t, e)
	c := engine.CrawlOptions{Inject: seeds(s.Seeds()...), Patience: 300 * time.Millisecond}
	r, err := e.Crawl(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r)
	verify(t, e)
	statuses := map[string]string{}
	for status, urls := range byStatus(t, e) {
		for u := range urls {
			statuses[u] = status
		}
	}
	var results []hostile.Result
	for _, c := range cases {
		err := judgeCrawl(s, &c, statuses[s.URL(&c)])
		results = append(results, hostile.Result{Case: c, Err: err, Note: statuses[s.URL(&c)]})
		if err != nil {
			t.Error(err)
		}
	}
	if file := os.Getenv("SEINE_HOSTILE_TABLE"); file != "" {
		if err := os.WriteFile(file, []byte(hostile.Table(results)), 0o644); err != nil {
			t.Error(err)
		}
	}
	found, err := e.Search(context.Background(), "robots", engine.SearchOptions{Deadline: patient})
	if err != nil || found.Total == 0 {
		t.Errorf("honest pages are not found: %d, %v", found.Total, err)
	}
}

// TestTraps: endless sites get no more than their budget, and the crawl ends by itself.
func TestTraps(t *testing.T) {
	const hostPages, domainPages = 12, 150
	var cases []hostile.Case
	for _, c := range hostile.Cases() {
		if c.Group == "traps" {
			cases = append(cases, c)
		}
	}
	if len(cases) < 10 {
		t.Fatalf("%d traps, want ten", len(cases))
	}
	s, err := hostile.Start(hostile.Options{Cases: cases, Scale: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	e := open(t, engine.Options{
		Dir: dataDir(t), Memory: 128 << 20, Delay: -1, AllowPrivate: true, Scope: policy.ScopeDomain,
		HostPages: hostPages, DomainPages: domainPages,
		Resolver: fetch.NewResolver(fetch.ResolverOptions{LookUp: s.LookUp}),
	})
	defer mustClose(t, e)
	c := engine.CrawlOptions{Inject: seeds(s.Seeds()...), Patience: 300 * time.Millisecond}
	r, err := e.Crawl(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r)
	verify(t, e)
	if r.Stopped != "done" {
		t.Errorf("the crawl ended with %q", r.Stopped)
	}
	for _, c := range cases {
		n := s.Log().Tally(c.Name).Requests // robots.txt of each host too
		if n == 0 || c.Name != "wildcard-hosts" && n > hostPages+1 || n > 2*domainPages {
			t.Errorf("%s: %d requests", c.Name, n)
		}
	}
}
