// SPDX-License-Identifier: Apache-2.0

package simweb_test

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/seine-crawler/seine/bench/simweb"
)

// TestAttacks: the first page leads to every attack, each of which has its words and its text; what an attack requests
// is forbidden to crawlers, and remembered.
func TestAttacks(t *testing.T) {
	site := simweb.NewAttacks()
	s, err := simweb.Serve(context.Background(), site, simweb.ServerOptions{FrontOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := client(t, s)
	links := map[string]bool{}
	_, body := get(t, c, s.URL(0, "/"))
	tree, err := html.Parse(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for n := range tree.Descendants() {
		for _, a := range n.Attr {
			if a.Key == "href" {
				links[a.Val] = true
			}
		}
	}
	_, acting := get(t, c, s.URL(0, "/attacks.txt"))
	for _, page := range site.List() {
		if !links[page.Path] {
			t.Errorf("no link leads to %s", page.Path)
		}
		resp, body := get(t, c, s.URL(0, page.Path))
		text := string(body)
		switch {
		case resp.StatusCode == http.StatusFound && strings.Contains(resp.Header.Get("Location"), "<script>"):
		case resp.StatusCode != http.StatusOK || !strings.Contains(text, "trapped net"):
			t.Errorf("%s: status %d, %.200s", page.Path, resp.StatusCode, text)
		case page.Acts != strings.Contains(string(acting), page.Path+"\n"):
			t.Errorf("%s: acts %v, listed as %s", page.Path, page.Acts, acting)
		case page.Acts && !strings.Contains(text, s.URL(0, "/caught/")) && resp.Header.Get("Refresh") == "":
			t.Errorf("%s does nothing: %s", page.Path, text)
		case strings.Contains(text, "CAUGHT") || strings.Contains(text, "GRAFFITO") || strings.Contains(text, "==="):
			t.Errorf("%s is not made whole: %.500s", page.Path, text)
		}
	}
	words := []byte("trapped net")
	for host := range site.Hosts() {
		if resp, body := get(t, c, s.URL(host, "/")); resp.StatusCode != 200 || !bytes.Contains(body, words) {
			t.Errorf("host %s: %s", site.Host(host), body)
		}
		if _, body := get(t, c, s.URL(host, "/robots.txt")); !bytes.Contains(body, []byte("Disallow: /caught\n")) {
			t.Errorf("host %s permits what is caught: %s", site.Host(host), body)
		}
	}
	if list := site.Caught(); len(list) != 0 {
		t.Errorf("caught before anything was requested: %q", list)
	}
	for range 2 {
		get(t, c, s.URL(0, "/caught/img?x=1"))
	}
	if list := site.Caught(); !slices.Equal(list, []string{"img?x=1"}) {
		t.Errorf("caught %q", list)
	}
	if _, body := get(t, c, s.URL(0, "/caught.txt")); string(body) != "img?x=1" {
		t.Errorf("caught.txt: %s", body)
	}
}
