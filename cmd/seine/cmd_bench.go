// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/bench/hostile"
	"github.com/seine-crawler/seine/bench/measure"
)

func benchCommand(c *console) *cobra.Command {
	o := measure.CrawlOptions{}
	var out string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "measure crawls of synthetic webs on this machine",
		Long: "Crawls synthetic webs on loopback: completely, without indexing, and with a bare fetch loop for\n" +
			"comparison. Each run is its own process, and the variants take turns. Prints a table of medians,\n" +
			"their spread, and ratios to the bare loop. It takes a minute or two, during which the machine\n" +
			"should do nothing else.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if o.Binary, err = os.Executable(); err != nil {
				return err
			}
			if err := errors.Join(without(cmd, "host-pages", "hosts"), without(cmd, "docs-root", "docs"),
				without(cmd, "docs-name", "docs")); err != nil {
				return err
			}
			var lines []measure.Line
			o.Line = func(l measure.Line) { lines = append(lines, l) }
			o.Log = func(s string) { fmt.Fprintln(c.err, "bench: "+s) }
			err = measure.Crawls(cmd.Context(), o)
			if out != "" {
				err = errors.Join(err, writeFile(out, func(f *os.File) error { return measure.WriteLines(f, lines) }))
			}
			if err != nil {
				return err
			}
			if asJSON {
				return c.object(measure.Summaries(lines))
			}
			return c.lines(func(w *bufio.Writer) error { return measure.WriteTable(w, lines) })
		},
	}
	f := cmd.Flags()
	f.IntSliceVar(&o.Pages, "pages", []int{10_000}, "sizes of the webs in pages, 100 per host; 0 for none")
	f.IntSliceVar(&o.Hosts, "hosts", nil, "sizes of more webs in hosts, each of --host-pages pages")
	addCount(f, &o.HostPages, "host-pages", 20, 1, "pages per host of the webs of --hosts")
	f.BoolVar(&o.Gzip, "gzip", false, "compress the responses of these webs, as most servers do")
	addCount(f, &o.Runs, "runs", 5, 1, "runs of each variant")
	f.StringSliceVar(&o.Variants, "variants", measure.Variants(), "variants to run")
	f.BoolVar(&o.Profile, "profile", false, "compare the processor time per stage with a CPU profile, in one more run")
	f.StringArrayVar(&o.Docs, "docs", nil, "also crawl folders of HTML, as simweb --docs serves them")
	f.StringVar(&o.DocsRoot, "docs-root", "/", "root of these folders")
	f.StringVar(&o.DocsName, "docs-name", "docs", "name of these folders in the results")
	f.StringVar(&o.Dir, "work-dir", "", "folder for data (default: the system's temporary folder)")
	f.StringVar(&out, "out", "", "also write the results of all runs to this file, in the format of go test -bench")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	cmd.AddCommand(benchFloorCommand(c), benchLongCommand(c), benchPeaksCommand(c), benchPoliteCommand(c),
		benchReportCommand(c), benchScaleCommand(c), benchSchedulesCommand(c))
	return cmd
}

// benchPeaksCommand measures how much memory crawls of heavy webs take.
func benchPeaksCommand(c *console) *cobra.Command {
	var o measure.PeakOptions
	var out string
	cmd := &cobra.Command{
		Use:   "peaks",
		Short: "measure the memory of crawls of hosts that are meant to take much of it",
		Long: "Crawls hosts on loopback whose pages are meant to take memory, each kind in a process of its\n" +
			"own, and prints the largest resident set beside --memory. It takes some minutes.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if o.Binary, err = os.Executable(); err != nil {
				return err
			}
			var lines []measure.Line
			o.Line = func(l measure.Line) { lines = append(lines, l) }
			o.Log = func(s string) { fmt.Fprintln(c.err, "bench: "+s) }
			err = measure.Peaks(cmd.Context(), o)
			if out != "" {
				err = errors.Join(err, writeFile(out, func(f *os.File) error { return measure.WriteLines(f, lines) }))
			}
			return errors.Join(err, c.lines(func(w *bufio.Writer) error { return measure.WriteTable(w, lines) }))
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&o.Kinds, "kinds", nil, "kinds of pages (default: "+strings.Join(hostile.HeavyKinds, ", ")+")")
	f.IntSliceVar(&o.Memory, "memory", nil, "values of --memory, in MB (default: 256,512)")
	f.IntSliceVar(&o.Fetchers, "fetchers", nil, "values of --concurrency (default: 64,200)")
	f.Float64Var(&o.Most, "most", 0, "fail if a peak is more than so many times --memory; 0: never")
	f.StringVar(&o.Dir, "work-dir", "", "folder for data (default: the system's temporary folder)")
	f.StringVar(&out, "out", "", "also write the results to this file, in the format of go test -bench")
	return cmd
}

// benchPoliteCommand measures a crawl with delays.
func benchPoliteCommand(c *console) *cobra.Command {
	var o measure.PoliteOptions
	var out string
	cmd := &cobra.Command{
		Use:   "polite",
		Short: "measure a crawl with a delay between requests, beside one without",
		Long: "Crawls a lively web on loopback with a delay between the requests to a host, and then up to as\n" +
			"many pages without a delay. Prints what a page costs, and how many segments and files were made.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if o.Binary, err = os.Executable(); err != nil {
				return err
			}
			o.Fetched = fetchedNow
			var lines []measure.Line
			o.Line = func(l measure.Line) { lines = append(lines, l) }
			o.Log = func(s string) { fmt.Fprintln(c.err, "bench: "+s) }
			err = measure.Polite(cmd.Context(), o)
			if out != "" {
				err = errors.Join(err, writeFile(out, func(f *os.File) error { return measure.WriteLines(f, lines) }))
			}
			return errors.Join(err, c.lines(func(w *bufio.Writer) error { return measure.WriteTable(w, lines) }))
		},
	}
	f := cmd.Flags()
	addCount(f, &o.Hosts, "hosts", 400, 1, "hosts of the web")
	addCount(f, &o.Pages, "pages", 80, 1, "pages of a host, in the mean")
	f.DurationVar(&o.Delay, "delay", 200*time.Millisecond, "delay between the requests to a host")
	addCount(f, &o.Fetchers, "concurrency", 100, 1, "number of fetchers")
	f.DurationVar(&o.Time, "max-time", 90*time.Second, "end the polite crawl after this duration")
	f.StringVar(&o.Dir, "work-dir", "", "folder for data (default: the system's temporary folder)")
	f.StringVar(&out, "out", "", "also write the results to this file, in the format of go test -bench")
	return cmd
}

// benchScaleCommand measures phases on crawldbs of growing sizes.
func benchScaleCommand(c *console) *cobra.Command {
	var o measure.ScaleOptions
	var out, memory string
	cmd := &cobra.Command{
		Use:   "scale",
		Short: "measure what the same segment costs while crawldb grows",
		Long: "Makes crawldbs of several sizes and brings the same segments into each, beside bare Pebble with the\n" +
			"same keys. Prints the processor time of a link, of generate, and the bytes of a record. 10^7 URLs\n" +
			"take 2 GB of disk and some minutes, 10^8 ten times as much.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Memory, err = parseBytes(memory); err != nil {
				return &usageError{fmt.Errorf("--memory %q: %w", memory, err)}
			}
			var lines []measure.Line
			o.Line = func(l measure.Line) { lines = append(lines, l) }
			o.Log = func(s string) { fmt.Fprintln(c.err, "bench: "+s) }
			err = measure.Scale(cmd.Context(), o)
			if out != "" {
				err = errors.Join(err, writeFile(out, func(f *os.File) error { return measure.WriteLines(f, lines) }))
			}
			return errors.Join(err, c.lines(func(w *bufio.Writer) error { return measure.WriteTable(w, lines) }))
		},
	}
	f := cmd.Flags()
	f.IntSliceVar(&o.URLs, "urls", []int{1_000_000, 10_000_000}, "sizes of crawldb, in URLs")
	addCount(f, &o.Segments, "segments", 4, 1, "segments that are brought into each crawldb")
	addCount(f, &o.Pages, "pages", 50_000, 1, "pages of a segment")
	addCount(f, &o.Links, "links", 50, 1, "links of a page")
	addCount(f, &o.Top, "top", 50_000, 1, "URLs that generate chooses after each segment")
	addCount(f, &o.Due, "due", 100_000, 1, "URLs that are due where all others are not")
	f.StringVar(&memory, "memory", "1GB", "memory for the phases")
	f.StringVar(&o.Dir, "work-dir", "", "folder for data (default: the system's temporary folder)")
	f.StringVar(&out, "out", "", "also write the results to this file, in the format of go test -bench")
	return cmd
}

// benchFloorCommand is the bare fetch loop, which bench runs as a child process to measure its processor time.
func benchFloorCommand(c *console) *cobra.Command {
	var o measure.FloorOptions
	var seeds string
	cmd := &cobra.Command{
		Use:    "floor",
		Short:  "fetch every page of a simweb of shape bench and drop it, or keep it with --keep",
		Hidden: true,
		Args:   noArguments,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Port, err = seedPort(seeds); err != nil {
				return err
			}
			n, err := measure.Floor(cmd.Context(), o)
			if err != nil {
				return err
			}
			return c.object(map[string]int{"fetched": n})
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.HostsFile, "hosts", "simweb.hosts", "hosts file of the simweb")
	f.StringVar(&seeds, "seeds", "simweb.seeds", "seeds file of the simweb")
	f.IntVar(&o.Pages, "pages", 100, "pages of each host")
	f.BoolVar(&o.Gzip, "gzip", false, "accept compressed pages")
	f.StringVar(&o.Keep, "keep", "", "lex, digest and compress every page, and append it to this file")
	return cmd
}

// seedPort is the port of the first URL of a seed file.
func seedPort(seeds string) (int, error) {
	text, err := os.ReadFile(seeds)
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	u, err := url.Parse(first)
	if err != nil {
		return 0, fmt.Errorf("reading the first seed of %s: %w", seeds, err)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		return 0, fmt.Errorf("reading the first seed of %s: %s has no port", seeds, first)
	}
	return port, nil
}

func benchReportCommand(_ *console) *cobra.Command {
	var o measure.ReportOptions
	cmd := &cobra.Command{
		Use:   "report FILE…",
		Short: "write BENCHMARKS.md and its plots from benchmark results",
		Args:  needs("FILES of results"),
		RunE: func(_ *cobra.Command, files []string) error {
			o.Files = files
			return measure.WriteReport(context.Background(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Out, "out", "BENCHMARKS.md", "file to write")
	f.StringVar(&o.Plots, "plots", "bench/measure/plots", "folder of the plots")
	f.StringVar(&o.Command, "command", "make bench", "the command that made the results")
	return cmd
}
