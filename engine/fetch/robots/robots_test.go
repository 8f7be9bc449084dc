// SPDX-License-Identifier: Apache-2.0

package robots_test

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/fetch/robots"
)

func TestAllowed(t *testing.T) {
	f := func(file, agent, target string, want bool) {
		t.Helper()
		if got := robots.Parse([]byte(file)).Rules(agent).Allowed(target); got != want {
			t.Errorf("%.100q for %s: %.100s allowed %v", file, agent, target, got)
		}
	}
	f("", "seine", "/x", true)
	f("User-agent: *\nDisallow: /", "seine", "/x", false)
	f("User-agent: *\nDisallow: /", "seine", "/robots.txt", true)
	f("User-agent: *\nDisallow:", "seine", "/x", true)
	f("User-agent: other\nDisallow: /", "seine", "/x", true)
	f("User-agent: SEINE/1.0\nDisallow: /", "seine", "/x", false)
	f("User-agent: *\nDisallow: /\nUser-agent: seine\nAllow: /", "seine", "/x", true)
	f("User-agent: a\nUser-agent: seine\nDisallow: /x\n\nUser-agent: seine\nDisallow: /y", "seine", "/y", false)
	f("User-agent: a\nUser-agent: seine\nDisallow: /x\n\nUser-agent: seine\nDisallow: /y", "seine", "/x", false)
	f("Disallow: /\nUser-agent: *\n", "seine", "/x", true)
	f("User-agent: *\nAllow: /p\nDisallow: /", "seine", "/page", true)
	f("User-agent: *\nAllow: /page\nDisallow: /*.htm", "seine", "/page.htm", false)
	f("User-agent: *\nAllow: /x\nDisallow: /x", "seine", "/x", true)
	f("User-agent: *\nDisallow: /*.gif$", "seine", "/a.gif", false)
	f("User-agent: *\nDisallow: /*.gif$", "seine", "/a.gif?b", true)
	f("User-agent: *\nDisallow: /a*b*c", "seine", "/axxbxxc", false)
	f("User-agent: *\nDisallow: /a*b*c", "seine", "/axxcxxb", true)
	f("User-agent: *\nDisallow: /*?", "seine", "/a?b", false)
	f("User-agent: *\nDisallow: /%e3%83%84", "seine", "/%E3%83%84", false)
	f("User-agent: *\nDisallow: /ツ", "seine", "/%E3%83%84", false)
	f("User-agent: *\nDisallow: /%7ejoe", "seine", "/~joe", false)
	f("User-agent: *\nDisallow: /a%3cb", "seine", "/a%3Cb", false)
	f("User-agent: *\nDisallow: /a%2Fb", "seine", "/a/b", true)
	f("User-agent: *\nDisallow: /a/b", "seine", "/a%2fb", true)
	f("User-agent: *\nDisallow: /a%3Fb", "seine", "/a?b", true)
	f("User-agent: *\nDisallow: /foo/bar?baz=http://foo.bar", "seine", "/foo/bar?baz=http%3A%2F%2Ffoo.bar", false)
	f("User-agent: *\nDisallow: /foo/bar?baz=http%3a%2f%2ffoo.bar$", "seine", "/foo/bar?baz=http://foo.bar", false)
	f("User-agent: *\nDisallow: /*?*=/", "seine", "/a/b?c=%2Fd", false)
	f("User-agent: *\nDisallow: */d", "seine", "/a?c=/d", false)
	f("User-agent: *\nDisallow: */d", "seine", "/a?c=%2Fd", true)
	f("User-agent: *\nDisallow: /a-%2A.html", "seine", "/a-*.html", false)
	f("User-agent: *\nDisallow: /a-%2a.html", "seine", "/a-b.html", true)
	f("User-agent: *\nDisallow: /a-%24", "seine", "/a-$", false)
	f("User-agent: *\nDisallow: /a-%24", "seine", "/a-", true)
	f("User-agent: *\nDisallow: /a$b", "seine", "/a%24b", false)
	f("User-agent: *\nDisallow: /*$b$", "seine", "/a$b", false)
	f("User-agent: *\nDisallow: /*$b$", "seine", "/a$bc", true)
	f("User-agent: *\nAllow: /a$\nDisallow: /a", "seine", "/a", true)
	f("\xef\xbb\xbfUser-agent: *\rDisallow: /x\r", "seine", "/x", false)
	f("user-agent : * # all\n disallow : /x # secret", "seine", "/x", false)
	f("User-agent: *\nDisallow: "+strings.Repeat("/*a", 2000), "seine", strings.Repeat("/aa", 2000), false)
}

// TestCutLine: the line in which the limit falls says nothing: "Disallow: /private" must not become "Disallow: /", nor
// "Allow: /docs" "Allow: /".
func TestCutLine(t *testing.T) {
	const limit = 512 << 10
	for _, end := range []string{"\n", "\r", "\r\n"} {
		for _, field := range []string{"Disallow: /", "Allow: /"} {
			file := "User-agent: *" + end + "Disallow: /no" + end + "Allow: /no/yes" + end + "#"
			file += strings.Repeat("x", limit-len(file)-len(end)-len(field)) + end + field
			for _, more := range []string{"", "nothing" + end, "n" + end + "Disallow: /" + end} {
				rules := robots.Parse([]byte(file + more)).Rules("seine")
				if rules.Allowed("/no") || !rules.Allowed("/no/yes") || !rules.Allowed("/x") {
					t.Errorf("%q: rules after %d bytes count: %q", end, limit, field+more)
				}
			}
		}
	}
}

func TestOther(t *testing.T) {
	file := robots.Parse([]byte("Sitemap: https://h/s.xml\n" +
		"User-agent: *\nCrawl-delay: 2.5\n" +
		"User-agent: fast\nCrawl-delay: NaN\n" +
		"User-agent: slow\nCrawl-delay: 1e300\n" +
		"sitemap:https://h/t.xml"))
	if s := file.Sitemaps(); len(s) != 2 || s[0] != "https://h/s.xml" || s[1] != "https://h/t.xml" {
		t.Errorf("sitemaps %q", s)
	}
	if d, ok := file.Rules("seine").CrawlDelay(); d != 2500*time.Millisecond || !ok {
		t.Errorf("delay %s %v", d, ok)
	}
	if d, ok := file.Rules("fast").CrawlDelay(); ok {
		t.Errorf("NaN is a delay of %s", d)
	}
	if d, ok := file.Rules("slow").CrawlDelay(); !ok || d < time.Hour {
		t.Errorf("1e300 is a delay of %s", d)
	}
	if robots.DisallowAll.Allowed("/x") || !robots.DisallowAll.Allowed("/robots.txt") {
		t.Error("DisallowAll is wrong")
	}
	if !robots.AllowAll.Allowed("/x") {
		t.Error("AllowAll is wrong")
	}
}

// TestParseCost: a file of many agents that all have a delay, each with lines that set it again, costs little.
func TestParseCost(t *testing.T) {
	const size, most = 512 << 10, 200 * time.Millisecond
	file := []byte(strings.Repeat("User-agent:a\n", size/28) + strings.Repeat("Crawl-delay:9\n", size/28))
	took := time.Hour
	for range 5 { // the machine may be busy
		start := time.Now()
		d, ok := robots.Parse(file).Rules("a").CrawlDelay()
		if took = min(took, time.Since(start)); d != 9*time.Second || !ok {
			t.Fatalf("delay %s %v", d, ok)
		}
	}
	if took > most {
		t.Errorf("parsing %d bytes took %s, want at most %s", len(file), took, most)
	}
}

// TestVerdicts compares the matcher with the verdicts of Google's own parser on real files.
func TestVerdicts(t *testing.T) {
	dir := os.Getenv("SEINE_CONFORMANCE_DATA")
	if dir == "" {
		t.Skip("SEINE_CONFORMANCE_DATA is not set: no real robots.txt files")
	}
	files := readFiles(t, filepath.Join(dir, "robots", "files.tar.gz"))
	f, err := os.Open(filepath.Join(dir, "robots", "verdicts.tsv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	sc := bufio.NewScanner(z)
	sc.Buffer(nil, 1<<20)
	verdicts, wrong := 0, 0
	var name string
	var file *robots.File
	for sc.Scan() {
		col := strings.Split(sc.Text(), "\t")
		body, ok := files[col[0]]
		if len(col) < 4 || !ok {
			continue
		}
		if col[0] != name {
			name, file = col[0], robots.Parse(body)
		}
		target := col[2]
		if _, rest, ok := strings.Cut(target, "://"); ok {
			if slash := strings.IndexByte(rest, '/'); slash >= 0 {
				target = rest[slash:]
			} else {
				target = "/"
			}
		}
		if target == "/robots.txt" {
			continue // always allowed by RFC 9309, section 2.2.2, but not by Google's parser
		}
		if target == "/" && bytes.Contains(body, []byte("Allow: /index.htm")) {
			continue // only Google reads "Allow: /index.html" as "Allow: /$"
		}
		verdicts++
		want := strings.HasPrefix(strings.ToLower(col[3]), "allow")
		if got := file.Rules(col[1]).Allowed(target); got != want {
			if wrong++; wrong <= 20 {
				t.Logf("%s for %s: %s allowed %v, Google says %s", col[0], col[1], col[2], got, col[3])
			}
		}
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d verdicts, %d differ", verdicts, wrong)
	if verdicts < 90_000 || wrong > 0 {
		t.Errorf("%d of %d verdicts differ", wrong, verdicts)
	}
}

func readFiles(t *testing.T, name string) map[string][]byte {
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files
		} else if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			b, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			files[h.Name], files[filepath.Base(h.Name)] = b, b
		}
	}
}

// TestPreferences: the longest pattern of each field wins, groups are chosen as for rules, licenses apply to the
// whole file, and lines that are not rules do not end a run of user-agent lines.
func TestPreferences(t *testing.T) {
	file := robots.Parse([]byte(`Content-Usage: nobody=n
License: https://l.example/a
User-agent: *
Content-Usage: train-ai=n
Content-usage: /docs/*.html train-ai=y, search=n # why not
Content-Usage: /docs/ train-ai=y
Content-Signal: search=yes
Disallow: /no
User-agent: a
Content-Signal: ai-train=no
User-agent: b
Disallow: /
license: https://l.example/b`))
	const licenses = "License: https://l.example/a\nLicense: https://l.example/b"
	for _, c := range []struct{ agent, target, want string }{
		{"x", "/", "Content-Usage: train-ai=n\nContent-Signal: search=yes\n" + licenses},
		{"x", "/docs/a", "Content-Usage: train-ai=y\nContent-Signal: search=yes\n" + licenses},
		{"x", "/docs/a.html", "Content-Usage: train-ai=y, search=n\nContent-Signal: search=yes\n" + licenses},
		{"a", "/docs/", "Content-Signal: ai-train=no\n" + licenses},
		{"b", "/docs/", "Content-Signal: ai-train=no\n" + licenses},
	} {
		if got := file.Rules(c.agent).Preferences(c.target); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.agent, c.target, got, c.want)
		}
	}
	if file.Rules("a").Allowed("/x") || file.Rules("b").Allowed("/x") || !file.Rules("x").Allowed("/x") {
		t.Error("rules are another group's")
	}
	if got := robots.AllowAll.Preferences("/"); got != "" {
		t.Errorf("no file: %q", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("User-agent: *\nDisallow: /a*b$\nAllow: /"), "/axb")
	f.Add([]byte("License: x\nUser-agent: *\nContent-Usage: /a* train-ai=n\nContent-Signal: search=no"), "/axb")
	f.Fuzz(func(t *testing.T, body []byte, target string) {
		r := robots.Parse(body).Rules("seine")
		if !r.Allowed("/robots.txt") {
			t.Fatal("/robots.txt is not allowed")
		}
		r.Allowed(target)
		for line := range strings.Lines(r.Preferences(target)) {
			name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			if !ok || name == "" || value == "" || strings.ContainsAny(value, "\r\n") {
				t.Fatalf("preference %q", line)
			}
		}
		longer := append(bytes.Clone(body), "\nUser-agent: seine\nDisallow: /\n"...)
		more := robots.Parse(longer).Rules("seine")
		if more.Allowed("/zzz-nothing-allows-this") && !bytes.Contains(bytes.ToLower(body), []byte("allow")) {
			t.Fatal("a Disallow line had no effect")
		}
	})
}

func BenchmarkAllowed(b *testing.B) {
	file := robots.Parse([]byte("User-agent: *\nDisallow: /cgi-bin/\nDisallow: /tmp/\nDisallow: /*?sort=\n" +
		"Allow: /public/\nDisallow: /private/\nDisallow: /*.pdf$\n"))
	r := file.Rules("seine")
	b.ReportAllocs()
	for b.Loop() {
		r.Allowed("/library/asyncio-task.html")
	}
}
