// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
)

// TestDedupURLs: each line of the answer has a line of a list that was wanted, and the last the report. What is no
// list, and a body that is no list of lines, is refused.
func TestDedupURLs(t *testing.T) {
	s := newSite(t)
	lines := strings.Join([]string{s.url + "/new", s.url + "/mend.html", s.url + "/new#a", "mailto:x"}, "\n") + "\n"
	plain := []string{"Content-Type", "text/plain"}
	want := fmt.Sprintf(`{"list":"refused","line":"malformed\tmailto:x"}
{"list":"new","line":"%[1]s/new"}
{"list":"known","line":"%[1]s/mend.html"}
`, s.url)
	status, kind, text := s.ask("POST", "/dedup-urls?lists=new,known,refused", lines, plain...)
	body, last, _ := strings.Cut(text, `{"report":`)
	if status != 200 || kind != ndjson || !strings.HasPrefix(last, `{"lines":4,"known":1,"new":1,"duplicates":1,`) {
		t.Errorf("status %d, %s\n%s", status, kind, text)
	}
	d, at := described(t), slices.IndexFunc(routes, func(r route) bool { return r.name == "dedup_urls" })
	v := &validator{d["components"].(object)["schemas"].(object)}
	notUTF8 := lines + s.url + "/\xff\n"
	for _, query := range []string{"", "?lists=new,known,duplicates,refused"} {
		status, kind, text := s.ask("POST", "/dedup-urls"+query, notUTF8, plain...)
		if err := permits(d, v, &routes[at], status, kind, text); err != nil {
			t.Errorf("%v in %s", err, text)
		}
	}
	sorted := func(text string) string {
		list := strings.SplitAfter(text, "\n")
		out := ""
		for _, name := range urlLists {
			for _, line := range list {
				if strings.HasPrefix(line, `{"list":"`+name) {
					out += line
				}
			}
		}
		return out
	}
	if sorted(body) != sorted(want) {
		t.Errorf("got\n%swant\n%s", body, want)
	}
	for _, c := range []struct {
		query, body, kind string
		want              int
	}{
		{"?lists=old", lines, "text/plain", 400}, {"", lines, "application/json", 415},
		{"", lines, "multipart/form-data; boundary=x", 400}, {"", "", "text/plain", 200},
		{"?file=a", lines, "text/plain", 400}, {"", lines, "text/plain; charset=latin1", 415},
	} {
		if status, _, text := s.ask("POST", "/dedup-urls"+c.query, c.body, "Content-Type", c.kind); status != c.want {
			t.Errorf("%v: status %d: %s", c, status, text)
		}
	}
	var none engine.DedupURLsOptions
	for _, text := range []string{"", `{"list":"new","line":"a"}` + "\n", `{"problem":{"status":500,"detail":"no"}}`} {
		if r, err := readListed(strings.NewReader(text), &none); err == nil {
			t.Errorf("%q is read as a whole answer: %v", text, r)
		}
	}
}

// TestForeignCursor: a cursor that is none of the list is what is wrong, and not the URL that it is not.
func TestForeignCursor(t *testing.T) {
	s := newSite(t)
	for _, list := range []string{"/records", "/hosts", "/segments", "/links", "/captures?url=" + s.url} {
		address, _ := url.Parse(list)
		query := address.Query()
		query.Set("cursor", "abc")
		for _, accept := range []string{"*/*", ndjson} {
			status, _, text := s.ask("GET", address.Path+"?"+query.Encode(), "", "Accept", accept)
			var p Problem
			must(t, json.Unmarshal([]byte(text), &p))
			if status != 400 || p.Code != "parameter" || p.Parameter != "cursor" {
				t.Errorf("%s: status %d: %s", list, status, text)
			}
		}
	}
}

// TestPagesEnd: the pages of a list, one after the other, have what its stream has, in its order, and come to an end.
func TestPagesEnd(t *testing.T) {
	s := newSite(t)
	for _, path := range []string{
		"/records?sample=3", "/records?top=3", "/records?regex=html$", "/records?status=db_fetched", "/hosts?top=2",
		"/links?", "/parses?", "/segments?", "/report/statuses?",
		"/captures?url=" + url.QueryEscape(s.url+"/mend.html"),
	} {
		_, _, stream := s.ask("GET", path, "", "Accept", ndjson)
		want, got, cursor := strings.Split(strings.TrimSpace(stream), "\n"), []string(nil), ""
		for len(got) <= len(want) {
			var page Page[json.RawMessage]
			_, _, text := s.ask("GET", path+"&limit=1&cursor="+cursor, "")
			must(t, json.Unmarshal([]byte(text), &page))
			for _, item := range page.Items {
				got = append(got, string(item))
			}
			if cursor = page.Next; cursor == "" {
				break
			}
		}
		if cursor != "" || !slices.Equal(got, want) {
			t.Errorf("%s: the pages have\n%s\nwant\n%s", path, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// TestHead: what nobody gets is not read: a HEAD of a stream, or of an export, does not walk through the store.
func TestHead(t *testing.T) {
	s := newSite(t)
	h := New(s.e, Options{})
	for path, kind := range map[string]string{
		"/export/jsonl": ndjson, "/export/cdxj": "text/plain; charset=utf-8", "/records": ndjson,
	} {
		answer := answered(h, request("HEAD", apiPath+path, "", map[string]string{"Accept": ndjson}))
		body, err := io.ReadAll(answer.Body)
		must(t, err)
		got, n := answer.Header.Get("Content-Type"), strings.Count(string(body), "\n")
		if answer.StatusCode != 200 || got != kind || n > 1 || n > 0 && path != "/records" {
			t.Errorf("%s: %s, %s, %d lines", path, answer.Status, got, n)
		}
	}
}

// TestHostsBy: an order of hosts counts without a number of them, too.
func TestHostsBy(t *testing.T) {
	s := newSite(t)
	seeds := engine.InjectOptions{URLs: []string{
		"http://a.example/", "http://b.example/1", "http://b.example/2", "http://c.example/1", "http://c.example/2",
		"http://c.example/3", "http://c.example/4", "http://c.example/5", "http://c.example/6", "http://c.example/7",
	}}
	if _, err := s.e.Inject(context.Background(), seeds); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"?by=unfetched&limit=2": "c.example b.example", "?by=bytes&limit=1": s.host, "?limit=2": s.host + " a.example",
		"?by=unfetched&top=1": "c.example", "?top=1": "c.example",
	} {
		_, _, text := s.ask("GET", "/hosts"+query, "")
		var page Page[engine.HostView]
		if err := json.Unmarshal([]byte(text), &page); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, h := range page.Items {
			names = append(names, h.Host)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("/hosts%s: %s, want %s", query, got, want)
		}
	}
}

// TestLastPage: who follows next comes to an end without an error, also in a list that has no key to go on from and is
// longer than its pages reach: the last page says so.
func TestLastPage(t *testing.T) {
	for _, size := range []int{0, deepMax, deepMax + pageMax, deepMax + pageMax + 1, 2 * deepMax} {
		l := list[int]{from: func(string) iter.Seq2[int, error] {
			return func(yield func(int, error) bool) {
				for i := range size {
					if !yield(i, nil) {
						return
					}
				}
			}
		}}
		seen := 0
		for page := (Page[int]{}); ; {
			w := httptest.NewRecorder()
			c := &call{w: w, r: httptest.NewRequest("GET", "/", nil), values: map[string]any{"limit": pageMax}}
			if page.Next != "" {
				c.values["cursor"] = page.Next
			}
			if p := l.answer(&Handler{}, c); p != nil {
				t.Fatalf("of %d entries, after %d: %v", size, seen, p)
			}
			page = Page[int]{}
			must(t, json.Unmarshal(w.Body.Bytes(), &page))
			if seen += len(page.Items); page.Next != "" {
				continue
			}
			if want := min(size, deepMax+pageMax); seen != want || page.More != (size > want) {
				t.Errorf("of %d entries %d are in pages, more: %v", size, seen, page.More)
			}
			break
		}
	}
}

// TestEventsUnbuffered: a server in front, such as nginx, is told to pass each event on at once.
func TestEventsUnbuffered(t *testing.T) {
	h := New(opened(t, t.TempDir()), Options{})
	answer := answered(h, request(http.MethodHead, apiPath+"/events", "", nil))
	if got := answer.Header.Get("X-Accel-Buffering"); answer.StatusCode != http.StatusOK || got != "no" {
		t.Errorf("status %d, X-Accel-Buffering %q", answer.StatusCode, got)
	}
}

// TestStreamUnflushed: behind a writer of a program that can only write, streams go on.
func TestStreamUnflushed(t *testing.T) {
	type only struct{ http.ResponseWriter }
	answer := httptest.NewRecorder()
	control := http.NewResponseController(only{answer})
	w := &lineWriter{d: deadlines{control}, patience: stallTime}
	w.b = bufio.NewWriter(&deadlineWriter{only{answer}, w})
	for _, line := range []int{1, 2} {
		w.flushed = time.Time{} // the line before was sent long ago
		must(t, w.write(line))
	}
	must(t, writeEvent(only{answer}, control, engine.Status{}))
	if text := answer.Body.String(); !strings.HasPrefix(text, "1\n2\nevent: status\n") {
		t.Errorf("%.100s", text)
	}
}
