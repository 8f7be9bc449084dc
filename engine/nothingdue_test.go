// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestGenerateRefuses: bounds that mean nothing are errors that name them, before anything is read.
func TestGenerateRefuses(t *testing.T) {
	n := newNames(t, map[string]string{"a.test/": "<p>a"})
	e := open(t, n.options(dataDir(t)))
	defer mustClose(t, e)
	if _, err := e.Inject(t.Context(), n.seeds("a.test/")); err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]engine.GenerateOptions{
		"Top -1": {Top: -1}, "MaxPerHost -1": {MaxPerHost: -1}, "MaxPerDomain -2": {MaxPerDomain: -2},
		"MaxPerAddress -1": {MaxPerAddress: -1}, "Lists -1": {Lists: -1}, "AddDays -1": {AddDays: -1},
		"MaxInterval -1": {MaxInterval: -1}, "MinScore NaN": {MinScore: math.NaN()}, "Status 200": {Status: 200},
	} {
		_, err := e.Generate(t.Context(), o)
		if err == nil || errors.Is(err, engine.ErrNothingDue) || !strings.Contains(err.Error(), want+": want") {
			t.Errorf("%s: %v", want, err)
		}
	}
	g, err := e.Generate(t.Context(), engine.GenerateOptions{MinScore: math.Inf(-1)})
	if err != nil || g.Selected != 1 {
		t.Errorf("%+v, %v", g, err)
	}
}

// TestBudgetNamed: a crawl that ends because of a budget or of max-depth says so, and so does a Generate that finds
// nothing because of one.
func TestBudgetNamed(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		for i := range 5 {
			fmt.Fprintf(w, `%s <a href="%s%d/">more</a> `, r.URL.Path, r.URL.Path, i)
		}
	}))
	defer s.Close()
	host := strings.TrimPrefix(s.URL, "http://")
	ctx := context.Background()
	for _, c := range []struct {
		name string
		set  func(*engine.Options)
		says string
		host bool // it names the host
	}{
		{"host-pages", func(o *engine.Options) { o.HostPages = 3 }, "3 of 3 pages (setting host-pages)", true},
		{"host-bytes", func(o *engine.Options) { o.HostBytes = 9 }, "of 9 bytes (setting host-bytes)", true},
		{"max-pages of a section", func(o *engine.Options) { o.HostPolicy = threePages{} },
			"3 of 3 pages (max-pages in its section)", true},
		{"max-depth", func(o *engine.Options) { o.MaxDepth = 1 },
			"more than 1 link from a seed: a greater --max-depth", false},
	} {
		o := siteOptions(t)
		c.set(&o)
		e := open(t, o)
		r, err := e.Crawl(ctx, crawlFrom(s.URL+"/"))
		if err != nil || r.Cause.Kind != engine.CauseDone || !strings.Contains(r.Cause.String(), c.says) {
			t.Errorf("%s: %s, %v", c.name, r.Cause, err)
		}
		if c.host && !strings.Contains(r.Cause.Text, host) {
			t.Errorf("%s: %s does not name %s", c.name, r.Cause, host)
		}
		r, err = e.Crawl(ctx, engine.CrawlOptions{})
		if err != nil || r.Cause.Kind != engine.CauseBudget || !strings.Contains(r.Cause.String(), c.says) ||
			r.NothingFetched() {
			t.Errorf("%s, again: %s, %v", c.name, r.Cause, err)
		}
		_, err = e.Generate(ctx, engine.GenerateOptions{})
		if !errors.Is(err, engine.ErrNothingDue) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s, generate: %v", c.name, err)
		}
		check, err := e.Inspect().Check(s.URL+"/0/0/", policy.NormalizeOutlink)
		if err != nil || c.host && !strings.Contains(check.String(), c.says) || !c.host && check.Reason != "depth" {
			t.Errorf("%s: %s, %v", c.name, check, err)
		}
		mustClose(t, e)
	}
}

// threePages is the budget of every host.
type threePages struct{}

func (threePages) Settings(urlkey.HostKey) *policy.HostSettings {
	return &policy.HostSettings{MaxPages: 3}
}

// TestNothingDueNamesSegment: where all that is due waits in a segment, generate names it and the command that takes it
// on.
func TestNothingDueNamesSegment(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	ctx := context.Background()
	for _, later := range []bool{false, true} {
		o := siteOptions(t)
		o.ParseLater = later
		e := open(t, o)
		generated(t, e, s.URL+"/0", s.URL+"/1")
		want := func(text string) {
			t.Helper()
			_, err := e.Generate(ctx, engine.GenerateOptions{})
			if !errors.Is(err, engine.ErrNothingDue) || !strings.HasSuffix(err.Error(), text) {
				t.Errorf("%v, want …%s", err, text)
			}
		}
		want(`nothing is due: 2 URLs wait in segment 1, which is open: run "seine fetch" first`)
		if _, err := e.Fetch(ctx, engine.FetchOptions{Segment: 1}); err != nil {
			t.Fatal(err)
		}
		if later {
			want(`2 URLs wait in segment 1, which is open: run "seine parse" first`)
		} else {
			want(`2 URLs wait in segment 1, which is sealed: run "seine updatedb" first`)
		}
		mustClose(t, e)
	}
}

// TestNothingDueBesideCrawl: beside a crawl, which takes its segments through all phases, nothing else is to be run.
// After it, a command that makes segments is.
func TestNothingDueBesideCrawl(t *testing.T) {
	arrived, answer := make(chan bool, 1), make(chan bool)
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		select {
		case arrived <- true:
		default: // not the first
		}
		<-answer
	}))
	defer s.Close()
	e := open(t, siteOptions(t))
	defer mustClose(t, e)
	c := crawlBeside(t.Context(), t, e, crawlFrom(s.URL+"/"))
	<-arrived
	_, during := e.Inspect().DueSegments(storage.SegmentSealed)
	_, newest := e.Inspect().NewestSegment(storage.SegmentSealed)
	close(answer)
	c.wait()
	_, after := e.Inspect().DueSegments(storage.SegmentSealed)
	for _, x := range []struct {
		err  error
		want string
	}{
		{during, "no segment is sealed: wait for the crawl that is running"},
		{newest, "no segment is sealed: wait for the crawl that is running"},
		{after, `no segment is sealed: run "seine generate" first`},
	} {
		if !errors.Is(x.err, engine.ErrNoSegment) || x.err.Error() != x.want {
			t.Errorf("%v, want %s", x.err, x.want)
		}
	}
}

// TestCrawlDelayNamed: what max-crawl-delay keeps from being fetched is not reported as forbidden by robots.txt.
func TestCrawlDelayNamed(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "User-agent: *\nCrawl-delay: 60\n")
	}))
	defer s.Close()
	o := siteOptions(t)
	o.MaxCrawlDelay = time.Second
	e := open(t, o)
	defer mustClose(t, e)
	r, err := e.Crawl(context.Background(), crawlFrom(s.URL+"/"))
	if err != nil || r.RobotsDenied != 1 || r.CrawlDelay != 1 || r.Cause.Kind != engine.CauseRobots ||
		!strings.Contains(r.Cause.Text, "max-crawl-delay") {
		t.Errorf("%+v, %v", r, err)
	}
	c, err := e.Inspect().Check(s.URL+"/", policy.NormalizeInject)
	if err != nil || c.Reason != "crawl_delay" || !strings.Contains(c.String(), "than max-crawl-delay = 1s accepts") {
		t.Errorf("%s, %v", c, err)
	}
}
