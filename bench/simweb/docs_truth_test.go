// SPDX-License-Identifier: Apache-2.0

package simweb_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seine-crawler/seine/bench/simweb"
)

// TestDocsTruth: the truth of a small manual is the one written here, and every URL of it is requested.
func TestDocsTruth(t *testing.T) {
	root := manual(t)
	s := serveDocs(
		t, simweb.DocsOptions{Root: root}, filepath.Join(root, "doc/guide"), filepath.Join(root, "doc/other"),
	)
	// The port is known only now; the link that names it is written into the page.
	index := filepath.Join(root, "doc/guide/index.html")
	b, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := strings.Cut(s.Front(), ":")
	if err := os.WriteFile(index, []byte(strings.ReplaceAll(string(b), "PORT", port)), 0o644); err != nil {
		t.Fatal(err)
	}
	g, o := s.Docs.Root(0), s.Docs.Root(1)
	got, err := s.Docs.Truth(context.Background(), g)
	if err != nil {
		t.Fatal(err)
	}
	want := &simweb.DocTruth{
		Fetched: map[string]string{
			g: "text/html", g + "intro.html": "text/html", g + "intro.html?version=2": "text/html",
			g + "sub/": "text/html", g + "sub/leaf.html": "text/html", g + "notes.txt": "text/plain",
			g + "~tilde.html": "text/html", g + "alias/page.html": "text/html",
			o: "text/html", o + "a%20b.html": "text/html", o + "%D1%84.html": "text/html",
		},
		Redirected: map[string]string{g + "sub": g + "sub/"},
		Gone:       map[string]bool{g + "missing.html": true, g + "empty/": true},
		Broken:     map[string][]string{g: {g + "missing.html"}, g + "sub/leaf.html": {g + "empty/"}},
		Bad:        map[string][]string{g: {"http://[broken"}},
		// From the first page 8, from the two introductions 1 each, from the frame set 1, from the leaf 2,
		// from the alias 1, from the other host 1 and 1, and the redirect.
		Edges: 17,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("truth (-want +got):\n%s", diff)
	}
	c := client(t, s)
	status := func(u string) int {
		resp, _ := get(t, c, u)
		return resp.StatusCode
	}
	for u := range got.Fetched {
		if n := status(u); n != 200 {
			t.Errorf("%s: %d", u, n)
		}
	}
	for u := range got.Redirected {
		if n := status(u); n != 301 {
			t.Errorf("%s: %d", u, n)
		}
	}
	for u := range got.Gone {
		if n := status(u); n != 404 {
			t.Errorf("%s: %d", u, n)
		}
	}
	if _, err := s.Docs.Truth(context.Background(), "http://elsewhere.example/"); err == nil {
		t.Error("a seed on no host was taken")
	}
	texts := map[string]string{}
	if err := s.Docs.Walk(context.Background(), []string{g}, func(v *simweb.DocVisit) error {
		for _, l := range v.Links {
			if v.URL == g {
				texts[l.Tag+" "+l.URL] = l.Text
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if texts["a "+g+"intro.html"] != "The introduction" || len(texts) < 10 {
		t.Errorf("links of the first page: %q", texts)
	}
}

// TestListing: with Listing, a folder without index.html leads to its files.
func TestListing(t *testing.T) {
	root := manual(t)
	s := serveDocs(t, simweb.DocsOptions{Root: root, Listing: true}, "top.example="+filepath.Join(root, "usr"))
	truth, err := s.Docs.Truth(context.Background(), s.Docs.Root(0))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"", "share/", "share/alias/", "share/alias/page.html", "share/alias/a%20&b.txt"} {
		if _, ok := truth.Fetched[s.Docs.Root(0)+p]; !ok {
			t.Errorf("/%s is not reached", p)
		}
	}
}
