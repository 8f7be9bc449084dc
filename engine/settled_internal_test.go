// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestSettled: what settles a crawl reads next to nothing if nothing changed since the last one, also in another
// process. Once something did, dedup reads all signatures, and a refresh what changed.
func TestSettled(t *testing.T) {
	const pages = 16_000 // so many that a pass reads far more than the segments' rows in the tables of level 0
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		var n int
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &n)
		for i := 2*n + 1; i <= 2*n+2 && i < pages; i++ {
			fmt.Fprintf(w, "<a href=/%d>page %d</a> ", i, i)
		}
		fmt.Fprintf(w, "<p>text %d", n/2) // of two pages each
	}))
	defer site.Close()
	o := Options{Dir: t.TempDir(), Delay: -1, AllowPrivate: true, Memory: 64 << 20, TrapDuplicates: -1}
	ctx := context.Background()
	var e *Engine
	reopen := func() {
		t.Helper()
		var err error
		if e != nil {
			err = e.Close()
		}
		if err == nil {
			e, err = Open(o)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	reopen()
	defer func() { e.Close() }()
	r, err := e.Crawl(ctx, CrawlOptions{Inject: InjectOptions{URLs: []string{site.URL}}})
	if err != nil || r.Fetched < pages {
		t.Fatalf("%d pages, %v", r.Fetched, err)
	}
	reopen() // and everything is in tables
	// read is how many blocks fn reads, whether from the cache or from disk.
	read := func(fn func() error) int64 {
		t.Helper()
		before, err := e.w.store.Counters()
		if err == nil {
			err = fn()
		}
		after, err2 := e.w.store.Counters()
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		return after.CacheHits + after.CacheMisses - before.CacheHits - before.CacheMisses
	}
	least := func(fn func() error) int64 { // compactions read too
		t.Helper()
		return min(read(fn), read(fn), read(fn))
	}
	groups := uint64(0)
	dedup := func() error {
		d, err := e.Dedup(ctx, DedupOptions{})
		if groups != 0 && d.Groups != groups || d.Groups < pages/6 {
			t.Errorf("%d groups of duplicates, and %d before", d.Groups, groups)
		}
		groups = d.Groups
		return err
	}
	refresh := func(every bool) func() error {
		return func() error {
			x, err := e.w.buildIndex(ctx, IndexOptions{Refresh: true, EveryDocument: every})
			if err == nil && x.Added+x.Refreshed+x.Deleted != 0 {
				t.Errorf("it was not up to date: %s", x)
			}
			return err
		}
	}
	settledDedup, settledRefresh := least(dedup), least(refresh(false))
	asked := least(refresh(true))
	if asked < 3*settledRefresh+5 {
		t.Errorf("a refresh reads %d blocks, and %d if nothing changed", asked, settledRefresh)
	}
	if _, err := e.Inject(ctx, InjectOptions{URLs: []string{site.URL + "/new"}}); err != nil {
		t.Fatal(err)
	}
	if whole := read(dedup); whole < 2*settledDedup+3 {
		t.Errorf("dedup reads %d blocks, and %d after an inject", settledDedup, whole)
	}
	if changed := read(refresh(false)); changed <= settledRefresh || changed >= asked {
		t.Errorf("a refresh reads %d blocks, %d after an inject, and %d of all pages", settledRefresh, changed, asked)
	}
	if again := least(dedup) + least(refresh(false)); again > settledDedup+settledRefresh {
		t.Errorf("with nothing changed, %d blocks were read, and %d the next time", settledDedup+settledRefresh, again)
	}
}
