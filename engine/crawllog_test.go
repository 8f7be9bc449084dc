// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// logLine is a line of a crawl log in JSON.
type logLine struct {
	Time       time.Time `json:"time"`
	URL        string    `json:"url"`
	Status     string    `json:"status"`
	HTTPStatus int       `json:"http_status"`
	Code       int       `json:"code"`
	Failure    string    `json:"failure"`
	Bytes      int64     `json:"bytes"`
	TookMS     int64     `json:"took_ms"`
	HopPath    string    `json:"hop_path"`
	Via        string    `json:"via"`
	MediaType  string    `json:"media_type"`
	Redirect   string    `json:"redirect"`
	Digest     string    `json:"digest"`
	Tries      int       `json:"tries"`
	Segment    uint32    `json:"segment"`
}

// crawlLog reads a log and the files that it was rotated into, oldest first.
func crawlLog(t *testing.T, path string) (lines []logLine) {
	t.Helper()
	files, err := filepath.Glob(path + ".*")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	for _, file := range append(files, path) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			var l logLine
			if err := json.Unmarshal(line, &l); err != nil {
				t.Fatalf("%s: %q: %v", file, line, err)
			}
			lines = append(lines, l)
		}
	}
	return lines
}

// fetchText is how fetches are compared.
const fetchText = "%s at %d: %s http %d %s %d bytes segment %d"

// fetchesOf are all fetches in sealed segments: URL, time and outcome of each.
func fetchesOf(t *testing.T, e *engine.Engine) (list []string) {
	t.Helper()
	for s, err := range e.Inspect().Segments(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if s.State < storage.SegmentSealed {
			continue
		}
		for p, err := range e.Inspect().ParseRecords(ctx, s.Segment, "") {
			if errors.Is(err, engine.ErrNotFound) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			list = append(list, fmt.Sprintf(fetchText, p.URL, p.Time.UnixMilli(), p.Status, p.HTTPStatus, p.Failure,
				p.Bytes, p.Segment))
		}
	}
	slices.Sort(list)
	return list
}

// logged are the lines in the form of fetchesOf.
func logged(lines []logLine) (list []string) {
	for _, l := range lines {
		list = append(list, fmt.Sprintf(fetchText, l.URL, l.Time.UnixMilli(), l.Status, l.HTTPStatus, l.Failure,
			l.Bytes, l.Segment))
	}
	slices.Sort(list)
	return list
}

// TestCrawlLog: each fetch of a crawl, and of the phases, has one line with everything that is known of it.
func TestCrawlLog(t *testing.T) {
	t.Parallel()
	s := newStorySite(t)
	for way, run := range bothWays {
		t.Run(way, func(t *testing.T) {
			o := s.options(dataDir(t))
			o.Scope = policy.ScopeAny
			path := filepath.Join(t.TempDir(), "logs", "crawl.log")
			o.CrawlLog = engine.CrawlLogOptions{Path: path, MaxBytes: 1500}
			run(t, o, s.seeds("a.test/"))
			lines := crawlLog(t, path)
			e := open(t, o)
			defer mustClose(t, e)
			if got, want := logged(lines), fetchesOf(t, e); !slices.Equal(got, want) || len(want) != 11 {
				t.Errorf("\n got %s\nwant %s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if files, _ := filepath.Glob(path + ".*"); len(files) == 0 {
				t.Error("the log was not rotated")
			}
			for _, l := range lines {
				var want string
				switch strings.TrimPrefix(l.URL, s.url("a.test/")) {
				case "":
					want = "200  fetch_success   text/html"
				case "hop":
					want = "302  fetch_redir_temp L " + s.url("a.test/") + " "
				case s.url("b.test/landed"):
					want = "200  fetch_success LR " + s.url("a.test/hop") + " text/html"
				case "denied":
					want = "-9998 robots_denied fetch_gone L " + s.url("a.test/") + " "
				default:
					want = "200  fetch_success L " + s.url("a.test/") + " text/html"
				}
				got := fmt.Sprint(l.Code, " ", l.Failure, " ", l.Status, " ", l.HopPath, " ", l.Via, " ", l.MediaType)
				if got != want || l.Tries != 1 {
					t.Errorf("%s:\n got %s\nwant %s", l.URL, got, want)
				}
				var digest string
				for _, c := range captures(t, e, l.URL) {
					digest = c.Digest
				}
				if l.Digest != digest {
					t.Errorf("%s has the digest %s, want %s", l.URL, l.Digest, digest)
				}
			}
		})
	}
}

// TestCrawlLogHeritrix: the other format has a line for each fetch, too.
func TestCrawlLogHeritrix(t *testing.T) {
	t.Parallel()
	s := newStorySite(t)
	o := s.options(dataDir(t))
	path := filepath.Join(t.TempDir(), "crawl.log")
	o.CrawlLog = engine.CrawlLogOptions{Path: path, Format: "heritrix"}
	e := open(t, o)
	defer mustClose(t, e)
	if _, err := e.Crawl(ctx, engine.CrawlOptions{Inject: s.seeds("a.test/")}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(lines) != len(fetchesOf(t, e)) {
		t.Errorf("%d lines", len(lines))
	}
	denied := s.url("a.test/denied") + " L " + s.url("a.test/") + " no-type #000 "
	if !strings.Contains(string(text), " -9998          - "+denied) {
		t.Errorf("no line of %q in\n%s", denied, text)
	}
	o.Dir, o.CrawlLog.Format = dataDir(t), "apache"
	if _, err := engine.Open(o); err == nil || !strings.Contains(err.Error(), "json or heritrix") {
		t.Errorf("an unknown format: %v", err)
	}
}

// TestCrawlLogCrash: after a crash each fetch has one line still, whatever the crash took of the log's end.
func TestCrawlLogCrash(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 4, 60)
	for _, lost := range []int{0, 7, 1000} { // lines
		t.Run(fmt.Sprint(lost), func(t *testing.T) {
			o := w.options(dataDir(t))
			path := filepath.Join(t.TempDir(), "crawl.log")
			o.CrawlLog = engine.CrawlLogOptions{Path: path}
			abort, cancel := context.WithCancel(ctx)
			o.Events.PageStored = func() func(u urlkey.URL, _ *storage.FetchOutcome) {
				n := 0
				return func(urlkey.URL, *storage.FetchOutcome) {
					if n++; n == 90 {
						cancel()
					}
				}
			}()
			e := open(t, o)
			c := engine.CrawlOptions{Inject: w.seeds(), Abort: abort}
			if r, err := e.Crawl(ctx, c); err == nil {
				t.Fatalf("the crawl ended before it was aborted: %s", r)
			}
			mustClose(t, e)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			lines := slices.Collect(bytes.Lines(text))
			kept := lines[:max(len(lines)-lost, sealedLines(t, o, lines))]
			torn := append(bytes.Join(kept, nil), `{"time":"2026-`...)
			if err := os.WriteFile(path, torn, 0o644); err != nil {
				t.Fatal(err)
			}
			o.Events.PageStored = nil
			w.crawl(o, engine.CrawlOptions{})
			e = open(t, o)
			defer mustClose(t, e)
			if got, want := logged(crawlLog(t, path)), fetchesOf(t, e); !slices.Equal(got, want) || len(want) < 200 {
				t.Errorf("%d lines of %d fetches", len(got), len(want))
				sameLines(t, "log", got, want)
			}
		})
	}
}

// TestCrawlLogResume: a fetch that is interrupted and goes on, in the same process or in the next, logs nothing twice.
func TestCrawlLogResume(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 4, 60)
	o := w.options(dataDir(t))
	path := filepath.Join(t.TempDir(), "crawl.log")
	o.CrawlLog = engine.CrawlLogOptions{Path: path}
	stop := func() {}
	stored := 0
	o.Events.PageStored = func(urlkey.URL, *storage.FetchOutcome) {
		if stored++; stored%6 == 0 {
			stop()
		}
	}
	e := open(t, o)
	w.batchOnce(t, e)
	g, err := e.Generate(ctx, engine.GenerateOptions{})
	if err != nil || g.Selected < 15 {
		t.Fatal(g, err)
	}
	if err := e.SetDelay(100 * time.Millisecond); err != nil { // so that it is not done before it is interrupted
		t.Fatal(err)
	}
	for range 2 {
		interrupted, cancel := context.WithCancel(ctx)
		stop = cancel
		if _, err := e.Fetch(interrupted, engine.FetchOptions{Segment: g.Segment}); err != nil {
			t.Fatal(err)
		}
		cancel()
	}
	mustClose(t, e)
	stop = func() {}
	e = open(t, o)
	defer mustClose(t, e)
	if _, err := e.Crawl(ctx, engine.CrawlOptions{}); err != nil {
		t.Fatal(err)
	}
	if got, want := logged(crawlLog(t, path)), fetchesOf(t, e); !slices.Equal(got, want) || len(want) < 200 {
		t.Errorf("%d lines of %d fetches", len(got), len(want))
		sameLines(t, "log", got, want)
	}
}

// batchOnce runs the phases until the links of the first page are known.
func (w *world) batchOnce(t *testing.T, e *engine.Engine) {
	t.Helper()
	if _, err := e.Inject(ctx, w.seeds()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		g, err := e.Generate(ctx, engine.GenerateOptions{})
		if err == nil {
			_, err = e.Fetch(ctx, engine.FetchOptions{Segment: g.Segment})
		}
		if err == nil {
			_, err = e.UpdateDB(ctx, g.Segment)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// sealedLines is the number of lines, from the first on, up to the last of a segment that is sealed: a crash cannot
// take these.
func sealedLines(t *testing.T, o engine.Options, lines [][]byte) (n int) {
	t.Helper()
	e := open(t, o)
	defer mustClose(t, e)
	sealed := map[uint32]bool{}
	for s, err := range e.Inspect().Segments(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		sealed[s.Segment] = s.State >= storage.SegmentSealed
	}
	for i, line := range lines {
		var l logLine
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatal(err)
		}
		if sealed[l.Segment] {
			n = i + 1
		}
	}
	return n
}

// TestCrawlLogLostStore: where the store has lost an unfinished segment and its WARC file has it, each fetch still has
// one line, also when the next crawl comes much later.
func TestCrawlLogLostStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 4, 60)
	o := w.options(dataDir(t))
	path := filepath.Join(t.TempDir(), "crawl.log")
	e := open(t, o)
	if _, err := e.Inject(ctx, w.seeds()); err != nil {
		t.Fatal(err)
	}
	mustClose(t, e)
	store, saved := filepath.Join(o.Dir, "store"), filepath.Join(t.TempDir(), "store")
	if err := os.CopyFS(saved, os.DirFS(store)); err != nil {
		t.Fatal(err)
	}
	o.CrawlLog = engine.CrawlLogOptions{Path: path}
	abort, cancel := context.WithCancel(ctx)
	n := 0
	o.Events.PageStored = func(urlkey.URL, *storage.FetchOutcome) {
		if n++; n == 4 {
			cancel()
		}
	}
	e = open(t, o)
	if r, err := e.Crawl(ctx, engine.CrawlOptions{Abort: abort}); err == nil {
		t.Fatalf("the crawl ended before it was aborted: %s", r)
	}
	mustClose(t, e)
	if err := errors.Join(os.RemoveAll(store), os.CopyFS(store, os.DirFS(saved))); err != nil {
		t.Fatal(err)
	}
	o.Events.PageStored = nil
	o.Now = func() time.Time { return time.Now().Add(5 * time.Hour) }
	w.crawl(o, engine.CrawlOptions{})
	o.Now = nil
	e = open(t, o)
	defer mustClose(t, e)
	if got, want := logged(crawlLog(t, path)), fetchesOf(t, e); !slices.Equal(got, want) || len(want) < 200 {
		t.Errorf("%d lines of %d fetches", len(got), len(want))
		sameLines(t, "log", got, want)
	}
}
