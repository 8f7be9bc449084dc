// SPDX-License-Identifier: Apache-2.0

package simweb_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/bench/simweb"
)

// manual writes a folder with two trees of documents that link to each other in every supported way, and returns it.
func manual(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"doc/guide/index.html": `<!DOCTYPE html><title>Guide</title>
			<a href="intro.html#top"> The  <b>introduction</b></a>
			<a href="sub">folder</a>
			<a href="missing.html">gone</a>
			<a href="missing.html#x">again</a>
			<a href="http://other.doc.example:PORT/a%20b.html">other</a>
			<a href="/alias/page.html">by a link</a>
			<a href="http://elsewhere.example/">out</a>
			<a rel="nofollow" href="hidden.html">hidden</a>
			<img src="pic.png">
			<link rel="stylesheet" href="style.css">
			<a href="mailto:x@y">mail</a>
			<!-- <a href="comment.html">no link</a> -->
			<script>document.write('<a href="script.html">no link</a>')</script>
			<a href="http://[broken">bad</a>
			<a href="intro.html?version=2">query</a>
			<a href="%7Etilde.html">tilde</a>
			<a href=" ./sub\deep/../leaf.html ">odd</a>`,
		"doc/guide/intro.html":      `<base href="sub/"><a href="leaf.html">relative to the base</a>`,
		"doc/guide/hidden.html":     `hidden`,
		"doc/guide/~tilde.html":     `<meta name="robots" content="NoFollow"><a href="hidden.html">not followed</a>`,
		"doc/guide/sub/index.html":  `<frameset><frame src="leaf.html"></frameset>`,
		"doc/guide/sub/leaf.html":   `<map><area href="/empty/"></map><a href="../notes.txt">notes</a>`,
		"doc/guide/notes.txt":       `<a href="text.html">not HTML</a>`,
		"doc/guide/pic.png":         "\x89PNG",
		"doc/guide/empty/.keep":     "",
		"doc/other/a b.html":        `<a href="/">top</a>`,
		"doc/other/index.html":      `<meta charset="windows-1251"><a href="` + "\xf4.html" + `">Cyrillic</a>`,
		"doc/other/\u0444.html":     "ф",
		"usr/share/alias/a &b.txt":  "",
		"usr/share/alias/page.html": `<a href="../intro.html">back</a>`,
	} {
		full := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"doc/guide/alias": "../../../../../usr/share/alias", // more dots than there are folders: stays below the root
		"doc/guide/abs":   "/usr/share/alias",
		"doc/guide/loop":  "loop",
		"doc/guide/out":   "/etc",
		"doc/link":        "guide",
	} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func serveDocs(t *testing.T, o simweb.DocsOptions, folders ...string) *simweb.Server {
	t.Helper()
	d, err := simweb.NewDocs(o, folders...)
	if err != nil {
		t.Fatal(err)
	}
	s, err := simweb.Serve(context.Background(), d, simweb.ServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestDocs: files, folders, links and missing documents, over HTTP.
func TestDocs(t *testing.T) {
	root := manual(t)
	s := serveDocs(
		t,
		simweb.DocsOptions{Root: root, HTMLCharset: "utf-8", Robots: "User-agent: *\n"},
		filepath.Join(root, "doc/guide"), "short="+filepath.Join(root, "doc/link"),
	)
	c := client(t, s)
	base := s.Docs.Root(0)
	if want := "http://guide.doc.example:"; !strings.HasPrefix(base, want) {
		t.Errorf("the host is called %s, want %s", base, want)
	}
	for _, x := range []struct {
		path, contentType string
		status            int
		location          string
	}{
		{"", "text/html; charset=utf-8", 200, ""},
		{"index.html", "text/html; charset=utf-8", 200, ""},
		{"notes.txt?x=1", "text/plain; charset=utf-8", 200, ""},
		{"pic.png", "image/png", 200, ""},
		{"empty/.keep", "application/octet-stream", 200, ""},
		{"sub", "", 301, base + "sub/"},
		{"s%75b", "", 301, base + "s%75b/"},
		{"sub/", "text/html; charset=utf-8", 200, ""},
		{"alias/page.html", "text/html; charset=utf-8", 200, ""},
		{"abs/page.html", "text/html; charset=utf-8", 200, ""},
		{"robots.txt", "text/plain", 200, ""},
		{"empty/", "", 404, ""},
		{"notes.txt/", "", 404, ""},
		{"notes.txt/x", "", 404, ""},
		{"loop", "", 404, ""},
		{"out/passwd", "", 404, ""},
		{"sub//leaf.html", "", 404, ""},
		{"%2e%2e/other/index.html", "", 404, ""},
		{"sub/%2e%2e%2findex.html", "", 404, ""},
		{"a%00b", "", 404, ""},
		{"%zz", "", 404, ""},
	} {
		req, err := http.NewRequest("GET", base, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.URL.Opaque = "//" + req.URL.Host + "/" + x.path // as it stands, not made valid first
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != x.status || x.contentType != "" && resp.Header.Get("Content-Type") != x.contentType ||
			resp.Header.Get("Location") != x.location {
			t.Errorf(
				"/%s: %d %s %s, want %d %s %s", x.path, resp.StatusCode, resp.Header.Get("Content-Type"),
				resp.Header.Get("Location"), x.status, x.contentType, x.location,
			)
		}
	}
	if resp, body := get(t, c, s.URL(1, "/")); resp.StatusCode != 200 || !strings.Contains(string(body), "Guide") {
		t.Errorf("a folder that is a link: %s", resp.Status)
	}
	resp, _ := get(t, c, base)
	req, _ := http.NewRequest("GET", base, nil)
	req.Header.Set("If-Modified-Since", resp.Header.Get("Last-Modified"))
	if resp, err := c.Do(req); err != nil || resp.StatusCode != 304 {
		t.Errorf("unchanged: %v %v", resp, err)
	} else {
		resp.Body.Close()
	}
}

func TestNewDocs(t *testing.T) {
	root := manual(t)
	guide := filepath.Join(root, "doc/guide")
	for _, c := range []struct {
		folders []string
		want    string
	}{
		{nil, "no folders"},
		{[]string{filepath.Join(root, "nowhere")}, "no such file"},
		{[]string{filepath.Join(guide, "notes.txt")}, "not a folder"},
		{[]string{"bad name=" + guide}, "no host name"},
		{[]string{guide, guide}, "already"},
		{[]string{t.TempDir()}, "not below the root"},
	} {
		if _, err := simweb.NewDocs(simweb.DocsOptions{Root: root}, c.folders...); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.folders, err, c.want)
		}
	}
}

// TestDocCharsets: each host declares the right charset, a wrong one or none for its HTML, always the same.
func TestDocCharsets(t *testing.T) {
	dir := t.TempDir()
	var folders []string
	for i := range 60 {
		name := fmt.Sprintf("h%d.example", i)
		folder := filepath.Join(dir, name)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		for file, text := range map[string]string{
			"index.html": `<meta charset="gbk">x`, "plain.html": "x", "a.css": "x",
		} {
			if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		folders = append(folders, name+"="+folder)
	}
	d, err := simweb.NewDocs(
		simweb.DocsOptions{RightCharset: 0.5, WrongCharset: 0.25, Seed: 7, Sitemaps: true}, folders...,
	)
	if err != nil {
		t.Fatal(err)
	}
	s, err := simweb.Serve(context.Background(), d, simweb.ServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	count := map[string]int{}
	for h := range d.Hosts() {
		get := func(path string) (string, string) {
			req, err := http.NewRequest("GET", fmt.Sprintf("http://%s:%d%s", d.Address(h), s.Port(), path), nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Host, req.Close = d.Host(h), true
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != 200 {
				t.Fatalf("%s: %d, %v", path, resp.StatusCode, err)
			}
			return resp.Header.Get("Content-Type"), string(body)
		}
		said, _ := get("/")
		switch {
		case said == "text/html":
			count["missing"]++
		case strings.EqualFold(said, "text/html; charset=gbk"):
			count["right"]++
		default:
			count["wrong"]++
		}
		if plain, _ := get("/plain.html"); plain != "text/html" {
			t.Errorf("a file that declares nothing is %q", plain)
		}
		root := fmt.Sprintf("http://%s:%d", d.Host(h), s.Port())
		if _, robots := get("/robots.txt"); !strings.Contains(robots, "Sitemap: "+root+"/sitemap.xml\n") {
			t.Errorf("robots.txt %q", robots)
		}
		if _, xml := get("/sitemap.xml"); strings.Count(xml, "<loc>") != 2 ||
			!strings.Contains(xml, "<loc>"+root+"/plain.html</loc>") {
			t.Errorf("sitemap %q", xml)
		}
	}
	if count["right"] < 20 || count["right"] > 40 || count["wrong"] < 6 || count["wrong"] > 26 || count["missing"] < 6 {
		t.Errorf("shares %v, want about 30, 15, 15", count)
	}
	if _, err := simweb.NewDocs(simweb.DocsOptions{RightCharset: 0.8, WrongCharset: 0.4}, folders...); err == nil {
		t.Error("shares of more than 1 were taken")
	}
}
