// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// BenchmarkRefresh refreshes the index of a crawled site after 1 percent of its pages were fetched again, with other
// anchors on them: all documents, and as the end of a crawl does, then and once more when nothing changed. The latter
// two are in percent of the first, of processor time.
func BenchmarkRefresh(b *testing.B) {
	const pages = 20_000
	version := 0
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		var n int
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &n)
		fmt.Fprintf(w, "<title>page %d</title>", n)
		for _, to := range []int{2*n + 1, 2*n + 2, n * 7 % pages, n * 11 % pages, n * 13 % pages} {
			if to < pages {
				fmt.Fprintf(w, "<a href=/%d>page %d of version %d</a> ", to, to, version)
			}
		}
		fmt.Fprintf(w, "<p>text %d", n)
	}))
	defer site.Close()
	ctx := context.Background()
	e, err := Open(Options{Dir: b.TempDir(), Delay: -1, AllowPrivate: true, TrapDuplicates: -1})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	if r, err := e.Crawl(ctx, CrawlOptions{Inject: InjectOptions{URLs: []string{site.URL + "/0"}}}); err != nil ||
		r.Fetched < pages {
		b.Fatalf("%d pages, %v", r.Fetched, err)
	}
	refresh := func(all bool) time.Duration {
		start := processCPU()
		if _, err := e.w.buildIndex(ctx, IndexOptions{Refresh: true, EveryDocument: all}); err != nil {
			b.Fatal(err)
		}
		return processCPU() - start
	}
	refetched := func(all bool) time.Duration {
		version++
		var again []string
		for n := version % 100; n < pages; n += 100 {
			again = append(again, fmt.Sprintf("%s/%d", site.URL, n))
		}
		if _, err := e.Recrawl(ctx, again...); err != nil {
			b.Fatal(err)
		}
		return refetch(b, e, func() time.Duration { return refresh(all) })
	}
	var full, changed, same time.Duration
	for b.Loop() {
		full += refetched(true)
		changed += refetched(false)
		same += refresh(false)
	}
	b.ReportMetric(0, "ns/op") // mostly of the fetches
	b.ReportMetric(full.Seconds()*1e6/float64(b.N)/pages, "µs-per-page-if-all")
	b.ReportMetric(100*float64(same)/float64(full), "%-if-nothing-changed")
	b.ReportMetric(100*float64(changed)/float64(full), "%-of-1%-fetched-again")
}

// refetch fetches what is due and runs all phases, and then what is given.
func refetch(b *testing.B, e *Engine, then func() time.Duration) time.Duration {
	b.Helper()
	ctx := context.Background()
	g, err := e.Generate(ctx, GenerateOptions{})
	for _, phase := range []func() error{
		func() error { _, err := e.Fetch(ctx, FetchOptions{Segment: g.Segment}); return err },
		func() error { _, err := e.UpdateDB(ctx, g.Segment); return err },
		func() error { _, err := e.InvertLinks(ctx, g.Segment); return err },
		func() error { _, err := e.Index(ctx, IndexOptions{}); return err },
	} {
		if err == nil {
			err = phase()
		}
	}
	if err != nil {
		b.Fatal(err)
	}
	return then()
}
