// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
)

// dedupLinesVariable names the number of lines of BenchmarkDedupURLs; 10000000 needs 2 GB of disk.
const dedupLinesVariable = "SEINE_DEDUP_LINES"

// urlLines writes n lines of URLs on 30,000 hosts, a third of which occurred before.
func urlLines(b *testing.B, name string, n int) {
	f, err := os.Create(name)
	must(b, err)
	w := bufio.NewWriterSize(f, 1<<20)
	sections := []string{"news", "article", "product", "index", "page", "item", "archive"}
	state := uint64(1)
	var line []byte
	for range n {
		state = state*6364136223846793005 + 1442695040888963407
		k := (state >> 33) % uint64(n)
		host := k * 2654435761 % 30_000
		line = fmt.Appendf(line[:0], "http://www.host%d.example%d.com/%s/%s/%d.html\n",
			host, host%977, sections[k%7], sections[k/7%7], k)
		_, err = w.Write(line)
		must(b, err)
	}
	must(b, w.Flush(), f.Close())
}

// BenchmarkDedupURLs sorts lines of URLs into new and duplicate ones, into an empty store and into one that has all
// of them, beside sort -u of the same file with the bytes' order, which neither parses nor joins. Both may use all
// processors. cpu-ns/line holds on a busy machine, too.
func BenchmarkDedupURLs(b *testing.B) {
	lines := 1_000_000
	if s := os.Getenv(dedupLinesVariable); s != "" {
		var err error
		lines, err = strconv.Atoi(s)
		must(b, err)
	}
	dir := b.TempDir()
	name := filepath.Join(dir, "urls")
	urlLines(b, name, lines)
	report := func(b *testing.B, wall, cpu time.Duration) {
		b.ReportMetric(float64(lines*b.N)/wall.Seconds(), "lines/s")
		b.ReportMetric(float64(cpu.Nanoseconds())/float64(lines*b.N), "cpu-ns/line")
		b.ReportMetric(0, "ns/op")
	}
	unique := 0
	b.Run(fmt.Sprintf("lines=%d/floor-sort-u", lines), func(b *testing.B) {
		var wall, cpu time.Duration
		for range b.N {
			cmd := exec.Command("sort", "-u", "-T", dir, "--parallel", strconv.Itoa(runtime.GOMAXPROCS(0)),
				"-o", filepath.Join(dir, "sorted"), name)
			cmd.Env = append(os.Environ(), "LC_ALL=C")
			start := time.Now()
			if err := cmd.Run(); err != nil {
				b.Skip("no sort: ", err)
			}
			wall += time.Since(start)
			cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		}
		report(b, wall, cpu)
		unique = countLines(b, filepath.Join(dir, "sorted"))
	})
	e, err := engine.Open(engine.Options{Dir: filepath.Join(dir, "data")})
	must(b, err)
	dedup := func(b *testing.B, known, fresh int) {
		var wall, cpu time.Duration
		for range b.N {
			in, err := os.Open(name)
			must(b, err)
			out, err := os.Create(filepath.Join(dir, "new"))
			must(b, err)
			start, spent := time.Now(), processTime()
			r, err := e.DedupURLs(context.Background(), engine.DedupURLsOptions{
				Readers: []io.Reader{in}, New: out,
			})
			wall, cpu = wall+time.Since(start), cpu+processTime()-spent
			must(b, err, in.Close(), out.Close())
			if unique > 0 && (r.Known != uint64(known*unique) || r.New != uint64(fresh*unique)) {
				b.Fatalf("%s; want %d URLs", r, unique)
			}
		}
		report(b, wall, cpu)
	}
	b.Run(fmt.Sprintf("lines=%d/seine", lines), func(b *testing.B) { dedup(b, 0, 1) })
	_, err = e.Inject(context.Background(), engine.InjectOptions{Files: []string{name}})
	must(b, err)
	b.Run(fmt.Sprintf("lines=%d/seine-known", lines), func(b *testing.B) { dedup(b, 1, 0) })
	must(b, e.Close())
}

// countLines returns the number of lines of a file.
func countLines(b *testing.B, name string) (n int) {
	f, err := os.Open(name)
	must(b, err)
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		n++
	}
	return n
}
