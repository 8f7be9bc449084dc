// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seine-crawler/seine/bench/simweb"
	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// What is measured: searches beside a crawl at full speed, in one process. The store's index holds many short documents
// of Zipf's words before a crawl of simweb adds to it. Searches of six kinds come at a steady rate, whether or not
// those before have ended; a latency counts from the moment at which a search is due. "rest" is the store alone;
// "crawl" the same searches beside the crawl, which then goes on without them for its rate. seal-to-search is the
// time from a segment's sealing until its pages are searchable. How to run it (bin/seine must be built):
//
//	go test -run '^$' -bench Beside -benchtime 1x -timeout 1h ./bench/measure
var (
	besideDocs  = flag.Int("beside.docs", 1_000_000, "documents of BenchmarkBeside's index before the crawl")
	besidePages = flag.Int("beside.pages", 60_000, "pages that BenchmarkBeside crawls with searches, and without")
	besideRate  = flag.Int("beside.rate", 20, "searches a second of BenchmarkBeside")
)

const besideWords = 100 // of a document

// besideIndex fills the index of a data directory, and returns queries by kind.
func besideIndex(b *testing.B, dir string) (kinds []string, queries [][]string) {
	s, err := storage.Open(filepath.Join(dir, "store"), storage.Options{})
	must(b, err)
	x, err := index.Open(s, index.Options{MemoryBytes: 64 << 20})
	must(b, err)
	rng := rand.New(rand.NewPCG(7, 8))
	words := vocabulary()
	z := rand.NewZipf(rng, 1.1, 2.7, zipfWords-1)
	in := s.NewIngestion()
	defer in.Abort()
	builder := x.NewBuilder(in)
	defer builder.Abort()
	var text []byte
	for i := range *besideDocs {
		text = text[:0]
		for range besideWords {
			text = append(append(text, words[z.Uint64()]...), ' ')
		}
		u, err := urlkey.Parse(fmt.Sprintf("http://www.site%04d.example/%07d.html", i*1000 / *besideDocs, i))
		must(b, err)
		must(b, builder.Add(&index.Document{
			Key: u.Key(), URL: u.String(), Title: string(text[:20]), Text: string(text), Language: "en",
			Stamp: uint64(i + 1),
		}))
	}
	_, err = builder.Finish()
	must(b, err, in.Commit(), x.Refresh())
	_, err = x.Merge(context.Background())
	must(b, err, x.Close(), s.Close())
	common := func() string { return words[rng.IntN(30)] }
	some := func() string { return words[100+rng.IntN(2000)] }
	rare := func() string { return words[5000+rng.IntN(40_000)] }
	make := map[string]func() string{
		"common": common,
		"rare":   rare,
		"two":    func() string { return some() + " " + some() },
		"four":   func() string { return common() + " " + some() + " " + some() + " " + rare() },
		"and":    func() string { return "+" + common() + " +" + some() },
		"phrase": func() string { return `"` + common() + " " + some() + `"` },
	}
	kinds = []string{"common", "rare", "two", "four", "and", "phrase"}
	for _, kind := range kinds {
		var list []string
		for range 200 {
			list = append(list, make[kind]())
		}
		queries = append(queries, list)
	}
	return kinds, queries
}

// searcher searches at a steady rate until stop is called.
type searcher struct {
	cancel context.CancelFunc
	ended  sync.WaitGroup
	mu     sync.Mutex
	took   []time.Duration
	by     [][]time.Duration
}

func startSearcher(b *testing.B, e *engine.Engine, queries [][]string) *searcher {
	ctx, cancel := context.WithCancel(context.Background())
	s := &searcher{cancel: cancel, by: make([][]time.Duration, len(queries))}
	s.ended.Add(1)
	go func() {
		defer s.ended.Done()
		due := time.Now()
		for n := 0; ctx.Err() == nil; n++ {
			due = due.Add(time.Second / time.Duration(*besideRate))
			due := due
			time.Sleep(time.Until(due))
			s.ended.Add(1)
			go func() {
				defer s.ended.Done()
				kind := n % len(queries)
				q := queries[kind][n/len(queries)%len(queries[kind])]
				_, err := e.Search(context.Background(), q, engine.SearchOptions{Deadline: time.Minute})
				took := time.Since(due)
				s.mu.Lock()
				defer s.mu.Unlock()
				if err != nil {
					b.Error(err)
				}
				s.took, s.by[kind] = append(s.took, took), append(s.by[kind], took)
			}()
		}
	}()
	return s
}

func (s *searcher) stop() {
	s.cancel()
	s.ended.Wait()
}

// quantile sorts the list.
func quantile(list []time.Duration, q float64) time.Duration {
	slices.Sort(list)
	if len(list) == 0 {
		return 0
	}
	return list[min(int(q*float64(len(list))), len(list)-1)]
}

func (s *searcher) report(b *testing.B, kinds []string, when string) {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	for _, q := range []struct {
		name string
		at   float64
	}{{"p50", .5}, {"p99", .99}, {"max", 1}} {
		b.ReportMetric(ms(quantile(s.took, q.at)), when+"-"+q.name+"-ms")
	}
	for i, kind := range kinds {
		l := s.by[i]
		b.Logf("%s: %-6s %4d searches, p50 %6.1f ms, p90 %6.1f, p99 %6.1f, max %6.1f", when, kind, len(l),
			ms(quantile(l, .5)), ms(quantile(l, .9)), ms(quantile(l, .99)), ms(quantile(l, 1)))
	}
}

// sealings notes when segments are sealed, and searchable.
type sealings struct {
	mu     sync.Mutex
	sealed map[uint32]time.Time
	took   []time.Duration
}

func (s *sealings) note(segment uint32, state storage.SegmentState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case storage.SegmentSealed:
		s.sealed[segment] = time.Now()
	case storage.SegmentIndexed:
		s.took = append(s.took, time.Since(s.sealed[segment]))
	}
}

func BenchmarkBeside(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(b, err)
	port := l.Addr().(*net.TCPAddr).Port
	must(b, l.Close())
	hosts := max(2**besidePages/pagesOfHost, 1) + 1
	web, err := simweb.New(simweb.Bench(hosts, pagesOfHost), port)
	must(b, err)
	dir := b.TempDir()
	seals := &sealings{sealed: map[uint32]time.Time{}}
	open := func() *engine.Engine {
		e, err := engine.Open(engine.Options{
			Dir: dir, Contact: "https://seine.example/", Scope: policy.ScopeAny, Delay: -1, AllowPrivate: true,
			PreferSearches: true, // as cmd/seine does
			Resolver:       webResolver{web, port}, Events: engine.EventListener{SegmentState: seals.note},
		})
		must(b, err)
		return e
	}
	must(b, open().Close()) // makes the store
	began := time.Now()
	kinds, queries := besideIndex(b, dir)
	b.Logf("%d documents indexed in %s", *besideDocs, time.Since(began).Round(time.Second))
	serveWeb(b, port, hosts, pagesOfHost, "--prerender", "2GB")
	debug.SetMemoryLimit(1 << 30) // as cmd/seine does
	defer debug.SetMemoryLimit(-1)
	e := open()

	rest := startSearcher(b, e, queries)
	time.Sleep(10 * time.Second)
	rest.stop()
	rest.report(b, kinds, "rest")

	seeds := make([]string, hosts)
	for n := range seeds {
		seeds[n] = web.Root(n)
	}
	crawl := func() float64 {
		var last engine.Progress
		_, err := e.Crawl(context.Background(), engine.CrawlOptions{
			Inject:   engine.InjectOptions{URLs: seeds},
			Limits:   engine.Limits{MaxPages: int64(*besidePages)},
			Progress: func(p engine.Progress) { last = pick(p, last) },
		})
		must(b, err)
		return float64(last.Fetched) / last.Elapsed.Seconds()
	}
	beside := startSearcher(b, e, queries)
	b.ReportMetric(crawl(), "pages/s")
	beside.stop()
	beside.report(b, kinds, "crawl")
	b.ReportMetric(quantile(seals.took, .5).Seconds(), "seal-to-search-p50-s")
	b.ReportMetric(quantile(seals.took, 1).Seconds(), "seal-to-search-max-s")
	b.Logf("seal to search: %v", seals.took)
	b.ReportMetric(crawl(), "alone-pages/s")
	b.ReportMetric(0, "ns/op")
	must(b, e.Close())
}

// pick returns the later progress of a crawl that fetches.
func pick(p, last engine.Progress) engine.Progress {
	if strings.HasPrefix(p.Phase, "crawl") {
		return p
	}
	return last
}

const pagesOfHost = 100

// serveWeb runs the benchmark's web of bin/seine until the benchmark ends, and waits until it answers.
func serveWeb(b *testing.B, port, hosts, pages int, more ...string) {
	server := exec.Command("../../bin/seine", append([]string{
		"simweb", "--shape", "bench", "--seed-hosts", "0",
		"--web-hosts", fmt.Sprint(hosts), "--pages", fmt.Sprint(pages), "--max-pages", fmt.Sprint(pages),
		"--all-interfaces", "--hosts-file", "", "--seeds-file", "", "--port", fmt.Sprint(port),
	}, more...)...)
	must(b, server.Start())
	b.Cleanup(func() {
		server.Process.Signal(os.Interrupt)
		server.Wait()
	})
	for n := 0; ; n++ {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			c.Close()
			break
		}
		if n == 600 {
			b.Fatalf("simweb does not answer (is bin/seine built?): %v", err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}
