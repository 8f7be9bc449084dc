// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/warc"
)

// answers is a host of which some pages are answered by functions.
type answers struct {
	names
	by map[string]http.HandlerFunc // by path
}

// newAnswers starts a.test.
func newAnswers(t testing.TB, pages map[string]string, by map[string]http.HandlerFunc) *answers {
	t.Helper()
	n := &answers{*newNames(t, pages), by}
	n.serveBy(t, n)
	return n
}

func (n *answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if answer := n.by[r.URL.Path]; answer != nil {
		answer(w, r)
		return
	}
	n.names.ServeHTTP(w, r)
}

// TestLongSitemaps: the last entry of a sitemap that is longer than any page, as sent or decoded, is fetched. Of one
// that is longer than a sitemap may be, the first entries are, and a warning names it.
func TestLongSitemaps(t *testing.T) {
	var n *answers
	sitemap := func(name string, long int, coding string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/xml")
			to := io.Writer(w)
			if coding != "" {
				w.Header().Set("Content-Encoding", coding)
				z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
				defer z.Close()
				to = z
			}
			entry := func(at string) string {
				return n.spell("<url><loc>HOST:a.test/" + name + at + "</loc></url>\n")
			}
			io.WriteString(to, "<urlset>"+entry("-first"))
			filler := "<!--" + strings.Repeat("x", 1<<16) + "-->"
			for range long >> 16 {
				io.WriteString(to, filler+"<url></url>")
			}
			io.WriteString(to, entry("-last")+"</urlset>")
		}
	}
	page := "<title>a page</title><p>Only a sitemap names it."
	pages := map[string]string{"a.test/": "<p>no links"}
	for _, name := range []string{"sent", "coded", "over"} {
		pages["a.test/"+name+"-first"], pages["a.test/"+name+"-last"] = page, page
	}
	n = newAnswers(t, pages, map[string]http.HandlerFunc{
		"/robots.txt": func(w http.ResponseWriter, _ *http.Request) {
			for _, name := range []string{"sent", "coded", "over"} {
				fmt.Fprintf(w, "Sitemap: /%s.xml\n", name)
			}
		},
		"/sent.xml": sitemap("sent", 6<<20, ""), "/coded.xml": sitemap("coded", 20<<20, "gzip"),
		"/over.xml": sitemap("over", 55<<20, "gzip"),
	})
	for way, run := range bothWays {
		n.again("", 0)
		o := n.options(dataDir(t))
		o.Sitemaps, o.Memory = true, 256<<20
		var warned []string
		o.Events = engine.EventListener{Warning: func(err error) { warned = append(warned, err.Error()) }}
		run(t, o, n.seeds("a.test/"))
		t.Log(way)
		n.wantRequests(t, map[string]int{"a.test/sent-first": 1, "a.test/sent-last": 1, "a.test/coded-first": 1,
			"a.test/coded-last": 1, "a.test/over-first": 1, "a.test/over-last": 0})
		if len(warned) == 0 || slices.ContainsFunc(warned, func(s string) bool {
			return !strings.Contains(s, "/over.xml is cut")
		}) {
			t.Errorf("%s: warnings %q", way, warned)
		}
	}
}

// TestUnrequestedPart: a part of a page that nobody requested (206) is no page, neither a first one nor in place of
// what is known. One that is the whole page, as its Content-Range says, is.
func TestUnrequestedPart(t *testing.T) {
	const page = "<title>a page</title><p>All of the page."
	part := func(contentRange string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			if contentRange != "" {
				w.Header().Set("Content-Range", contentRange)
			}
			w.WriteHeader(http.StatusPartialContent)
			io.WriteString(w, page)
		}
	}
	all := fmt.Sprintf("bytes 0-%d/%d", len(page)-1, len(page))
	n := newAnswers(t, map[string]string{"a.test/": `<a href="/start">a</a> <a href="/end">b</a>
		<a href="/unknown">c</a> <a href="/none">d</a> <a href="/all">e</a>`},
		map[string]http.HandlerFunc{"/start": part("bytes 0-99/1000"), "/end": part("bytes 900-999/1000"),
			"/unknown": part("bytes 0-99/*"), "/none": part(""), "/all": part(all)})
	for way, run := range bothWays {
		o := n.options(dataDir(t))
		run(t, o, n.seeds("a.test/"))
		e := open(t, o)
		for _, path := range []string{"start", "end", "unknown", "none", "all"} {
			want := storage.StatusUnfetched
			if path == "all" {
				want = storage.StatusFetched
			}
			r, err := e.Inspect().Record(n.spell("HOST:a.test/" + path))
			if err != nil || r.Status != want || r.HTTPStatus != http.StatusPartialContent {
				t.Errorf("%s: %s is %v with status %d, want %v: %v", way, path, r.Status, r.HTTPStatus, want, err)
			}
		}
		mustClose(t, e)
	}
}

// TestCanonicalField: the canonical URL that a Link field of a header names is a link, like one in the page.
func TestCanonicalField(t *testing.T) {
	n := newAnswers(t, map[string]string{"a.test/canonical": "<title>it</title><p>Only a header names it."},
		map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Add("Link", `</style.css>; rel=preload; as=style`)
			w.Header().Add("Link", `</canonical>; rel="alternate canonical"`)
			io.WriteString(w, "Text that says the same.")
		}})
	for way, run := range bothWays {
		n.again("", 0)
		run(t, n.options(dataDir(t)), n.seeds("a.test/"))
		t.Log(way)
		n.wantRequests(t, map[string]int{"a.test/canonical": 1, "a.test/style.css": 0})
	}
}

// TestUnavailableAfter: a page that says from when on it must not be found, in its header or a meta tag, is found until
// then, and leaves the index once that time has passed, even if it has not changed.
func TestUnavailableAfter(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	const date = "unavailable_after: 2030-01-03T00:00:00Z"
	page := func(head, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("ETag", `"1"`)
			if head != "" {
				w.Header().Set("X-Robots-Tag", head)
			}
			if r.Header.Get("If-None-Match") != "" {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			io.WriteString(w, text)
		}
	}
	home := `<a href="/field">a</a> <a href="/meta">b</a> <a href="/stays">c</a>`
	n := newAnswers(t, map[string]string{"a.test/": home}, map[string]http.HandlerFunc{
		"/field": page(date, "<p>herring that a field takes away"),
		"/meta":  page("", "<meta name=robots content='"+date+"'><p>herring that a tag takes away"),
		"/stays": page("", "<p>herring that stays here"),
	})
	for way, run := range bothWays {
		o := n.options(dataDir(t))
		o.NoIndex = false
		var later time.Duration
		o.Now = func() time.Time { return now.Add(later) }
		for i, want := range []int{3, 3, 1} {
			later = time.Duration(i) * 36 * time.Hour
			run(t, o, n.seeds("a.test/"))
			e := open(t, o)
			if _, err := e.Index(t.Context(), engine.IndexOptions{Refresh: true}); err != nil {
				t.Fatal(err)
			}
			found, err := e.Search(t.Context(), "herring", engine.SearchOptions{Deadline: patient, Limit: 10})
			if err != nil || len(found.Hits) != want {
				t.Errorf("%s, after %s: %d pages are found, want %d: %v", way, later, len(found.Hits), want, err)
			}
			mustClose(t, e)
		}
	}
}

// TestRevisits: a 304 to a request with validators is a revisit record (WARC 1.1, 6.7.3), from which sealing again,
// stored copies and Verify read what they read from a response. The record and its line of the CDXJ index name what it
// confirms, as replay tools look it up.
func TestRevisits(t *testing.T) {
	n := newAnswers(t, map[string]string{"a.test/": `<a href="/same">a</a> <a href="/odd">b</a>`},
		map[string]http.HandlerFunc{
			"/same": func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("ETag", `"1"`)
				w.Header().Set("Content-Type", "text/html")
				if r.Header.Get("If-None-Match") == `"1"` {
					w.WriteHeader(http.StatusNotModified)
					return
				}
				io.WriteString(w, "<p>it stays as it is")
			},
			"/odd": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) },
		})
	const confirmed = "HTTP/1.1 304 "
	for way, run := range bothWays {
		o := n.options(dataDir(t))
		var later time.Duration
		o.Now = func() time.Time { return time.Now().Add(later) }
		run(t, o, n.seeds("a.test/"))
		later = 40 * 24 * time.Hour
		run(t, o, n.seeds("a.test/"))
		e := open(t, o)
		verify(t, e)
		got, err := e.Inspect().StoredCopy(t.Context(), n.spell("HOST:a.test/same"), time.Time{})
		if err != nil || got.Capture.HTTPStatus != 304 || !strings.Contains(got.Text(), "it stays") {
			t.Errorf("%s: %+v, %v", way, got, err)
		}
		r, err := e.Inspect().Record(n.spell("HOST:a.test/same"))
		if err != nil || r.Status != storage.StatusNotModified {
			t.Errorf("%s: %v, %v", way, r.Status, err)
		}
		wantRevisitLines(t, e)
		mustClose(t, e)
		kinds := map[string]int{}
		var page, refers [3]string
		names, err := filepath.Glob(filepath.Join(o.Dir, "warc", "*.warc.gz"))
		if err != nil || len(names) == 0 {
			t.Fatal(names, err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			err = warc.Scan(bytes.NewReader(b), name, int64(len(b)), func(rec *warc.Record) error {
				if rec.Type == warc.TypeResponse && bytes.HasSuffix(rec.Block, []byte("it stays as it is")) {
					page = [...]string{rec.URI, rec.Field("WARC-Date"), rec.Field("WARC-Payload-Digest")}
				}
				if bytes.HasPrefix(rec.Block, []byte(confirmed)) {
					if rec.Type == warc.TypeRevisit {
						refers = [...]string{rec.Field("WARC-Refers-To-Target-URI"),
							rec.Field("WARC-Refers-To-Date"), rec.Field("WARC-Payload-Digest")}
					}
					path := rec.URI[strings.LastIndexByte(rec.URI, '/')+1:]
					kinds[rec.Type+" "+path+" "+rec.Field("WARC-Profile")]++
				}
				return nil
			}, func(f warc.Fault) error { return errors.New(f.String()) })
			if err != nil {
				t.Fatal(err)
			}
		}
		want := "revisit same http://netpreserve.org/warc/1.1/revisit/server-not-modified"
		if kinds[want] != 1 || kinds["response odd "] == 0 || len(kinds) != 2 {
			t.Fatalf("%s: records of 304 are %v", way, kinds)
		}
		if page != refers || slices.Contains(page[:], "") {
			t.Errorf("%s: the revisit refers to %q, the page is %q", way, refers, page)
		}
	}
}

// wantRevisitLines checks that of the CDXJ index exactly the second line of /same is that of a revisit record, with the
// digest of the first.
func wantRevisitLines(t *testing.T, e *engine.Engine) {
	t.Helper()
	var b bytes.Buffer
	if err := e.Inspect().ExportCDXJ(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	type row struct{ URL, Mime, Status, Digest string }
	var same []row
	for line := range strings.Lines(b.String()) {
		var r row
		if err := json.Unmarshal([]byte(line[strings.IndexByte(line, '{'):]), &r); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(r.URL, "/same") {
			same = append(same, r)
		} else if r.Mime == warc.MediaTypeRevisit {
			t.Errorf("%+v", r)
		}
	}
	if len(same) != 2 || same[0].Mime != "text/html" || same[1].Mime != warc.MediaTypeRevisit ||
		same[1].Status != "304" || same[0].Digest != same[1].Digest {
		t.Errorf("lines %+v", same)
	}
}
