// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// effectsWeb is a web of a few pages on which nearly every setting shows, with files of seeds and settings.
type effectsWeb struct {
	port   string
	plain  string // addresses of the servers
	secure string
	folder string // of the files
	second map[string]string
	seeds  []string // that the setting seeds added to the try under way

	mu  sync.Mutex
	log []string
}

// effectsPages are the pages by host and path. A host with a slash after it gets the port.
var effectsPages = map[string]string{
	"a/": `<title>Home</title><p>Welcome to the nets. <a href="/two?b=2&amp;a=1&amp;utm_source=x">two</a>
		<a href="//a.example/m//n">slashes</a> <a href="/old">old</a> <a href="/moved">moved</a>
		<a href="/moved-away">moved away</a>
		<a href="http://b.example/">b</a> <a href="http://d.example/">d</a> <a href="http://e.example/">e</a>
		<a href="http://c.example:80/x">c</a> <a href="/copy">copy</a> <a href="/longer-copy">copy</a>
		<a href="/long/` + strings.Repeat("long", 9) + `">long</a><img src="/net.png"><a href="/net.svg">svg</a>
		<form action="/form"><input name=q></form><a href="/agent">agent</a>
		<a href="/copy" rel=nofollow>not followed</a><a href="/picture">picture</a>`,
	"a/two": `<title>Two</title><p>Deeper nets. <a href="/three?b=2&amp;a=1&amp;utm_source=x">three</a>
		<a href="/longer-copy">copy</a><a href="/k//l">slashes</a><a href="/old/2">old</a><img src="/2.png">
		<form action="/form2"><input name=q></form> <a href="http://c.example:80/y">c</a>
		<a href="http://d.example/2">d</a> <a href="http://d.example/">the other</a> <a href="/old">the old one</a>
		<a href="//a.example/m//n">other words</a> <a href="/another-longer-copy">copy</a>
		<a href="/near">mesh</a><a href="/nearly">mesh</a><a href="/nearest">mesh</a>`,
	"a/three":               `<title>Three</title><p>The deepest nets. <a href="/four">four</a>`,
	"a/four":                `<title>Four</title><a href="http://d.example/4">d</a>`,
	"a/another-longer-copy": `<title>Copy</title><p>The same net twice.`,
	"a/m//n":                `<title>Slashes</title><p>Two of them.`,
	"a/old":                 `<title>Old</title><p>An old net.`,
	"a/near": `<title>Mesh</title><article><h1>Net</h1>` +
		`<p>This is the first of the two.<p>` + nearProse + `</article>`,
	"a/nearest": `<title>Mesh</title><article><h1>Net</h1>` +
		`<p>The third is nearest.<p>` + nearProse + `</article>`,
	"a/nearly": `<title>Mesh</title><article><h1>Net</h1>` +
		`<p>Here is the second one of both.<p>` + nearProse + `</article>`,
	"a/copy":        `<title>Copy</title><p>The same net twice.`,
	"a/longer-copy": `<title>Copy</title><p>The same net twice.`,
	"a/agent":       `<meta name=otherbot content="noindex,nofollow"><a href="/for-some">link</a>`,
	"a/for-some":    `<title>D</title><a href="/d2">d2</a>`, // as d/, which is better known
	"b/":            `<title>B</title><a href="/b2">b2</a> <a href="http://a.example/moved">moved</a>`,
	"b/b2":          `<title>B2</title>`,
	"d/":            `<title>D</title><a href="/d2">d2</a>`,
	"e/":            `<title>E</title><a href="/e2">e2</a><a href="/e3">e3</a>`,
	"e/e2":          `<title>E2</title>`,
	"e/e3":          `<title>E3</title>`,
	"s/":            `<title>S</title>`,
	"s/map":         `<title>In a sitemap</title>`,
}

// effectsSeeds are injected first, effectsSeeds2 later.
const (
	effectsSeeds = "http://a.example/\nhttp://e.example/\nhttp://d.example/\n" +
		"http://a.example/two?b=9&a=9&utm_source=x\tnutch.score=0.3\nhttp://a.example/s//t\n" +
		"http://a.example/old/1\nhttp://c.example:80/seed\nhttp://a.example/seed.png\nhttp://s.example/s\n" +
		"http://a.example/" + "seed-with-a-long-long-long-name\n"
	effectsSeeds2 = "http://b.example/\nhttp://a.example/old/seed2\nhttp://d.example/seed2\n"
)

func newEffectsWeb(t *testing.T) *effectsWeb {
	w := &effectsWeb{folder: t.TempDir()}
	server, secure := httptest.NewServer(http.HandlerFunc(w.serve)), httptest.NewTLSServer(http.HandlerFunc(w.serve))
	t.Cleanup(server.Close)
	t.Cleanup(secure.Close)
	w.plain, w.secure = server.Listener.Addr().String(), secure.Listener.Addr().String()
	w.port = server.URL[strings.LastIndexByte(server.URL, ':')+1:]
	w.second = secondValues(w.port)
	base := "allow-private = true\ndelay = \"0s\"\nhosts = \"names\"\ninsecure-tls = true\n"
	files := map[string]string{
		"names": "127.0.0.1 a.example b.example c.example d.example e.example s.example z.example\n",
		"seeds": w.withPort(effectsSeeds), "seeds2": w.withPort(effectsSeeds2),
		"base.toml": base, "wide.toml": base + "scope = \"any\"\n",
	}
	for name, text := range files {
		w.write(t, name, text)
	}
	return w
}

func (w *effectsWeb) file(name string) string { return filepath.Join(w.folder, name) }

func (w *effectsWeb) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(w.file(name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// value is the second value of a setting: of a file, the name of one with that text.
func (w *effectsWeb) value(t *testing.T, name string) string {
	t.Helper()
	text, ok := w.second[name]
	if !ok {
		t.Fatalf("%s has no second value, nor a reason in unseen", name)
	}
	if text == "SENT" {
		return "jsonl=" + w.file("sent")
	}
	k := allSettings[name].kind
	if k.files == nil {
		return text
	}
	if strings.Contains(text, "NAME") {
		w.write(t, "value", rewriteOld)
		return strings.ReplaceAll(text, "NAME", w.file("value"))
	}
	w.write(t, "value-"+name, text)
	return w.file("value-" + name)
}

// withPort adds the server's port to the hosts of a text.
func (w *effectsWeb) withPort(text string) string {
	return strings.ReplaceAll(text, ".example/", ".example:"+w.port+"/")
}

// at is a URL of a host of the web.
func (w *effectsWeb) at(host, path string) string {
	return "http://" + host + ".example:" + w.port + path
}

// urls are URLs to check, of pages and seeds.
func (w *effectsWeb) urls() []string {
	urls := strings.Fields(strings.ReplaceAll(w.withPort(effectsSeeds+effectsSeeds2), "\tnutch.score=0.3", ""))
	for page := range effectsPages {
		host, path, _ := strings.Cut(page, "/")
		urls = append(urls, w.at(host, "/"+path))
	}
	slices.Sort(urls)
	return urls
}

// dial reaches the servers, whatever the address.
func (w *effectsWeb) dial(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
	w.note("dial " + addr.Addr().String())
	to := w.plain
	if addr.Port() == 443 {
		to = w.secure
	}
	return new(net.Dialer).DialContext(ctx, "tcp", to)
}

func (w *effectsWeb) note(line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.log, line) { // how often a host is dialled is chance
		w.log = append(w.log, line)
	}
}

// removed are seeds, as they are spelled there: some to request again, others to delete.
func (w *effectsWeb) removed() (again, gone []string) {
	for i, line := range strings.Split(strings.TrimSpace(w.withPort(effectsSeeds)), "\n") {
		url, _, _ := strings.Cut(line, "\t")
		if again = append(again, url); i > 2 {
			gone = append(gone, url)
		}
	}
	return again, append(gone, w.at("a", "/longer-copy"), w.at("a", "/nearest"))
}

// begin forgets what was requested, requests returns it.
func (w *effectsWeb) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = nil
}

func (w *effectsWeb) requests() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.Sort(w.log)
	return slices.Clone(w.log)
}

func (w *effectsWeb) serve(rw http.ResponseWriter, r *http.Request) {
	login, _, _ := r.BasicAuth()
	w.note(fmt.Sprintf("%s%s %s %s %s %s", r.Host, r.RequestURI, r.UserAgent(), r.Header.Get("X-Key"),
		r.Header.Get("Cookie"), login))
	host, _, _ := strings.Cut(r.Host, ".")
	rw.Header().Set("Date", "Mon, 02 Jan 2006 15:04:05 GMT")
	time.Sleep(2 * time.Millisecond) // more than a budget of time
	body, ok := effectsPages[host+r.URL.Path]
	switch {
	case r.URL.Path == "/robots.txt":
		fmt.Fprint(rw, w.withPort("User-agent: otherbot\nDisallow: /old\n"))
		if host == "s" {
			fmt.Fprint(rw, w.withPort("Sitemap: http://s.example/sitemap.xml\n"))
		}
	case r.URL.Path == "/moved-away":
		http.Redirect(rw, r, w.at("b", "/moved-here"), http.StatusFound)
	case r.URL.Path == "/moved":
		http.Redirect(rw, r, "/moved-on", http.StatusFound)
	case r.URL.Path == "/moved-on":
		http.Redirect(rw, r, "/old/moved?utm_source=x&b=1&a=2", http.StatusFound)
	case r.URL.Path == "/sitemap.xml":
		rw.Header().Set("Content-Type", "text/xml")
		fmt.Fprint(rw, w.withPort("<urlset><url><loc>http://s.example/map</loc></url></urlset>"))
	case r.URL.Path == "/picture":
		rw.Header().Set("Content-Type", "image/png")
		fmt.Fprint(rw, strings.Repeat("picture", 1000))
	case ok:
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprint(rw, w.withPort(body))
	default:
		http.NotFound(rw, r)
	}
}

// takeSent writes what an index writer got since the last call, without what differs between two equal crawls. A page
// may be sent more than once in a crawl: only the last time counts.
func (w *effectsWeb) takeSent(t *testing.T, seen *strings.Builder) {
	t.Helper()
	text, err := os.ReadFile(w.file("sent"))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err := errors.Join(err, os.Remove(w.file("sent"))); err != nil {
		t.Fatal(err)
	}
	last := map[any]map[string]any{}
	for line := range strings.Lines(string(text)) {
		var f map[string]any
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatal(err)
		}
		delete(f, "version")
		delete(f, "fetched")
		delete(f, "segment")
		last[f["id"]] = f
	}
	for _, f := range last {
		line, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(seen, "sent %s\n", line)
	}
}

// nearProse is long enough for a fingerprint.
const nearProse = "The mesh of a net is measured along its bar, from knot to knot, and a fisher buying one looks at " +
	"twine and hanging ratio first. Small mesh catches what should still grow, so that many harbours forbid it in " +
	"spring, when the shoals come close to the shore. Whoever mends a net at dusk holds the needle in the left hand, " +
	"counts twelve knots, ties them off before the lamp is lit. A good mender needs an hour for each yard, and a " +
	"day for what a seal has torn; the old ones sing while they work, and nobody else is allowed to choose the song."
