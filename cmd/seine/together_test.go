// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// siteDir is a data directory with a settings file, and a site on loopback that the phases visit one at a time.
type siteDir struct {
	*testing.T
	dir, site string
}

// newSiteDir serves a site and writes the settings.
func newSiteDir(t *testing.T, site http.HandlerFunc, settings ...string) *siteDir {
	server := httptest.NewServer(site)
	t.Cleanup(server.Close)
	w := &siteDir{t, t.TempDir(), server.URL}
	w.write("seine.toml", "allow-private = true", "delay = \"0s\"", strings.Join(settings, "\n"))
	return w
}

func (w *siteDir) write(name string, lines ...string) {
	w.Helper()
	text := strings.Join(lines, "\n") + "\n"
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o644); err != nil {
		w.Fatal(err)
	}
}

// seine runs a command on the directory and returns what it prints.
func (w *siteDir) seine(args ...string) string {
	w.Helper()
	var out, errs bytes.Buffer
	if status := run(append(args, "--dir", w.dir), strings.NewReader(""), &out, &errs); status != 0 {
		w.Fatalf("%v: status %d\n%s%s", args, status, &out, &errs)
	}
	return out.String()
}

// round fetches what is due, up to linkdb.
func (w *siteDir) round() {
	w.Helper()
	for _, phase := range []string{"generate", "fetch", "updatedb", "invertlinks"} {
		w.seine(phase)
	}
}

// TestPurgeBesideFilter: invertlinks that purges a page which is gone, as purge-gone has it, restores its duplicates by
// the settings of dedup: not what a filter denies, and not what is only nearly a duplicate of another page.
func TestPurgeBesideFilter(t *testing.T) {
	var gone atomic.Bool
	w := newSiteDir(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/":
			fmt.Fprint(w, `<title>Front</title><a href="/best">1</a> <a href="/second">2</a> <a href="/third.">3</a>`)
		case r.URL.Path == "/robots.txt" || r.URL.Path == "/best" && gone.Load():
			http.NotFound(w, r)
		default:
			fmt.Fprint(w, `<title>Copy</title><p>The same mesh three times.`)
		}
	})
	w.seine("crawl", w.site)
	found := func() string { return w.seine("search", "mesh") }
	if text := found(); !strings.Contains(text, "/best") || strings.Contains(text, "/second") {
		t.Fatal(text)
	}
	w.write("rules", "-second", "+.")
	w.write("seine.toml", "allow-private = true", `delay = "0s"`, "purge-gone = true", `url-filter = "rules"`)
	gone.Store(true)
	w.seine("recrawl", w.site+"/best")
	w.round()
	if text := found(); !strings.Contains(text, "/third") || strings.Contains(text, "/second") {
		t.Errorf("what a filter denies is found:\n%s", text)
	}
}

// TestSitemapNormalized: a sitemap that a robots.txt names is known by the spelling that the normalizers of links give
// it, in the phases as in a crawl.
func TestSitemapNormalized(t *testing.T) {
	site := func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			fmt.Fprint(w, "Sitemap: /map.xml?b=2&a=1\n")
		case "/map.xml":
			fmt.Fprint(w, `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"></urlset>`)
		default:
			fmt.Fprint(w, `<title>Front</title>`)
		}
	}
	for way, run := range map[string]func(w *siteDir){
		"crawl": func(w *siteDir) { w.seine("crawl", w.site) },
		"batch": func(w *siteDir) {
			w.seine("inject", w.site)
			w.round()
		},
	} {
		w := newSiteDir(t, site, "sitemaps = true", "sort-query = true")
		run(w)
		if text := w.seine("readdb", "--dump"); !strings.Contains(text, "/map.xml?a=1&b=2") ||
			strings.Contains(text, "?b=2") {
			t.Errorf("%s:\n%s", way, text)
		}
	}
}

// TestSignatureOfFirst: whichever command makes a data directory, its pages have the signature that its settings file
// names.
func TestSignatureOfFirst(t *testing.T) {
	site := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `<title>Front</title>`) }
	theirs := newSiteDir(t, site)
	theirs.seine("inject", theirs.site)
	for _, first := range [][]string{{"freegen", ""}, {"mergedb", theirs.dir}} {
		w := newSiteDir(t, site, `signature = "text"`)
		if first[1] == "" {
			w.write("list", w.site)
			first[1] = filepath.Join(w.dir, "list")
		}
		w.seine(first...)
		if first[0] == "mergedb" {
			w.seine("generate")
		}
		if text := w.seine("fetch"); !strings.Contains(text, "1 fetched") {
			t.Errorf("after %s: %s", first[0], text)
		}
	}
}

// TestMergedWithheld: links that mergedb brings along, and that are permitted here, become records by the settings of
// this directory.
func TestMergedWithheld(t *testing.T) {
	theirs := newSiteDir(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `<title>Front</title><a href="http://b.example/x">elsewhere</a>`)
	})
	theirs.seine("crawl", theirs.site)
	for settings, want := range map[string]string{
		`interval = "1h"`: `"interval":3600,`, "no-additions = true": "", `scope = "page"`: "",
		`ignore-by = "host"`: `"interval":2592000,`,
	} {
		w := newSiteDir(t, http.NotFound, settings)
		w.seine("inject", "http://b.example/seed")
		w.seine("mergedb", theirs.dir)
		text := w.seine("readdb", "--json", "--prefix", "http://b.example/x")
		if want == "" && text != "" || !strings.Contains(text, want) {
			t.Errorf("%s: %s", settings, text)
		}
	}
}

// TestIgnoredPassNothingOn: a link that does not count says nothing of its target when the depth of its page falls,
// whichever command finds that out.
func TestIgnoredPassNothingOn(t *testing.T) {
	next := map[string]string{"/": "/1", "/1": "/2", "/2": "/3"}
	w := newSiteDir(t, func(w http.ResponseWriter, r *http.Request) {
		_, port, _ := strings.Cut(r.Host, ":")
		fmt.Fprintf(w, `<title>%s</title><a href="%s">next</a>`, r.URL.Path, next[r.URL.Path])
		if strings.HasPrefix(r.Host, "a.") && r.URL.Path == "/3" {
			fmt.Fprintf(w, `<a href="http://b.example:%s/3">b</a>`, port)
		}
	}, `hosts = "names"`, "ignore-external = true")
	w.write("names", "127.0.0.1 a.example b.example")
	at := func(host, path string) string {
		return strings.Replace(w.site, "127.0.0.1", host+".example", 1) + path
	}
	w.seine("crawl", at("a", "/"), at("b", "/"))
	w.seine("inject", at("a", "/3"))
	for host, want := range map[string]string{"a": `"depth":0,`, "b": `"depth":3,`} {
		if text := w.seine("readdb", "--json", "--url", at(host, "/3")); !strings.Contains(text, want) {
			t.Errorf("%s, want %s", text, want)
		}
	}
}

// TestWeightsOfInject: what a redirect leads to whose chain is short enough once its page is a seed gets the weight
// that the settings give to links, whichever command finds that out.
func TestWeightsOfInject(t *testing.T) {
	w := newSiteDir(t, func(w http.ResponseWriter, r *http.Request) {
		if n := int(r.URL.Path[len(r.URL.Path)-1] - '0'); n >= 0 && n < 3 {
			http.Redirect(w, r, fmt.Sprintf("/%d", n+1), http.StatusFound)
			return
		}
		fmt.Fprint(w, `<title>Front</title>`)
	}, "max-redirects = 1", "score-internal = 3")
	w.seine("crawl", w.site+"/0", w.site)
	w.seine("inject", w.site+"/1")
	if text := w.seine("readdb", "--json", "--url", w.site+"/2"); !strings.Contains(text, `"score":3,`) {
		t.Errorf("%s", text)
	}
}
