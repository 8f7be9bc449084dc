// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage/warc"
)

// damageResponse flips a bit in the stored response of a page.
func damageResponse(t *testing.T, dir, path string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "warc", "*.warc.gz"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		at := int64(-1)
		err = warc.Scan(bytes.NewReader(b), name, int64(len(b)), func(rec *warc.Record) error {
			if rec.Type == warc.TypeResponse && strings.HasSuffix(rec.URI, path) {
				at = rec.Offset + rec.Length/2
			}
			return nil
		}, func(warc.Fault) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		if at >= 0 {
			b[at] ^= 4
			if err := os.WriteFile(name, b, 0o666); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("no response of %s in %q", path, names)
}

// TestRepairScope: a page whose referrer is lost is no seed after a repair, so the scope does not widen: a redirect of
// it to another host is not followed, and what another scope permits is found again.
func TestRepairScope(t *testing.T) {
	for _, c := range []struct {
		name   string
		later  policy.Scope // at the repair and afterwards
		beyond int          // requests for a page of another host
	}{{"same", policy.ScopeHost, 0}, {"wider", policy.ScopeAny, 1}} {
		t.Run(c.name, func(t *testing.T) {
			n := newNames(t, map[string]string{
				"a.test/":    `<title>a</title><p>one <a href="/mid">m</a> <a href="HOST:b.test/x">x</a>`,
				"a.test/mid": `<title>m</title><p>two <a href="/red">r</a>`,
				"a.test/red": `-> HOST:b.test/`,
				"b.test/":    `<title>b</title><p>outside`,
				"b.test/x":   `<title>b</title><p>outside too`,
			})
			o := n.options(dataDir(t))
			o.Scope = policy.ScopeHost
			crawl := func(again ...string) {
				t.Helper()
				e := open(t, o)
				defer mustClose(t, e)
				for _, u := range again {
					if _, err := e.Recrawl(ctx, u); err != nil {
						t.Fatal(err)
					}
				}
				in := n.seeds("a.test/")
				if again != nil {
					in = engine.InjectOptions{}
				}
				if _, err := e.Crawl(ctx, engine.CrawlOptions{Inject: in}); err != nil {
					t.Fatal(err)
				}
				verify(t, e)
			}
			crawl()
			damageResponse(t, o.Dir, "/mid")
			o.Scope = c.later
			r, err := engine.Repair(ctx, o)
			if err != nil || r.Due != 1 || r.Left.Problems > 0 {
				t.Fatalf("%v: %s", err, r)
			}
			crawl(n.seeds("a.test/").URLs[0])
			for page, want := range map[string]int{"a.test/": 2, "a.test/mid": 2, "b.test/x": c.beyond} {
				if n.asked[page] != want {
					t.Errorf("%s was requested %d times, want %d", page, n.asked[page], want)
				}
			}
			if c.beyond == 0 && n.asked["b.test/"] > 0 {
				t.Error("the redirect to another host was followed")
			}
		})
	}
}

// TestRepairInterrupted: a repair that ends after any number of WARC files, records or segments leaves a directory that
// does not open, and the next one ends with what an undisturbed one has.
func TestRepairInterrupted(t *testing.T) {
	web := anyHostWeb(t, 3, 8)
	o, want := crawled(t, web)
	damageResponse(t, o.Dir, "/")
	interrupted := 0
	for limit := 1; limit < 2000; limit *= 3 {
		d := o
		d.Dir = dataDir(t)
		copyDir(t, o.Dir, d.Dir)
		within, cancel := context.WithCancel(ctx)
		asked := 0
		_, err := engine.Repair(atErr{within, func() {
			if _, err := os.Stat(filepath.Join(d.Dir, "store.rebuild")); err == nil {
				if asked++; asked == limit {
					cancel()
				}
			}
		}}, d)
		cancel()
		if errors.Is(err, context.Canceled) {
			interrupted++
			if e, err := engine.Open(d); !errors.Is(err, engine.ErrDamaged) {
				t.Fatalf("after %d steps: %v, %v", limit, e, err)
			}
			_, err = engine.Repair(ctx, d)
		}
		if err != nil {
			t.Fatalf("after %d steps: %v", limit, err)
		}
		crawlInTurns(t, d, web.seeds, 0)
		e := open(t, d)
		verify(t, e)
		sameDigest(t, withoutScores(digest(t, e)), withoutScores(want))
		mustClose(t, e)
	}
	if interrupted < 2 {
		t.Errorf("only %d repairs were interrupted", interrupted)
	}
}
