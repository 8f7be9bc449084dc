// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/storage"
)

// loopbackHosts has all names at 127.0.0.1.
func loopbackHosts(names ...string) fetch.Hosts {
	hosts := fetch.Hosts{}
	for _, name := range names {
		hosts[name] = []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	}
	return hosts
}

// records returns what the parse records of all segments say, by path.
func records(t testing.TB, e *engine.Engine, root string) map[string]engine.ParseView {
	t.Helper()
	all := map[string]engine.ParseView{}
	for v, err := range e.Inspect().Segments(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		if v.Counts.Fetched+v.Counts.Failed == 0 {
			continue
		}
		for p, err := range e.Inspect().ParseRecords(context.Background(), v.Segment, "") {
			if err != nil {
				t.Fatal(err)
			}
			all[strings.TrimPrefix(p.URL, root)] = p
		}
	}
	return all
}

// TestRefresh: a meta refresh is a redirect of a page that keeps its text and links. Chains of refreshes and redirects
// end, and a parse record says which kind of refresh it was.
func TestRefresh(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		n := len(r.URL.Path)
		switch {
		case r.URL.Path == "/":
			fmt.Fprint(w, `<meta http-equiv=refresh content="5; url=/slow">
				<a href=/r>chain</a> <a href=/ping>ping</a> <a href=/link>link</a> start`)
		case strings.HasPrefix(r.URL.Path, "/r") && n%2 == 0: // /r, /rr, /rrr, …
			fmt.Fprintf(w, `<meta http-equiv=refresh content="0; url=%sr"> chain`, r.URL.Path)
		case strings.HasPrefix(r.URL.Path, "/r"):
			http.Redirect(w, r, r.URL.Path+"r", http.StatusFound)
		case r.URL.Path == "/ping":
			fmt.Fprint(w, `<meta http-equiv=refresh content="0; url=/pong"> ping`)
		case r.URL.Path == "/pong":
			fmt.Fprint(w, `<meta http-equiv=refresh content="0; url=/ping"> pong`)
		default:
			fmt.Fprintf(w, "page %s", r.URL.Path)
		}
	}))
	defer s.Close()
	o := siteOptions(t)
	o.MaxRedirects, o.TrapDuplicates = 5, -1
	e := open(t, o)
	defer mustClose(t, e)
	r, err := e.Crawl(context.Background(), crawlFrom(s.URL+"/"))
	if err != nil {
		t.Fatal(err)
	}
	// /, /slow, /link, /ping, /pong, and six of the chain from /r on, of which every other one is a page.
	if r.Stopped != "done" || r.Fetched != 5+3 || r.Redirected != 3 {
		t.Errorf("%+v", r)
	}
	all := records(t, e, s.URL)
	for path, want := range map[string]struct {
		redirect string
		refresh  string
	}{
		"/":     {"/slow", "permanent"},
		"/r":    {"/rr", "temporary"},
		"/rr":   {"/rrr", ""},
		"/pong": {"/ping", "temporary"},
		"/link": {"", ""},
	} {
		if got := all[path]; strings.TrimPrefix(got.Redirect, s.URL) != want.redirect || got.Refresh != want.refresh {
			t.Errorf("%s: %q %q, want %q %q", path, got.Redirect, got.Refresh, want.redirect, want.refresh)
		}
	}
}

// TestPreferences: what a site says about uses of its pages is kept with each page as of its fetch, also when parse
// records are made again from the WARC. A page that must not be searched is not found.
func TestPreferences(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/robots.txt":
			w.Header().Set("Content-Type", "text/plain")
			fmt.Fprintln(w, strings.Join([]string{
				"License: https://l.example/rsl.xml",
				"User-agent: *",
				"Content-Usage: train-ai=n",
				"Content-Usage: /open/ train-ai=y",
				"Content-Signal: search=yes,ai-train=no",
				"Disallow: /no",
			}, "\n"))
		case "/":
			fmt.Fprint(w, "<a href=/open/a>a</a><a href=/hidden>b</a><a href=/tdm>c</a> lighthouse")
		case "/hidden":
			w.Header().Set("Content-Usage", "train-ai=n, search=n")
			fmt.Fprint(w, "lighthouse that nobody is to find")
		case "/tdm":
			w.Header().Set("X-Robots-Tag", "noai")
			fmt.Fprint(w, `<meta name=TDM-Reservation content=1><meta name=robots content=noimageai>
				lighthouse at the sea`)
		default:
			fmt.Fprint(w, "lighthouse with doors open for all")
		}
	}))
	defer s.Close()
	o := siteOptions(t)
	o.NoIndex = false
	e := open(t, o)
	defer mustClose(t, e)
	ctx := context.Background()
	if _, err := e.Inject(ctx, seeds(s.URL+"/", s.URL+"/open/a", s.URL+"/hidden", s.URL+"/tdm")); err != nil {
		t.Fatal(err)
	}
	g, err := e.Generate(ctx, engine.GenerateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Fetch(ctx, engine.FetchOptions{Segment: g.Segment}); err != nil {
		t.Fatal(err)
	}
	const (
		usage   = "Content-Usage: train-ai=n"
		signal  = "Content-Signal: search=yes,ai-train=no"
		license = "License: https://l.example/rsl.xml"
	)
	check := func(when string) {
		all := records(t, e, s.URL)
		for path, want := range map[string][]string{
			"/":       {usage, signal, license},
			"/open/a": {"Content-Usage: train-ai=y", signal, license},
			"/hidden": {usage, signal, license, "Content-Usage: train-ai=n, search=n"},
			"/tdm":    {usage, signal, license, "tdm-reservation: 1", "robots: noai", "robots: noimageai"},
		} {
			if got := all[path].Preferences; !slices.Equal(got, want) {
				t.Errorf("%s, %s: %q, want %q", when, path, got, want)
			}
		}
	}
	check("fetched")
	if _, err := e.Seal(ctx, g.Segment); err != nil {
		t.Fatal(err)
	}
	check("read back from the WARC")
	if _, err := e.Inspect().NewestSegment(storage.SegmentSealed); err != nil {
		t.Fatal(err)
	}
	finish(t, e, g.Segment)
	hits, err := e.Search(ctx, "lighthouse", engine.SearchOptions{Deadline: patient})
	if err != nil || hits.Total != 3 {
		t.Errorf("%d found, %v", hits.Total, err)
	}
}
