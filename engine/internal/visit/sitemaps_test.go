// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestSitemaps: the Sitemap lines of a robots.txt are handed out once, normalized, a bounded number of each file.
func TestSitemaps(t *testing.T) {
	w := newWorld(t, admission.Options{})
	var text strings.Builder
	fmt.Fprintln(&text, "Sitemap: mailto:x\nSitemap: http://a.example/0.xml#part")
	for i := range 300 {
		fmt.Fprintf(&text, "Sitemap: http://a.example/%d.xml\n", i)
	}
	w.web.set("http://a.example/robots.txt", robotsTxt(text.String()))
	w.web.set("http://b.example/robots.txt",
		robotsTxt("Sitemap: http://b.example/s.xml\nSitemap: http://a.example/1.xml"))
	w.web.set("http://c.example/robots.txt", reply("HTTP/1.1 404 No", "Sitemap: http://c.example/s.xml"))
	found := func(links policy.URLNormalizers) []urlkey.Key {
		env := w.env
		env.Links = links
		h := NewHosts(env)
		for _, host := range []string{"a", "b", "c", "a"} {
			u := w.url("http://" + host + ".example/")
			if _, err := h.robots(context.Background(), u, noWays); err != nil {
				t.Error(err)
			}
		}
		all, done := h.Sitemaps()
		again, doneAgain := h.Sitemaps()
		if !slices.Equal(all, again) {
			t.Errorf("%q, and after an update that failed %q", all, again)
		}
		done()
		doneAgain()
		if left, _ := h.Sitemaps(); len(left) > 0 {
			t.Errorf("after the update: %q", left)
		}
		return all
	}
	all := found(policy.URLNormalizers{})
	seen := map[urlkey.Key]bool{}
	for _, k := range all {
		seen[k] = true
	}
	if len(all) != len(seen) || len(all) < sitemapsOfHost-2 || len(all) > sitemapsOfHost+1 ||
		!seen["example,b,)/s.xml http"] || seen["example,c,)/s.xml http"] {
		t.Errorf("%d sitemaps, %d different", len(all), len(seen))
	}
	if all := found(nil); len(all) != 0 {
		t.Errorf("without normalizers: %q", all)
	}
}

// TestManySitemaps: however many sitemaps a process has collected, those of further hosts are collected too. Those that
// find no room until updatedb has taken others come when their robots.txt is looked at again.
func TestManySitemaps(t *testing.T) {
	var all sitemaps
	collect := func(host int) {
		var text strings.Builder
		for i := range sitemapsOfHost {
			fmt.Fprintf(&text, "Sitemap: /%d.xml\n", i)
		}
		authority := storage.AuthorityKey(urlkey.HostKey(fmt.Sprintf("example,%06d,)", host)), "http")
		facts := storage.HostFacts{RobotsStatus: 200, Robots: []byte(text.String())}
		all.note(authority, &facts, policy.URLNormalizers{})
	}
	take := func() int {
		keys, done := all.found()
		done()
		return len(keys)
	}
	const waiting = sitemapsNext/sitemapsOfHost + 2
	for host := range waiting {
		collect(host)
	}
	if n := take(); n != sitemapsNext {
		t.Errorf("%d sitemaps wait, want %d", n, sitemapsNext)
	}
	collect(waiting - 1)
	if n := take(); n != sitemapsOfHost {
		t.Errorf("%d sitemaps of the host that found no room, want %d", n, sitemapsOfHost)
	}
	for host := range 2 * sitemapsSeen / sitemapsOfHost {
		collect(waiting + host)
		if n := take(); n != sitemapsOfHost {
			t.Fatalf("%d sitemaps of host %d, want %d", n, host, sitemapsOfHost)
		}
	}
	if len(all.seen) > sitemapsSeen {
		t.Errorf("%d sitemaps are remembered", len(all.seen))
	}
}

// TestRelativeSitemaps: a Sitemap line that is no complete URL is relative to the robots.txt, with its scheme and port.
func TestRelativeSitemaps(t *testing.T) {
	w := newWorld(t, admission.Options{})
	w.env.Links = policy.URLNormalizers{}
	for _, at := range []string{"http://a.example", "https://a.example", "http://a.example:8080", "http://[::1]:81"} {
		w.web.set(at+"/robots.txt", robotsTxt(
			"Sitemap:\nSitemap: /a.xml\nSitemap: b/c.xml?d\nSitemap: //o.example/e\n"))
		h := NewHosts(w.env)
		_, err := h.robots(context.Background(), w.url(at+"/"), noWays)
		w.must(err)
		scheme, _, _ := strings.Cut(at, ":")
		var want []urlkey.Key
		for _, u := range []string{at + "/a.xml", at + "/b/c.xml?d", scheme + "://o.example/e"} {
			want = append(want, w.url(u).Key())
		}
		if got, _ := h.Sitemaps(); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", at, got, want)
		}
	}
}
