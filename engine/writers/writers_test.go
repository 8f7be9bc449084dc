// SPDX-License-Identifier: Apache-2.0

package writers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/policy"
)

var background = context.Background()

// TestOutages: whatever a server does for a while, both writers bring every change to it in the end, once each.
func TestOutages(t *testing.T) {
	answer := func(status int, header ...string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(status)
			fmt.Fprint(w, `{"error":"es_rejected_execution_exception"}`)
		}
	}
	hijack := func(text string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			c, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				fmt.Fprint(c, text)
				c.Close()
			}
		}
	}
	for name, fail := range map[string]func(http.ResponseWriter){
		"429":                         answer(429),
		"429 with Retry-After":        answer(429, "Retry-After", "7"),
		"503":                         answer(503),
		"500":                         answer(500),
		"closed before the answer":    hijack(""),
		"closed in the answer":        hijack("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"items\":["),
		"closed in a chunk":           hijack("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n{\"it"),
		"no HTTP":                     hijack("220 mail ready\r\n"),
		"a page of a proxy":           hijack("HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n<html>sorry<>"),
		"JSON of somebody else":       hijack("HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{\"items\":[]}"),
		"JSON of another type":        hijack("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]"),
		"an answer that is too long":  hijack("HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat(" ", 1<<16)),
		"a head that is too long":     hijack("HTTP/1.1 200 OK\r\nA: " + strings.Repeat("x", 1<<17) + "\r\n\r\n{}"),
		"an answer that does not end": func(w http.ResponseWriter) { drip(w, 1<<20) },
		"an answer that does not come": func(w http.ResponseWriter) {
			if c, _, err := w.(http.Hijacker).Hijack(); err == nil {
				time.AfterFunc(300*time.Millisecond, func() { c.Close() })
			}
		},
	} {
		for _, kind := range kinds {
			t.Run(kind[:4]+" "+name, func(t *testing.T) {
				t.Parallel()
				e := newEngine(t)
				e.fail = func(n int, w http.ResponseWriter, _ *http.Request, _ []byte) bool {
					if n < 3 {
						fail(w)
					}
					return n < 3
				}
				w, s, pauses := e.writer(t, kind, Options{})
				s.client.answer = 1 << 15
				slow := strings.Contains(name, "does not")
				if slow {
					s.client.http.Timeout = 200 * time.Millisecond
				}
				refused, err := w.Write(background, changes(5, "a", "b"))
				if err != nil || len(refused) > 0 {
					t.Fatal(refused, err)
				}
				if got := e.ids(); !maps.Equal(got, map[string]int64{"a": 5, "b": 5}) {
					t.Error(got)
				}
				least := []time.Duration{firstPause / 2, firstPause, 2 * firstPause}
				if strings.Contains(name, "Retry-After") {
					least = []time.Duration{7 * time.Second, 7 * time.Second, 7 * time.Second}
				}
				if len(*pauses) != 3 && !slow || len(*pauses) < 3 { // a busy machine may also be slow to answer well
					t.Fatal(*pauses)
				}
				for i, p := range (*pauses)[:3] {
					if p < least[i] || p > max(least[i], 2*least[0]<<i) {
						t.Errorf("pause %d is %s", i, p)
					}
				}
			})
		}
	}
}

// drip writes a little at a time, until the client has had enough.
func drip(w http.ResponseWriter, bytes int) {
	for range bytes {
		if _, err := fmt.Fprint(w, " "); err != nil {
			return
		}
		w.(http.Flusher).Flush()
		time.Sleep(5 * time.Millisecond)
	}
}

// TestGivingUp: what does not pass ends in an error after the patience, and at once where the operator must act or the
// context has ended. Errors have no password.
func TestGivingUp(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		header string
		tries  int // 0: several
		want   string
	}{
		{"for long", 503, "", 0, "given up after"},
		{"Retry-After beyond the patience", 429, "3600", 1, "it requested a pause of 1h0m0s"},
		{"login", 401, "", 1, "check user, password and key"},
		{"forbidden", 403, "", 1, "check user, password and key"},
		{"no such core", 404, "", 1, "404"},
		{"redirect", 302, "", 1, "redirects are not followed"},
	} {
		for _, kind := range kinds {
			t.Run(kind[:4]+" "+c.name, func(t *testing.T) {
				e := newEngine(t)
				e.fail = func(_ int, w http.ResponseWriter, r *http.Request, _ []byte) bool {
					w.Header().Set("Location", e.URL+"/elsewhere")
					if c.header != "" {
						w.Header().Set("Retry-After", c.header)
					}
					w.WriteHeader(c.status)
					return true
				}
				w, _, pauses := e.writer(t, kind, Options{User: "crew", Password: "pa55word"})
				_, err := w.Write(background, changes(5, "a"))
				if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "pa55word") {
					t.Error(err)
				}
				if c.tries > 0 && e.requests != c.tries || c.tries == 0 && (e.requests < 5 || e.requests > 30) {
					t.Errorf("%d tries, pauses %v", e.requests, *pauses)
				}
			})
		}
	}
	e := newEngine(t)
	ctx, cancel := context.WithCancel(background)
	e.fail = func(_ int, w http.ResponseWriter, _ *http.Request, _ []byte) bool {
		cancel()
		w.WriteHeader(503)
		return true
	}
	for _, kind := range kinds {
		if w, _, _ := e.writer(t, kind, Options{}); true {
			if _, err := w.Write(ctx, changes(5, "a")); err == nil || e.requests > 1 {
				t.Error(err, e.requests)
			}
		}
	}
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	e.Server.URL = closed.URL
	for _, kind := range kinds {
		w, _, pauses := e.writer(t, kind, Options{})
		if _, err := w.Write(background, changes(5, "a")); err == nil || len(*pauses) < 5 {
			t.Error(err, *pauses)
		}
	}
}

// TestPartialFailures: of a batch, what may succeed is sent again, alone; what never will is refused with its place and
// the server's reason; the rest is made.
func TestPartialFailures(t *testing.T) {
	for _, kind := range kinds {
		e := newEngine(t)
		sent := map[string]int{}
		e.refuse = func(_ int, id string) int {
			sent[id]++
			switch {
			case strings.HasPrefix(id, "bad"):
				return 400
			case id == "busy" && sent[id] < 3 && kind == kinds[0]:
				return 429
			case id == "down" && sent[id] < 4 && kind == kinds[0]:
				return 503
			}
			return 0
		}
		ids := []string{"a", "bad1", "busy", "b", "down", "bad2", "c", "d"}
		w, _, _ := e.writer(t, kind, Options{})
		refused, err := w.Write(background, changes(5, ids...))
		if err != nil {
			t.Fatal(kind, err)
		}
		slices.SortFunc(refused, func(a, b policy.IndexRefusal) int { return a.Change - b.Change })
		if len(refused) != 2 || refused[0].Change != 1 || refused[1].Change != 5 ||
			!strings.Contains(refused[0].Reason, "bad1") || !strings.Contains(refused[1].Reason, "400") {
			t.Error(kind, refused)
		}
		if got := e.ids(); len(got) != 6 || got["busy"] != 5 || got["down"] != 5 {
			t.Error(kind, got)
		}
		if kind == kinds[0] && (sent["a"] != 1 || sent["down"] != 4 || e.requests != 4) {
			t.Error(sent, e.requests)
		}
	}
}

// TestProgress: patience counts from the last change that was accepted.
func TestProgress(t *testing.T) {
	e := newEngine(t)
	var ids []string
	for i := range 60 {
		ids = append(ids, fmt.Sprint("page", i))
	}
	e.refuse = func(n int, id string) int { // one more in every fifth request
		if id <= slices.Sorted(slices.Values(ids))[n/5] {
			return 0
		}
		return 429
	}
	w, _, pauses := e.writer(t, kinds[0], Options{})
	if refused, err := w.Write(background, changes(5, ids...)); err != nil || len(refused) > 0 {
		t.Fatal(refused, err)
	}
	total := time.Duration(0)
	for _, p := range *pauses {
		total += p
	}
	if len(e.ids()) != len(ids) || total < patience {
		t.Error(len(e.ids()), total)
	}
}

// TestTooLarge: after a 413 batches become smaller, and stay so; a single document that is too large is refused.
func TestTooLarge(t *testing.T) {
	for _, kind := range kinds {
		e := newEngine(t)
		e.fail = func(_ int, w http.ResponseWriter, _ *http.Request, body []byte) bool {
			if len(body) > 4000 {
				w.WriteHeader(http.StatusRequestEntityTooLarge)
			}
			return len(body) > 4000
		}
		var ids []string
		for i := range 100 {
			ids = append(ids, fmt.Sprint("http://h/", i))
		}
		list := changes(5, ids...)
		list[50].Document.Text = strings.Repeat("long ", 2000)
		w, s, _ := e.writer(t, kind, Options{})
		refused, err := w.Write(background, list)
		if err != nil || len(refused) != 1 || refused[0].Change != 50 || len(e.ids()) != 99 {
			t.Error(kind, refused, err, len(e.ids()))
		}
		before := e.requests
		if _, err := w.Write(background, changes(6, ids...)); err != nil {
			t.Fatal(err)
		}
		if n := e.requests - before; n > 30 || s.limit > 4000 {
			t.Errorf("%s: %d requests of at most %d bytes", kind, n, s.limit)
		}
		for id, v := range e.ids() {
			if v != 6 {
				t.Error(kind, id, v)
			}
		}
	}
}

// TestVersions: an older change never takes the place of a newer one, deletions included, in whatever order they
// arrive. With Solr this holds for deletions; documents arrive in order because one batch is sent at a time.
func TestVersions(t *testing.T) {
	write := func(w policy.IndexWriter, list []policy.IndexChange) {
		t.Helper()
		if refused, err := w.Write(background, list); err != nil || len(refused) > 0 {
			t.Fatal(refused, err)
		}
	}
	for _, kind := range kinds {
		e := newEngine(t)
		w, _, _ := e.writer(t, kind, Options{})
		write(w, changes(7, "a", "b", "c"))
		write(w, deletions(6, "a"))                // late
		write(w, deletions(8, "b", "never there")) // in time
		write(w, deletions(7, "c"))                // as new
		if got := e.ids(); !maps.Equal(got, map[string]int64{"a": 7}) {
			t.Error(kind, got)
		}
		if kind != kinds[0] {
			continue
		}
		write(w, changes(6, "a", "b")) // late
		if got := e.ids(); !maps.Equal(got, map[string]int64{"a": 7}) {
			t.Error(kind, got)
		}
		write(w, changes(9, "b"))
		write(w, changes(9, "b")) // again
		if got := e.ids(); !maps.Equal(got, map[string]int64{"a": 7, "b": 9}) {
			t.Error(kind, got)
		}
	}
}

// TestConflict: where Solr checks versions, what it has newer is no refusal, and the rest of the batch is made.
func TestConflict(t *testing.T) {
	e := newEngine(t)
	e.refuse = func(_ int, id string) int {
		if id == "newer" {
			return 409
		}
		return 0
	}
	w, _, _ := e.writer(t, kinds[1], Options{})
	refused, err := w.Write(background, changes(5, "a", "newer", "b"))
	if err != nil || len(refused) > 0 || len(e.ids()) != 2 {
		t.Error(refused, err, e.ids())
	}
}

// TestLogin: user, password and key arrive, and do not leave the machine in the clear; nothing shows them.
func TestLogin(t *testing.T) {
	for _, c := range []struct {
		o    Options
		user string
		want string
	}{
		{Options{User: "crew", Password: "s3"}, "", "Basic Y3JldzpzMw=="},
		{Options{}, "crew:s3@", "Basic Y3JldzpzMw=="},
		{Options{APIKey: "s3"}, "", "ApiKey s3"},
		{Options{}, "", ""},
	} {
		for _, kind := range kinds {
			e := newEngine(t)
			e.URL = strings.Replace(e.URL, "//", "//"+c.user, 1)
			w, _, _ := e.writer(t, kind, c.o)
			if _, err := w.Write(background, changes(1, "a")); err != nil {
				t.Fatal(err)
			}
			if got := e.header.Get("Authorization"); got != c.want || strings.Contains(w.Name(), "s3") {
				t.Errorf("%+v: %q, %s", c, got, w.Name())
			}
			for _, there := range []string{"http://engine.example:9200", "http://10.0.0.1"} {
				e.URL = strings.Replace(there, "//", "//"+c.user, 1)
				_, err := Parse(fmt.Sprintf(kind, e.URL), c.o)
				if (err == nil) != (c.want == "") || err != nil && strings.Contains(err.Error(), "s3") {
					t.Error(there, err)
				}
			}
		}
	}
}

// TestCertificate: a server whose certificate nobody vouches for gets nothing.
func TestCertificate(t *testing.T) {
	got := false
	e := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { got = true }))
	defer e.Close()
	e.Config.ErrorLog = log.New(io.Discard, "", 0)
	w, _, pauses := (&engine{Server: e}).writer(t, kinds[0], Options{})
	_, err := w.Write(background, changes(1, "a"))
	if err == nil || !strings.Contains(err.Error(), "certificate") || got || len(*pauses) > 0 {
		t.Error(err, *pauses)
	}
}

// TestGzip: compressed requests arrive; each Commit reaches the server.
func TestGzip(t *testing.T) {
	for _, kind := range kinds {
		e := newEngine(t)
		w, _, _ := e.writer(t, strings.Replace(kind, "=", "+gzip=", 1), Options{})
		if _, err := w.Write(background, changes(1, "a")); err != nil || len(e.ids()) != 1 {
			t.Error(err)
		}
		if e.header.Get("Content-Encoding") != "gzip" {
			t.Error(e.header)
		}
		if err := w.Commit(background); err != nil || e.commits != 1 {
			t.Error(err, e.commits)
		}
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"opensearch=http://u:p@localhost:9200/pages/": "opensearch=http://localhost:9200/pages",
		"elasticsearch=https://e.example/pages":       "opensearch=https://e.example/pages",
		"solr+gzip=http://localhost:8983/solr/pages":  "solr=http://localhost:8983/solr/pages",
		"jsonl=/tmp/a=b.jsonl":                        "jsonl=/tmp/a=b.jsonl",
	} {
		if w, err := Parse(text, Options{}); err != nil || w.Name() != want {
			t.Error(text, err)
		}
	}
	for _, text := range []string{
		"", "opensearch", "opensearch=", "opensearch=http://h:9200", "opensearch=http://h:9200/", "opensearch=h/pages",
		"opensearch=ftp://h/pages", "opensearch=http://h/pages?q=1", "solr=http://h", "solr=http://h/solr/pages/update",
		"jsonl=", "jsonl=-", "jsonl=/", "jsonl=/dev/null", "jsonl+gzip=a", "lucene=http://h/x",
		"opensearch=http://u:s3@h:x/pages",
	} {
		if w, err := Parse(text, Options{}); err == nil || strings.Contains(err.Error(), "s3") {
			t.Error(text, w, err)
		}
	}
	for text, want := range map[string]string{
		"opensearch=https://u:s3@h/pages":   "opensearch=https://…@h/pages",
		"opensearch=https://u:s@3@h/pages":  "opensearch=https://…@h/pages",
		"opensearch=https://h/pages":        "opensearch=https://h/pages",
		"jsonl=/tmp/a@b":                    "jsonl=/tmp/a@b",
		"solr=u:s3@h":                       "solr=…@h",
		"https://u:s3@h/pages":              "https://…@h/pages",
		"https://u:s3@h/pages?a=b":          "https://…@h/pages?a=b",
		"u:s3@h":                            "…@h",
		"opensearch+gzip=http://u:p@[::1]/": "opensearch+gzip=http://…@[::1]/",
	} {
		if got := Redact(text); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// TestRetryAfter: both forms of RFC 9110; what is neither is none.
func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "5": 5 * time.Second, "-5": 0, "soon": 0, "99999999999999999999": 0,
		"Sun, 22 Nov 2026 10:00:30 GMT": 30 * time.Second, "Sun, 22 Nov 2026 09:00:00 GMT": 0,
	} {
		if got := retryAfter(text, now); got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
}

// TestHangingServer: a server that takes long to answer badly is away, too: it is tried for as long as one that
// refuses.
func TestHangingServer(t *testing.T) {
	now := time.Unix(1e9, 0)
	p := defaultPacing()
	p.now = func() time.Time { return now }
	p.wait = func(_ context.Context, d time.Duration) error {
		now = now.Add(d)
		return nil
	}
	began := now
	err := p.until(background, func() error {
		now = now.Add(exchangeTime)
		return &later{err: errors.New("no answer")}
	})
	if took := now.Sub(began); err == nil || took > patience+exchangeTime {
		t.Errorf("%v after %s", err, took)
	}
}
