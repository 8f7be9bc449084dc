// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/storage"
)

// TestMergeLinkdb adds the links of one crawl to those of another on a file system that loses what was not synced. From
// any moment on, doing it again ends with the same links, which are shown, counted and exported.
func TestMergeLinkdb(t *testing.T) {
	n := newNames(t, map[string]string{
		"a.test/": `<a href="http://HOST:b.test/">mine</a>`,
		"b.test/": `<a href="http://HOST:a.test/">back</a> words`,
		"c.test/": `<a href="http://HOST:b.test/">theirs</a><a href="http://HOST:a.test/?utm_source=x">theirs</a>`,
	})
	for page, text := range n.pages {
		n.pages[page] = strings.ReplaceAll(text, "http://HOST:", "HOST:")
	}
	ctx := context.Background()
	fs := storage.NewCrashableFS()
	crawl := func(dir string, seeds ...string) engine.Options {
		o := n.options(dir)
		o.FS = fs
		e := open(t, o)
		defer mustClose(t, e)
		if _, err := e.Crawl(ctx, engine.CrawlOptions{Inject: n.seeds(seeds...)}); err != nil {
			t.Fatal(err)
		}
		return o
	}
	crawl("/other", "c.test/")
	o := crawl("/data", "a.test/", "b.test/")
	merge := engine.MergeLinksOptions{Dirs: []string{"/other"}}
	state := func(e *engine.Engine) string {
		var b bytes.Buffer
		for l, err := range e.Inspect().Links(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			b.WriteString(l.String() + "\n")
		}
		c, err := e.Inspect().LinkCounts(ctx, n.spell("HOST:b.test/"))
		if err == nil {
			_, err = e.Linkdb().Graph(ctx, "host", &b, &b)
		}
		if err != nil {
			t.Fatal(err)
		}
		return b.String() + c.String()
	}
	e := open(t, o)
	losses := []*storage.CrashableFS{fs.Crash(0, 1)}
	r, err := e.Linkdb().Merge(ctx, merge)
	if err != nil || r.Dirs != 1 || r.Links != 2 || r.Refused != 0 {
		t.Fatalf("%v: %s", err, r)
	}
	for i := range uint64(8) {
		losses = append(losses, fs.Crash(int(i)*14, i))
	}
	want := state(e)
	for _, part := range []string{"\ttheirs", "from 2 pages on 2 hosts of 2 domains", "test.a:" + n.port, "\t1\n"} {
		if !strings.Contains(want, part) {
			t.Errorf("no %q in\n%s", part, want)
		}
	}
	verify(t, e)
	mustClose(t, e)
	for _, loss := range losses {
		o.FS = loss
		e := open(t, o)
		if _, err := e.Linkdb().Merge(ctx, merge); err != nil {
			t.Fatal(err)
		}
		sameDigest(t, state(e), want)
		verify(t, e)
		mustClose(t, e)
	}
	o.FS = fs
	e = open(t, o)
	defer mustClose(t, e)
	if _, err := e.Linkdb().Merge(ctx, engine.MergeLinksOptions{Dirs: []string{"/none"}}); err == nil {
		t.Error("a directory without a store is taken")
	}
	if _, err := e.Linkdb().Graph(ctx, "page", &bytes.Buffer{}, &bytes.Buffer{}); err == nil {
		t.Error("a graph of pages is exported")
	}
}
