// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

type indexOptions struct {
	peers, html          string
	pages, runs, queries int
	timeout              time.Duration
}

// indexed is the report of an engine's process.
type indexed struct {
	Docs      int
	TextBytes int64 // titles and texts
	Wall, CPU time.Duration
	Bytes     int64 // of files, after closing
	Searches  map[string]searched

	peakBytes int64 // of the process, with the documents in it
}

// searched is its report of the queries of one class.
type searched struct {
	Queries        int
	Mean, P50, P99 time.Duration
	Hits, Exact    int // summed
	Empty          int // queries that found nothing
}

// compareIndexes runs each engine in turn, in a process of its own.
func compareIndexes(ctx context.Context, o indexOptions) error {
	if o.pages < 1 || o.runs < 1 || o.queries < 1 {
		return errors.New("want at least one page, one run and one query")
	}
	d, err := findFolders()
	if err != nil {
		return err
	}
	names := split(o.peers)
	if len(names) == 0 {
		for _, e := range engines {
			names = append(names, e.name)
		}
	}
	for _, name := range names {
		if _, err := newEngine(name); err != nil {
			return err
		}
	}
	printHeader()
	results := map[string][]indexed{}
	for run := range o.runs {
		for i := range names {
			name := names[(i+run)%len(names)]
			r, err := indexOnce(ctx, d, name, o)
			if ctx.Err() != nil {
				return errors.New("interrupted")
			}
			if err != nil {
				return fmt.Errorf("run %d of %s: %w", run+1, name, err)
			}
			results[name] = append(results[name], r)
			r.print(name)
		}
	}
	printIndexes(names, results)
	return checkHits(names, results)
}

func newEngine(name string) (engine, error) {
	var known []string
	for _, e := range engines {
		if e.name == name {
			return e.new(), nil
		}
		known = append(known, e.name)
	}
	return nil, fmt.Errorf("no engine %q; there are %s", name, strings.Join(known, ", "))
}

func indexOnce(ctx context.Context, d folders, name string, o indexOptions) (r indexed, err error) {
	self, err := os.Executable()
	if err != nil {
		return r, err
	}
	work, err := os.MkdirTemp(d.out, "run-index-"+name+"-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(work)
	ctx, cancel := context.WithTimeoutCause(ctx, o.timeout, errors.New("killed"))
	defer cancel()
	report := filepath.Join(work, "report")
	cmd := exec.Command(self, "engine", "-name", name, "-dir", filepath.Join(work, "index"), "-report", report,
		"-html", o.html, "-pages", fmt.Sprint(o.pages), "-queries", fmt.Sprint(o.queries))
	u, err := runProcess(ctx, cmd, filepath.Join(d.out, "index-"+name+".log"))
	if err != nil {
		return r, err
	}
	b, err := os.ReadFile(report)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return r, fmt.Errorf("report of %s: %w", name, err)
	}
	r.peakBytes = u.peakBytes
	return r, nil
}

// engineMain is the process of one engine: it makes the documents first and then measures.
func engineMain(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("engine", flag.ContinueOnError)
	name := f.String("name", "", "engine")
	dir := f.String("dir", "", "folder of the index")
	report := f.String("report", "", "file of the report")
	html := f.String("html", "", "folder of pages")
	pages := f.Int("pages", 0, "documents")
	perClass := f.Int("queries", 0, "queries of each class")
	if err := f.Parse(args); err != nil {
		return err
	}
	e, err := newEngine(*name)
	if err != nil {
		return err
	}
	made, err := syntheticPages(*pages)
	if *html != "" {
		made, err = folderPages(*html, *pages)
	}
	if err != nil {
		return err
	}
	docs, err := documents(made)
	if err != nil {
		return err
	}
	made = nil
	queries, err := drawQueries(docs, *perClass)
	if err != nil {
		return err
	}
	r := indexed{Docs: len(docs)}
	for _, d := range docs {
		r.TextBytes += int64(len(d.title) + len(d.text))
	}
	start, before := time.Now(), ownCPU()
	if err := e.build(ctx, *dir, docs); err != nil {
		return fmt.Errorf("building: %w", err)
	}
	r.Wall, r.CPU = time.Since(start), ownCPU()-before
	if r.Bytes, err = folderBytes(*dir); err != nil {
		return err
	}
	docs = nil
	if r.Searches, err = searchAll(ctx, e, *dir, queries); err != nil {
		return fmt.Errorf("searching: %w", err)
	}
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return os.WriteFile(*report, b, 0o644)
}

// searchAll runs all queries once to warm up, then once more with a clock.
func searchAll(ctx context.Context, e engine, dir string, queries []query) (_ map[string]searched, err error) {
	if err := e.open(dir); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	took := map[string][]time.Duration{}
	result := map[string]searched{}
	for _, timed := range []bool{false, true} {
		for i := range queries {
			q := &queries[i]
			start := time.Now()
			hits, err := e.search(ctx, q)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", q.text(), err)
			}
			if !timed {
				continue
			}
			took[q.class] = append(took[q.class], time.Since(start))
			r := result[q.class]
			if hits == 0 {
				r.Empty++
			}
			r.Queries++
			r.Hits += hits
			r.Exact += q.exact
			result[q.class] = r
		}
	}
	for class, d := range took {
		r := result[class]
		for _, t := range d {
			r.Mean += t / time.Duration(len(d))
		}
		slices.Sort(d)
		r.P50, r.P99 = d[len(d)/2], d[len(d)*99/100]
		result[class] = r
	}
	return result, nil
}

func folderBytes(dir string) (sum int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	return sum, err
}

func (r *indexed) speed() float64 { return float64(r.TextBytes) / 1e6 / r.CPU.Seconds() }
func (r *indexed) share() float64 { return float64(r.Bytes) / float64(r.TextBytes) }

// print prints the lines for benchstat.
func (r *indexed) print(name string) {
	fmt.Printf("BenchmarkPeerIndex/%s 1 %d ns/op %.2f textMB/cpu-s %.4f indexB/textB %.1f peak-MB %d docs\n",
		name, r.Wall.Nanoseconds(), r.speed(), r.share(), float64(r.peakBytes)/1e6, r.Docs)
	for _, class := range classes {
		s := r.Searches[class]
		fmt.Printf("BenchmarkPeerSearch/%s/%s %d %d ns/op %d p50-ns %d p99-ns %.1f hits/query %.3f hits/exact\n",
			class, name, s.Queries, s.Mean.Nanoseconds(), s.P50.Nanoseconds(), s.P99.Nanoseconds(),
			float64(s.Hits)/float64(s.Queries), float64(s.Hits)/float64(s.Exact))
	}
}

// printIndexes prints the medians for people.
func printIndexes(names []string, results map[string][]indexed) {
	first := results[names[0]][0]
	fmt.Fprintf(os.Stderr, "\n%d documents, %.1f MB of text; medians of %d runs\n",
		first.Docs, float64(first.TextBytes)/1e6, len(results[names[0]]))
	fmt.Fprintf(os.Stderr, "%-8s %8s %8s %10s %8s %8s  %s\n",
		"engine", "wall s", "cpu s", "MB/cpu-s", "B/B", "peak MB", "remark")
	for _, name := range names {
		m := func(f func(r *indexed) float64) float64 { return median(results[name], f) }
		remark := ""
		for _, e := range engines {
			if e.name == name {
				remark = e.remark
			}
		}
		wall := m(func(r *indexed) float64 { return r.Wall.Seconds() })
		cpu := m(func(r *indexed) float64 { return r.CPU.Seconds() })
		peak := m(func(r *indexed) float64 { return float64(r.peakBytes) / 1e6 })
		fmt.Fprintf(os.Stderr, "%-8s %8.2f %8.2f %10.2f %8.3f %8.1f  %s\n",
			name, wall, cpu, m((*indexed).speed), m((*indexed).share), peak, remark)
	}
	fmt.Fprintf(os.Stderr, "\n%-8s %-8s %10s %10s %12s %12s %8s\n",
		"queries", "engine", "p50 µs", "p99 µs", "hits/query", "exact words", "empty")
	for _, class := range classes {
		for _, name := range names {
			m := func(f func(s searched) float64) float64 {
				return median(results[name], func(r *indexed) float64 { return f(r.Searches[class]) })
			}
			fmt.Fprintf(os.Stderr, "%-8s %-8s %10.0f %10.0f %12.1f %12.1f %8.0f\n", class, name,
				m(func(s searched) float64 { return float64(s.P50.Nanoseconds()) / 1000 }),
				m(func(s searched) float64 { return float64(s.P99.Nanoseconds()) / 1000 }),
				m(func(s searched) float64 { return float64(s.Hits) / float64(s.Queries) }),
				m(func(s searched) float64 { return float64(s.Exact) / float64(s.Queries) }),
				m(func(s searched) float64 { return float64(s.Empty) }))
		}
	}
}

// checkHits compares the hits of the engines with the documents that hold the very words. Stems widen a query, so some
// more are right; many more, or fewer, are not.
func checkHits(names []string, results map[string][]indexed) error {
	const least, most, mostEmpty = 0.95, 4.0, 0.02 // engines also cut words differently
	var errs []error
	for _, name := range names {
		for _, class := range classes {
			s := results[name][0].Searches[class]
			switch found := float64(s.Hits) / float64(s.Exact); {
			case float64(s.Empty) > mostEmpty*float64(s.Queries):
				errs = append(errs, fmt.Errorf("%s found nothing for %d of %d queries of class %s, "+
					"though each is in some document", name, s.Empty, s.Queries, class))
			case found < least || found > most:
				errs = append(errs, fmt.Errorf("%s found %d documents in class %s, where %d hold the very words: "+
					"want %.2f to %.2f times as many", name, s.Hits, class, s.Exact, least, most))
			}
		}
	}
	return errors.Join(errs...)
}
