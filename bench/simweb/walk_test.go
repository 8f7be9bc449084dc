// SPDX-License-Identifier: Apache-2.0

package simweb_test

import (
	"bytes"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"

	"github.com/seine-crawler/seine/bench/simweb"
)

// walker is the simplest possible crawler: net/http, a whole tree of each page, sets of URLs.
type walker struct {
	t        *testing.T
	c        *http.Client
	disallow map[string][]string // by host: prefixes of paths
	seen     map[string]bool
	queue    []string
	pages    map[string]*html.Node
	truth    simweb.Truth
}

func (k *walker) allowed(u *url.URL) bool {
	rules, known := k.disallow[u.Host]
	if !known {
		resp, body := get(k.t, k.c, "http://"+u.Host+"/robots.txt")
		switch {
		case resp.StatusCode >= 500:
			rules = []string{"/"}
		case resp.StatusCode == 200:
			for _, line := range strings.Split(string(body), "\n") {
				if p, ok := strings.CutPrefix(line, "Disallow: "); ok {
					rules = append(rules, p)
				}
			}
		}
		k.disallow[u.Host] = rules
	}
	return !slices.ContainsFunc(rules, func(p string) bool { return strings.HasPrefix(u.Path, p) })
}

func (k *walker) add(u string) {
	if !k.seen[u] {
		k.seen[u] = true
		k.queue = append(k.queue, u)
	}
}

func (k *walker) walk(seed string) {
	for k.add(seed); len(k.queue) > 0; k.queue = k.queue[1:] {
		raw := k.queue[0]
		u, err := url.Parse(raw)
		if err != nil {
			k.t.Fatal(err)
		}
		if !k.allowed(u) {
			k.truth.Denied[raw] = true
			continue
		}
		resp, body := get(k.t, k.c, raw)
		switch {
		case resp.StatusCode == 200:
			k.truth.Fetched[raw] = true
			k.links(u, resp, body)
		case resp.StatusCode < 400:
			k.truth.Redirected[raw] = true
			k.truth.Edges++
			k.add(resp.Header.Get("Location"))
		case resp.StatusCode < 500:
			k.truth.Gone[raw] = true
		default:
			k.truth.Failed[raw] = true
		}
	}
}

func (k *walker) links(base *url.URL, resp *http.Response, body []byte) {
	text, err := charset.NewReader(bytes.NewReader(body), resp.Header.Get("Content-Type"))
	if err != nil {
		k.t.Fatal(err)
	}
	tree, err := html.Parse(text)
	if err != nil {
		k.t.Fatal(err)
	}
	k.pages[base.String()] = tree
	noFollow := false
	targets := map[string]bool{}
	for n := range tree.Descendants() {
		if n.Data == "meta" && attr(n, "name") == "robots" {
			k.truth.NoIndex[base.String()] = strings.Contains(attr(n, "content"), "noindex")
			noFollow = strings.Contains(attr(n, "content"), "nofollow")
		}
		if n.Data == "a" && attr(n, "rel") != "nofollow" {
			u, err := base.Parse(attr(n, "href"))
			if err != nil {
				k.t.Fatal(err)
			}
			targets[u.String()] = true
		}
	}
	if noFollow {
		return
	}
	k.truth.Edges += len(targets)
	for _, u := range slices.Sorted(maps.Keys(targets)) {
		k.add(u)
	}
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func text(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return b.String()
}

// TestTruth: an independent walk over real sockets finds what the truth says, down to the anchors; and the walk, which
// is polite but hasty, is reported as such.
func TestTruth(t *testing.T) {
	p := simweb.Lively()
	p.Latency, p.SlowHosts, p.NoFollow, p.RobotsErrors = 0, 0, 0.03, 0.1
	s, err := simweb.Start(p, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	k := &walker{
		t: t, c: client(t, s),
		disallow: map[string][]string{}, seen: map[string]bool{}, pages: map[string]*html.Node{},
		truth: simweb.Truth{
			Fetched: map[string]bool{}, Redirected: map[string]bool{}, Gone: map[string]bool{},
			Failed: map[string]bool{}, Denied: map[string]bool{}, NoIndex: map[string]bool{},
		},
	}
	k.walk(s.Web.Root(0))
	maps.DeleteFunc(k.truth.NoIndex, func(_ string, no bool) bool { return !no })

	want := s.Web.Truth([]int{0}, nil)
	k.truth.Duplicate, k.truth.Broken = want.Duplicate, want.Broken // checked below, and by their own tests
	if diff := cmp.Diff(want, k.truth); diff != "" {
		t.Errorf("truth against walk (-truth +walk):\n%s", diff)
	}
	for what, n := range map[string]int{
		"fetched": len(want.Fetched), "redirected": len(want.Redirected), "gone": len(want.Gone),
		"failed": len(want.Failed), "denied": len(want.Denied), "noindex": len(want.NoIndex),
		"duplicates": len(want.Duplicate), "broken links": want.Broken,
	} {
		if n < 20 {
			t.Errorf("the web is too tame to prove anything: %d %s", n, what)
		}
	}
	k.compare(s.Web, want)

	r := s.Report()
	if r.Peak > 1 || r.Violations > 0 || r.Twice > 0 || r.Malformed+r.UnknownHost+r.WrongAddress+r.Refused > 0 {
		t.Errorf("a polite walk was reported as:\n%s", r)
	}
	if r.URLs != len(want.Fetched)+len(want.Redirected)+len(want.Gone)+len(want.Failed) ||
		r.Requests != r.URLs+r.Robots || !r.Exact {
		t.Errorf("%d URLs in %d requests, want those of the truth", r.URLs, r.Requests)
	}
}

// compare compares each page that was found with Web.Page.
func (k *walker) compare(w *simweb.Web, truth simweb.Truth) {
	seen := 0
	for h := range w.Hosts() {
		for n := range w.Pages(h) {
			p := w.Page(h, n)
			tree := k.pages[p.URL]
			if tree == nil {
				continue
			}
			seen++
			var got []simweb.Link
			base, _ := url.Parse(p.URL)
			title := ""
			for n := range tree.Descendants() {
				switch n.Data {
				case "a":
					u, _ := base.Parse(attr(n, "href"))
					got = append(
						got,
						simweb.Link{URL: u.String(), Anchor: text(n), NoFollow: attr(n, "rel") == "nofollow"},
					)
				case "h1":
					title = text(n)
				}
			}
			if title != p.Title {
				k.t.Errorf("%s: title %q, want %q", p.URL, title, p.Title)
			}
			if diff := cmp.Diff(p.Links, got); diff != "" {
				k.t.Errorf("%s: links (-want +got):\n%s", p.URL, diff)
				return
			}
			if original, is := truth.Duplicate[p.URL]; is != (p.Kind == simweb.KindDuplicate) || is &&
				original != w.URL(h, p.Original) {
				k.t.Errorf("%s: a duplicate of %s? It is a %s of %d", p.URL, original, p.Kind, p.Original)
			}
		}
	}
	if seen != len(truth.Fetched) {
		k.t.Errorf("%d pages compared, want %d", seen, len(truth.Fetched))
	}
}
