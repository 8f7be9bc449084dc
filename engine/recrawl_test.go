// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
)

// TestRecrawlOfTheOpenSegment: a page that a crawl has fetched, and not brought into crawldb yet, is fetched once more
// when Recrawl asks for it, by that crawl or by the next one if that is cut short. What counts is what was stored: a
// crawl may be cut short after the server has answered.
func TestRecrawlOfTheOpenSegment(t *testing.T) {
	for _, cut := range []bool{false, true} {
		asked := make(chan struct{})
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/robots.txt":
				http.NotFound(w, r)
			case "/last": // the crawl does not end before Recrawl has asked
				<-asked
			}
			fmt.Fprint(w, "<p>A page.")
		}))
		defer s.Close()
		abort, cancel := context.WithCancel(context.Background())
		defer cancel()
		o := siteOptions(t)
		o.PerHost = 2
		var e *engine.Engine
		var stored atomic.Int32
		o.OnPage = func(p *engine.Page) {
			if p.URL.String() != s.URL+"/" || stored.Add(1) > 1 {
				return
			}
			time.Sleep(2 * time.Millisecond) // times have milliseconds
			if r, err := e.Recrawl(context.Background(), s.URL+"/"); err != nil || r.Records != 1 {
				t.Errorf("%+v, %v", r, err)
			}
			if cut {
				cancel()
			}
			close(asked)
		}
		e = open(t, o)
		defer mustClose(t, e)
		c := engine.CrawlOptions{Inject: seeds(s.URL+"/", s.URL+"/last"), Abort: abort}
		if _, err := e.Crawl(context.Background(), c); (err != nil) != cut {
			t.Fatal(err)
		}
		if cut {
			if _, err := e.Crawl(context.Background(), engine.CrawlOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		if n := stored.Load(); n != 2 {
			t.Errorf("cut short %t: fetched %d times", cut, n)
		}
		r, err := e.Inspect().Record(s.URL + "/")
		if err != nil || time.Until(r.FetchTime) < 24*time.Hour {
			t.Errorf("cut short %t: due %s, %v", cut, r.FetchTime, err)
		}
		verify(t, e)
	}
}

// TestRecrawlBeforeUpdateDB: a page of a fetchlist that was fetched, and not brought into crawldb yet, stays due when
// Recrawl asks for it; others do not.
func TestRecrawlBeforeUpdateDB(t *testing.T) {
	s := chain(t, 1)
	e := open(t, siteOptions(t))
	defer mustClose(t, e)
	ctx := context.Background()
	generated(t, e, s.URL+"/0", s.URL+"/1")
	if _, err := e.Fetch(ctx, engine.FetchOptions{Segment: 1}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Millisecond) // times have milliseconds
	if _, err := e.Recrawl(ctx, s.URL+"/0"); err != nil {
		t.Fatal(err)
	}
	if _, err := e.UpdateDB(ctx, 1); err != nil {
		t.Fatal(err)
	}
	for path, due := range map[string]bool{"/0": true, "/1": false} {
		r, err := e.Inspect().Record(s.URL + path)
		if err != nil || r.LastFetch.IsZero() || r.FetchTime.Before(time.Now()) != due {
			t.Errorf("%s: fetched %s, due %s, %v", path, r.LastFetch, r.FetchTime, err)
		}
	}
	verify(t, e)
}
