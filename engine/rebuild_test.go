// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
)

// everyOutcome is a site with every kind of outcome. In its second round some pages differ.
type everyOutcome struct {
	*names
	second atomic.Bool
}

func newEveryOutcome(t *testing.T) *everyOutcome {
	s := &everyOutcome{names: &names{hosts: fetch.Hosts{"a.test": nil, "b.test": nil}, asked: map[string]int{}}}
	s.pages = map[string]string{
		"a.test/robots.txt": "User-agent: *\nDisallow: /denied\n",
		"a.test/": `<title>a</title><p>harbour <a href="/hop">hop</a> <a href="/gone">gone</a> <a href="/denied">d</a>
			<a href="/part">part</a> <a href="/refresh">refresh</a> <a href="/image">image</a> <a href="/busy">busy</a>
			<a href="/changes">c</a> <a href="/twin/1">1</a> <a href="/twin/2">2</a> <a href="HOST:b.test/">b</a>
			<a href="/moves">moves</a> <a href="/leaves">leaves</a>`,
		"a.test/hop":       `-> HOST:a.test/hop2`,
		"a.test/hop2":      `-> HOST:b.test/landed`,
		"b.test/landed":    `<title>l</title><p>landed far away`,
		"a.test/refresh":   `<title>r</title><meta http-equiv=refresh content="0; url=/refreshed"><p>moved on`,
		"a.test/twin/1":    `<title>t</title><p>Two pages say this, word for word: lighthouse.`,
		"a.test/twin/2":    `<title>t</title><p>Two pages say this, word for word: lighthouse.`,
		"b.test/":          `<title>b</title><p>jetty <a href="/deep">deep</a> <a href="HOST:a.test/changes">back</a>`,
		"b.test/deep":      `<title>d</title><p>deep <a href="/deeper">deeper</a>`,
		"b.test/deeper":    `<title>d</title><p>deeper still`,
		"a.test/refreshed": `<title>r</title><p>here it is`,
	}
	s.serveBy(t, s)
	return s
}

func (s *everyOutcome) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	second := s.second.Load()
	html := func(text string) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("ETag", fmt.Sprintf("%q", fmt.Sprint(r.URL.Path, len(text))))
		if r.Header.Get("If-None-Match") == w.Header().Get("ETag") {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		fmt.Fprint(w, text)
	}
	switch r.URL.Path {
	case "/part":
		w.Header().Set("Content-Length", "9000")
		html("<title>p</title><p>only a part of the page " + strings.Repeat("comes ", 60))
	case "/image":
		w.Header().Set("Content-Type", "image/png")
		fmt.Fprint(w, "no text")
	case "/busy":
		w.WriteHeader(http.StatusInternalServerError)
	case "/changes":
		html(map[bool]string{
			false: `<title>c</title><p>before <a href="/old">old link</a>`,
			true:  `<title>c</title><p>afterwards <a href="/new">new link</a>`,
		}[second])
	case "/moves":
		if second {
			http.Redirect(w, r, "/twin/1", http.StatusFound)
			return
		}
		html(`<title>m</title><p>not moved yet`)
	case "/leaves":
		if second {
			http.NotFound(w, r)
			return
		}
		html(`<title>l</title><p>not gone yet`)
	case "/":
		if strings.HasPrefix(r.Host, "a.test") {
			html(s.spell(s.pages["a.test/"]))
			return
		}
		fallthrough
	default:
		s.names.ServeHTTP(w, r)
	}
}

// dumpOf is all that readdb, readhost, readlinks and readseg show of a directory, a line each.
func dumpOf(t *testing.T, o engine.Options) (lines []string) {
	t.Helper()
	e := open(t, o)
	defer mustClose(t, e)
	line := func(command string, v any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(command, err)
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, command+" "+string(text))
	}
	i := e.Inspect()
	for r, err := range i.Records(ctx, engine.RecordFilter{}) {
		line("readdb", r, err)
	}
	stats, err := i.Stats(ctx, true)
	line("readdb --stats", stats, err)
	for h, err := range i.Hosts(ctx, engine.HostFilter{}) {
		line("readhost", h, err)
	}
	for l, err := range i.Links(ctx) {
		line("readlinks", l, err)
	}
	for s, err := range i.Segments(ctx) {
		line("readseg", s, err)
		if s.State == storage.SegmentOpen {
			continue
		}
		for p, err := range i.ParseRecords(ctx, s.Segment, "") {
			if errors.Is(err, engine.ErrNotFound) {
				break // nothing was fetched into it
			}
			line("readseg --dump", p, err)
		}
	}
	return lines
}

// TestRebuildShows: after a rebuild and after a repair, the commands that read show what they showed before.
func TestRebuildShows(t *testing.T) {
	s := newEveryOutcome(t)
	o := s.options(dataDir(t))
	o.Scope = policy.ScopeAny
	e := open(t, o)
	crawl := func() {
		t.Helper()
		if _, err := e.Crawl(ctx, engine.CrawlOptions{Inject: s.seeds("a.test/")}); err != nil {
			t.Fatal(err)
		}
	}
	crawl()
	s.second.Store(true)
	if _, err := e.Recrawl(ctx, "a.test:"+s.port); err != nil {
		t.Fatal(err)
	}
	crawl()
	mustClose(t, e)
	before := dumpOf(t, o)
	for _, want := range []string{`"redirect":"http`, "robots_denied", `"http_status":404`, `"truncated":`,
		"db_duplicate", "db_redir_temp", "db_notmodified", `"http_status":500`} {
		if !slices.ContainsFunc(before, func(line string) bool { return strings.Contains(line, want) }) {
			t.Errorf("the site is too tame: no %s\n%s", want, strings.Join(before, "\n"))
		}
	}

	// The old store can be read: nothing differs.
	repaired := o
	repaired.Dir = dataDir(t)
	copyDir(t, o.Dir, repaired.Dir)
	markers, err := filepath.Glob(filepath.Join(repaired.Dir, "store", "marker.*"))
	if err != nil || len(markers) < 2 {
		t.Fatal(markers, err)
	}
	for _, name := range markers {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	r, err := engine.Repair(ctx, repaired)
	if err != nil || r.Kept == 0 || r.Left.Problems > 0 {
		t.Fatalf("%v: %s", err, r)
	}
	sameLines(t, "repaired", dumpOf(t, repaired), before)

	// There is no old store: what the WARC files do not say differs.
	if err := os.RemoveAll(filepath.Join(o.Dir, "store")); err != nil {
		t.Fatal(err)
	}
	if made, err := engine.Rebuild(ctx, o); err != nil {
		t.Fatal(made, err)
	}
	sameLines(t, "rebuilt", rebuildable(dumpOf(t, o)), rebuildable(before))
}

// rebuildable is what a dump says that a rebuild restores. The documentation of Rebuild lists the rest.
func rebuildable(lines []string) (list []string) {
	notInFiles := regexp.MustCompile(`"(created|sealed)":"[^"]*",|,"(robots|addresses)":\[[^]]*\]`)
	for _, line := range lines {
		if !strings.Contains(line, `"warc":null`) { // a segment into which nothing was fetched
			list = append(list, notInFiles.ReplaceAllString(line, ""))
		}
	}
	return list
}

// sameLines fails with the lines that only one of two lists has.
func sameLines(t *testing.T, what string, got, want []string) {
	t.Helper()
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("%s, now:    %s", what, line)
		}
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("%s, before: %s", what, line)
		}
	}
}

// atErr is a context that calls a function whenever somebody asks whether it has ended.
type atErr struct {
	context.Context
	ask func()
}

func (c atErr) Err() error {
	c.ask()
	return c.Context.Err()
}

// TestRebuildAlone: while a rebuild or a repair runs, also while it reads the WARC files, no other begins.
func TestRebuildAlone(t *testing.T) {
	web := anyHostWeb(t, 3, 5)
	o, want := crawled(t, web)
	if err := os.RemoveAll(filepath.Join(o.Dir, "store")); err != nil {
		t.Fatal(err)
	}
	files := filesOf(t, filepath.Join(o.Dir, "warc"))
	asked := 0
	_, err := engine.Rebuild(atErr{ctx, func() {
		if asked++; asked > 3 {
			return
		}
		if _, err := engine.Rebuild(ctx, o); !errors.Is(err, engine.ErrLocked) ||
			!strings.Contains(err.Error(), "is running: wait") {
			t.Errorf("rebuild beside a rebuild: %v", err)
		}
		if _, err := engine.Repair(ctx, o); !errors.Is(err, engine.ErrLocked) {
			t.Errorf("repair beside a rebuild: %v", err)
		}
	}}, o)
	if err != nil || asked == 0 {
		t.Fatal(err, asked)
	}
	if !maps.Equal(files, filesOf(t, filepath.Join(o.Dir, "warc"))) {
		t.Error("WARC files changed")
	}
	sameDigest(t, withoutScores(digestOf(t, o)), withoutScores(want))
	names, err := filepath.Glob(filepath.Join(o.Dir, "*"))
	if err != nil || len(names) != 3 { // the lock file stays: see lockRebuild
		t.Errorf("%q is left, %v", names, err)
	}
}

// lockedForChild prints whether a directory is locked for reading and for a repair by another process.
func lockedForChild(dir string) error {
	_, opened := engine.Open(engine.Options{Dir: dir, ReadOnly: true})
	_, repaired := engine.Repair(context.Background(), engine.Options{Dir: dir})
	_, err := fmt.Println(errors.Is(opened, engine.ErrLocked), errors.Is(repaired, engine.ErrLocked))
	return err
}

// TestRepairAlone: a repair that follows an interrupted one keeps its lock, also while it looks at what that one left
// and while this process tries to open the directory: other processes neither read nor repair.
func TestRepairAlone(t *testing.T) {
	o, _ := crawled(t, anyHostWeb(t, 3, 5))
	damageResponse(t, o.Dir, "/")
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	_, err := engine.Repair(atErr{within, func() {
		if _, err := os.Stat(filepath.Join(o.Dir, "store.rebuild")); err == nil {
			cancel()
		}
	}}, o)
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	asked := 0
	r, err := engine.Repair(atErr{ctx, func() {
		if asked++; asked > 2 {
			return
		}
		if out, _ := runAndKill(t, 0, "SEINE_TEST_LOCKED="+o.Dir); out != "true true\n" {
			t.Errorf("locked for another process: %q", out)
		}
		if _, err := engine.Open(o); !errors.Is(err, engine.ErrLocked) {
			t.Errorf("opened beside a repair: %v", err)
		}
	}}, o)
	if err != nil || asked < 3 || r.Left.Problems > 0 {
		t.Fatal(err, asked, r)
	}
	mustClose(t, open(t, o))
}

// TestLockFileStays: who has opened the lock file before another repair ends does not lock a file that is gone: the
// file is one and the same.
func TestLockFileStays(t *testing.T) {
	o, _ := crawled(t, anyHostWeb(t, 3, 5))
	name := filepath.Join(o.Dir, "store.rebuild.lock")
	var before os.FileInfo
	for range 2 {
		if _, err := engine.Repair(ctx, o); err != nil {
			t.Fatal(err)
		}
		now, err := os.Stat(name)
		if err != nil || before != nil && !os.SameFile(before, now) {
			t.Fatalf("%v, before %v: %v", now, before, err)
		}
		before = now
	}
}

// TestRebuildElsewhere: a rebuild in a directory that is none of a crawl leaves no file there.
func TestRebuildElsewhere(t *testing.T) {
	o := siteOptions(t)
	if _, err := engine.Rebuild(ctx, o); !errors.Is(err, engine.ErrNoStore) {
		t.Error(err)
	}
	if left, err := os.ReadDir(o.Dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestRebuildEnds: a rebuild that was killed when the new store was complete, and not in its place, ends with the next
// call.
func TestRebuildEnds(t *testing.T) {
	o, want := crawled(t, anyHostWeb(t, 3, 5))
	store := filepath.Join(o.Dir, "store")
	if err := os.Rename(store, filepath.Join(o.Dir, "store.rebuilt")); err != nil {
		t.Fatal(err)
	}
	r, err := engine.Rebuild(ctx, o)
	if err != nil || !r.Earlier || !strings.Contains(r.String(), "earlier rebuild") {
		t.Fatalf("%s, %v", r, err)
	}
	e := open(t, o)
	sameDigest(t, digest(t, e), want)
	mustClose(t, e)
	if _, err := engine.Rebuild(ctx, o); err == nil || !strings.Contains(err.Error(), "there is a store") {
		t.Errorf("beside a store: %v", err)
	}
}
