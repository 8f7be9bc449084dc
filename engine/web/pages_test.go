// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	xhtml "golang.org/x/net/html"

	"github.com/seine-crawler/seine/engine"
)

// evil is a text that would act on a page that shows it carelessly, and breaks the line that it stands in.
const evil = `"><script>alert(1)</script><img src=x onerror=alert(2)>' onmouseover='alert(3)` + "\u202e" +
	"txet\u2066" + "Z" + "\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308\u0309\u030a\u030b"

// hostilePages are pages that a stranger made to hurt who looks at them.
func hostilePages() map[string]string {
	e, long := html.EscapeString(evil), strings.Repeat("Ne\u0301t", 5_000)
	return map[string]string{
		"/": `<html lang=en><title>Net ` + e + `</title><p>A net ` + e + ` with holes.
			<a href="/huge">` + e + `</a> <a href="/%22%3E%3Cscript%3Ealert(1)%3C/script%3E?q='onload='">quotes</a>
			<a href="/copy">copy</a> <a href="/rtl">شبكة</a> <a href="javascript:alert(1)">net</a>
			<a href="/missing">missing</a> <a href="http://xn--80ak6aa92e.example:PORT/">host</a>`,
		"/huge":                        `<title>` + strings.Repeat("net ", 20_000) + `</title><p>` + long,
		`/"><script>alert(1)</script>`: `<title>quotes net</title><p>The net of quotes.`,
		"/copy": `<base href="/deep/"><title>copy net</title><p onclick="alert(1)" style="color:red">net</p>
			<script>parent.alert(1)</script><iframe src="/"></iframe><form action="/act/stop"><input name=x></form>
			<meta http-equiv=refresh content="0;url=http://evil.example/"><svg><script>alert(1)</script></svg>
			<a href="javascript:alert(1)">net</a><a href="page#part">net deep</a><a href="/copy#here">here</a>
			<img src="http://evil.example/x.png" alt="a net"><object data=x></object><link rel=stylesheet href=x>
			<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(1)&gt;">`,
		"/rtl": `<html lang=ar><title>شبكة net</title><p>شبكة الصيد net.`,
	}
}

// hostile crawls the hostile pages, on a host whose name looks like another too, and serves them below a prefix.
func hostile(t *testing.T) (h *Handler, e *engine.Engine, site string) {
	t.Helper()
	pages := hostilePages()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.Path]
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("X-Evil", "<script>alert(1)</script>")
		if !ok {
			w.WriteHeader(http.StatusNotFound)
		}
		_, port, _ := net.SplitHostPort(r.Host)
		_, _ = io.WriteString(w, strings.ReplaceAll(page, "PORT", port))
	}))
	t.Cleanup(web.Close)
	e, err := engine.Open(engine.Options{
		Dir: t.TempDir(), Memory: 64 << 20, AllowPrivate: true, Delay: -1,
		Hosts: map[string][]netip.Addr{"xn--80ak6aa92e.example": {netip.MustParseAddr("127.0.0.1")}},
	})
	must(t, err)
	t.Cleanup(func() { must(t, e.Close()) })
	seeds := engine.InjectOptions{URLs: []string{
		web.URL, strings.Replace(web.URL, "127.0.0.1", "xn--80ak6aa92e.example", 1),
	}}
	r, err := e.Crawl(context.Background(), engine.CrawlOptions{Inject: seeds})
	must(t, err)
	if r.Fetched < 6 {
		t.Fatalf("only %d pages were fetched", r.Fetched)
	}
	return New(e, Options{Token: testToken, Prefix: "/x"}), e, web.URL
}

// opens returns the body of an address, which a browser with a session opens.
func opens(t *testing.T, h *Handler, address string) (status int, head http.Header, body string) {
	t.Helper()
	r := request("GET", address, "", nil)
	r.AddCookie(ours(h))
	answer := answered(h, r)
	all, err := io.ReadAll(answer.Body)
	must(t, err)
	return answer.StatusCode, answer.Header, string(all)
}

// forbidden are characters that change what stands after them.
var forbidden = regexp.MustCompile("[\u202a-\u202e\u2066-\u2069\u200e\u200f\u2028\u2029\ufeff\x00-\x08\x0e-\x1f]")

// TestPagesHostile walks through all pages as somebody who follows every link. None may have anything that acts, no
// link may lead nowhere, and each stays within its bound.
func TestPagesHostile(t *testing.T) {
	h, _, site := hostile(t)
	queue := []string{"/x/", "/x/?q=net", "/x/?q=net&explain=1", "/x/?q=%3Cscript%3E" + url.QueryEscape(evil),
		"/x/crawl", "/x/copy?url=" + url.QueryEscape(site+"/copy"), "/x/copy?url=" + url.QueryEscape(evil),
		"/x/url?url=" + url.QueryEscape(evil), "/x/host?host=" + url.QueryEscape(evil), "/x/hosts?find=" +
			url.QueryEscape(evil), "/x/urls?prefix=" + url.QueryEscape(evil), "/x/report/" + url.PathEscape(evil)}
	seen, kinds := map[string]bool{}, map[string]int{}
	for len(queue) > 0 {
		address := queue[0]
		queue = queue[1:]
		path, _, _ := strings.Cut(strings.TrimPrefix(address, "/x"), "?")
		if seen[address] || kinds[path] >= 30 { // filters can be combined for ever
			continue
		}
		seen[address] = true
		kinds[path]++
		status, head, body := opens(t, h, address)
		if status >= 500 || strings.HasPrefix(body, "404 page") {
			t.Errorf("%s: %d %.300s", address, status, body)
		}
		if strings.HasPrefix(path, "/static/") || path == "/opensearch.xml" {
			continue
		}
		if s := forbidden.FindString(body); s != "" && path != "/copy/page" {
			t.Errorf("%s has the character %q", address, s)
		}
		if path == "/atom.xml" || strings.HasPrefix(path, "/api/") {
			continue
		}
		if path == "/copy/page" {
			if p := head.Get("Content-Security-Policy"); p != copyPolicy {
				t.Errorf("%s: policy %s", address, p)
			}
		} else if n := len(body); n > 60_000 {
			t.Errorf("%s has %d bytes", address, n)
		}
		queue = append(queue, inspected(t, address, body)...)
	}
	for _, kind := range []string{"/", "/copy", "/copy/page", "/links", "/url", "/urls", "/host", "/hosts", "/crawl",
		"/report/traps", "/atom.xml", "/opensearch.xml"} {
		if kinds[kind] == 0 {
			t.Errorf("no link leads to %s: %v", kind, kinds)
		}
	}
}

// inspected fails for everything in a page that could act, and returns the addresses that it leads to.
func inspected(t *testing.T, address, body string) (links []string) {
	t.Helper()
	tree, err := xhtml.Parse(strings.NewReader(body))
	must(t, err)
	for n := range tree.Descendants() {
		if n.Type != xhtml.ElementNode {
			continue
		}
		src := ""
		for _, a := range n.Attr {
			value := strings.TrimSpace(a.Val)
			copied := strings.HasPrefix(address, "/x/copy/page")
			switch {
			case strings.HasPrefix(a.Key, "on") || a.Key == "srcdoc" || a.Key == "style" && !copied:
				t.Errorf("%s: <%s %s=%q>", address, n.Data, a.Key, value)
			case a.Key == "href" || a.Key == "src" || a.Key == "action":
				src = value
				if strings.HasPrefix(value, "/x/") {
					if n.Data != "form" || !strings.HasPrefix(value, "/x/act/") {
						links = append(links, value)
					}
				} else if !strings.HasPrefix(value, "#") && (copied || !strings.HasPrefix(value, "http://")) {
					t.Errorf("%s: <%s> leads to %q", address, n.Data, value)
				}
			}
		}
		if n.Data == "script" && (!strings.HasPrefix(src, "/x/static/") || n.FirstChild != nil) {
			t.Errorf("%s has a script: src %q", address, src)
		}
	}
	return links
}

// TestPagesGolden compares pages with those in testdata/pages. -rewrite writes them.
func TestPagesGolden(t *testing.T) {
	s := newSite(t)
	h := New(s.e, Options{Token: testToken})
	u := url.QueryEscape(s.url + "/mend.html")
	for name, address := range map[string]string{
		"front": "/", "found": "/?q=torn+mesh", "filtered": "/?q=nets+lang:en&explain=1&sort=newest",
		"none": "/?q=%2Bzebra+lang:de",
		"copy": "/copy?url=" + u, "copy-page": "/copy/page?url=" + u, "copy-none": "/copy?url=http://nowhere.example/",
		"links": "/links?url=" + u, "url": "/url?url=" + u, "urls": "/urls?status=db_fetched", "hosts": "/hosts",
		"host": "/host?host=" + url.QueryEscape(s.host), "seeds": "/report/seeds", "failures": "/report/failures",
		"atom": "/atom.xml?q=torn+mesh", "opensearch": "/opensearch.xml",
	} {
		_, _, body := opens(t, h, address)
		got := plainly(s, body)
		file := filepath.Join("testdata", "pages", name+".html")
		if *rewrite {
			must(t, os.MkdirAll(filepath.Dir(file), 0o755))
			must(t, os.WriteFile(file, []byte(got), 0o644))
		}
		want, err := os.ReadFile(file)
		must(t, err)
		if got != string(want) {
			t.Errorf("%s differs from %s (-rewrite writes it again):\n%s", address, file,
				firstDifference(got, string(want)))
		}
	}
}

// plainly replaces what differs from run to run.
func plainly(s *site, body string) string {
	for _, form := range []string{"%s", "http%%3A%%2F%%2F%s"} {
		for _, host := range []string{s.host, url.QueryEscape(s.host)} {
			body = strings.ReplaceAll(body, fmt.Sprintf(form, host), fmt.Sprintf(form, "site.example"))
		}
	}
	_, port, _ := net.SplitHostPort(s.host)
	body = strings.ReplaceAll(body, ":"+port, ":PORT")
	for _, r := range [][2]string{
		{`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| UTC)`, "TIME"}, {`20\d{12}\.\d{3}`, "INSTANT"},
		{`\d+(\.\d+)? (ms|s)( ago)?\b`, "SPAN"}, {`, took SPAN`, ""},
		{`<td class="num"( data-name="took")?>SPAN</td>`, `<td class="num"$1></td>`},
		{`>now<`, ">SPAN<"}, {`in \d+ (h|days)`, "in SPAN"},
		{assetsVersion, "VERSION"}, {`\d+(\.\d+)? (B|kB)\b`, "SIZE"},
		{`[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} 20\d\d \d\d:\d\d:\d\d GMT`, "DATE"}, {`127,0,0,1`, "KEY"},
		{`:\d{4,5}\)`, ":PORT)"},
		{`(fetched(?:\S*[=D]| <time datetime="))20\d\d-\d\d-\d\d`, "${1}DAY"}, {`(DAY">)20\d\d-\d\d-\d\d`, "${1}DAY"},
	} {
		body = regexp.MustCompile(r[0]).ReplaceAllString(body, r[1])
	}
	return regexp.MustCompile(`\n\n+`).ReplaceAllString(body, "\n")
}

func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d\n got %s\nwant %s", i+1, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(a), len(b))
}

// TestFirstPageBytes: the first page of hits with everything that it loads stays below 100 KB.
func TestFirstPageBytes(t *testing.T) {
	s := newSite(t)
	h := New(s.e, Options{})
	for _, address := range []string{"/", "/?q=torn+mesh", "/crawl"} {
		_, _, body := opens(t, h, address)
		sum := len(body)
		for _, m := range regexp.MustCompile(`(?:src|href)="(/static/[^"]+)"`).FindAllStringSubmatch(body, -1) {
			status, head, asset := opens(t, h, m[1])
			if status != 200 || !strings.Contains(head.Get("Cache-Control"), "immutable") {
				t.Errorf("%s: %d, %s", m[1], status, head.Get("Cache-Control"))
			}
			sum += len(asset)
		}
		if sum > 100_000 {
			t.Errorf("%s: %d bytes in all, more than 100,000", address, sum)
		}
		t.Logf("%s: %d bytes in all", address, sum)
	}
}
