// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
)

// The ways in which TestSettingEffects tries a setting, and what it observes of each.

// first is a batch crawl of a new directory; second goes on with the state that one by default settings leaves.
func (s *setup) first(t *testing.T, fs storage.FS) string {
	t.Helper()
	var seen strings.Builder
	s.w.begin()
	s.inject(t, fs, &seen, s.w.file("seeds"))
	for range 3 {
		s.round(t, fs, &seen, 0, false)
	}
	s.finish(t, fs, &seen)
	return s.observe(t, fs, &seen)
}

func (s *setup) second(t *testing.T, fs storage.FS) string {
	t.Helper()
	var seen strings.Builder
	s.w.begin()
	s.inject(t, fs, &seen, s.w.file("seeds2"))
	s.round(t, fs, &seen, 40, true)
	s.finish(t, fs, &seen)
	return s.observe(t, fs, &seen)
}

// third goes on from the same state with a wider scope, which lets in what was withheld.
func (s *setup) third(t *testing.T, fs storage.FS) string {
	t.Helper()
	var seen strings.Builder
	s.w.begin()
	s.config = "wide.toml"
	s.round(t, fs, &seen, 0, false)
	return s.observe(t, fs, &seen)
}

func (s *setup) inject(t *testing.T, fs storage.FS, seen *strings.Builder, file string) {
	t.Helper()
	s.phase(t, fs, seen, inInject, func(e *engine.Engine) error {
		_, err := e.Inject(context.Background(), engine.InjectOptions{Files: append([]string{file}, s.w.seeds...)})
		return err
	})
}

func (s *setup) round(t *testing.T, fs storage.FS, seen *strings.Builder, days int, parse bool) {
	t.Helper()
	ctx := context.Background()
	var number uint32
	s.phase(t, fs, seen, inGenerate, func(e *engine.Engine) error {
		r, err := e.Generate(ctx, engine.GenerateOptions{AddDays: days})
		number = r.Segment
		return err
	})
	if number == 0 {
		return
	}
	s.fetch(t, fs, seen, number)
	if parse {
		s.phase(t, fs, seen, inParse, func(e *engine.Engine) error {
			_, err := e.Seal(ctx, number)
			return err
		})
	}
	s.phase(t, fs, seen, inUpdateDB, func(e *engine.Engine) error {
		_, err := e.UpdateDB(ctx, number)
		return err
	})
	s.phase(t, fs, seen, inInvertlinks, func(e *engine.Engine) error {
		_, err := e.InvertLinks(ctx, number)
		return err
	})
}

func (s *setup) fetch(t *testing.T, fs storage.FS, seen *strings.Builder, number uint32) {
	t.Helper()
	s.phase(t, fs, seen, inFetch, func(e *engine.Engine) error {
		limits := engine.Limits{MaxTime: tryTime}
		_, err := e.Fetch(context.Background(), engine.FetchOptions{Segment: number, Patience: 1, Limits: limits})
		return err
	})
}

func (s *setup) finish(t *testing.T, fs storage.FS, seen *strings.Builder) {
	t.Helper()
	s.phase(t, fs, seen, inDedup, func(e *engine.Engine) error {
		_, err := e.Dedup(context.Background(), engine.DedupOptions{})
		return err
	})
	s.phase(t, fs, seen, inIndex, func(e *engine.Engine) error {
		_, err := e.Index(context.Background(), engine.IndexOptions{Refresh: true})
		return err
	})
}

// observe is everything that a crawl left behind and that the servers saw, without times.
func (s *setup) observe(t *testing.T, fs storage.FS, seen *strings.Builder) string {
	t.Helper()
	e, err := engine.Open(engine.Options{Dir: cmp.Or(s.dir, "data"), FS: fs, MustExist: true, Memory: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	ctx, in := context.Background(), e.Inspect()
	for r, err := range in.Records(ctx, engine.RecordFilter{}) {
		write(t, seen, r, err)
	}
	for _, url := range s.w.urls() {
		for link, err := range in.Inlinks(ctx, url, 100) {
			write(t, seen, link, err)
		}
	}
	for segment, err := range in.Segments(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		for p, err := range in.ParseRecords(ctx, segment.Segment, "") {
			if !errors.Is(err, engine.ErrNotFound) { // a segment of robots.txt files alone
				write(t, seen, p, err)
			}
		}
	}
	s.w.takeSent(t, seen)
	digest, err := e.Inspect().IndexDigest(ctx)
	fmt.Fprintf(seen, "index %x %v\n", digest, err)
	seen.WriteString(strings.Join(s.w.requests(), "\n"))
	lines := strings.Split(strings.ReplaceAll(seen.String(), s.w.port, "PORT"), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// write writes a view without what differs between two equal crawls.
func write(t *testing.T, seen *strings.Builder, view any, err error) {
	t.Helper()
	text, jsonErr := json.Marshal(view)
	fields := map[string]any{}
	if err := errors.Join(err, jsonErr, json.Unmarshal(text, &fields)); err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(fields, func(name string, _ any) bool {
		return strings.HasSuffix(name, "time") ||
			slices.Contains([]string{"last_fetch", "took_ms", "seconds", "warc", "bytes", "segment", "writers"}, name)
	})
	text, err = json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(seen, "%s\n", text)
}

// crawl is a continuous crawl of a new directory.
func (s *setup) crawl(t *testing.T, fs storage.FS) string {
	t.Helper()
	var seen strings.Builder
	s.w.begin()
	s.phase(t, fs, &seen, inCrawl, func(e *engine.Engine) error {
		files := append([]string{s.w.file("seeds")}, s.w.seeds...)
		_, err := e.Crawl(context.Background(), engine.CrawlOptions{
			Inject: engine.InjectOptions{Files: files}, Patience: 1, Limits: engine.Limits{MaxTime: tryTime},
		})
		return err
	})
	return s.observe(t, fs, &seen)
}

// later is a crawl that goes on after pages came due again.
func (s *setup) later(t *testing.T, fs storage.FS) string {
	t.Helper()
	s.now = func() time.Time { return time.Now().Add(40 * 24 * time.Hour) }
	return s.crawl(t, fs)
}

// remove makes some URLs due and deletes others.
func (s *setup) remove(t *testing.T, fs storage.FS) string {
	t.Helper()
	var seen strings.Builder
	s.w.begin()
	ctx := context.Background()
	again, gone := s.w.removed()
	s.phase(t, fs, &seen, inRecrawl, func(e *engine.Engine) error {
		r, err := e.Recrawl(ctx, again...)
		write(t, &seen, r, nil)
		return err
	})
	s.phase(t, fs, &seen, inDelete, func(e *engine.Engine) error {
		r, err := e.Delete(ctx, gone...)
		write(t, &seen, r, nil)
		return err
	})
	return s.observe(t, fs, &seen)
}

func (s *setup) purge(t *testing.T, fs storage.FS) string {
	t.Helper()
	var seen strings.Builder
	s.w.begin()
	s.phase(t, fs, &seen, inPurge, func(e *engine.Engine) error {
		r, err := e.Purge(context.Background())
		write(t, &seen, r, nil)
		return err
	})
	return s.observe(t, fs, &seen)
}

// filter holds what is stored against other settings.
func (s *setup) filter(t *testing.T, fs storage.FS) string {
	t.Helper()
	var seen strings.Builder
	s.w.begin()
	s.phase(t, fs, &seen, inFilter, func(e *engine.Engine) error {
		r, err := e.Filter(context.Background())
		write(t, &seen, r, nil)
		return err
	})
	return s.observe(t, fs, &seen)
}

// dedupURLs is what "seine dedup-urls" says of seeds and pages.
func (s *setup) dedupURLs(t *testing.T, fs storage.FS) string {
	t.Helper()
	var seen, fresh, known, again, refused strings.Builder
	s.phase(t, fs, &seen, inDedupURLs, func(e *engine.Engine) error {
		_, err := e.DedupURLs(context.Background(), engine.DedupURLsOptions{
			URLs: s.w.urls(), New: &fresh, Known: &known, Duplicates: &again, Refused: &refused,
		})
		return err
	})
	lines := strings.Split(refused.String(), "\n") // which come in no order
	slices.Sort(lines)
	fmt.Fprintf(&seen, "new\n%s\nknown\n%s\nduplicates\n%s\nrefused\n%s", &fresh, &known, &again,
		strings.Join(lines, "\n"))
	return seen.String()
}

// freegen fetches seeds and pages, due or not. Only freegen gets the setting, not the fetch after it.
func (s *setup) freegen(t *testing.T, fs storage.FS) string {
	t.Helper()
	var seen strings.Builder
	s.w.begin()
	var number uint32
	s.phase(t, fs, &seen, inFreegen, func(e *engine.Engine) error {
		r, err := e.FreeGenerate(context.Background(), engine.FreeGenerateOptions{URLs: s.w.urls()})
		number = r.Segment
		write(t, &seen, r, nil)
		return err
	})
	if number != 0 {
		(&setup{w: s.w}).fetch(t, fs, &seen, number)
	}
	return s.observe(t, fs, &seen)
}

// mergelinkdb merges the links of another directory into a new one.
func (s *setup) mergelinkdb(t *testing.T, fs storage.FS) string {
	t.Helper()
	var seen strings.Builder
	s.w.begin()
	s.dir = "merged"
	(&setup{w: s.w, dir: s.dir}).inject(t, fs, &seen, s.w.file("seeds"))
	s.phase(t, fs, &seen, inMergelinkdb, func(e *engine.Engine) error {
		r, err := e.Linkdb().Merge(context.Background(), engine.MergeLinksOptions{Dirs: []string{"theirs"}})
		write(t, &seen, r, nil)
		for link, err := range e.Inspect().Links(context.Background()) {
			write(t, &seen, link, err)
		}
		return err
	})
	return s.observe(t, fs, &seen)
}

// mergedb merges the records of another directory into a new one.
func (s *setup) mergedb(t *testing.T, fs storage.FS) string {
	t.Helper()
	var seen strings.Builder
	s.w.begin()
	s.dir = "merged"
	(&setup{w: s.w, dir: s.dir}).inject(t, fs, &seen, s.w.file("seeds"))
	s.phase(t, fs, &seen, inMergedb, func(e *engine.Engine) error {
		r, err := e.MergeDB(context.Background(), engine.MergeDBOptions{Dirs: []string{"theirs"}})
		write(t, &seen, r, nil)
		return err
	})
	return s.observe(t, fs, &seen)
}

// splitdb moves the pages of a host into another directory.
func (s *setup) splitdb(t *testing.T, fs storage.FS) string {
	t.Helper()
	var seen strings.Builder
	s.w.begin()
	s.phase(t, fs, &seen, inSplitdb, func(e *engine.Engine) error {
		r, err := e.SplitDB(context.Background(), engine.SplitDBOptions{Dir: "part", Domain: "a.example", Move: true})
		write(t, &seen, r, nil)
		return err
	})
	return s.observe(t, fs, &seen)
}

// checkURLs is what "seine check url" says of some URLs.
func (s *setup) checkURLs(t *testing.T, fs storage.FS) string {
	t.Helper()
	var seen strings.Builder
	s.phase(t, fs, &seen, inCheckURL, func(e *engine.Engine) error {
		for _, url := range s.w.urls() {
			c, err := e.Inspect().Check(url, policy.NormalizeInject)
			if err != nil {
				return err
			}
			fmt.Fprintln(&seen, c)
		}
		return nil
	})
	return seen.String()
}

// checkParse is what "seine check parse" says of a page.
func (s *setup) checkParse(t *testing.T, fs storage.FS) string {
	t.Helper()
	s.w.begin()
	c, err := engine.CheckPage(context.Background(), s.options(t, inCheckParse, fs), s.w.at("a", "/"))
	return fmt.Sprint(c, err, s.w.requests())
}
