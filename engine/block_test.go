// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"errors"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
)

// requested counts the requests to a host of the world, with those for robots.txt.
func (w *world) requested(host string) (n int) {
	for u, times := range w.Requests() {
		if p, err := url.Parse(u); err == nil && p.Host == host {
			n += times
		}
	}
	return n
}

// TestBlock: a blocked host gets no request, not even for robots.txt, also from the next process and after a power
// failure. After the block the crawl ends as if there had been none.
func TestBlock(t *testing.T) {
	w := newWorld(t, 5, 15)
	plain := w.options(dataDir(t))
	w.crawl(plain, engine.CrawlOptions{Inject: w.seeds()})
	want := digestOf(t, plain)

	u, err := url.Parse(w.Web.Root(1))
	if err != nil {
		t.Fatal(err)
	}
	before := w.requested(u.Host)
	if before == 0 {
		t.Fatalf("no request to %s", u.Host)
	}
	fs := storage.NewCrashableFS()
	o := w.options("/crawl")
	o.FS = fs
	e := open(t, o)
	if err := e.Block("no host"); err == nil {
		t.Error("a text that is no host is blocked")
	}
	if err := e.Block(u.Host, "other.example:8080"); err != nil {
		t.Fatal(err)
	}
	o.FS = fs.Crash(0, 1) // what was not synced is lost
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	w.crawl(o, engine.CrawlOptions{Inject: w.seeds()})
	if n := w.requested(u.Host); n != before {
		t.Errorf("%d requests to a blocked host", n-before)
	}
	e = open(t, o)
	blocked, err := e.Inspect().Blocked()
	if err != nil || !slices.Equal(blocked, []string{u.Host, "other.example:8080"}) {
		t.Errorf("blocked: %v, %v", blocked, err)
	}
	now, err := e.Inspect().HostNow(u.Host)
	if err != nil || !now.Blocked || now.State != engine.HostAbsent || now.Host != u.Host {
		t.Errorf("%+v, %v", now, err)
	}
	c, err := e.Inspect().Check(w.Web.Root(1), policy.NormalizeOutlink)
	if err != nil || c.Accepted || c.Reason != "blocked" || c.Rule != "host "+u.Host {
		t.Errorf("check: %v, %v", c, err)
	}
	if err := e.Unblock(u.Host, "unknown.example", "other.example:8080"); err != nil {
		t.Fatal(err)
	}
	o.FS = o.FS.(*storage.CrashableFS).Crash(0, 2)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	w.crawl(o, engine.CrawlOptions{})
	e = open(t, o)
	defer mustClose(t, e)
	if blocked, err := e.Inspect().Blocked(); err != nil || len(blocked) > 0 {
		t.Errorf("blocked: %v, %v", blocked, err)
	}
	sameDigest(t, digest(t, e), want)
	verify(t, e)
}

// TestBlockRunning: a block cuts off the request under way, and a running crawl goes on with the host when the block
// ends.
func TestBlockRunning(t *testing.T) {
	site, let := gated(t)
	defer close(let)
	host := strings.TrimPrefix(site.URL, "http://")
	o := siteOptions(t)
	e := open(t, o)
	defer mustClose(t, e)
	c := crawlBeside(t.Context(), t, e, crawlFrom(site.URL+"/"))
	waits := func(s engine.Status) bool {
		n, _ := doing(s, engine.DoingFirstByte)
		return n == 1 && s.Progress.Fetched == 20
	}
	await(t, e, "a request under way", func(s engine.Status) bool {
		return waits(s) && len(s.TopHosts) == 1 && s.TopHosts[0].Pages >= 20 // once its outcomes are durable
	})
	now, err := e.Inspect().HostNow(host)
	if err != nil || now.State != engine.HostInFlight || now.InFlight != 1 || now.Blocked ||
		now.LastMinute == nil || now.LastMinute.Pages != 20 || now.Address != "127.0.0.1" {
		t.Errorf("%+v, %v", now, err)
	}
	throughJSON(t, now)
	if err := e.Pause(); err != nil { // else the crawl ends with the host blocked
		t.Fatal(err)
	}
	if err := e.Block(host); err != nil {
		t.Fatal(err)
	}
	s := await(t, e, "no request", func(s engine.Status) bool {
		held, all := doing(s, engine.DoingHeld)
		return held == all && all > 0
	})
	if s.Progress.Failed != 1 { // the missing page
		t.Errorf("the request that was cut off counts as failed: %+v", s.Progress)
	}
	if err := e.Unblock(host); err != nil {
		t.Fatal(err)
	}
	if err := e.Resume(); err != nil {
		t.Fatal(err)
	}
	await(t, e, "the request again", waits)
	if err := e.Stop(); err != nil {
		t.Fatal(err)
	}
	if r := c.wait(); r.Stopped != engine.StopInterrupted || r.Fetched != 20 {
		t.Errorf("%+v", r)
	}
	if err := e.Stop(); !errors.Is(err, engine.ErrNotCrawling) {
		t.Errorf("without a crawl: %v", err)
	}
}

// TestBlockKeepsDocuments: what was fetched of a host that is blocked later stays to be found.
func TestBlockKeepsDocuments(t *testing.T) {
	s := chain(t, 5)
	o := siteOptions(t)
	o.Dir, o.NoIndex = filepath.Join(t.TempDir(), "data"), false
	e := open(t, o)
	defer mustClose(t, e)
	if _, err := e.Crawl(t.Context(), crawlFrom(s.URL+"/0")); err != nil {
		t.Fatal(err)
	}
	if err := e.Block(strings.TrimPrefix(s.URL, "http://")); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Recrawl(t.Context(), s.URL+"/*"); err != nil {
		t.Fatal(err)
	}
	if r, err := e.Crawl(t.Context(), engine.CrawlOptions{}); err != nil || r.Attempts() != 0 {
		t.Errorf("%v, %v", r, err)
	}
	if _, err := e.Index(t.Context(), engine.IndexOptions{Refresh: true}); err != nil {
		t.Fatal(err)
	}
	found, err := e.Search(t.Context(), "chain", engine.SearchOptions{Deadline: patient})
	if err != nil || found.Total != 6 {
		t.Errorf("%+v, %v", found, err)
	}
}
