// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
)

// TestProxy: a proxy serves what another process has open, under the same guard as that process would.
func TestProxy(t *testing.T) {
	dir := t.TempDir()
	e := opened(t, dir)
	socket, err := ServeSocket(e, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := dialed(t, dir)
	server := httptest.NewServer(NewProxy(c, Options{Token: testToken, Hosts: []string{"search.example"}, Local: true}))
	defer server.Close()
	s := &site{t: t, e: e, api: server.URL}
	reader := []string{"Authorization", "none"}
	for _, r := range []struct {
		method, path string
		status       int
		head         []string
	}{
		{"GET", apiPath + "/index", 200, reader}, {"GET", apiPath + "/record?url=a.example", 404, reader},
		{"GET", apiPath + "/events", 200, reader}, {"GET", apiPath + "/index", 421, []string{"Host", "evil.example"}},
		{"POST", apiPath + "/crawl/pause", 401, reader}, {"POST", apiPath + "/crawl/pause", 200, nil},
		{"POST", apiPath + "/crawl/resume", 403, []string{"Origin", "http://evil.example"}},
		{"GET", "/debug/pprof/heap", 401, reader}, {"GET", "/debug/pprof/heap", 200, nil},
		{"GET", "/debug/pprof/heap", 401, append([]string{passedHeader, ""}, reader...)},
		{"GET", "/debug/pprof/heap", 401, append([]string{passedHeader, passedForToken}, reader...)},
		{"GET", "/debug/pprof/heap", 401, append([]string{"Connection", passedHeader}, reader...)},
		{"GET", "/healthz", 200, reader}, {"GET", "/readyz", 200, reader}, {"POST", "/healthz", 405, nil},
		{"GET", "/healthz", 421, []string{"Host", "evil.example"}},
		{"GET", apiPath + "/index", 200, []string{"Host", "search.example"}}, // which only the proxy knows
		{"HEAD", apiPath + "/index", 200, reader}, {"OPTIONS", apiPath + "/index", 405, reader},
	} {
		if status, _, text := s.ask(r.method, r.path, "", r.head...); status != r.status {
			t.Errorf("%s %s: status %d, not %d: %s", r.method, r.path, status, r.status, text)
		}
	}
	answer, err := http.DefaultClient.Get(server.URL + apiPath + "/index")
	if err != nil || len(answer.Header.Values("Content-Security-Policy")) != 1 {
		t.Error(answer, err)
	}
	must(t, answer.Body.Close())
	must(t, socket.Close())
	for path, says := range map[string]string{apiPath + "/index": "ended", "/readyz": "ended", "/healthz": ""} {
		status, _, text := s.ask("GET", path, "")
		if status != map[bool]int{true: 503, false: 200}[says != ""] || !strings.Contains(text, says) {
			t.Errorf("%s after the end: status %d: %s", path, status, text)
		}
	}
	if _, err := Dial(context.Background(), dir); err == nil {
		t.Error("the socket is still served")
	}
}

// proxied serves an engine on the socket of its directory, and a proxy of it. s asks the proxy.
func proxied(t *testing.T) (s *site, dir string) {
	t.Helper()
	dir = t.TempDir()
	e := opened(t, dir)
	started(t, e, dir)
	server := httptest.NewServer(NewProxy(dialed(t, dir), Options{Token: testToken}))
	t.Cleanup(server.Close)
	return &site{t: t, e: e, api: server.URL}, dir
}

// TestProxyBounds: what comes through a proxy has the bounds of what comes from anywhere; over the socket itself they
// are wide. Nobody gets those by a header.
func TestProxyBounds(t *testing.T) {
	s, dir := proxied(t)
	c := dialed(t, dir)
	for _, r := range []struct{ path, name, value string }{
		{"/records", "limit", "1000000"}, {"/records", "sample", "4000000000"}, {"/links", "limit", "1001"},
		{"/search", "limit", "4000000000"}, {"/search", "q", strings.Repeat("a", 60_000)},
	} {
		query := url.Values{r.name: {r.value}}
		if r.path == "/search" && r.name != "q" {
			query.Set("q", "a")
		}
		for _, head := range [][]string{nil, {passedHeader, ""}, {"Connection", passedHeader}} {
			if status, _, text := s.ask("GET", apiPath+r.path+"?"+query.Encode(), "", head...); status != 400 {
				t.Errorf("%s, %s with %q: status %d: %.200s", r.path, r.name, head, status, text)
			}
		}
		answer, err := c.send(t.Context(), "GET", apiPath+r.path, query, nil, "")
		if err != nil || answer.StatusCode != 200 {
			t.Fatalf("%s, %s over the socket: %v, %v", r.path, r.name, answer, err)
		}
		must(t, answer.Body.Close())
	}
}

// TestProxySlots: those who connect to a proxy take slots that the owner's commands do not need: when they have all of
// theirs, the commands go on.
func TestProxySlots(t *testing.T) {
	dir := t.TempDir()
	h := New(opened(t, dir), Options{Local: true})
	l, err := ListenSocket(dir)
	if err != nil {
		t.Fatal(err)
	}
	server := Start(l, h)
	defer func() { must(t, server.Close()) }()
	c := dialed(t, dir)
	proxy := NewProxy(c, Options{})
	asked := func(path string) int {
		w := httptest.NewRecorder()
		proxy.ServeHTTP(w, request("HEAD", apiPath+path, "", nil)) // so that events end
		return w.Code
	}
	if status := asked("/stats"); status != 200 {
		t.Fatalf("status %d", status)
	}
	for _, c := range []struct {
		path  string
		slots chan struct{}
	}{{"/stats", h.passed().streams}, {"/events", h.passed().viewers}, {"/index", h.passed().workers}} {
		for range cap(c.slots) {
			c.slots <- struct{}{}
		}
		if status := asked(c.path); status != 503 {
			t.Errorf("%s without a slot: status %d", c.path, status)
		}
	}
	if _, err := c.Stats(t.Context(), false); err != nil {
		t.Errorf("a command: %v", err)
	}
	answer, err := c.send(t.Context(), "GET", apiPath+"/events", nil, nil, "")
	if err != nil || answer.StatusCode != 200 {
		t.Fatal(answer, err)
	}
	must(t, answer.Body.Close())
}

// deadlineWatch is a writer of answers that notes the latest deadline that a write had.
type deadlineWatch struct {
	*httptest.ResponseRecorder
	write, latest time.Time
	read          time.Time // the deadline that a read has
}

func (d *deadlineWatch) SetReadDeadline(at time.Time) error {
	d.read = at
	return nil
}

func (d *deadlineWatch) SetWriteDeadline(at time.Time) error {
	d.write = at
	return nil
}

func (d *deadlineWatch) Write(p []byte) (int, error) {
	if at := d.write; at.After(d.latest) || at.IsZero() {
		d.latest = at
	}
	return d.ResponseRecorder.Write(p)
}

// TestProxyPatience: a client of a proxy must take each part of a stream in stallTime, in the process that has the
// engine and in the proxy. The owner's commands may take longer.
func TestProxyPatience(t *testing.T) {
	dir := t.TempDir()
	e := opened(t, dir)
	_, err := e.Inject(t.Context(), engine.InjectOptions{URLs: []string{"http://a.example/"}})
	must(t, err)
	started(t, e, dir)
	h := New(e, Options{Local: true})
	proxy := NewProxy(dialed(t, dir), Options{})
	for _, path := range []string{"/records", "/export/jsonl", "/export/cdxj"} {
		for _, c := range []struct {
			name   string
			h      http.Handler
			passed string
			within time.Duration
		}{
			{"a proxy", proxy, "", stallTime}, {"passed on", h, passedForReader, stallTime},
			{"passed on for the token", h, passedForToken, stallTime}, {"the owner", h, "", localTime},
		} {
			r := request("GET", apiPath+path, "", map[string]string{"Accept": ndjson, passedHeader: c.passed})
			w := &deadlineWatch{ResponseRecorder: httptest.NewRecorder()}
			c.h.ServeHTTP(w, r)
			left := time.Until(w.latest)
			if w.Code != 200 || path == "/records" && (left > c.within || left < c.within/2) {
				t.Errorf("%s, %s: status %d, a write may take %v: %s", path, c.name, w.Code, left, w.Body)
			}
		}
	}
	r := request("GET", apiPath+"/url?url=http://a.example/", "", nil)
	w := &deadlineWatch{ResponseRecorder: httptest.NewRecorder()}
	h.ServeHTTP(w, r)
	if left := time.Until(w.latest); w.Code != 200 || left < localTime/2 {
		t.Errorf("the owner's look at a URL has %v: status %d", left, w.Code)
	}
}

// TestProfilePatience: a client must take each part of a profile in stallTime, too.
func TestProfilePatience(t *testing.T) {
	h := New(opened(t, t.TempDir()), Options{Token: testToken})
	for _, path := range []string{"/debug/pprof/heap", "/debug/pprof/goroutine?debug=2"} {
		r := request("GET", path, "", map[string]string{"Authorization": "Bearer " + testToken})
		w := &deadlineWatch{ResponseRecorder: httptest.NewRecorder()}
		h.ServeHTTP(w, r)
		if left := time.Until(w.latest); w.Code != 200 || left > stallTime || left < stallTime/2 {
			t.Errorf("%s: status %d, a write may take %v", path, w.Code, left)
		}
	}
}

// TestProxyAddresses: feeds and the description of the search have the address that the client knows, with https if it
// speaks TLS to this process, or to a server before it that says so.
func TestProxyAddresses(t *testing.T) {
	s, dir := proxied(t)
	secure := httptest.NewTLSServer(NewProxy(dialed(t, dir), Options{}))
	defer secure.Close()
	for _, path := range []string{"/opensearch.xml", "/atom.xml?q=harbour"} {
		for scheme, api := range map[string]string{
			"": s.api, "http": s.api, "https": strings.Replace(s.api, "http:", "https:", 1),
		} {
			for _, h := range []http.Handler{New(s.e, Options{}), NewProxy(dialed(t, dir), Options{})} {
				head := map[string]string{"Host": strings.TrimPrefix(s.api, "http://"), schemeHeader: scheme}
				w := httptest.NewRecorder()
				h.ServeHTTP(w, request("GET", path, "", head))
				if !strings.Contains(w.Body.String(), `"`+api+"/?q=") {
					t.Errorf("%s of %s has no address of %s: %s", path, scheme, api, w.Body)
				}
			}
		}
		answer, err := secure.Client().Get(secure.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		must(t, errors.Join(err, answer.Body.Close()))
		if !strings.Contains(string(text), secure.URL+"/?q=") {
			t.Errorf("%s has no address of %s: %s", path, secure.URL, text)
		}
	}
}

// TestProxyDenies: a proxy refuses as a Handler does: a browser gets a page, a program a problem, and what is wrong is
// what the client did, not that the other process ended.
func TestProxyDenies(t *testing.T) {
	dir := t.TempDir()
	e := opened(t, dir)
	socket, err := ServeSocket(e, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := NewProxy(dialed(t, dir), Options{Token: testToken})
	large := `{"urls":["` + strings.Repeat("a", bodyMax) + `"]}`
	check := func(method, target, body, host string, status int, code, says string) {
		t.Helper()
		for _, accept := range []string{"text/html,*/*;q=0.8", "*/*"} {
			head := map[string]string{"Accept": accept, "Host": host, "Content-Type": "application/json"}
			if body != "" {
				head["Authorization"] = "Bearer " + testToken
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, request(method, target, body, head))
			kind, page := w.Header().Get("Content-Type"), accept[0] == 't' && !strings.HasPrefix(target, apiPath)
			if w.Code != status || (kind == htmlType) != page || w.Header().Get("Content-Security-Policy") == "" ||
				page && !strings.Contains(w.Body.String(), says) || !page && !strings.Contains(w.Body.String(), code) {
				t.Errorf("%s %s as %s: status %d, not %d, %s %s", method, target, accept, w.Code, status, kind, w.Body)
			}
		}
	}
	const ours = "127.0.0.1:8080"
	check("GET", "/?token=wrong", "", ours, 401, `"token"`, "needs the token")
	check("GET", "/crawl", "", "evil.example", 421, `"host"`, "--host-name")
	check("POST", "/act/pause", "", ours, 401, `"token"`, "needs the token")
	check("POST", apiPath+"/seeds", large, ours, 413, `"too_large"`, "")
	must(t, socket.Close())
	check("GET", "/crawl", "", ours, 503, `"closed"`, "ended")
	check("GET", apiPath+"/index", "", ours, 503, `"closed"`, "")
	h = NewProxy(nil, Options{Token: testToken}) // until somebody opens the directory
	check("GET", "/crawl", "", ours, 503, `"closed"`, "has ended or is stopped, and this one cannot open it yet")
	check("GET", "/?token=wrong", "", ours, 401, `"token"`, "needs the token")
	if answer := answered(h.(*Handler), request("GET", "/healthz", "", nil)); answer.StatusCode != 200 {
		t.Error("/healthz:", answer.Status)
	}
}

// TestProxyDuplex: what a client sends while it is answered arrives through a proxy, too.
func TestProxyDuplex(t *testing.T) {
	s, _ := proxied(t)
	const first, then = 200_000, 20_000
	body, to := io.Pipe()
	answered := make(chan bool)
	go func() {
		_, err := io.WriteString(to, strings.Repeat("no url\n", first))
		select {
		case <-answered:
		case <-time.After(10 * time.Second): // it waits for all
		}
		_, failed := io.WriteString(to, strings.Repeat("no url\n", then))
		to.CloseWithError(errors.Join(err, failed))
	}()
	r, err := http.NewRequest("POST", s.api+apiPath+"/dedup-urls?lists=refused", body)
	must(t, err)
	r.Header.Set("Authorization", "Bearer "+testToken)
	r.Header.Set("Content-Type", "text/plain")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	close(answered)
	text, err := io.ReadAll(answer.Body)
	must(t, errors.Join(err, answer.Body.Close()))
	if lines := strings.Count(string(text), `"list":"refused"`); lines != first+then ||
		!strings.Contains(string(text), `{"report":{"lines":220000,`) {
		t.Errorf("%d of %d lines, at the end %.200s", lines, first+then, text[max(len(text)-200, 0):])
	}
}

// watchedBody is a body that notes the time that its first read has.
type watchedBody struct {
	io.Reader
	w    *deadlineWatch
	left time.Duration // 0: it was not read
}

func (b *watchedBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		b.left = time.Until(b.w.read)
	}
	return b.Reader.Read(p)
}

// TestPatienceOfOwner: what the owner's commands send may pause for as long as a command may last, as alone, where they
// wait for standard input. Others must send each part in stallTime, also through a proxy.
func TestPatienceOfOwner(t *testing.T) {
	e := opened(t, t.TempDir())
	h := New(e, Options{Local: true})
	tcp := New(e, Options{Token: testToken})
	for _, path := range []string{"/seeds", "/dedup-urls"} {
		for _, c := range []struct {
			name   string
			h      http.Handler
			passed string
			within time.Duration
		}{{"the owner", h, "", localTime}, {"passed on", h, passedForToken, stallTime}, {"tcp", tcp, "", stallTime}} {
			w := &deadlineWatch{ResponseRecorder: httptest.NewRecorder()}
			body := &watchedBody{Reader: strings.NewReader("http://a.example/\n"), w: w}
			r := request("POST", apiPath+path, "", map[string]string{
				"Content-Type": "text/plain", "Authorization": "Bearer " + testToken, passedHeader: c.passed,
			})
			r.Body = io.NopCloser(body)
			c.h.ServeHTTP(w, r)
			if w.Code != 200 || body.left > c.within || body.left < c.within/2 {
				t.Errorf("%s, %s: status %d, a part may take %v: %s", path, c.name, w.Code, body.left, w.Body)
			}
		}
	}
}
