// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/engine/web"
	"github.com/seine-crawler/seine/storage"
)

// crawledSite crawls a small site into a new data directory, and returns the address of the site.
func crawledSite(t *testing.T) (site, dir string) {
	t.Helper()
	pages := map[string]string{
		"/": homePage, "/mend.html": mendPage, "/copy.html": mendPage,
		"/log/a.html": logPage("A", "2023-05-01", logText()),
		"/bold.html":  "<title>Bold \x1b[1m &lt;b&gt; \u2028</title><p>A <b>torn</b> mesh & more \u202e of it, 网页.",
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := pages[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
		}
		fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	dir = filepath.Join(t.TempDir(), "data")
	var out bytes.Buffer
	args := []string{"crawl", "--dir", dir, "--allow-private", "--delay", "0s", "--quiet", server.URL + "/",
		server.URL + "/log/a.html", server.URL + "/bold.html"}
	if status := run(args, nil, &out, &out); status != 0 {
		t.Fatal(out.String())
	}
	return server.URL, dir
}

// took are times in output: how long something took, and the version of an exported document.
var took = regexp.MustCompile(`(in |"seconds":|"version":)[0-9.]+( ms|s)?`)

// openSegment is the line of the segment that a crawl fills: alone there is none.
var openSegment = regexp.MustCompile(`^(\d+\topen\t|\{"segment":\d+,"state":"open",)`)

// result is what a command prints on stdout and its exit status, without times and with other names for what differs.
func result(t *testing.T, dir, stdin string, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	status := run(append(args, "--dir", dir), strings.NewReader(stdin), &out, &errs)
	text := ""
	for line := range strings.Lines(took.ReplaceAllString(out.String(), "${1}TIME$2")) {
		if !openSegment.MatchString(line) {
			text += line
		}
	}
	failure := ""
	for line := range strings.Lines(errs.String()) { // others are notes of this run
		if status != 0 {
			failure = line
			break
		}
	}
	return strings.ReplaceAll(fmt.Sprintf("%s%sstatus %d\n", text, failure, status), dir, "DIR")
}

// TestBesideCrawl: each command prints the same, and has the same exit status, alone and while a crawl has the data
// directory open.
func TestBesideCrawl(t *testing.T) {
	site, dir := crawledSite(t)
	alone, beside := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	for _, to := range []string{alone, beside} {
		if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
	}
	seeds := filepath.Join(t.TempDir(), "seeds.txt")
	if err := os.WriteFile(seeds, []byte("# seeds\n"+site+"/new\tnutch.score=2\tk=v\nmailto:x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	latin1 := filepath.Join(t.TempDir(), "latin1.txt")
	if err := os.WriteFile(latin1, []byte(site+"/caf\xe9\tname=caf\xe9\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	lines := [][]string{
		{"search", "torn", "mesh"}, {"search", "torn mesh", "--json", "--explain"}, {"search", "tron"},
		{"search", "--strict", `"torn`}, {"search", "--complete", "to"}, {"search", ""},
		{"search", "--count", "1", "net"},
		{"search", "evening", "--facets", "lang,type,host", "--limit", "1", "--per-host", "1", "--sort", "newest"},
		{"search", "evening", "--facets", "language"},
		{"search", "--complete", "--json", "to"}, {"search", "--complete", "--json", "lang:e"},
		{"search", "mesh", "--limit", "100000", "--freshness", "720h"},
		{"readdb", "--dump"}, {"readdb", "--dump", "--json"}, {"readdb", "--dump", "--format", "csv"},
		{"readdb", "--stats"}, {"readdb", "--stats", "--sort"}, {"readdb", "--stats", "--sort", "--json"},
		{"readdb", "--url", site}, {"readdb", "--url", "http://not.known/"}, {"readdb", "--url", "no url"},
		{"readdb", "--top", "2"}, {"readdb", "--sample", "3"}, {"readdb", "--status", "fetched,gone"},
		{"readdb", "--regex", "html$"}, {"readdb", "--prefix", "127.0.0.1"}, {"readdb", "--prefix", "not.known"},
		{"readdb", "--prefix", "0"}, {"readseg", "--url", "0"}, {"readdb", "--url", site + "/caf\xe9"},
		{"search", "mesh \xff"}, {"search", "--complete", "me\xff"}, {"readlinks", "--url", site + "/caf\xe9"},
		{"readseg", "--url", site + "/caf\xe9"}, {"report", "url", site + "/\xff\xfe"},
		{"check", "url", site + "/caf\xe9"},
		{"readhost"}, {"readhost", "--json"}, {"readhost", "--top", "1"}, {"readhost", "--host", "not.known"},
		{"readhost", "--host", strings.TrimPrefix(site, "http://")},
		{"readlinks", "--dump"}, {"readlinks", "--dump", "--format", "csv"},
		{"readlinks", "--url", site + "/mend.html"},
		{"readlinks", "--url", site, "--limit", "1", "--json"}, {"readlinks", "--url", "::"},
		{"readseg"}, {"readseg", "--json"}, {"readseg", "--segment", "1"}, {"readseg", "--segment", "99"},
		{"readseg", "--dump"}, {"readseg", "--dump", "--json"}, {"readseg", "--url", site + "/bold.html", "--json"},
		{"check", "url", site + "/mend.html", "ftp://a.b/"}, {"check", "url", "--json", site + "/nowhere"},
		{"check", "url", "-"},
		{"report", "seeds"}, {"report", "hosts", "--json"}, {"report", "types"}, {"report", "statuses", "--top", "1"},
		{"report", "failures", "--json"}, {"report", "traps"}, {"report", "hosts", "--format", "csv", "--top", "0"},
		{"report", "url", site + "/mend.html", "http://not.known/"}, {"report", "url", "--json", site},
		{"report", "host", strings.TrimPrefix(site, "http://")}, {"report", "host", "not.known"},
		{"inject", seeds, site + "/other", "-"}, {"inject", "--update", seeds, "--json"}, {"inject", "mailto://x"},
		{"delete", site + "/copy.html", "not.known"}, {"delete", "::"}, {"delete", site + "/log/*", "--json"},
		{"export"}, {"export", "--format", "jsonl"}, {"export", "--format", "xml"},
		{"dedup"}, {"dedup", "99"}, {"index", "--max-segments", "1", "--json"}, {"index", "99"},
		{"recrawl", site + "/mend.html", "not.known"}, {"recrawl", "::"}, {"recrawl", site + "/*", "--json"},
		{"dedup-urls", seeds, "-"}, {"dedup-urls", "--known", "-", "--json", "-"},
		{"dedup-urls", "--refused", "-", seeds},
		{"dedup-urls", "--duplicates", "-", latin1, latin1}, {"dedup-urls", latin1},
		{"dedup-urls", "no-such-file"}, {"dedup-urls", "--known", "/dev/null", "--duplicates", "-", "-", "-"},
	}
	t.Setenv(variable("allow-private"), "true")
	var want []string
	for _, line := range lines {
		want = append(want, result(t, alone, site+"/\nnonsense\n", line...))
	}
	endCrawl := pausedCrawl(t, beside)
	defer endCrawl()
	for i, line := range lines {
		got := result(t, beside, site+"/\nnonsense\n", line...)
		if got != want[i] {
			t.Errorf("%q beside a crawl\n%salone\n%s", line, got, want[i])
		}
	}
}

// sizes are those of WARC files: a file that is written again has a record with a random id, which compresses as well
// as it happens to.
var sizes = regexp.MustCompile(`\(\d+ bytes\)|"bytes":\d+|"offset": "\d+"`)

// TestBesideServe: each command that changes or reads the whole prints the same alone and while a process that crawls
// nothing has the directory open.
func TestBesideServe(t *testing.T) {
	site, dir := crawledSite(t)
	alone, beside := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	for _, to := range []string{alone, beside} {
		if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv(variable("allow-private"), "true")
	lines := [][]string{
		{"verify"}, {"delete", site + "/mend.html"}, {"purge"}, {"verify"}, {"verify", "--json"}, {"purge", "--json"},
		{"index", "--max-segments", "1"}, {"index"}, {"index", "--every-document"}, {"dedup", "--json"}, {"export"},
		{"search", "mesh"},
	}
	var want []string
	for _, line := range lines {
		want = append(want, result(t, alone, "", line...))
	}
	if !strings.Contains(want[2], "1 WARC files removed and 0 rewritten") &&
		!strings.Contains(want[2], "0 WARC files removed and 1 rewritten") {
		t.Errorf("nothing is purged: %s", want[2])
	}
	e, err := engine.Open(engine.Options{Dir: beside, AllowPrivate: true, Scope: policy.ScopeHost, MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	s, err := web.ServeSocket(e, beside, web.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i, line := range lines {
		want[i] = sizes.ReplaceAllString(want[i], "SIZE")
		if got := sizes.ReplaceAllString(result(t, beside, "", line...), "SIZE"); got != want[i] {
			t.Errorf("%q beside seine serve\n%salone\n%s", line, got, want[i])
		}
	}
	process := fmt.Sprint(os.Getpid())
	got := result(t, beside, "", "updatedb")
	if !strings.Contains(got, "it runs no crawl: kill -INT "+process) || !strings.HasSuffix(got, "status 75\n") {
		t.Errorf("updatedb: %s", got)
	}
}

// TestNotBesideCrawl: what cannot be done beside a crawl says what to do. Purge works, and verify sees nothing wrong in
// what the crawl is about to write.
func TestNotBesideCrawl(t *testing.T) {
	_, dir := crawledSite(t)
	defer pausedCrawl(t, dir)()
	for _, c := range []struct{ line, says string }{
		{"generate", "\nstatus 75\n"},
		{"purge", "0 index segments rewritten in "},
		{"generate", `it crawls: "seine crawl --dir DIR --stop" ends that cleanly`},
		{"linkrank", `it crawls: "seine crawl --dir DIR --stop" ends that cleanly`},
		{"mergelinkdb", "\nstatus 75\n"},
		{"mergelinkdb", `it crawls: "seine crawl --dir DIR --stop" ends that cleanly`},
		{"freegen -", `it crawls: "seine crawl --dir DIR --stop" ends that cleanly`},
		{"index --rebuild", `it crawls: "seine crawl --dir DIR --stop" ends that cleanly`},
		{"verify", ", 0 problems in "},
	} {
		if got := result(t, dir, "", strings.Fields(c.line)...); !strings.Contains(got, c.says) {
			t.Errorf("%s: %s", c.line, got)
		}
	}
}

// pausedCrawl begins a crawl that is paused, in this process, and serves the socket.
func pausedCrawl(t *testing.T, dir string) (end func()) {
	t.Helper()
	_, end = beginPausedCrawl(t, dir)
	return end
}

func beginPausedCrawl(t *testing.T, dir string) (e *engine.Engine, end func()) {
	t.Helper()
	e, err := engine.Open(engine.Options{Dir: dir, AllowPrivate: true, Scope: policy.ScopeHost, MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Pause(); err != nil {
		t.Fatal(err)
	}
	s, err := web.ServeSocket(e, dir, web.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	began, done := make(chan bool), make(chan error, 1)
	go func() {
		first := true
		_, err := e.Crawl(ctx, engine.CrawlOptions{Progress: func(engine.Progress) {
			if first {
				close(began)
			}
			first = false
		}})
		done <- err
	}()
	<-began
	return e, func() {
		cancel()
		for _, err := range []error{<-done, s.Close(), e.Close()} {
			if err != nil {
				t.Error(err)
			}
		}
	}
}

// TestAtOnce: commands that are run at once take turns, or ask the one that came first: each prints the same.
func TestAtOnce(t *testing.T) {
	_, dir := crawledSite(t)
	want := result(t, dir, "", "readdb", "--dump")
	got := make(chan string)
	const commands, rounds = 8, 5
	for range commands {
		go func() {
			for range rounds {
				got <- result(t, dir, "", "readdb", "--dump")
			}
		}()
	}
	for range commands * rounds {
		if text := <-got; text != want {
			t.Errorf("%s\nwant\n%s", text, want)
		}
	}
}

// TestWithoutEffect: a setting that another process decides is refused.
func TestWithoutEffect(t *testing.T) {
	_, dir := crawledSite(t)
	defer pausedCrawl(t, dir)()
	var out, errs bytes.Buffer
	status := run([]string{"inject", "--scope", "any", "--dir", dir, "http://a.example/"}, nil, &out, &errs)
	want := fmt.Sprintf("seine: --scope: no effect while process %d has %s open", os.Getpid(), dir)
	if status != exitUsage || !strings.HasPrefix(errs.String(), want) {
		t.Errorf("status %d, %s", status, errs.String())
	}
}

// TestCrawlControl: crawl --pause, --resume and --stop, and top, work on the crawl of another process.
func TestCrawlControl(t *testing.T) {
	_, dir := crawledSite(t)
	for _, line := range []string{"crawl --pause", "crawl --resume", "crawl --stop", "top"} {
		want := "seine: no crawl is running on this engine: no process has DIR open\nstatus 1\n"
		if line == "crawl --resume" { // which may be meant to continue one
			want = strings.Replace(want, "open\n", "open: \"seine crawl --dir DIR\" continues the last one\n", 1)
		}
		if got := result(t, dir, "", strings.Fields(line)...); got != want {
			t.Errorf("%s without a crawl: %s", line, got)
		}
	}
	process := "process " + fmt.Sprint(os.Getpid())
	const wrong = "seine: crawl: give one of --pause, --resume and --stop, and no seeds\nstatus 2\n"
	const settings = ": the crawl that runs has its own settings\nstatus 2\n"
	for _, lines := range [][][2]string{
		{
			{"crawl --pause", "the crawl of " + process + ` is paused: "seine crawl --dir DIR --resume" goes on`},
			{"crawl --pause --json", `{"paused":true,"stopping":false}`},
			{"crawl --pause --stop", wrong}, {"crawl --pause a.example", wrong},
			{"crawl --pause --delay 9s --concurrency 3",
				"seine: crawl: --concurrency --delay: no effect beside --pause" + settings},
			{"crawl --resume --max-pages 5 --max-time 1s --quiet",
				"seine: crawl: --max-pages --max-time --quiet: no effect beside --resume" + settings},
			{"crawl --stop --seeds nosuch.file --set per-host=2",
				"seine: crawl: --set per-host --seeds: no effect beside --stop" + settings},
			{"top", "paused "}, {"top --json", `{"time":"`},
			{"crawl --stop", process + " stops its crawl, and brings what it has fetched through its phases"},
		}, {
			{"crawl --stop --json", `{"paused":true,"stopping":true}`},
		}, {
			{"crawl --resume", "the crawl of " + process + " goes on"}, // nothing is due, so it ends
		},
	} {
		end := pausedCrawl(t, dir)
		for _, line := range lines {
			if got := result(t, dir, "", strings.Fields(line[0])...); !strings.HasPrefix(got, line[1]) {
				t.Errorf("%s: %s", line[0], got)
			}
		}
		for strings.HasPrefix(result(t, dir, "", "top"), "paused ") {
			time.Sleep(10 * time.Millisecond)
		}
		end()
	}
}

// TestBesideReader: what writes waits while another process only reads, and then says who has the directory. What reads
// is answered by that process.
func TestBesideReader(t *testing.T) {
	site, dir := crawledSite(t)
	e, err := engine.Open(engine.Options{Dir: dir, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	s, err := web.ServeSocket(e, dir, web.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := result(t, dir, "", "readdb", "--url", site); !strings.HasSuffix(got, "status 0\n") {
		t.Error(got)
	}
	lines := [][]string{
		{"inject", "http://a.example/"}, {"recrawl", site}, {"dedup"}, {"purge"}, {"index"}, {"delete", site},
		{"inject", "--scope", "any", "http://a.example/"},
	}
	got := make([]string, len(lines))
	var running sync.WaitGroup
	for i, line := range lines {
		running.Go(func() { got[i] = result(t, dir, "", line...) })
	}
	running.Wait()
	for i, line := range lines {
		if !strings.HasSuffix(got[i], "\nstatus 75\n") {
			t.Errorf("%q: %s", line, got[i])
		}
	}
	says := "it runs no crawl: kill -INT " + fmt.Sprint(os.Getpid()) + " ends it\n"
	if !strings.Contains(strings.Join(got, ""), says) { // one may have had no time to ask
		t.Errorf("nothing says who has the directory: %q", got)
	}
	for _, err := range []error{s.Close(), e.Close()} {
		if err != nil {
			t.Error(err)
		}
	}
	if got := result(t, dir, "", "inject", "http://a.example/"); !strings.HasSuffix(got, "status 0\n") {
		t.Error(got)
	}
}

// TestAdviceOfOldIndex: who opens an index of another version is told to rebuild that of the directory of this run.
func TestAdviceOfOldIndex(t *testing.T) {
	for what, spoil := range map[string]func(s *storage.Store) error{
		"format": func(s *storage.Store) error {
			ing := s.NewIngestion()
			defer ing.Abort()
			old := ing.Table(storage.IndexRange('g')).Set([]byte{0, 0, 0, 1}, []byte(`{"docs":1,"terms":1,"fields":5}`))
			return errors.Join(old, ing.Commit())
		},
		"analyzer": func(s *storage.Store) error { return s.PutSettings(map[string]string{"analyzer": "0"}) },
	} {
		_, dir := crawledSite(t)
		s, err := storage.Open(filepath.Join(dir, "store"), storage.Options{MustExist: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(spoil(s), s.Close()); err != nil {
			t.Fatal(err)
		}
		got := result(t, dir, "", "search", "mesh")
		if !strings.Contains(got, `; run "seine index --dir DIR --rebuild"`) {
			t.Errorf("%s: %s", what, got)
		}
	}
}

// TestRebuildRefused: what is wrong in a line with --rebuild is said before the index is emptied.
func TestRebuildRefused(t *testing.T) {
	_, dir := crawledSite(t)
	want := result(t, dir, "", "search", "mesh")
	for _, line := range []string{"--max-segments -1", "99", "1", "--segment 1"} {
		args := append([]string{"index", "--rebuild"}, strings.Fields(line)...)
		if got := result(t, dir, "", args...); !strings.HasSuffix(got, "\nstatus 2\n") {
			t.Errorf("%s: %s", line, got)
		}
		if got := result(t, dir, "", "search", "mesh"); got != want {
			t.Errorf("after %s a search finds %s", line, got)
		}
	}
}

// TestLogBeside: the log of a command says how it ended, also where another process did the work: that the directory
// was locked is no error then.
func TestLogBeside(t *testing.T) {
	_, dir := crawledSite(t)
	defer pausedCrawl(t, dir)()
	log := filepath.Join(t.TempDir(), "log")
	t.Setenv(variable("log"), log)
	if got := result(t, dir, "", "inject", "http://a.example/"); !strings.HasSuffix(got, "status 0\n") {
		t.Error(got)
	}
	text, err := os.ReadFile(log)
	if err != nil || strings.Contains(string(text), "ERROR") || strings.Count(string(text), "msg=begins") != 1 ||
		!strings.Contains(string(text), "msg=ends") {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestWrongFacet: a facet that no document has is wrong use, alone and beside a crawl.
func TestWrongFacet(t *testing.T) {
	_, dir := crawledSite(t)
	check := func() {
		t.Helper()
		got := result(t, dir, "", "search", "--facets", "colour", "mesh")
		if !strings.HasSuffix(got, "status 2\n") {
			t.Error(got)
		}
	}
	check()
	defer pausedCrawl(t, dir)()
	check()
}
