// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
)

// TestMoreOfShownHost: a page that is shown by the URL of a redirect from another host leads to more of its own host.
func TestMoreOfShownHost(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch www := strings.HasPrefix(r.Host, "www."); {
		case !www && r.URL.Path == "/":
			http.Redirect(w, r, "http://www."+r.Host+"/welcome", http.StatusMovedPermanently)
		case www && r.URL.Path == "/welcome":
			fmt.Fprint(w, `<title>Welcome</title><p>harbour <a href="/other">other</a>`)
		case www && r.URL.Path == "/other":
			fmt.Fprint(w, `<title>Other</title><p>the other harbour`)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	address := []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	e, err := engine.Open(engine.Options{
		Dir: t.TempDir(), Memory: 64 << 20, AllowPrivate: true, Delay: -1, Scope: policy.ScopeDomain,
		ChooseRedirectURL: true, Hosts: map[string][]netip.Addr{"net.example": address, "www.net.example": address},
	})
	must(t, err)
	t.Cleanup(func() { must(t, e.Close()) })
	root := strings.Replace(server.URL, "127.0.0.1", "net.example", 1)
	_, err = e.Crawl(t.Context(), engine.CrawlOptions{Inject: engine.InjectOptions{URLs: []string{root}}})
	must(t, err)
	r, err := e.Search(t.Context(), "title:welcome", engine.SearchOptions{})
	must(t, err)
	if len(r.Hits) != 1 || r.Hits[0].URL != root+"/" {
		t.Fatalf("%+v", r.Hits)
	}
	r.Hits[0].More = 1
	host := "www." + strings.TrimPrefix(root, "http://")
	shown := New(e, Options{}).hit(&page{}, searchState{Query: "harbour"}, r.Hits[0], "").Opening
	at := "http://" + host + "/welcome"
	for _, link := range []string{
		(&page{}).Path("/", "q", "harbour host:"+host),
		(&page{}).Path("/copy", "url", at), (&page{}).Path("/url", "url", at),
	} {
		if !strings.Contains(html.UnescapeString(string(shown)), `"`+link+`"`) {
			t.Errorf("no link to %s in\n%s", link, shown)
		}
	}
	_, _, answer := opens(t, New(e, Options{}), "/api/v1/search?q=title:welcome")
	if !strings.Contains(answer, `"url":"`+root+`/"`) || !strings.Contains(answer, `"page":"`+at+`"`) {
		t.Errorf("the API says %s", answer)
	}
}

// TestFrontPageOfAll: the counts of the front page are of all pages, also of those without text.
func TestFrontPageOfAll(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			fmt.Fprint(w, `<title>Net</title><p>a net <a href="/bare"></a>`)
		case "/bare":
			fmt.Fprint(w, `<title>Bare</title><img src=x.png>`)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	e, err := engine.Open(engine.Options{Dir: t.TempDir(), Memory: 64 << 20, AllowPrivate: true, Delay: -1})
	must(t, err)
	t.Cleanup(func() { must(t, e.Close()) })
	_, err = e.Crawl(t.Context(), engine.CrawlOptions{Inject: engine.InjectOptions{URLs: []string{server.URL}}})
	must(t, err)
	_, _, body := opens(t, New(e, Options{}), "/")
	const counts = 2 // of types and of hosts
	if !strings.Contains(body, "2 pages of 1 host") || strings.Count(body, `<span class="n">2</span>`) != counts {
		t.Errorf("%s", body)
	}
}

// TestFaultOf: what is wrong with a part that no page passes is said, with its column, whatever else is wrong.
func TestFaultOf(t *testing.T) {
	const empty = `date: "2024..2023" is an empty range`
	for query, want := range map[string]string{
		"net": "", "net) lang:x1": "", "net date:2024..2023": "column 10: " + empty,
		"net) date:2024..2023": "column 11: " + empty, "color:red (net date:2024..2023)": "column 21: " + empty,
		"date:soon site:a..b%": `column 16: site: "a..b%" is not a host or domain`,
	} {
		if got := faultOf(query); got != want {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
}
