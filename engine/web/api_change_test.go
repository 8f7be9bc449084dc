// SPDX-License-Identifier: Apache-2.0

package web

import (
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/seine-crawler/seine/engine"
)

// heldCrawl begins a crawl of a site that answers nothing before the end of the test. A request of the crawl is there
// when heldCrawl returns, and host is where.
func heldCrawl(t *testing.T, o engine.Options) (e *engine.Engine, host string) {
	t.Helper()
	arrived, answer := make(chan bool, 1), make(chan bool)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		select {
		case arrived <- true:
		default: // not the first
		}
		<-answer
	}))
	t.Cleanup(server.Close)
	o.Dir, o.Memory, o.AllowPrivate = t.TempDir(), 64<<20, true
	e, err := engine.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { must(t, e.Close()) })
	done := make(chan error, 1)
	go func() {
		seeds := engine.InjectOptions{URLs: []string{server.URL}}
		_, err := e.Crawl(t.Context(), engine.CrawlOptions{Inject: seeds, Progress: func(p engine.Progress) {
			if p.Phase == "settling" { // a crawl that was stopped ends as soon as it can
				<-answer
			}
		}})
		done <- err
	}()
	t.Cleanup(func() {
		close(answer)
		must(t, <-done) // the context of the test has ended
	})
	<-arrived
	return e, strings.TrimPrefix(server.URL, "http://")
}

// TestRate: a request to change the rate changes all that it names, or nothing where a part of it is wrong. The least
// delay is none, and not the default.
func TestRate(t *testing.T) {
	const delay = 7 * time.Second
	e, host := heldCrawl(t, engine.Options{Delay: delay, Concurrency: 5})
	h := New(e, Options{Token: testToken})
	head := map[string]string{"Authorization": "Bearer " + testToken, "Content-Type": "application/json"}
	for _, c := range []struct {
		body, form string
		status     int // of the API; a form leads to a page
		delay      time.Duration
		fetchers   int
	}{
		{`{"delay_seconds":0.5,"fetchers":0}`, "delay=0.5&fetchers=0", 400, delay, 5},
		{`{"delay_seconds":0.5,"fetchers":100001}`, "delay=0.5&fetchers=x", 400, delay, 5},
		{`{"delay_seconds":-1,"fetchers":6}`, "delay=-1&fetchers=6", 400, delay, 5},
		{`{"delay_seconds":1e-10,"fetchers":6}`, "delay=1e-10&fetchers=6", 200, 0, 6},
		{`{"delay_seconds":2}`, "delay=2", 200, 2 * time.Second, 6},
		{`{"delay_seconds":0}`, "delay=0", 200, 0, 6},
		{`{"delay_seconds":7,"fetchers":5}`, "delay=7&fetchers=5", 200, delay, 5},
	} {
		form, err := url.ParseQuery(c.form)
		must(t, err)
		for way, answer := range map[string]func() int{
			"the API": func() int {
				return answered(h, request("POST", apiPath+"/crawl/rate", c.body, head)).StatusCode
			},
			"a form": func() int { return press(h, "rate", form, true, "").StatusCode },
		} {
			want := c.status
			if status := answer(); status != want && !(want == 200 && status == 303) {
				t.Errorf("%s, %s: status %d, not %d", way, c.body, status, want)
			}
			now, err := e.Inspect().HostNow(host)
			must(t, err)
			status, err := e.Inspect().Status()
			must(t, err)
			if time.Duration(now.Delay) != c.delay || status.Progress.Fetchers != c.fetchers {
				t.Errorf("%s, %s: now a delay of %v and %d fetchers, not %v and %d", way, c.body,
					time.Duration(now.Delay), status.Progress.Fetchers, c.delay, c.fetchers)
			}
		}
	}
}

// TestCrawlState: the answer to each change of a crawl says what the crawl does then, whatever changed it before.
func TestCrawlState(t *testing.T) {
	e, _ := heldCrawl(t, engine.Options{Delay: -1})
	h := New(e, Options{Local: true})
	for _, c := range []struct {
		change string
		want   CrawlState
	}{
		{"resume", CrawlState{}}, {"pause", CrawlState{Paused: true}},
		{"stop", CrawlState{Paused: true, Stopping: true}}, {"pause", CrawlState{Paused: true, Stopping: true}},
		{"resume", CrawlState{Stopping: true}}, {"stop", CrawlState{Stopping: true}},
	} {
		var got CrawlState
		answer := answered(h, request("POST", apiPath+"/crawl/"+c.change, "", nil))
		if err := json.NewDecoder(answer.Body).Decode(&got); got != c.want || err != nil {
			t.Errorf("%s: %+v, not %+v (%v)", c.change, got, c.want, err)
		}
		now, err := e.Inspect().Status()
		if is := (CrawlState{now.Progress.Paused, now.Stopping}); is != c.want || err != nil {
			t.Errorf("%s: the status says %v (%v)", c.change, fmt.Sprint(is), err)
		}
	}
	still := opened(t, t.TempDir())
	answer := answered(New(still, Options{Local: true}), request("POST", apiPath+"/crawl/pause", "", nil))
	var got CrawlState
	if err := json.NewDecoder(answer.Body).Decode(&got); got != (CrawlState{Paused: true}) || err != nil {
		t.Errorf("pause without a crawl: %+v, %v", got, err)
	}
}

// TestBodyFaults: what is wrong with a body is said in the words of JSON, not in those of Go.
func TestBodyFaults(t *testing.T) {
	h := New(opened(t, t.TempDir()), Options{Token: testToken})
	head := map[string]string{"Authorization": "Bearer " + testToken, "Content-Type": "application/json"}
	for _, c := range [][3]string{
		{"/seeds", ``, "it is empty: send a JSON object, such as {}"},
		{"/seeds", `{"urls":["x"]`, "it ends before the JSON object does"},
		{"/seeds", `{"urls":[x]}`, "it is no JSON: byte 10: invalid character 'x' looking for beginning of value"},
		{"/seeds", `[]`, "it is no JSON object"},
		{"/seeds", `{"urls":["x"]} {}`, "there is more behind the JSON value"},
		{"/seeds", `{"urlz":["x"]}`, `unknown field "urlz"`},
		{"/seeds", `{"URLs":["x"]}`, `unknown field "URLs"`},
		{"/seeds", `{"urls":["http://a.example/"],"urls":[]}`, `urls: it is given twice`},
		{"/crawl/rate", `{"fetchers":5,"delay_seconds":1,"f\u0065tchers":6}`, `fetchers: it is given twice`},
		{"/crawl/rate", `{"delay_seconds":1,"Delay_Seconds":2}`, `unknown field "Delay_Seconds"`},
		{"/index", `{"Max_Segments":1}`, `unknown field "Max_Segments"`},
		{"/seeds", `{"urls":"x"}`, "urls: want an array, not a string"},
		{"/seeds", `{"urls":[1.5]}`, "urls: want a string, not a number"},
		{"/crawl/rate", `{"fetchers":1e9}`, "fetchers: want a whole number, not 1e9"},
		{"/crawl/rate", `{"delay_seconds":{}}`, "delay_seconds: want a number, not an object"},
		{"/dedup", `{"every_document":0}`, `unknown field "every_document"`},
		{"/index", `{"every_document":0}`, "every_document: want true or false, not a number"},
	} {
		answer := answered(h, request("POST", apiPath+c[0], c[1], head))
		var p Problem
		must(t, json.NewDecoder(answer.Body).Decode(&p))
		if want := "the body of the request: " + c[2]; p.Status != 400 || p.Code != "body" || p.Detail != want {
			t.Errorf("%s %s: %+v, want %s", c[0], c[1], p, want)
		}
	}
}

// TestNoBody: an operation that is described without a body refuses one that asks for anything, and takes what a client
// sends in place of none.
func TestNoBody(t *testing.T) {
	h := New(opened(t, t.TempDir()), Options{Token: testToken})
	head := map[string]string{"Authorization": "Bearer " + testToken, "Content-Type": "application/json"}
	paths := 0
	for i := range routes {
		r := &routes[i]
		if r.method != http.MethodPost || r.body != nil {
			continue
		}
		paths++
		for body, refused := range map[string]bool{
			"": false, "{}": false, " {}\n": false, `{"minutes":5}`: true, "[]": true, "{": true, "minutes=5": true,
			strings.Repeat(" ", 1000) + "{}": true,
		} {
			answer := answered(h, request("POST", apiPath+r.path, body, head))
			var p Problem
			must(t, json.NewDecoder(answer.Body).Decode(&p))
			const want = "the body of the request: this operation takes none"
			if is := p.Detail == want && p.Status == 400 && p.Code == "body"; is != refused || !is && p.Code == "body" {
				t.Errorf("%s with %q: %d %s", r.path, body, answer.StatusCode, p.Detail)
			}
		}
	}
	if paths < 5 {
		t.Errorf("%d operations", paths)
	}
}

// TestCompressedBody: a body that is compressed is refused, with what is taken instead. Its bytes are no seeds.
func TestCompressedBody(t *testing.T) {
	h := New(opened(t, t.TempDir()), Options{Token: testToken})
	for path, kind := range map[string]string{
		"/seeds": "text/plain", "/dedup-urls": "text/plain", "/recrawl": "application/json",
	} {
		for coding, want := range map[string]int{"gzip": 415, "Zstd, gzip": 415, "identity": 200} {
			body := "http://a.example/"
			if kind == "application/json" {
				body = `{"targets":["a.example"]}`
			}
			head := map[string]string{
				"Authorization": "Bearer " + testToken, "Content-Type": kind, "Content-Encoding": coding,
			}
			answer := answered(h, request("POST", apiPath+path, body, head))
			takes := answer.Header.Get("Accept-Encoding")
			if answer.StatusCode != want || want == 415 && takes != "identity" {
				t.Errorf("%s, %s: %s, takes %q", path, coding, answer.Status, takes)
			}
		}
	}
}

// TestTooLargeTells: who sends too much learns how much may be sent.
func TestTooLargeTells(t *testing.T) {
	p := problemOf(fmt.Errorf("injecting: %w", &http.MaxBytesError{Limit: bodyMax}))
	if p.Status != 413 || !strings.Contains(p.Detail, "67108864 bytes") {
		t.Errorf("status %d: %s", p.Status, p.Detail)
	}
}

// TestReadOnlyDescribed: what a directory that is served for reading only answers to changes, the description has.
func TestReadOnlyDescribed(t *testing.T) {
	dir := t.TempDir()
	e, err := engine.Open(engine.Options{Dir: dir, Memory: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	must(t, e.Close())
	if e, err = engine.Open(engine.Options{Dir: dir, Memory: 64 << 20, ReadOnly: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { must(t, e.Close()) })
	h, d := New(e, Options{Token: testToken}), described(t)
	v := &validator{d["components"].(object)["schemas"].(object)}
	for path, body := range map[string]string{
		"/seeds": `{"urls":["http://a.example/"]}`, "/recrawl": `{"targets":["a.example"]}`,
		"/delete": `{"targets":["a.example"]}`, "/block": `{"hosts":["a.example"]}`,
		"/unblock": `{"hosts":["a.example"]}`, "/index": "{}", "/dedup": "{}", "/purge": "{}", "/verify": "{}",
		"/crawl/rate": `{"delay_seconds":1}`, "/crawl/pause": "", "/crawl/resume": "", "/crawl/stop": "",
	} {
		head := map[string]string{"Authorization": "Bearer " + testToken, "Content-Type": "application/json"}
		answer := answered(h, request("POST", apiPath+path, body, head))
		text, err := io.ReadAll(answer.Body)
		must(t, err)
		r := &route{method: "POST", path: path}
		err = permits(d, v, r, answer.StatusCode, answer.Header.Get("Content-Type"), string(text))
		if err != nil {
			t.Errorf("%s: %v in %s", path, err, text)
		}
	}
}

// TestClosed: what is asked of an engine that was closed is not the client's fault.
func TestClosed(t *testing.T) {
	e, err := engine.Open(engine.Options{Dir: t.TempDir()})
	must(t, err)
	h := New(e, Options{Token: testToken})
	must(t, e.Close())
	for path, body := range map[string]string{
		"/crawl/rate": `{"fetchers":1,"delay_seconds":1}`, "/crawl/pause": "", "/crawl/stop": "", "/dedup": "{}",
		"/seeds": `{"urls":["http://a.example/"]}`,
	} {
		head := map[string]string{"Authorization": "Bearer " + testToken, "Content-Type": "application/json"}
		if status := answered(h, request("POST", apiPath+path, body, head)).StatusCode; status != 503 {
			t.Errorf("%s: status %d", path, status)
		}
	}
}

// TestSeedsWhole: no part of a request with seeds is passed over: files that the parameter file does not name, names
// without files, or a text in other letters than are read.
func TestSeedsWhole(t *testing.T) {
	h := New(opened(t, t.TempDir()), Options{Token: testToken})
	const files = "--x\r\nContent-Disposition: form-data; name=urls\r\n\r\nhttp://a.example/\r\n" +
		"--x\r\nContent-Disposition: form-data; name=file\r\n\r\nhttp://b.example/\r\n--x--\r\n"
	const form = "multipart/form-data; boundary=x"
	for _, c := range []struct {
		query, body, kind string
		status            int
		says              string
	}{
		{"", files, form, 400, "more parts than"},
		{"?file=a&file=b", files, form, 400, "fewer parts than"},
		{"?file=a", `{"urls":["http://a.example/"]}`, "application/json", 400, `"parameter":"file"`},
		{"?file=a", "http://a.example/", "text/plain", 400, `"parameter":"file"`},
		{"", "http://a.example/", "text/plain; charset=iso-8859-1", 415, "UTF-8"},
		{"", `{"urls":["http://a.example/"]}`, "application/json; charset=utf-16", 415, "UTF-8"},
		{"?file=a", files, form, 200, `"new":2`}, // nothing was added before
		{"", "http://c.example/", "text/plain; charset=UTF-8", 200, `"new":1`},
	} {
		head := map[string]string{"Authorization": "Bearer " + testToken, "Content-Type": c.kind}
		answer := answered(h, request("POST", apiPath+"/seeds"+c.query, c.body, head))
		text, err := io.ReadAll(answer.Body)
		must(t, err)
		if answer.StatusCode != c.status || !strings.Contains(string(text), c.says) {
			t.Errorf("%s, %s: status %d without %q: %s", c.query, c.kind, answer.StatusCode, c.says, text)
		}
	}
}

// endingBody is a body that notes that it was read to its end.
type endingBody struct {
	io.Reader
	ended bool
}

func (b *endingBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.ended = b.ended || err == io.EOF
	return n, err
}

// TestBodyEnds: a body of files is read to its end before its seeds are worked on. Until then net/http does not see
// that a client goes away.
func TestBodyEnds(t *testing.T) {
	h := New(opened(t, t.TempDir()), Options{Token: testToken})
	for _, path := range []string{"/seeds?file=a", "/dedup-urls?file=a"} {
		var text strings.Builder
		form := multipart.NewWriter(&text)
		must(t, writeSeeds(form, engine.InjectOptions{URLs: []string{"http://a.example/"}}))
		part, err := form.CreateFormField("file")
		must(t, err)
		fmt.Fprintln(part, "http://b.example/")
		must(t, form.Close())
		body := &endingBody{Reader: strings.NewReader(text.String())}
		r := request("POST", apiPath+path, "", map[string]string{
			"Content-Type": form.FormDataContentType(), "Authorization": "Bearer " + testToken,
		})
		r.Body = io.NopCloser(body)
		if answer := answered(h, r); answer.StatusCode != 200 || !body.ended {
			t.Errorf("%s: status %d, the body is read to its end: %v", path, answer.StatusCode, body.ended)
		}
	}
}

// TestBodyStops: a body of which no more comes is a fault of who sends it, in whatever form and wherever it is read.
func TestBodyStops(t *testing.T) {
	h := New(opened(t, t.TempDir()), Options{Token: testToken})
	for kind, begins := range map[string]string{
		"text/plain":       "http://a.example/\n",
		"application/json": `{"urls":["http://a.example/"`,
		"multipart/form-data; boundary=x": "--x\r\nContent-Disposition: form-data; name=urls\r\n\r\n\r\n" +
			"--x\r\nContent-Disposition: form-data; name=file\r\n\r\nhttp://a.example/",
	} {
		path := "/seeds"
		if strings.HasPrefix(kind, "multipart") {
			path += "?file=a"
		}
		r := request("POST", apiPath+path, "", map[string]string{
			"Content-Type": kind, "Authorization": "Bearer " + testToken,
		})
		r.Body = io.NopCloser(io.MultiReader(strings.NewReader(begins), iotest.ErrReader(os.ErrDeadlineExceeded)))
		answer := answered(h, r)
		text, err := io.ReadAll(answer.Body)
		must(t, err)
		if answer.StatusCode != 400 || !strings.Contains(string(text), "the body of the request: no more of it came") {
			t.Errorf("%s: status %d: %s", kind, answer.StatusCode, text)
		}
	}
}
