// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"
	"time"
)

// What a look at a running crawl costs. Status is for people, some times a second at most; a sample is taken once a
// second: 1 ms of it would be 0.1% of one processor. The crawl is paused, so that only the looks are measured.
//
//	go test ./engine -run '^$' -bench 'Status|Sample'

// pausedCrawl runs until the benchmark ends.
func pausedCrawl(b *testing.B) *Engine {
	e, err := Open(Options{Dir: b.TempDir(), AllowPrivate: true, Memory: 64 << 20})
	if err != nil {
		b.Fatal(err)
	}
	if err := e.Pause(); err != nil {
		b.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := e.Crawl(b.Context(), CrawlOptions{Inject: InjectOptions{URLs: []string{"http://127.0.0.1:9/"}}})
		done <- err
	}()
	b.Cleanup(func() {
		if err := <-done; err != nil {
			b.Error(err)
		}
		if err := e.Close(); err != nil {
			b.Error(err)
		}
	})
	for range 1000 {
		if c := e.crawl.Load(); c != nil && c.live.Load() != nil {
			return e
		}
		time.Sleep(time.Millisecond)
	}
	b.Fatal("the crawl does not begin")
	return nil
}

func BenchmarkStatus(b *testing.B) {
	e := pausedCrawl(b)
	for b.Loop() {
		if _, err := e.Inspect().Status(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSample(b *testing.B) {
	e := pausedCrawl(b)
	s := sampler{c: e.crawl.Load(), h: &e.history}
	s.before = s.read(new(Sample))
	for b.Loop() {
		s.take(0)
	}
}
