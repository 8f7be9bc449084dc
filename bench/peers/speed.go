// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

type speedOptions struct {
	peers, corpora, root, game, work string
	passages, queries, rounds        int
	timeout                          time.Duration
}

func speedMain(ctx context.Context, f *flag.FlagSet, args []string) error {
	o := speedOptions{}
	f.StringVar(&o.peers, "peers", "", "comma-separated engines (default: all that are installed)")
	f.StringVar(&o.corpora, "corpora", "manuals,passages", "comma-separated corpora")
	f.StringVar(&o.root, "root", "", "folder with unpacked Debian packages (default: realweb's)")
	f.StringVar(&o.game, "game", "", "queries of the search benchmark game (default: below SEINE_CONFORMANCE_DATA)")
	f.StringVar(&o.work, "work", "", "folder for corpora and indexes, 5 GB (default: bench/out/peers)")
	f.IntVar(&o.passages, "passages", 1_000_000, "documents of the corpus passages")
	f.IntVar(&o.queries, "queries", 100, "queries of each class")
	f.IntVar(&o.rounds, "rounds", 5, "times that all queries are sent; the first two are to warm up")
	f.DurationVar(&o.timeout, "timeout", time.Hour, "longest time of one build")
	if err := f.Parse(args); err != nil {
		return err
	}
	if o.rounds < warmRounds+1 || o.queries < 1 || o.passages < 1 {
		return fmt.Errorf("want at least %d rounds, one query and one passage", warmRounds+1)
	}
	if data := os.Getenv("SEINE_CONFORMANCE_DATA"); o.game == "" && data != "" {
		o.game = filepath.Join(data, "relevance", "search-benchmark-queries.jsonl")
	}
	return compareSpeed(ctx, o)
}

const warmRounds = 2

// gameQuery is a query of the search benchmark game.
type gameQuery struct {
	class, text string
	words       []string
}

// readGame reads the queries that belong to one of our classes.
func readGame(name string) (list []gameQuery, err error) {
	if name == "" {
		return nil, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	classes := map[string]string{
		"intersection 2": "and2", "union 2": "or2", "union 5": "or5", "phrase 2": "phrase2", "term 1": "term",
	}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var q struct {
			Query string   `json:"query"`
			Tags  []string `json:"tags"`
		}
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		words := wordsOf(q.Query)
		if len(q.Tags) == 0 || slices.ContainsFunc(words, func(w string) bool { return !asciiLetters(w) || len(w) < 3 }) {
			continue
		}
		if class := classes[fmt.Sprint(q.Tags[0], " ", len(words))]; class != "" && q.Query != "the" {
			list = append(list, gameQuery{class, q.Query, words})
		}
	}
	return list, nil
}

// speeds is the result of one engine with one corpus.
type speeds struct {
	build   used
	bytes   int64
	took    map[string][]time.Duration // by mode and class, of the rounds that count
	matches map[string]int             // by class, over its queries
}

// compareSpeed builds and searches each corpus with each engine.
func compareSpeed(ctx context.Context, o speedOptions) (err error) {
	d, err := findFolders()
	if err != nil {
		return err
	}
	chosen, err := choosePrograms(d, o.peers)
	if err != nil {
		return err
	}
	game, err := readGame(o.game)
	if err != nil {
		return err
	}
	if o.root == "" {
		o.root = defaultRoot(d)
	}
	if o.work == "" {
		o.work = d.out
	}
	work, err := os.MkdirTemp(o.work, "run-speed-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	printHeader()
	manuals, pages, err := manualsCorpus(o.root, filepath.Join(work, "manuals.tsv"))
	if err != nil {
		return err
	}
	for _, name := range split(o.corpora) {
		c := manuals
		if name == "passages" {
			if c, err = passagesCorpus(pages, o.passages, filepath.Join(work, "passages.tsv")); err != nil {
				return err
			}
			pages = nil
		} else if name != c.name {
			return fmt.Errorf("no corpus %q", name)
		}
		if err := speedOf(ctx, d, chosen, &c, c.drawSpeed(o.queries, game), work, o); err != nil {
			return err
		}
		if err := os.Remove(c.file); err != nil {
			return err
		}
	}
	return nil
}

// speedOf measures all engines with one corpus. The indexes are built one after the other; then each engine answers
// the queries, while the others do nothing.
func speedOf(
	ctx context.Context, d folders, chosen []program, c *corpus, queries map[string][]string, work string, o speedOptions,
) error {
	fmt.Fprintf(os.Stderr, "\n%s: %d documents, %.1f MB of text\n", c.name, c.documents, float64(c.textBytes)/1e6)
	fmt.Fprintf(os.Stderr, "%-8s %8s %8s %9s %8s %8s  %s\n", "engine", "wall s", "cpu s", "MB/cpu-s", "B/B", "peak MB",
		"remark")
	results := map[string]*speeds{}
	for _, p := range chosen {
		dir := filepath.Join(work, c.name+"-"+p.name)
		limited, cancel := context.WithTimeoutCause(ctx, o.timeout, errors.New("killed"))
		u, err := buildWith(limited, d, p, dir, c.file)
		cancel()
		if err != nil {
			return err
		}
		size, err := folderBytes(dir)
		if err != nil {
			return err
		}
		results[p.name] = &speeds{build: u, bytes: size}
		rate, share := float64(c.textBytes)/1e6/u.cpu.Seconds(), float64(size)/float64(c.textBytes)
		fmt.Printf("BenchmarkPeerBuild/%s/%s 1 %d ns/op %.2f textMB/cpu-s %.4f indexB/textB %.1f peak-MB %d docs\n",
			c.name, p.name, u.wall.Nanoseconds(), rate, share, float64(u.peakBytes)/1e6, c.documents)
		fmt.Fprintf(os.Stderr, "%-8s %8.1f %8.1f %9.2f %8.3f %8.0f  %s\n", p.name, u.wall.Seconds(), u.cpu.Seconds(), rate,
			share, float64(u.peakBytes)/1e6, p.remark)
	}
	for _, p := range chosen {
		dir := filepath.Join(work, c.name+"-"+p.name)
		if err := searchSpeed(ctx, d, p, dir, queries, o.rounds, results[p.name]); err != nil {
			return err
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	printSpeeds(c, chosen, queries, results)
	return nil
}

// searchSpeed sends all queries in rounds. Only rounds after the warm ones count.
func searchSpeed(
	ctx context.Context, d folders, p program, dir string, queries map[string][]string, rounds int, r *speeds,
) error {
	s, err := searchWith(ctx, d, p, dir)
	if err != nil {
		return err
	}
	r.took, r.matches = map[string][]time.Duration{}, map[string]int{}
	modes := []string{"exact", "pruned"}[:1+boolInt(p.prunes)]
	for round := range rounds {
		for _, mode := range modes {
			for _, class := range speedClasses {
				for _, q := range queries[class] {
					a, err := s.ask(mode, 10, q)
					if err != nil {
						return errors.Join(err, s.close())
					}
					if round >= warmRounds {
						r.took[mode+" "+class] = append(r.took[mode+" "+class], a.took)
					}
					if round == 0 && mode == "exact" {
						r.matches[class] += a.total
					}
				}
			}
		}
	}
	return s.close()
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// quantiles returns the median and the 99th percentile in µs.
func quantiles(took []time.Duration) (p50, p99 float64) {
	took = slices.Sorted(slices.Values(took))
	if len(took) == 0 {
		return 0, 0
	}
	µs := func(at int) float64 { return float64(took[at].Nanoseconds()) / 1000 }
	return µs(len(took) / 2), µs(len(took) * 99 / 100)
}

// printSpeeds prints latencies, each median also as a ratio to tantivy's of the same run.
func printSpeeds(c *corpus, chosen []program, queries map[string][]string, results map[string]*speeds) {
	fmt.Fprintf(os.Stderr, "\n%-14s %-8s %-7s %9s %9s %9s %12s\n",
		"queries", "engine", "total", "p50 µs", "p99 µs", "÷ "+tantivyName, "matches")
	for _, class := range speedClasses {
		n := len(queries[class])
		if n == 0 {
			fmt.Fprintf(os.Stderr, "%-14s the corpus has no words for this class\n", class)
			continue
		}
		for _, mode := range []string{"exact", "pruned"} {
			var of float64
			if t := results[tantivyName]; t != nil {
				of, _ = quantiles(t.took[mode+" "+class])
			}
			for _, p := range chosen {
				r := results[p.name]
				took := r.took[mode+" "+class]
				if len(took) == 0 {
					continue
				}
				p50, p99 := quantiles(took)
				ratio := "-"
				if of > 0 {
					ratio = fmt.Sprintf("%.2f", p50/of)
				}
				matches := float64(r.matches[class]) / float64(n)
				fmt.Printf("BenchmarkPeerSpeed/%s/%s/%s/%s %d %.0f p50-ns %.0f p99-ns %.1f matches/query\n",
					c.name, class, mode, p.name, len(took), p50*1000, p99*1000, matches)
				fmt.Fprintf(os.Stderr, "%-14s %-8s %-7s %9.0f %9.0f %9s %12.1f\n",
					strings.TrimSpace(class), p.name, mode, p50, p99, ratio, matches)
			}
		}
	}
}
