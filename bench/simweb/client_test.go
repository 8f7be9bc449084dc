// SPDX-License-Identifier: Apache-2.0

package simweb_test

import (
	"bytes"
	"context"
	"html"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/seine-crawler/seine/bench/simweb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client reaches a server by the names of its hosts file, and follows no redirects.
func client(t testing.TB, s *simweb.Server) *http.Client {
	t.Helper()
	var b bytes.Buffer
	if err := s.HostsFile(&b); err != nil {
		t.Fatal(err)
	}
	addresses := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(b.String()), "\n") {
		address, name, _ := strings.Cut(line, " ")
		addresses[name] = address
	}
	tr := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort(addresses[host], port))
	}}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{
		Transport:     tr,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func get(t testing.TB, c *http.Client, u string) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, u, nil)
	if err != nil {
		t.Fatal(err)
	}
	return do(t, c, req)
}

func do(t testing.TB, c *http.Client, req *http.Request) (*http.Response, []byte) {
	t.Helper()
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, body
}

// TestWalkOptions: scope, nofollow and sitemaps.
func TestWalkOptions(t *testing.T) {
	p := simweb.Small()
	p.Sitemaps, p.NoFollow = 1, 0.3
	w, err := simweb.New(p, 8080)
	if err != nil {
		t.Fatal(err)
	}
	count := func(o simweb.WalkOptions) (pages, hosts int) {
		o.Seeds = []simweb.Ref{{Host: 0}, {Host: 0}}
		seen := map[int]bool{}
		if err := w.Walk(context.Background(), o, func(v *simweb.Visit) error {
			seen[v.Host] = true
			pages++
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return pages, len(seen)
	}
	plain, hosts := count(simweb.WalkOptions{})
	alone, one := count(simweb.WalkOptions{Keep: func(h int) bool { return h == 0 }})
	bold, _ := count(simweb.WalkOptions{FollowNoFollow: true})
	listed, _ := count(simweb.WalkOptions{Sitemaps: true})
	if hosts < 20 || one != 1 || alone >= plain || bold <= plain || listed <= plain {
		t.Errorf(
			"%d pages on %d hosts; one host %d on %d; with nofollow %d; with sitemaps %d",
			plain, hosts, alone, one, bold, listed,
		)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := w.Walk(
		ctx, simweb.WalkOptions{Seeds: []simweb.Ref{{}}}, func(*simweb.Visit) error { return nil },
	); err != context.Canceled {
		t.Errorf("a cancelled walk ended with %v", err)
	}
}

// TestSitemaps: a sitemap lists the pages that answer 200, also if it is spread over several files.
func TestSitemaps(t *testing.T) {
	p := simweb.Bench(1, 25_000)
	p.Sitemaps, p.Missing, p.Queries = 1, 0.1, 0.1
	s, err := simweb.Start(p, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := client(t, s)
	locs := func(u string) (out []string) {
		resp, body := get(t, c, u)
		if resp.StatusCode != 200 {
			t.Fatalf("%s: %s", u, resp.Status)
		}
		for _, part := range strings.Split(string(body), "<loc>")[1:] {
			loc, _, _ := strings.Cut(part, "</loc>")
			out = append(out, html.UnescapeString(loc))
		}
		return out
	}
	var got []string
	files := locs(s.URL(0, "/sitemap.xml"))
	for _, f := range files {
		got = append(got, locs(f)...)
	}
	var want []string
	for n := range s.Web.Pages(0) {
		if p := s.Web.Page(0, n); p.Status == 200 {
			want = append(want, p.URL)
		}
	}
	if len(files) != 3 || !slices.Equal(got, want) {
		t.Errorf("%d files with %d URLs, want 3 with %d", len(files), len(got), len(want))
	}
	if resp, _ := get(t, c, s.URL(0, "/sitemap-3.xml")); resp.StatusCode != 404 {
		t.Errorf("one file too many: %s", resp.Status)
	}
}
