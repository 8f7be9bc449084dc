// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine"
)

const testToken = "a-token"

// site is a small web site, crawled into an engine that is served.
type site struct {
	t    *testing.T
	e    *engine.Engine
	url  string // of the site
	api  string // of the API
	host string
}

var sitePages = map[string]string{
	"/": `<html lang=en><title>Home of nets</title><p>Welcome to the nets. <a href="/mend.html">Mending nets</a>
		<a href="/gone.html">old page</a> <a href="/moved">moved</a>`,
	"/mend.html": `<title>Mending</title><p>Find the torn mesh and begin above it. <a href="/">home</a>`,
	"/copy.html": `<title>Mending</title><p>Find the torn mesh and begin above it. <a href="/">home</a>`,
}

// newSite crawls the site, and serves the engine.
func newSite(t *testing.T) *site {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := sitePages[r.URL.Path]
		switch {
		case r.URL.Path == "/moved":
			http.Redirect(w, r, "/copy.html", http.StatusMovedPermanently)
		case !ok:
			http.NotFound(w, r)
		default:
			fmt.Fprint(w, page)
		}
	}))
	t.Cleanup(web.Close)
	e, err := engine.Open(engine.Options{Dir: t.TempDir(), Memory: 64 << 20, AllowPrivate: true, Delay: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { must(t, e.Close()) })
	seeds := engine.InjectOptions{URLs: []string{web.URL}}
	if _, err := e.Crawl(context.Background(), engine.CrawlOptions{Inject: seeds}); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(New(e, Options{Token: testToken}))
	t.Cleanup(server.Close)
	return &site{t, e, web.URL, server.URL + apiPath, strings.TrimPrefix(web.URL, "http://")}
}

// ask sends a request with the token and returns the answer.
func (s *site) ask(method, path, body string, head ...string) (status int, mediaType, text string) {
	s.t.Helper()
	r, err := http.NewRequest(method, s.api+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+testToken)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(head); i += 2 {
		if r.Header.Set(head[i], head[i+1]); head[i] == "Host" {
			r.Host = head[i+1]
		}
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	mediaType = answer.Header.Get("Content-Type")
	if strings.HasPrefix(mediaType, "text/event-stream") { // without an end
		line, err := bufio.NewReader(answer.Body).ReadString('\n')
		if err != nil {
			s.t.Fatal(err)
		}
		return answer.StatusCode, mediaType, line
	}
	all, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.StatusCode, mediaType, string(all)
}

// apiCalls are calls of each operation by name: a query, or a body, with the status that they must have.
func (s *site) apiCalls() map[string]map[string]int {
	quoted := url.QueryEscape(s.url)
	return map[string]map[string]int{
		"search": {
			"q=mesh": 200, "q=": 200, "q=torn+mesh&explain=true&facets=lang,host&suggest=true&html=true": 200,
			"q=tron+mehs&suggest=true": 200, "q=%22&strict=true": 400, "limit=3": 400, "q=a&limit=0": 400,
			"q=a&limit=x": 400, "q=a&facets=lang,language": 400,
			"q=mesh&limit=1": 200, "q=a&q=b": 400, "q=a&sort=age": 400, "q=a&sort=newest": 200, "q=%ff": 400,
			"q=a&strict=yes": 400, "q=a&x=1": 400, "q=a&cursor=%21": 400, "q=a&cursor=MQ": 200, "q=a&offset=10001": 400,
			"q=" + strings.Repeat("a", 4097): 400, "q=a&freshness_seconds=NaN": 400, "q=a;b": 400, "q=%zz": 400,
		},
		"suggest":  {"q=tron+mehs": 200, "q=": 200, "": 400},
		"complete": {"q=me": 200, "q=": 200, "limit=2": 400},
		"record":   {"url=" + quoted: 200, "url=http://not.known/": 404, "url=%20": 400, "": 400},
		"records": {
			"": 200, "limit=1": 200, "limit=1001": 400, "status=db_fetched,db_gone": 200, "status=x": 400,
			"regex=html$": 200, "regex=(": 400, "sample=2": 200, "top=2": 200, "top=2&status=db_gone": 400,
			"cursor=aHR0": 400,
			"cursor=%21":  400, "prefix=127.0.0.1": 404, "prefix=" + s.host: 200,
			"prefix=http://127.0.0.1/": 404, "prefix=http://" + s.host: 200,
		},
		"stats": {"": 200, "hosts=true": 200},
		"index": {"": 200, "x=1": 400},
		"host":  {"host=" + s.host: 200, "host=not.known": 404, "host=": 400, "host=%20": 400},
		"hosts": {"": 200, "top=1": 200, "limit=1": 200},
		"links": {"": 200, "url=" + quoted: 200, "url=::": 400, "limit=1": 200, "cursor=OTk5OTk5": 400},
		"segments": {
			"": 200, "limit=1": 200, "cursor=eA": 400,
		},
		"segment":    {"/1": 200, "/99": 404, "/0": 400, "/x": 400},
		"parses":     {"segment=1": 200, "segment=99": 404, "url=" + quoted: 200, "url=http://not.known/": 404},
		"check":      {"url=" + quoted: 200, "url=%20": 200, "url=a&scope=outlink": 200, "url=a&scope=x": 400},
		"url":        {"url=" + quoted: 200, "url=http://not.known/": 200, "url=%20": 400},
		"captures":   {"url=" + quoted: 200, "url=http://not.known/": 200, "url=::": 400},
		"host_story": {"host=" + s.host: 200, "host=not.known": 404, "host=%20": 400},
		"host_now":   {"host=" + s.host: 200},
		"report": {
			"/seeds": 200, "/hosts": 200, "/types": 200, "/statuses": 200, "/failures": 200, "/traps": 200,
			"/hosts?top=1": 200, "/other": 400,
		},
		"status":  {"": 200},
		"history": {"": 200, "span_seconds=60": 200, "span_seconds=-1": 400},
		"events":  {"": 200},
		"blocked": {"": 200},
		"block": {
			`{"hosts":["blocked.example"]}`: 200, `{"hosts":["*.example"]}`: 400, `{"hosts":[]}`: 400, `{}`: 400,
			`[`: 400,
		},
		"unblock": {`{"hosts":["blocked.example"]}`: 200},
		"inject": {
			`{"urls":["` + s.url + `/new","mailto:x"]}`: 200, `{"urls":[]}`: 400, `{"seeds":[]}`: 400, `{} {}`: 400,
			"": 415,
		},
		"recrawl": {`{"targets":["` + s.url + `/"]}`: 200, `{"targets":["::"]}`: 400,
			`{"targets":[""]}`: 400, "": 415},
		"export":       {"/cdxj": 200, "/jsonl": 200, "/x": 400},
		"due_segments": {"state=linked": 200, "state=x": 400, "": 400},
		"verify":       {"{}": 200},
		"index_pages": {
			`{"max_segments":1}`: 200, `{"max_segments":-1}`: 400, `{"segments":[99]}`: 404, "[]": 400,
		},
		"dedup":      {"{}": 200, `{"segments":"x"}`: 400, `{"segments":[1]}`: 200, `{"segments":[1,99]}`: 404},
		"dedup_urls": {"": 415, "{}": 415},
		"purge":      {"{}": 200},
		"delete":     {`{"targets":["` + s.url + `/copy.html"]}`: 200, `{"targets":[]}`: 400},
		"stop":       {"": 409},
		"pause":      {"": 200},
		"resume":     {"": 200},
		"rate": {
			`{"delay_seconds":1,"fetchers":3}`: 200, `{"fetchers":0}`: 400, `null`: 400, `{"delay_seconds":-1}`: 400,
			`{}`: 200,
		},
	}
}

// TestAPI: every operation is called, the status is the expected one, and the description permits every answer.
func TestAPI(t *testing.T) {
	s := newSite(t)
	d := described(t)
	v := &validator{d["components"].(object)["schemas"].(object)}
	calls := s.apiCalls()
	for i := range routes {
		r := &routes[i]
		if len(calls[r.name]) == 0 {
			t.Errorf("%s is not called", r.name)
		}
		for input, want := range calls[r.name] {
			path, body := r.path, ""
			switch base, _, inPath := strings.Cut(r.path, "{"); {
			case inPath:
				path = base + strings.TrimPrefix(input, "/")
			case r.method == http.MethodGet:
				path += "?" + input
			default:
				body = input
			}
			status, mediaType, text := s.ask(r.method, path, body)
			if status != want {
				t.Errorf("%s %s %s: status %d, not %d: %s", r.method, path, body, status, want, text)
			}
			if err := permits(d, v, r, status, mediaType, text); err != nil {
				t.Errorf("%s %s %s: %v in %s", r.method, path, body, err, text)
			}
		}
	}
}

// permits returns an error if the description does not permit an answer.
func permits(d object, v *validator, r *route, status int, mediaType, text string) error {
	of := d["paths"].(object)[r.path].(object)[strings.ToLower(r.method)].(object)
	answer, ok := of["responses"].(object)[strconv.Itoa(status)].(object)
	if !ok {
		return fmt.Errorf("status %d is not described", status)
	}
	content, ok := answer["content"].(object)[mediaType].(object)
	if !ok {
		return fmt.Errorf("the media type %s is not described", mediaType)
	}
	if mediaType == "text/event-stream" || mediaType == "text/plain; charset=utf-8" {
		return nil
	}
	dec := json.NewDecoder(strings.NewReader(text))
	for line := 0; ; line++ {
		var value any
		if err := dec.Decode(&value); err == io.EOF && line > 0 || err == io.EOF && mediaType == ndjson {
			return nil
		} else if err != nil {
			return err
		}
		if err := v.check(content["schema"].(object), value, "answer"); err != nil {
			return err
		}
	}
}

// TestStreams: a list as a stream has the entries of all its pages.
func TestStreams(t *testing.T) {
	s := newSite(t)
	d := described(t)
	v := &validator{d["components"].(object)["schemas"].(object)}
	for i := range routes {
		r := &routes[i]
		if !r.list {
			continue
		}
		query := map[string]string{"parses": "&segment=1", "captures": "&url=" + url.QueryEscape(s.url)}[r.name]
		path := strings.Replace(r.path, "{report}", "statuses", 1)
		status, mediaType, stream := s.ask(r.method, path+"?"+query, "", "Accept", ndjson)
		if err := permits(d, v, r, status, mediaType, stream); status != 200 || err != nil {
			t.Errorf("%s: %v in %s", path, err, stream)
		}
		paged, cursor := "", ""
		for range 100 {
			_, _, text := s.ask(r.method, path+"?limit=1"+query+cursor, "")
			var page Page[json.RawMessage]
			if err := json.Unmarshal([]byte(text), &page); err != nil || len(page.Items) > 1 {
				t.Fatal(text, err)
			}
			for _, item := range page.Items {
				paged += string(item) + "\n"
			}
			if page.Next == "" {
				break
			}
			cursor = "&cursor=" + page.Next
		}
		if paged != stream || stream == "" {
			t.Errorf("%s: pages have\n%sthe stream has\n%s", path, paged, stream)
		}
		_, _, first := s.ask(r.method, path+"?limit=1"+query, "", "Accept", ndjson)
		if !strings.HasPrefix(stream, first) || strings.Count(first, "\n") != 1 {
			t.Errorf("%s: limit 1: %s", path, first)
		}
	}
}
