// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// What a look at a running crawl costs. Status is for people, some times a second at most; a sample is taken once a
// second: 1 ms of it would be 0.1% of one processor. The crawl is paused, so that only the looks are measured.
//
//	go test ./engine -run '^$' -bench 'Status|Sample'

// pausedCrawl runs until the benchmark ends. With a contact it looks up no address before it begins.
func pausedCrawl(b *testing.B, seeds InjectOptions) *Engine {
	b.Helper()
	e, err := Open(Options{Dir: b.TempDir(), AllowPrivate: true, Memory: 64 << 20, Contact: "a@b.test"})
	if err != nil {
		b.Fatal(err)
	}
	if err := e.Pause(); err != nil {
		b.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := e.Crawl(b.Context(), CrawlOptions{Inject: seeds})
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
	for range 600_000 {
		if c := e.crawl.Load(); c != nil && c.live.Load() != nil {
			return e
		}
		time.Sleep(time.Millisecond)
	}
	b.Fatal("the crawl does not begin")
	return nil
}

// oneSeed are seeds of which the one cannot be reached.
var oneSeed = InjectOptions{URLs: []string{"http://127.0.0.1:9/"}}

func BenchmarkStatus(b *testing.B) {
	e := pausedCrawl(b, oneSeed)
	for b.Loop() {
		if _, err := e.Inspect().Status(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStatusLarge is BenchmarkStatus over a million URLs of many hosts: Status counts nothing itself, so it should
// take as long. slowest-ms is the longest of all looks, those beside a count of what is stored included.
func BenchmarkStatusLarge(b *testing.B) {
	for _, hosts := range []int{1000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("hosts=%d", hosts), func(b *testing.B) {
			var lines strings.Builder
			for i := range 1_000_000 {
				fmt.Fprintf(&lines, "http://h%d.example/%d\n", i%hosts, i/hosts)
			}
			e := pausedCrawl(b, InjectOptions{Readers: []io.Reader{strings.NewReader(lines.String())}})
			slowest := time.Duration(0)
			for b.Loop() {
				start := time.Now()
				s, err := e.Inspect().Status()
				if err != nil || s.Progress == nil {
					b.Fatal(err)
				}
				slowest = max(slowest, time.Since(start))
			}
			b.ReportMetric(float64(slowest.Microseconds())/1e3, "slowest-ms")
		})
	}
}

func BenchmarkSample(b *testing.B) {
	e := pausedCrawl(b, oneSeed)
	s := sampler{c: e.crawl.Load(), h: &e.history}
	s.before = s.read(new(Sample))
	for b.Loop() {
		s.take(0)
	}
}
