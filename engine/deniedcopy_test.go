// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
)

// TestDeniedHidesNoCopy: when a filter file denies the host whose page stood for equal ones, or for nearly equal ones
// that are marked, the best of those that it permits is found. When the file permits the host again, it is as before.
func TestDeniedHidesNoCopy(t *testing.T) {
	t.Parallel()
	article := "<title>Log</title><article><h1>Log</h1><p>"
	for i := range 60 {
		article += fmt.Sprintf("On day %d the keeper wrote that %d ships had passed the reef. ", i, i*7)
	}
	n := newNames(t, map[string]string{
		"a.test/": `<a href="HOST:b.test/s">1</a> <a href="HOST:c.test/story">2</a> <a href="HOST:d.test/a/story">3</a>
			<a href="HOST:b.test/x">4</a>`,
		"b.test/s":       article,
		"b.test/x":       "<title>x</title><p>Nothing of it.",
		"c.test/story":   article,
		"d.test/a/story": article + "And once not.",
	})
	c := engine.CrawlOptions{Inject: n.seeds("a.test/")}
	for _, near := range []string{"collapse", "mark"} {
		for _, how := range []string{"crawl", "phases"} {
			denied := filepath.Join(t.TempDir(), "denied")
			o := n.options(dataDir(t))
			o.Scope, o.NearDuplicates = policy.ScopeAny, near
			for _, step := range []struct {
				denied            string
				collapsed, marked []string
			}{
				{"", []string{"b.test/s", "d.test/a/story"}, []string{"b.test/s"}},
				{"b.test\n", []string{"c.test/story", "d.test/a/story"}, []string{"c.test/story"}},
				{"b.test\nc.test\n", []string{"d.test/a/story"}, []string{"d.test/a/story"}},
				{"c.test\n", []string{"b.test/s", "d.test/a/story"}, []string{"b.test/s"}},
				{"", []string{"b.test/s", "d.test/a/story"}, []string{"b.test/s"}},
			} {
				if err := os.WriteFile(denied, []byte(step.denied), 0o666); err != nil {
					t.Fatal(err)
				}
				o.LiveFilters = watchedHosts(t, denied)
				e := open(t, o)
				if how == "phases" {
					batch(t, e, n.seeds("a.test/"), 100)
				} else if _, err := e.Crawl(context.Background(), c); err != nil {
					t.Fatal(err)
				}
				hits, err := e.Search(context.Background(), "keeper", engine.SearchOptions{Deadline: patient})
				if err != nil {
					t.Fatal(err)
				}
				want, got := step.collapsed, []string{}
				if near == "mark" {
					want = step.marked
				}
				for _, h := range hits.Hits {
					got = append(got, strings.ReplaceAll(strings.TrimPrefix(h.URL, "http://"), ":"+n.port, ""))
				}
				if slices.Sort(got); !slices.Equal(got, want) {
					t.Errorf("%s, %s, denied %q: found %q, want %q", near, how, step.denied, got, want)
				}
				verify(t, e)
				mustClose(t, e)
			}
		}
	}
}
