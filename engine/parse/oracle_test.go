// SPDX-License-Identifier: Apache-2.0

package parse_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/engine/parse"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// oracle finds the links of a page the slow, obvious way: it builds a tree by the standard's rules and walks over it.
type oracle struct {
	page, base urlkey.URL
	links      []string
	seen       map[string]bool
}

func oracleLinks(t interface{ Fatal(...any) }, page urlkey.URL, body []byte) []string {
	root, err := html.ParseWithOptions(bytes.NewReader(body), html.ParseOptionEnableScripting(false))
	if err != nil {
		t.Fatal(err)
	}
	o := &oracle{page: page, base: page, seen: map[string]bool{}}
	o.findBase(root)
	o.walk(root)
	return o.links
}

func attribute(n *html.Node, name string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == name && a.Namespace == "" {
			return a.Val, true
		}
	}
	return "", false
}

func (o *oracle) findBase(n *html.Node) bool {
	if n.Type == html.ElementNode {
		switch n.Data {
		case "template":
			return false
		case "base":
			if href, ok := attribute(n, "href"); ok && n.Namespace == "" {
				if u, err := o.page.Resolve(href); err == nil {
					o.base = u
				}
				return true
			}
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if o.findBase(c) {
			return true
		}
	}
	return false
}

func (o *oracle) walk(n *html.Node) {
	if n.Type == html.ElementNode {
		if n.Data == "template" {
			if _, shown := attribute(n, "shadowrootmode"); !shown {
				return
			}
		}
		o.element(n)
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		o.walk(c)
	}
}

func (o *oracle) element(n *html.Node) {
	switch n.Data {
	case "a":
		href, ok := attribute(n, "href")
		if !ok && n.Namespace != "" {
			for _, a := range n.Attr {
				if a.Key == "href" && a.Namespace == "xlink" {
					href, ok = a.Val, true
				}
			}
		}
		if ok {
			o.add(href, true)
		}
	case "area":
		if href, ok := attribute(n, "href"); ok && href != "" {
			o.add(href, true)
		}
	case "frame", "iframe":
		if src, ok := attribute(n, "src"); ok && src != "" {
			o.add(src, false)
		}
	case "link":
		if n.Namespace != "" { // it is none of HTML
			return
		}
		rel, _ := attribute(n, "rel")
		href, _ := attribute(n, "href")
		kind, hasKind := attribute(n, "type")
		words := strings.Fields(strings.ToLower(rel))
		has := func(w string) bool {
			for _, x := range words {
				if x == w {
					return true
				}
			}
			return false
		}
		isHTML := !hasKind || kind == "" || strings.Contains(strings.ToLower(kind), "html")
		if href != "" && (has("canonical") || has("next") || has("prev") || has("previous") ||
			has("alternate") && !has("stylesheet") && isHTML) {
			o.add(href, false)
		}
	}
}

func (o *oracle) add(ref string, anchor bool) {
	u, err := o.base.Resolve(ref)
	if err != nil || u == o.page && (!anchor || strings.Contains(ref, "#") || ref == "") {
		return
	}
	if !o.seen[u.String()] {
		o.seen[u.String()] = true
		o.links = append(o.links, u.String())
	}
}

// links returns the distinct targets of a page's links, in order, except for meta refresh, which the oracle does not
// know.
func links(page *parse.Page) []string {
	var out []string
	seen := map[string]bool{}
	for _, l := range page.Outlinks {
		if u := l.URL.String(); l.Kind != parse.LinkRefresh && !seen[u] {
			seen[u] = true
			out = append(out, u)
		}
	}
	return out
}

// difference describes how two lists differ; "" if they are equal as sets.
func difference(got, want []string) string {
	in := func(list []string, s string) bool {
		for _, x := range list {
			if x == s {
				return true
			}
		}
		return false
	}
	var out strings.Builder
	for _, s := range want {
		if !in(got, s) {
			out.WriteString("\n  missing " + s)
		}
	}
	for _, s := range got {
		if !in(want, s) {
			out.WriteString("\n  extra   " + s)
		}
	}
	return out.String()
}

// soup draws pieces of markup that occur in bad pages.
var soup = rapid.SampledFrom([]string{
	`<a href="p1.html">`, `<a href=p2.html>`, `<A HREF='p3.html'>`, `<a href="p4?x=1&region=2&amp;y=3">`,
	`<a/href=p5.html>`, `<a href="p6.html"title=x>`, `<a name=n>`, `<a href="">`, `<a href="#f">`,
	`<a href=p7.html href=p8.html>`, `<a href="p9.html"/>`, `<a href = p10.html >`, `<a href=mailto:x@y>`,
	`<a href="p11.html"/class="x">`, `<a href=p12.html/class=x>`, `<a class=x/href=p13.html>`,
	`<a =x href=p14.html>`, "<a\thref\n=\r\"p15.html\">", `<a href="a&#x2F;b&#47c">`, `</a>`, `</A >`,
	`</a foo=bar>`, `</>`, `</ >`, `<>`, `< a>`, `<!>`, `<?php x ?>`, `<3`, `&`, `&lt;a href=x&gt;`, `&amp`,
	`&notit;`, `<svg>`, `</svg>`, `<SVG/>`, `<svg viewBox="0 0 1 1">`, `<svg/onload=x>`, `<math>`, `</math>`,
	`<svg><title>i</title></svg>`, `<svg><a xlink:href="s1.html">`, `<![CDATA[`, `]]>`,
	`<![CDATA[<a href=c1.html>]]>`, `<!--`, `-->`, `--!>`, `<!-->`, `<!--->`, `<!-- <a href=c2.html> -->`,
	`<!-- -- -->`, `<!doctype html>`, `<script>`, `</script>`, `<script>if (a<b) "<a href=s2.html>"</script>`,
	`<script><!-- <script> </script> --></script>`, `<style>a{}</style>`, `<textarea><a href=t1.html></textarea>`,
	`<title>t</title>`, `<iframe src=i1.html></iframe>`, `<noscript><a href=n1.html>x</a></noscript>`,
	`<template><a href=h1.html></a></template>`, `<p>`, `</p>`, `<div>`, `</div>`, `<ul><li>`, `</ul>`, `<br/>`,
	`<b>`, `</b>`, `<i>`, `</i>`, `<xml>`, `</xml>`, `<area href=m1.html>`, `<link rel=canonical href=l1.html>`,
	`<link rel="alternate stylesheet" href=l2.css>`, `<link rel=next href=l3.html>`, `text`, " ", "\n", "\x00", "é",
	"漢字", "\"", "'", ">", "=", "/",
})

// TestSoupAgainstTree compares the links with the oracle's over random sequences of such pieces. It skips the pages on
// which the two are known to differ, see argued.
func TestSoupAgainstTree(t *testing.T) {
	page := mustURL(t, "https://example.org/dir/page.html")
	parsers := parse.New(parse.Options{})
	skipped, checked := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		body := strings.Join(rapid.SliceOfN(soup, 1, 24).Draw(t, "pieces"), "")
		if argued(body) != "" {
			skipped++
			return
		}
		checked++
		var p parse.Page
		if err := parsers.Parse(htmlInput(page, []byte(body)), &p); err != nil {
			t.Fatal(err)
		}
		if d := difference(links(&p), oracleLinks(t, page, []byte(body))); d != "" {
			t.Fatalf("%q:%s", body, d)
		}
	})
	t.Logf("%d pages compared, %d skipped", checked, skipped)
}

// argued returns the reason why a page may have other links than the oracle's, or "".
func argued(body string) string {
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(body, p) {
				return true
			}
		}
		return false
	}
	// Where an svg or math element without its own end tag ends depends on the open elements around it, which the
	// parser does not track. It matters only for CDATA sections, raw text and link elements, which are read differently
	// inside.
	if has("<svg", "<math") && has("</") &&
		has("<![CDATA[", "<script", "<style", "<textarea", "<title", "<iframe", "<link") {
		return "misnested foreign content"
	}
	return ""
}

// htmlInput is the Input of an HTML page in UTF-8.
func htmlInput(u urlkey.URL, body []byte) *parse.Input {
	return &parse.Input{URL: u, ContentType: "text/html; charset=utf-8", Body: body}
}

func mustURL(t testing.TB, s string) urlkey.URL {
	t.Helper()
	u, err := urlkey.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// conformance returns the path of third-party test data, and skips the test if there is none.
func conformance(t testing.TB, name string) string {
	t.Helper()
	dir := os.Getenv("SEINE_CONFORMANCE_DATA")
	if dir == "" {
		t.Skip("SEINE_CONFORMANCE_DATA is not set: no third-party test data")
	}
	return filepath.Join(dir, name)
}

// untar calls fn with the files of a .tar.xz archive.
func untar(t testing.TB, archive string, fn func(name string, data []byte)) {
	t.Helper()
	cmd := exec.Command("xz", "-dc", archive)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("no xz to unpack %s with: %v", archive, err)
	}
	r := tar.NewReader(out)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		data := make([]byte, h.Size)
		if _, err := io.ReadFull(r, data); err != nil {
			t.Fatal(err)
		}
		fn(h.Name, data)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}

// eachShort is the number of real pages of which a test with -short reads one: the race detector makes each ten times
// as slow, and watches the same code in all of them.
const eachShort = 4

// realPages calls fn with the pages of an archive of WCXB in order, and the annotation of each by people (JSON). With
// -short it takes one page of eachShort.
func realPages(t *testing.T, archive string, fn func(name string, body, annotation []byte)) {
	t.Helper()
	files := map[string][]byte{}
	untar(t, conformance(t, archive), func(name string, data []byte) { files[name] = data })
	i := 0
	for _, name := range slices.Sorted(maps.Keys(files)) {
		base, isPage := strings.CutSuffix(name, ".html")
		if !isPage {
			continue
		}
		if i++; !testing.Short() || i%eachShort == 0 {
			fn(name, files[name], files[base+".json"])
		}
	}
}

// ofAll is the part of n pages that realPages takes.
func ofAll(n int) int {
	if testing.Short() {
		return n / eachShort
	}
	return n
}

// TestRealPagesAgainstTree compares the links of real pages with the oracle's.
func TestRealPagesAgainstTree(t *testing.T) {
	page := mustURL(t, "https://example.org/dir/page.html")
	parsers := parse.New(parse.Options{})
	pages, differ, total := 0, 0, 0
	realPages(t, "web/wcxb-sample.tar.xz", func(name string, data, _ []byte) {
		pages++
		var p parse.Page
		if err := parsers.Parse(htmlInput(page, data), &p); err != nil {
			t.Fatal(err)
		}
		total += len(links(&p))
		want := oracleLinks(t, page, bytes.ToValidUTF8(data, []byte("\ufffd")))
		if d := difference(links(&p), want); d != "" && !p.Truncated {
			differ++
			t.Logf("%s:%s", name, d)
		}
	})
	t.Logf("%d of %d pages differ; %d links", differ, pages, total)
	if differ > 0 || total < ofAll(10000) {
		t.Errorf("%d pages have other links than the tree, %d links in total; want 0 and %d",
			differ, total, ofAll(10000))
	}
}
