// SPDX-License-Identifier: Apache-2.0

// Peers measures seine beside other programs on the same work: crawling one web, indexing one set of documents, parsing
// the same URLs and pages. Lines for benchstat go to stdout, a table for people to stderr. README.md says what is
// compared and how fair it is.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

const usage = `usage: go run . crawl|index|layers|relevance|speed|load [flags], in bench/peers

  crawl   crawl one synthetic web with each crawler that install.sh could install
  index   build an index of the same documents and search it
  layers  parse the same URLs and HTML pages
  relevance  judge seine, tantivy, Lucene and bleve by Cranfield and CACM
  speed   build indexes of Debian's manuals and of a million passages with the same engines, and search them
  load    search a million pages over sockets, thousands of times a second, beside bleve behind net/http
  all     the first three; -quick takes a few minutes
  content FOLDER  print the main content of WCXB's pages according to each library
  facts FOLDER    score title, author and date of WCXB's pages according to each library
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "peers: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		fmt.Fprint(os.Stderr, usage)
		return errors.New("no command")
	}
	f := flag.NewFlagSet(args[0], flag.ContinueOnError)
	var err error
	switch args[0] {
	case "crawl":
		o := crawlOptions{}
		f.StringVar(&o.peers, "peers", "", "comma-separated crawlers (default: all that are installed)")
		f.IntVar(&o.pages, "pages", 5000, "pages of the web")
		f.IntVar(&o.hosts, "hosts", 50, "hosts that they are on")
		f.IntVar(&o.runs, "runs", 5, "runs of each crawler")
		f.IntVar(&o.concurrency, "concurrency", 32, "requests at once")
		f.IntVar(&o.max, "max", 0, "pages after which a crawler stops (0: crawl to the end)")
		f.DurationVar(&o.timeout, "timeout", 10*time.Minute, "longest time of one run")
		if err = f.Parse(args[1:]); err == nil {
			err = crawl(ctx, o)
		}
	case "index":
		o := indexOptions{}
		f.StringVar(&o.peers, "peers", "", "comma-separated engines (default: seine,bleve)")
		f.StringVar(&o.html, "html", "", "folder whose *.html files are indexed instead of synthetic pages")
		f.IntVar(&o.pages, "pages", 5000, "documents")
		f.IntVar(&o.runs, "runs", 5, "runs of each engine")
		f.IntVar(&o.queries, "queries", 200, "queries of each class")
		f.DurationVar(&o.timeout, "timeout", 10*time.Minute, "longest time of one run")
		if err = f.Parse(args[1:]); err == nil {
			err = compareIndexes(ctx, o)
		}
	case "layers":
		runs := f.Int("runs", 5, "runs of each benchmark")
		peers := f.String("peers", "", "comma-separated libraries (default: all)")
		pages := f.Int("pages", 200, "synthetic pages that are parsed")
		if err = f.Parse(args[1:]); err == nil {
			err = layers(ctx, *peers, *pages, *runs)
		}
	case "relevance":
		o := relevanceOptions{}
		f.StringVar(&o.peers, "peers", "", "comma-separated engines (default: all that are installed)")
		f.StringVar(&o.data, "data", os.Getenv("SEINE_CONFORMANCE_DATA"), "folder with relevance/*.tar.xz")
		if err = f.Parse(args[1:]); err == nil {
			err = compareRelevance(ctx, o)
		}
	case "speed":
		err = speedMain(ctx, f, args[1:])
	case "load":
		err = loadMain(ctx, f, args[1:])
	case "load-serve": // a child of load
		err = loadServe(ctx, args[1:])
	case "all":
		quick := f.Bool("quick", false, "smaller webs")
		if err = f.Parse(args[1:]); err == nil {
			err = all(ctx, *quick)
		}
	case "facts":
		if len(args) != 2 {
			return errors.New("facts: want WCXB's folder")
		}
		err = facts(args[1])
	case "content":
		if len(args) != 2 {
			return errors.New("content: want WCXB's folder")
		}
		err = contents(args[1])
	case "serve": // a child of crawl
		err = serve(args[1:])
	case "program": // a child of relevance and speed
		err = programMain(ctx, args[1:])
	case "engine": // a child of index
		err = engineMain(ctx, args[1:])
	default:
		fmt.Fprint(os.Stderr, usage)
		return fmt.Errorf("no command %q", args[0])
	}
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	return err
}

// all makes every comparison, even after one has failed.
func all(ctx context.Context, quick bool) error {
	n, runs := 5000, 5
	if quick {
		n = 1000
	}
	return errors.Join(
		layers(ctx, "", 200, runs),
		compareIndexes(ctx, indexOptions{pages: n, runs: runs, queries: 200, timeout: 10 * time.Minute}),
		crawl(ctx, crawlOptions{pages: n, hosts: n / 100, runs: runs, concurrency: 32, timeout: 10 * time.Minute}))
}

// layers runs the benchmarks of layers_test.go.
func layers(ctx context.Context, peers string, pages, runs int) error {
	pattern := "^BenchmarkPeer"
	if peers != "" {
		pattern += "/^(" + strings.ReplaceAll(peers, ",", "|") + ")$"
	}
	cmd := exec.CommandContext(
		ctx, "go", "test", "-run", "^$", "-bench", pattern, "-benchmem", "-benchtime", "300ms", "-count",
		fmt.Sprint(runs), ".",
	)
	cmd.Env = append(os.Environ(), fmt.Sprintf("SEINE_LAYER_PAGES=%d", pages))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("benchmarks of layers: %w", err)
	}
	return nil
}

// printHeader prints the lines that describe the machine to benchstat.
func printHeader() {
	fmt.Printf("goos: %s\ngoarch: %s\npkg: github.com/seine-crawler/seine/bench/peers\n", runtime.GOOS, runtime.GOARCH)
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(info)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				fmt.Printf("cpu: %s\n", strings.TrimSpace(value))
				break
			}
		}
	}
}

// folders are the absolute paths of things.
type folders struct {
	peers string // bench/peers
	out   string // bench/out/peers: for what install.sh installs, and for the runs
	seine string // bin/seine
}

func findFolders() (d folders, err error) {
	cmd := exec.Command("go", "list", "-m", "-f", "{{.Dir}}")
	cmd.Stderr = os.Stderr
	b, err := cmd.Output()
	if err != nil {
		return d, fmt.Errorf("asking go for the module's folder: %w", err)
	}
	d.peers = strings.TrimSpace(string(b))
	if _, err := os.Stat(filepath.Join(d.peers, "install.sh")); err != nil {
		return d, fmt.Errorf("run this in the folder bench/peers: %w", err)
	}
	d.out = filepath.Join(d.peers, "..", "out", "peers")
	d.seine = filepath.Join(d.peers, "..", "..", "bin", "seine")
	return d, os.MkdirAll(d.out, 0o755)
}

// split splits a comma-separated list.
func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}
